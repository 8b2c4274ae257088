"""What-ifs as worded: marks on the curve, what is left out, who holds a step together, shares that sum to 1."""

from __future__ import annotations

import pytest

from surfer_lab.engine.compilation import CompileMode
from surfer_lab.engine.precision import Precision
from surfer_lab.planner.memory import Fit
from surfer_lab.planner.sharding import ShardedNeed
from surfer_lab.planner.what_ifs import Alternative, BatchCurve, BatchPoint, Blocked
from surfer_lab.report.curve_svg import curve_svg
from surfer_lab.view.what_ifs import (
    WhatIfs,
    alternative_rows,
    batch_sentence,
    blocked_rows,
    curve_figure,
    sharded_sentence,
    step_words,
)
from tests.planner.predictions import MS, gpu
from tests.view.views import view

CARD = gpu("Card 24GB", memory_gb=24)


def point(batch, rate, fit=Fit.FITS):
    step = batch / rate * 1e9
    return BatchPoint(
        batch_size=batch, step_ns=step, low_ns=0.8 * step, high_ns=1.25 * step, samples_per_s=rate,
        memory_bytes=batch * 10**9, memory_high_bytes=batch * 10**9, fit=fit,
    )  # fmt: skip


CURVE = BatchCurve(
    gpu=CARD, points=(point(8, 100), point(16, 180), point(20, 190), point(32, 199, Fit.DOES_NOT_FIT)), knee=16,
    largest_fitting=20,
)  # fmt: skip


def alternative(precision, compiled, ms, blocker=None):
    ns = None if ms is None else ms * MS
    return Alternative(
        precision=precision, compile=compiled, step_ns=ns, low_ns=ns, high_ns=ns, memory_bytes=None, fit=Fit.UNKNOWN,
        blocker=blocker,
    )  # fmt: skip


def test_knee_and_largest_fitting_batch_are_marked_in_figure_table_and_sentence():
    figure = curve_figure(CURVE)
    assert [one.mark for one in figure.points] == ["", "knee", "largest that fits", ""]
    assert [row[-1] for row in figure.table.rows] == [one.mark for one in figure.points]
    assert batch_sentence(CURVE).text == (
        "up to 20 fit on Card 24GB (24 GB); from 16 on (180 samples/s) a larger one gains less than a tenth (at 32: "
        "199 samples/s)."
    )


def test_what_does_not_fit_is_drawn_dashed_and_said():
    drawn = curve_svg(curve_figure(CURVE))
    assert "s-beyond" in drawn
    assert "does not fit" in drawn


def test_where_not_one_sample_fits_nothing_is_said_of_a_knee():
    curve = BatchCurve(gpu=CARD, points=(point(1, 5, Fit.DOES_NOT_FIT),), knee=1, largest_fitting=0)
    assert batch_sentence(curve).text == "not one sample fits on Card 24GB (24 GB)."


def test_alternatives_are_compared_with_the_step_as_run_and_graphs_shown_only_where_they_gain():
    off, default, graphs = CompileMode.OFF, CompileMode.DEFAULT, CompileMode.REDUCE_OVERHEAD
    rows = alternative_rows(
        WhatIfs(
            precision=Precision.AMP_FP16,
            alternatives=(
                alternative(Precision.AS_RUN, off, 100), alternative(Precision.AS_RUN, default, 80),
                alternative(Precision.AS_RUN, graphs, 79.5), alternative(Precision.AMP_FP16, off, 50),
                alternative(Precision.AMP_FP16, default, 40), alternative(Precision.AMP_FP16, graphs, 30),
                alternative(Precision.BF16, off, None, "no bf16"),
                alternative(Precision.BF16, default, None, "no bf16"),
            ),
        )
    )  # fmt: skip
    assert [row.label for row in rows] == [
        "as run", "as run, compiled", "AMP fp16", "AMP fp16, compiled", "AMP fp16, compiled, CUDA graphs", "pure bf16",
    ]  # fmt: skip
    assert [row.label for row in rows if row.is_shown] == ["AMP fp16"]
    assert rows[2].faster.text == "2.00x faster"
    assert rows[-1].blocker == "no bf16"
    assert rows[-1].step.value is None


def test_who_holds_a_step_together_is_told_for_the_largest_cards_and_for_80_gb():
    needs = [
        ShardedNeed(gpu=gpu(f"Card {size}", memory_gb=size), gpu_count=count, bytes_each=int(0.9e9 * size))
        for size, count in ((288, 6), (80, 20), (24, 90), (48, 40))
    ]
    text = sharded_sentence(needs).text
    assert text.startswith("it needs 6 x Card 288 (259 of 288 GB each), or 20 x Card 80 (72 of 80 GB each), or 40 x ")
    assert "FSDP" in text
    assert sharded_sentence([]) is None


def test_the_title_says_what_was_asked():
    asked = WhatIfs(precision=Precision.AMP_BF16, compiled=CompileMode.REDUCE_OVERHEAD)
    assert step_words(asked) == ", AMP bf16, compiled, CUDA graphs"
    assert step_words(WhatIfs()) == ""


def test_gpus_without_an_answer_are_named_by_what_they_lack():
    rows = blocked_rows([Blocked(gpu=CARD, why="Card 24GB has no bf16 tensor cores")])
    assert [(row.gpu, row.why) for row in rows] == [("Card 24GB", "no bf16 tensor cores")]


def test_shares_of_coverage_sum_to_one():
    shares = view(unscaled="kernels of a CUDA graph").coverage
    assert shares is not None
    assert shares.unscaled_of_items > 0
    for of in ("items", "time"):
        total = sum(getattr(shares, f"{kind}_of_{of}") for kind in ("family", "fallback", "unscaled"))
        assert total == pytest.approx(1, abs=1e-3)
