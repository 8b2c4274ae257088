"""What does the kernel's end do with comms that nobody closes, hostile messages, and answers that are too large?"""

from __future__ import annotations

import threading

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.panel import kept_views, kernel_end
from surfer_lab.panel.book import Book
from surfer_lab.panel.kernel_end import KernelEnd
from surfer_lab.panel.messages import Forgotten
from surfer_lab.panel.worker import Worker
from surfer_lab.view.detail_model import Provenance
from surfer_lab.view.stored import stored
from tests.trace.written import Written
from tests.view.views import view

PATIENCE_S = 60


class Channel:
    """A comm without a kernel; what was sent is kept."""

    def __init__(self, name="comm"):
        self.comm_id = name
        self.sent = []
        self.is_closed = False
        self._on_msg = self._on_close = None

    def send(self, data):
        if self.is_closed:
            raise OSError("the socket is gone")
        self.sent.append(data)

    def on_msg(self, callback):
        self._on_msg = callback

    def on_close(self, callback):
        self._on_close = callback

    def close(self):
        self.is_closed = True

    def receive(self, data):
        self._on_msg({"content": {"data": data}})

    def leave(self):
        self._on_close({})


@pytest.fixture
def end(tmp_path, monkeypatch):
    monkeypatch.setenv(kept_views.FOLDER_VARIABLE, str(tmp_path))
    return KernelEnd(Book(), Worker())


@pytest.fixture
def channel(end):
    opened = Channel()
    end.open(opened)
    return opened


def kept(name, **changes):
    return stored(msgspec.structs.replace(view(**changes), provenance=Provenance(id=name, notebook="a.ipynb")))


def hello(channel, notebook="a.ipynb"):
    channel.receive(
        {"kind": "hello", "id": "h", "protocol": 1, "version": "0", "schema_version": 2, "notebook": notebook}
    )
    return channel.sent[-1]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
        max_leaves=8,
    )
)
def test_whatever_is_sent_is_answered_once_and_breaks_nothing(end, channel, data):
    before = len(channel.sent)
    channel.receive(data)
    assert len(channel.sent) == before + 1
    assert channel.sent[-1]["kind"] == "failure"


def test_a_front_end_that_went_away_is_forgotten_when_it_is_told(end, channel):
    channel.is_closed = True
    end.announce(Forgotten(prediction="p"))
    assert end.link_count == 0
    assert not end.is_watched


def test_a_comm_that_nobody_greets_on_is_no_audience(end, channel):
    assert not end.is_watched  # a notebook run headless is told of the comm, and never answers
    hello(channel)
    assert end.is_watched


def test_comms_that_nobody_closes_do_not_pile_up(end):
    opened = [Channel(f"comm {place}") for place in range(100)]
    for one in opened:
        end.open(one)
    assert end.link_count == kernel_end._MOST_OPEN
    assert opened[0].is_closed
    assert not opened[-1].is_closed


def test_an_announcement_that_is_too_large_is_left_out(end, channel, monkeypatch):
    monkeypatch.setattr(kernel_end, "MOST_BYTES", 40)
    end.announce(Forgotten(prediction="p" * 40))
    end.announce(Forgotten(prediction="p"))
    assert [data["prediction"] for data in channel.sent] == ["p"]


def test_an_answer_that_is_too_large_becomes_a_failure(end, channel, monkeypatch):
    end.book.add(kept("one"))
    monkeypatch.setattr(kernel_end, "MOST_BYTES", 500)
    channel.receive({"kind": "view", "id": "v", "prediction": "one"})
    assert (channel.sent[-1]["error"], channel.sent[-1]["id"]) == ("too-large", "v")


def test_views_of_an_earlier_kernel_come_back_with_the_greeting(end, channel):
    kept_views.keep(kept("earlier"), "a.ipynb")
    entries = hello(channel)["entries"]
    assert [(entry["provenance"]["id"], entry["is_live"]) for entry in entries] == [("earlier", False)]
    channel.receive({"kind": "view", "id": "v", "prediction": "earlier"})
    assert channel.sent[-1]["view"]["name"] == "resnet"
    channel.receive({"kind": "forget", "id": "f", "prediction": "earlier"})
    assert channel.sent[-1] == {"kind": "done", "id": "f", "entries": []}
    assert kept_views.kept("a.ipynb") == []


def test_another_notebook_sees_none_of_them(end, channel):
    kept_views.keep(kept("earlier"), "a.ipynb")
    assert hello(channel, notebook="b.ipynb")["entries"] == []


