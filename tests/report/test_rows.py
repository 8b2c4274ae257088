"""Raw numbers as flat rows: fastest first, a unit in every name, CSV that reads back."""

from __future__ import annotations

import csv
import io

import pytest

from surfer_lab.report.rows import csv_of, flat_rows
from tests.planner.predictions import trace
from tests.planner.test_outcome import answers


def test_rows_are_fastest_first_and_numbers_are_plain():
    rows = flat_rows(answers(trace(), batch_size=22))
    assert [row["gpu"] for row in rows] == ["Fast", "V100"]
    assert rows[0]["step_ms"] == 55
    assert rows[0]["samples_per_s"] == pytest.approx(400)
    assert rows[1]["usd_per_hour"] is None


def test_numbers_have_the_digits_that_a_prediction_is_worth():
    read = csv.reader(io.StringIO(csv_of(answers(trace(), batch_size=7))))
    for row in read:
        numbers = [text for text in row if text.replace(".", "").isdigit()]
        assert all(len(text.replace(".", "").strip("0")) <= 6 for text in numbers)


def test_csv_reads_back():
    rows = list(csv.DictReader(io.StringIO(csv_of(answers(trace())))))
    assert [row["gpu"] for row in rows] == ["Fast", "V100"]
    assert float(rows[0]["usd_per_1000_steps"]) == pytest.approx(0.055)
    assert rows[1]["usd_per_hour"] == ""
