"""The words of `%%tune`: what they mean, and what is said of those that are not known."""

from __future__ import annotations

from pathlib import Path

import pytest

from surfer_lab.errors import OptionError
from surfer_lab.planner.convergence.tune_options import TuneOptions, parse_tune_line


def test_a_line_is_read_word_by_word():
    name, options = parse_tune_line(
        'make --target 0.2 --workers=2 --batch-size 32 --merge-head --folder "my run" --resume'
    )
    assert name == "make"
    assert options == TuneOptions(
        target_loss=0.2, workers=2, batch_size=32, merge_head=True, folder=Path("my run"), resume=True
    )  # fmt: skip


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("make", "--target LOSS"),
        ("--target 1", "no factory"),
        ("one two --target 1", "several factories"),
        ("make --target", "no value"),
        ("make --target low", "is no LOSS"),
        ("make --target 1 --worker 3", "--workers"),
        ("make --target 1 --workers 0", "1 or more"),
        ("make --target 1 --workers 8 --batch-size 4", "a sample for each worker"),
        ("make --target 1 --resume", "--folder"),
        ("make --target 1 --price -2", "0 or more"),
        ("make --target 1 --price nan", "0 or more"),
        ('make --target "1', "close the quotes"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(line, said):
    with pytest.raises(OptionError, match=said):
        parse_tune_line(line)
