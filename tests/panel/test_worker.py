"""Does the worker do what is urgent first, wait while a cell is measured, and stop what was cancelled?"""

from __future__ import annotations

import contextvars
import threading

import pytest

from surfer_lab.panel import worker as module
from surfer_lab.panel.worker import Duty, Stopped, Worker

PATIENCE_S = 60


def test_a_request_does_not_wait_for_a_prediction_that_is_being_finished():
    worker, order = Worker(), []
    begun, answered = threading.Event(), threading.Event()

    def finishing(job):
        begun.set()
        assert answered.wait(PATIENCE_S)
        order.append("finished")

    worker.submit(Duty.FINISHING, finishing)
    assert begun.wait(PATIENCE_S)
    worker.submit(Duty.REQUEST, lambda job: (order.append("answered"), answered.set()))
    assert worker.wait(PATIENCE_S)
    assert order == ["answered", "finished"]


def test_jobs_of_a_duty_run_one_after_the_other():
    worker, order = Worker(), []
    for number in range(20):
        worker.submit(Duty.REQUEST, lambda job, number=number: order.append(number))
    assert worker.wait(PATIENCE_S)
    assert order == list(range(20))


def test_no_pass_begins_while_a_cell_is_measured():
    worker, passes = Worker(), []
    begun = threading.Event()

    def work(job):
        begun.set()
        worker.breathe(job)
        passes.append("pass")

    with worker.quiet():
        worker.submit(Duty.FINISHING, work)
        assert begun.wait(PATIENCE_S)
        assert not passes
    assert worker.wait(PATIENCE_S)
    assert passes == ["pass"]


def test_a_cell_that_runs_for_long_does_not_hold_requests_up(monkeypatch):
    monkeypatch.setitem(module._QUIET_S, "request", 0.01)
    worker, passes = Worker(), []

    def work(job):
        worker.breathe(job)
        passes.append("pass")

    with worker.quiet():
        worker.submit(Duty.REQUEST, work)
        assert worker.wait(PATIENCE_S)
        assert passes == ["pass"]


@pytest.mark.parametrize("duty", list(Duty))
def test_cancelled_work_ends_at_its_next_pass(duty):
    worker, told = Worker(), []
    begun, cancelled = threading.Event(), threading.Event()

    def work(job):
        begun.set()
        assert cancelled.wait(PATIENCE_S)
        with pytest.raises(Stopped):
            worker.breathe(job)
        told.append(job.is_stopped)

    job = worker.submit(duty, work)
    assert begun.wait(PATIENCE_S)
    job.stop()
    cancelled.set()
    assert worker.wait(PATIENCE_S)
    assert told == [True]


def test_work_runs_in_the_context_in_which_it_was_asked_for():
    cell = contextvars.ContextVar("cell", default="none")
    worker, seen = Worker(), []
    cell.set("third cell")
    worker.submit(Duty.FINISHING, lambda job: seen.append(cell.get()))
    assert worker.wait(PATIENCE_S)
    assert seen == ["third cell"]