def test_a_fault_of_ours_is_answered_and_names_its_place(end, channel, monkeypatch):
    def broken(*_args):
        raise ZeroDivisionError("by <b>zero</b>")

    monkeypatch.setattr(kernel_end, "answer", broken)
    channel.receive({"kind": "history", "id": "x"})
    failure = channel.sent[-1]
    assert (failure["id"], failure["error"]) == ("x", "fault")
    assert "ZeroDivisionError" in failure["seen"]
    assert "test_kernel_end.py" in failure["detail"]


def test_a_long_request_can_be_cancelled_and_is_still_answered_once(end, channel, monkeypatch):
    begun, cancelled = threading.Event(), threading.Event()

    def long(request, asked):
        begun.set()
        assert cancelled.wait(PATIENCE_S)
        asked.breathe()

    monkeypatch.setattr(kernel_end, "answer", long)
    channel.receive({"kind": "trace", "id": "t", "path": "trace.json"})
    assert begun.wait(PATIENCE_S)
    channel.receive({"kind": "trace", "id": "t", "path": "trace.json"})
    assert channel.sent[-1]["error"] == "refused"
    channel.receive({"kind": "cancel", "id": "c", "request": "t"})
    assert channel.sent[-1] == {"kind": "cancelled", "id": "c", "was_running": True}
    cancelled.set()
    assert end.worker.wait(PATIENCE_S)
    assert channel.sent[-1]["error"] == "cancelled"
    channel.receive({"kind": "cancel", "id": "d", "request": "t"})
    assert channel.sent[-1]["was_running"] is False


def test_a_trace_that_names_no_gpu_is_answered_with_those_it_may_be_of(end, channel, tmp_path):
    path = tmp_path / "step.pt.trace.json"
    path.write_bytes(Written().steps(3).text(deviceProperties=[]))
    channel.receive({"kind": "trace", "id": "t", "path": str(path)})
    assert end.worker.wait(PATIENCE_S)
    refused = channel.sent[-1]
    assert refused["kind"] == "failure"
    assert len(refused["gpus"]) == len(load_catalog())
    channel.receive({"kind": "trace", "id": "u", "path": str(path), "origin": "T4"})
    assert end.worker.wait(PATIENCE_S)
    assert channel.sent[-1]["kind"] == "view"


def test_closing_a_tab_stops_what_it_asked_for(end, channel, monkeypatch):
    begun, left, stopped = threading.Event(), threading.Event(), []

    def long(request, asked):
        begun.set()
        assert left.wait(PATIENCE_S)
        try:
            asked.breathe()
        except BaseException as error:
            stopped.append(type(error).__name__)
            raise

    monkeypatch.setattr(kernel_end, "answer", long)
    channel.receive({"kind": "trace", "id": "t", "path": "trace.json"})
    assert begun.wait(PATIENCE_S)
    channel.leave()
    left.set()
    assert end.worker.wait(PATIENCE_S)
    assert stopped == ["Stopped"]
    assert end.link_count == 0


def test_predictions_are_compared_on_the_gpus_that_all_have(end, channel):
    from tests.view.views import FAST, V100

    end.book.add(kept("one"))
    end.book.add(kept("two", speeds=((V100, 1.0), (FAST, 8.0))))
    channel.receive({"kind": "compare", "id": "c", "predictions": ["one", "two"]})
    answer = channel.sent[-1]
    assert [row["gpu"] for row in answer["rows"]] == ["Fast 80GB", "V100 SXM2 16GB"]
    assert answer["missing"] == ["Cheap 24GB"]
    fast = answer["rows"][0]
    # 90 / 4 + 30 = 52.5 ms; 90 / 8 + 30 = 41.25 ms
    assert [step[0] for step in fast["step_ms"]] == pytest.approx([52.5, 41.25], rel=1e-3)
    assert fast["faster"] == pytest.approx([1, 52.5 / 41.25], rel=1e-3)


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "", "x" * 5000, "name with spaces"])
def test_an_id_from_a_browser_names_no_other_file(end, channel, name, tmp_path):
    kept_views.keep(kept(name), "a.ipynb")
    outside = [path for path in tmp_path.rglob("*") if path.is_file() and "views" not in path.parts]
    assert outside == []
    hello(channel)
    channel.receive({"kind": "forget", "id": "f", "prediction": name})
    assert channel.sent[-1]["kind"] == "done"
