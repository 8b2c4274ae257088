"""Does a real kernel answer each request once, while cells run too, and does nothing leak?"""

from __future__ import annotations

from importlib.resources import as_file, files

import pytest

from surfer_lab.report.example import EXAMPLE_FILE
from tests.panel.conftest import CELL


def test_the_kernel_opens_a_comm_to_front_ends_that_wait_for_it(kernel):
    opened = [message["content"] for message in kernel.messages("comm_open")]
    assert [content["target_name"] for content in opened] == ["surfer_lab"]
    assert opened[0]["data"]["kind"] == "loaded"


def test_a_greeting_tells_versions_and_history(kernel, predicted):
    comm, prediction = predicted
    hello = kernel.answer(kernel.ask(comm, "hello", protocol=1, version="0", schema_version=2))
    assert hello["kind"] == "hello"
    assert (hello["protocol"], hello["schema_version"]) == (1, 2)
    assert [entry["provenance"]["id"] for entry in hello["entries"]] == [prediction]
    assert hello["entries"][0]["is_live"]


def test_a_prediction_is_announced_as_run_and_again_with_its_grid(kernel, predicted):
    _, prediction = predicted
    views = [data["view"] for data in kernel.comm_data() if data.get("kind") == "predicted"]
    mine = [view for view in views if view["provenance"]["id"] == prediction]
    assert "grid" not in mine[0]
    assert mine[-1]["grid"]["precisions"] == ["as-run", "amp"]
    assert mine[-1]["rows"]["gpu"] == mine[0]["rows"]["gpu"]
    assert mine[-1]["provenance"]["cell"] == "cell-1"
    assert mine[-1]["provenance"]["notebook"] == "work/train.ipynb"


def test_the_cells_output_is_updated_in_place(kernel, predicted):
    shown = [
        message["content"]
        for message in [*kernel.messages("display_data"), *kernel.messages("update_display_data")]
        if "application/vnd.surfer-lab.prediction+json" in message["content"]["data"]
    ]
    assert len({content["transient"]["display_id"] for content in shown}) == 1
    last = shown[-1]["data"]["application/vnd.surfer-lab.prediction+json"]
    assert last["grid"]["compiles"] == ["off", "default"]


def test_requests_are_answered_while_a_cell_is_busy(kernel, predicted):
    comm, prediction = predicted
    subshell = kernel.subshell()
    busy = kernel.start("import time\nfor _ in range(200):\n    time.sleep(0.05)\nprint('end of the busy cell')")
    view = kernel.answer(kernel.ask(comm, "view", prediction=prediction, subshell=subshell))
    grid = kernel.answer(
        kernel.ask(comm, "grid", prediction=prediction, gpus=["L4"], precisions=["fp32"], subshell=subshell)
    )
    ended = [message for message in kernel.messages("stream") if "busy cell" in message["content"]["text"]]
    assert not ended, "answered only after the cell"
    assert view["view"]["name"] == "small"
    assert grid["grid"]["gpus"] == ["L4"]
    kernel.manager.interrupt_kernel()
    assert "KeyboardInterrupt" in kernel.finish(busy)


@pytest.mark.parametrize(
    ("kind", "body", "error"),
    [
        ("view", {"prediction": "nobody"}, "refused"),
        ("view", {}, "unknown"),
        ("nonsense", {}, "unknown"),
        ("hello", {"protocol": 99, "version": "9", "schema_version": 9}, "version"),
        ("grid", {"prediction": "nobody"}, "refused"),
        ("trace", {"path": "no/such/file.json"}, "refused"),
        ("compare", {"predictions": ["one"]}, "refused"),
        ("view", {"prediction": "x" * 2_100_000}, "too-large"),
    ],
)
def test_what_cannot_be_answered_is_answered_by_a_failure(kernel, predicted, kind, body, error):
    comm, _ = predicted
    failure = kernel.answer(kernel.ask(comm, kind, **body))
    assert failure["kind"] == "failure"
    assert failure["error"] == error
    assert failure["remedy"]


