"""Is a prediction shown at once, then finished, whoever watches and whatever goes wrong?"""

from __future__ import annotations

import logging
from functools import partial

import pytest

from surfer_lab.panel import kept_views
from surfer_lab.panel.book import Book
from surfer_lab.panel.kernel_end import KernelEnd
from surfer_lab.panel.publishing import publish_in_steps
from surfer_lab.panel.worker import Worker
from surfer_lab.report.bundle import MIME_TYPE, mime_bundle
from surfer_lab.report.example import example_trace
from surfer_lab.report.prediction import predict
from tests.panel.test_kernel_end import Channel, hello

PATIENCE_S = 120


@pytest.fixture
def end(tmp_path, monkeypatch):
    monkeypatch.setenv(kept_views.FOLDER_VARIABLE, str(tmp_path))
    return KernelEnd(Book(), Worker())


@pytest.fixture
def prediction():
    return predict(example_trace(), on=["L4", "H100 SXM5"], name="example")


def published(end, prediction):
    """The forms in which it was shown, in order."""
    shown = []
    publish_in_steps(
        end, prediction, lambda bundle: shown.append(bundle[MIME_TYPE]), mime_bundle(prediction.first_view)
    )
    return shown


def has(view, *parts):
    return [part in view for part in parts]


def test_it_is_shown_as_run_then_with_its_grid_then_with_its_what_ifs(end, prediction):
    shown = published(end, prediction)
    assert [has(view, "grid", "alternatives") for view in shown] == [[False, False], [True, False], [True, True]]
    assert [view["rows"] for view in shown[1:]] == [shown[0]["rows"]] * 2
    assert end.book.get(prediction.provenance.id).view.grid is not None


def test_with_an_audience_the_cell_does_not_wait(end, prediction, monkeypatch):
    channel = Channel()
    end.open(channel)
    hello(channel)
    with end.worker.quiet():  # nothing is finished before the cell is over
        shown = published(end, prediction)
        assert [has(view, "grid") for view in shown] == [[False]]
    assert end.worker.wait(PATIENCE_S)
    assert [has(view, "grid") for view in shown] == [[False], [True], [True]]
    kinds = [data["kind"] for data in channel.sent]
    assert kinds == ["hello", "predicted", "predicted", "predicted", "grid-ready"]


def test_an_interrupt_leaves_what_is_shown(end, prediction, monkeypatch):
    def interrupted(_between=None):
        raise KeyboardInterrupt

    monkeypatch.setattr(prediction, "compute_grid", interrupted)
    assert len(published(end, prediction)) == 1
    assert end.book.get(prediction.provenance.id).prediction is prediction


def test_a_fault_of_ours_leaves_what_is_shown_and_is_logged(end, prediction, monkeypatch, caplog):
    monkeypatch.setattr(prediction, "compute_grid", partial(int, "no number"))
    with caplog.at_level(logging.ERROR):
        assert len(published(end, prediction)) == 1
    assert "finishing example failed" in caplog.text
