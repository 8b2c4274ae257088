"""What reports say of accuracy is what the evaluation found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from surfer_lab.view.accuracy_words import FROM_ANOTHER_GPU, FROM_SHAPES, ModelErrors, accuracy_lines

FOUND = json.loads((Path(__file__).parents[2] / "docs" / "accuracy.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("said", "table", "method"),
    [
        (FROM_SHAPES, "models, no origin, the destination's die held out", "as shipped, no origin"),
        (FROM_ANOTHER_GPU, "models, every ordered pair of GPUs with the same case", "as shipped, from an origin"),
    ],
)
def test_the_figures_are_those_of_the_evaluation(said, table, method):
    row = next(row for row in FOUND["sections"]["e2e"]["tables"][table] if row["method"] == method)
    assert said == ModelErrors(
        cases=row["cases"],
        mean_percent=row["mean %"],
        median_percent=row["median %"],
        worst_percent=row["worst %"],
        in_range_percent=row["in range %"],
    )


def test_each_sentence_names_its_cases():
    assert accuracy_lines(from_another_gpu=True)[0].startswith("Whole models, 90 recordings")
    assert accuracy_lines(from_another_gpu=False)[0].startswith("Whole models, 34 steps")