def test_every_request_is_answered_exactly_once(kernel, predicted):
    comm, prediction = predicted
    asked = [
        kernel.ask(comm, kind, prediction=prediction, **body)
        for _ in range(5)
        for kind, body in (
            ("view", {}),
            ("timeline", {}),
            ("operations", {"gpu": "L4", "by": "module"}),
            ("figures", {"names": ["step_range"]}),
            ("price", {"gpu": "L4", "usd_per_hour": 0.5}),
        )
    ]
    for name in asked:
        assert kernel.answer(name)["kind"] != "failure"
    kernel.answer(kernel.ask(comm, "history"))
    ids = [data.get("id") for data in kernel.comm_data() if data.get("kind") != "progress"]
    assert all(ids.count(name) == 1 for name in asked)


def test_an_own_price_is_in_the_view_that_answers(kernel, predicted):
    comm, prediction = predicted
    view = kernel.answer(kernel.ask(comm, "price", prediction=prediction, gpu="L4", usd_per_hour=0.25))["view"]
    assert "your price" in {price["note"] for price in view["prices"]}
    assert view["provenance"]["id"] == prediction
    again = kernel.answer(kernel.ask(comm, "price", prediction=prediction, gpu="L4", usd_per_hour=None))["view"]
    assert "your price" not in {price["note"] for price in again["prices"]}


def test_a_prediction_that_is_displayed_is_announced_too(kernel, predicted):
    code = (
        "import surfer_lab\nfrom surfer_lab.report.example import example_trace\n"
        "surfer_lab.predict(example_trace(), on=['L4'], name='displayed')"
    )
    assert kernel.run(code) is None
    told = kernel.wait(lambda data: data.get("kind") == "predicted" and data["view"]["name"] == "displayed")
    assert told["entry"]["is_live"]
    assert told["view"]["grid"]["compiles"] == ["off", "default"]


def test_a_trace_file_is_read_and_predicted_with_progress(kernel, predicted):
    comm, _ = predicted
    with as_file(files("surfer_lab.report").joinpath("examples", EXAMPLE_FILE)) as path:
        name = kernel.ask(comm, "trace", path=str(path))
        view = kernel.answer(name)["view"]
    assert view["name"] == EXAMPLE_FILE
    assert view["provenance"]["source"] == "file"
    assert view["provenance"]["file"] == EXAMPLE_FILE
    said = [data["text"] for data in kernel.comm_data() if data.get("id") == name and data["kind"] == "progress"]
    assert "predicting" in said


def test_nothing_leaks_over_reloads_and_reregistrations(kernel, predicted):
    count = "len(__import__('comm').get_comm_manager().comms)"
    listeners = "len(get_ipython().events.callbacks['pre_run_cell'])"
    targets = "len(__import__('comm').get_comm_manager().targets)"
    before = [kernel.value(what) for what in (count, listeners, targets)]
    for _ in range(4):
        comm = kernel.open()
        kernel.answer(kernel.ask(comm, "hello", protocol=1, version="0", schema_version=2))
        kernel.run("import surfer_lab.panel; surfer_lab.panel.register()")
        kernel.send("comm_close", {"comm_id": comm, "data": {}})
    assert [kernel.value(what) for what in (count, listeners, targets)] == before
    links = "__import__('surfer_lab.panel.registration', fromlist=['x']).current().end.link_count"
    assert int(kernel.value(links)) == 2  # the one that the kernel opened, and the tests'


def test_unloading_takes_everything_away(kernel, predicted):
    kernel.run("%unload_ext surfer_lab")
    assert kernel.value("'surfer_lab' in __import__('comm').get_comm_manager().targets") == "False"
    assert kernel.run("%load_ext surfer_lab") is None
    assert kernel.run(CELL.format(name="again")) is None
    assert len(kernel.messages("comm_open")) == 2
