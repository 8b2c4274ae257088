"""Does the worker do what is urgent first, wait while a cell is measured, and stop what was cancelled?"""

from __future__ import annotations

import contextvars
import threading

import pytest

from surfer_lab.panel.worker import Stopped, Urgency, Worker

PATIENCE_S = 60


def test_an_urgent_request_runs_between_the_passes_of_what_is_being_finished():
    worker, order = Worker(), []
    begun, asked = threading.Event(), threading.Event()

    def finishing(job):
        order.append("first pass")
        begun.set()
        assert asked.wait(PATIENCE_S)
        worker.breathe(job)
        order.append("second pass")

    worker.submit(Urgency.FINISHING, finishing)
    assert begun.wait(PATIENCE_S)
    worker.submit(Urgency.FINISHING, lambda job: order.append("another prediction"))
    worker.submit(Urgency.REQUEST, lambda job: order.append("request"))
    asked.set()
    assert worker.wait(PATIENCE_S)
    assert order == ["first pass", "request", "second pass", "another prediction"]


def test_no_pass_begins_while_a_cell_is_measured():
    worker, passes = Worker(), []
    begun = threading.Event()

    def work(job):
        begun.set()
        worker.breathe(job)
        passes.append("pass")

    with worker.quiet():
        worker.submit(Urgency.FINISHING, work)
        assert begun.wait(PATIENCE_S)
        assert not passes
    assert worker.wait(PATIENCE_S)
    assert passes == ["pass"]


@pytest.mark.parametrize("urgency", list(Urgency))
def test_cancelled_work_ends_at_its_next_pass(urgency):
    worker, told = Worker(), []
    begun, cancelled = threading.Event(), threading.Event()

    def work(job):
        begun.set()
        assert cancelled.wait(PATIENCE_S)
        with pytest.raises(Stopped):
            worker.breathe(job)
        told.append(job.is_stopped)

    job = worker.submit(urgency, work)
    assert begun.wait(PATIENCE_S)
    job.stop()
    cancelled.set()
    assert worker.wait(PATIENCE_S)
    assert told == [True]


def test_work_runs_in_the_context_in_which_it_was_asked_for():
    cell = contextvars.ContextVar("cell", default="none")
    worker, seen = Worker(), []
    cell.set("third cell")
    worker.submit(Urgency.FINISHING, lambda job: seen.append(cell.get()))
    assert worker.wait(PATIENCE_S)
    assert seen == ["third cell"]
