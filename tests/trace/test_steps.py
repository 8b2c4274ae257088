"""What is a step, where do its marks come from, and which kernels are in it?"""

from __future__ import annotations

import numpy as np

from surfer_lab.trace import read_bytes, step_of_kernels
from surfer_lab.trace.tables import StepSource
from tests.trace.written import STEP_KERNELS, STEP_US, Written

US = 1_000


def test_the_step_is_the_median_of_the_marks():
    written = Written()
    for number, (start, length) in enumerate([(0, 900), (1000, 1000), (2000, 1500)]):
        written.annotation(f"ProfilerStep#{number}", start, length)
        written.launched("volta_sgemm_128x64_nn", start + 10, start + 20, 30)
    trace = read_bytes(written.text())
    assert trace.step_ns == 1000 * US and trace.steps.complete.all()


def test_a_mark_that_the_file_calls_unfinished_is_kept_and_not_counted():
    written = Written().step(1)
    written.annotation("ProfilerStep#2", 1000, 300, finished=False)
    trace = read_bytes(written.text())
    assert trace.steps.complete.tolist() == [True, False]
    assert trace.step_ns == STEP_US * US


def test_without_marks_a_step_runs_from_one_optimizer_step_to_the_next():
    trace = read_bytes(Written().steps(5, marks=False).text())
    assert trace.step_source is StepSource.OPTIMIZER
    assert trace.step_ns == STEP_US * US
    assert trace.steps.complete.tolist() == [False, True, True, True, True]


def test_other_optimizers_lie_inside_the_steps_of_the_first():
    written = Written()
    for index in range(4):
        written.annotation("Optimizer.step#Adam.step", 1000 * index + 300, 50)
        written.annotation("Optimizer.step#SGD.step", 1000 * index + 600, 50)
        written.launched("vectorized_elementwise_kernel<4>", 1000 * index + 310, 1000 * index + 320, 10)
    trace = read_bytes(written.text())
    assert trace.step_ns == 1000 * US and trace.steps.complete.sum() == 3


def test_without_marks_and_optimizer_the_step_is_the_span_and_says_so():
    written = Written()
    written.launched("volta_sgemm_128x64_nn", 0, 20, 380)
    trace = read_bytes(written.text())
    assert trace.step_source is StepSource.SPAN
    assert trace.step_ns == trace.wall_ns == 400 * US
    assert any("whole recorded span" in warning.consequence for warning in trace.warnings)


def test_a_kernel_belongs_to_the_step_that_launched_it_though_it_runs_in_the_next():
    written = Written()
    written.annotation("ProfilerStep#0", 0, 100)
    written.annotation("ProfilerStep#1", 100, 100)
    written.launched("late", 90, 150, 20)
    written.kernel("launched before the file", 160, 10, correlation=1)
    written.kernel("outside", 260, 10, correlation=2)
    trace = read_bytes(written.text())
    steps = dict(zip(trace.kernels.name, step_of_kernels(trace).tolist(), strict=True))
    assert steps == {"late": 0, "launched before the file": 1, "outside": -1}


def test_every_kernel_of_marked_steps_has_exactly_one():
    trace = read_bytes(Written().steps(7).text())
    assert np.bincount(step_of_kernels(trace)).tolist() == [STEP_KERNELS] * 7
