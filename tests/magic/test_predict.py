"""`%%predict` in a real shell: the cell runs once, the answer follows, nothing else changes."""

from __future__ import annotations

import json

import jsonschema
import msgspec
import pytest
from IPython.display import DisplayHandle
from IPython.utils.capture import capture_output

import surfer_lab
from surfer_lab.magic.history import history
from surfer_lab.magic.predict_cell import _updates_of
from surfer_lab.planner.options import PredictOptions
from surfer_lab.report.bundle import MIME_TYPE
from surfer_lab.report.prediction import predict_as_asked
from surfer_lab.view.stored import restored
from surfer_lab.view.stored_model import StoredView
from tests.planner.predictions import trace

torch = pytest.importorskip("torch")

SETUP = """
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
inputs = torch.randn(32, 8)
runs = 0
"""
LOOP = """
for step in range(6):
    optimizer.zero_grad()
    loss = model(inputs).square().mean()
    loss.backward()
    optimizer.step()
runs += 1
print("trained", runs)
"""


@pytest.fixture
def trained(shell):
    shell.run(SETUP)
    return shell


@pytest.fixture
def predicted(shell):
    """A shell in which a T4 and an L4 were predicted from a trace made by hand."""
    options = PredictOptions(on=("T4", "L4"), batch_size=32)
    history.add(predict_as_asked(trace(), options, name=history.free_name()))
    return shell


def bundles(shell):
    return [data for data in shell.displayed if MIME_TYPE in data]


def test_the_cell_runs_once_and_its_output_comes_first_then_the_answer(trained):
    result = trained.run("%%predict" + LOOP)
    assert result.success, trained.err
    assert result.result is None
    assert trained["runs"] == 1
    assert trained.out.startswith("trained 1")
    (bundle,) = bundles(trained)
    assert set(bundle) == {MIME_TYPE, "text/html", "text/plain"}
    assert "Training step, batch 32" in bundle["text/plain"]
    assert "<script>" in bundle["text/html"]
    jsonschema.validate(json.loads(json.dumps(bundle[MIME_TYPE])), msgspec.json.schema(StoredView))


def test_the_model_ends_as_after_a_plain_run(trained):
    trained.run("%%predict" + LOOP)
    predicted = {name: value.clone() for name, value in trained["model"].state_dict().items()}
    trained.run(SETUP)
    trained.run(LOOP)
    for name, value in trained["model"].state_dict().items():
        assert torch.equal(value, predicted[name])


def test_operations_point_to_the_lines_of_the_cell(trained):
    trained.run("%%predict" + LOOP)
    (bundle,) = bundles(trained)
    sources = " ".join(row.get("source", "") for row in bundle[MIME_TYPE]["operations"])
    assert "In[" in sources
    assert ":4" in sources  # the line of model(inputs), the magic's own counted


def test_a_cell_is_called_by_the_number_that_it_is_shown_with(trained, monkeypatch):
    monkeypatch.setattr(trained.ip, "get_parent", lambda: {"metadata": {"cellId": "this cell"}}, raising=False)
    number = trained.run("%%predict" + LOOP).execution_count
    (bundle,) = bundles(trained)
    sources = {row.get("source", "").split(" ")[0] for row in bundle[MIME_TYPE]["operations"]}
    assert f"In[{number}]:4" in sources
    assert bundle[MIME_TYPE]["provenance"]["cells"] == {f"In[{number}]": "this cell"}


def test_options_choose_gpus_prices_and_the_name(trained):
    trained.run("%%predict --on H100 SXM5, L4 --price L4=0.5 --batch-size 64 --name mine" + LOOP)
    view = bundles(trained)[0][MIME_TYPE]
    assert set(view["rows"]["gpu"]) == {"H100 SXM5", "L4"}
    assert view["name"] == "mine"
    assert view["title"] == "Training step, batch 64"
    assert view["command"] == "%%predict --on 'H100 SXM5,L4' --batch-size 64 --price L4=0.5 --name mine"
    rows = restored(msgspec.convert(view, StoredView)).rows
    assert next(row for row in rows if row.gpu == "L4").usd_per_hour.text == "$0.500"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--onn H100", "did you mean --on"),
        ("--on H1000", "no GPU of the catalogue"),
        ("--on A100", "name one of them"),
        ("--price nonesuch=1", "no GPU of the catalogue"),
        ("--batch-size x", "whole number above 0"),
        ("H100", "one of --on"),
    ],
)
def test_what_is_wrong_is_told_before_the_cell_runs(trained, line, said):
    result = trained.run(f"%%predict {line}{LOOP}")
    assert not result.success
    assert said in trained.err
    assert "Traceback" not in trained.err + trained.out
    assert trained["runs"] == 0
    assert not trained.displayed


def test_a_second_predict_line_in_a_cell_is_told_once_before_it_runs(trained):
    result = trained.run(f"%%predict\n%%predict --on T4{LOOP}")
    assert not result.success and trained["runs"] == 0
    assert (trained.out + trained.err).count("stands twice") == 1


def test_the_users_error_leaves_as_in_a_plain_cell_and_nothing_is_answered(trained):
    result = trained.run("%%predict" + LOOP + "raise ValueError('mine')")
    assert repr(result.error_in_exec) == "ValueError('mine')"
    assert "surfer_lab" not in trained.out
    assert not bundles(trained)
    trained.run("%surfer last")
    assert "nothing was predicted" in trained.err


def test_an_interrupted_loop_is_answered_from_the_steps_that_ran(trained):
    result = trained.run("%%predict" + LOOP + "raise KeyboardInterrupt")
    assert isinstance(result.error_in_exec, KeyboardInterrupt)
    assert len(bundles(trained)) == 1


def test_a_cell_without_torch_work_is_told_so_and_does_not_fail(trained):
    result = trained.run("%%predict\nx = 1\nx + 1")
    assert result.success
    assert "Out[2]: 2" in trained.out
    assert "cannot predict this cell" in trained.out
    assert not bundles(trained)


def test_a_missing_torch_is_told_before_anything_runs(trained, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name, package=None: None)
    trained.run("%%predict" + LOOP)
    assert "torch is not installed" in trained.err
    assert "%pip install torch" in trained.err
    assert trained["runs"] == 0


def test_predictions_are_kept_by_name_and_can_be_assigned(trained):
    trained.run("%%predict --on T4" + LOOP)
    trained.run("%%predict --on T4 --name second" + LOOP)
    trained.run("p = %surfer last")
    assert trained["p"].name == "second"
    assert trained["p"] is surfer_lab.last()
    assert surfer_lab.last("prediction 1").gpus == ("T4",)
    trained.run("%surfer list")
    assert [line.split(":")[0] for line in trained.out.strip().splitlines()] == ["prediction 1", "second"]
    trained.run("%surfer last secnd")
    assert "second" in trained.err


def test_the_table_has_raw_numbers_with_their_units(predicted):
    table = surfer_lab.last().table()
    assert set(table.index) == {"T4", "L4"}
    assert {"step_ms", "usd_per_hour", "samples_per_s", "memory_gb"} <= set(table.columns)
    assert (table.step_ms > 0).all()


def test_on_gives_one_outcome_by_any_of_its_names(predicted):
    prediction = surfer_lab.last()
    assert prediction.on("Tesla T4") is prediction.on("T4")
    with pytest.raises(surfer_lab.SurferError, match="was not predicted here"):
        prediction.on("A10")


@pytest.mark.parametrize("suffix", ["html", "htm", "md", "txt", "json", "csv"])
def test_a_report_is_written_in_the_form_of_its_suffix(predicted, tmp_path, suffix):
    predicted.run(f"%surfer report {tmp_path / 'answer'}.{suffix}")
    assert "Written" in predicted.out, predicted.err
    assert "T4" in (tmp_path / f"answer.{suffix}").read_text(encoding="utf-8")


def test_a_report_of_no_known_form_is_refused(predicted, tmp_path):
    predicted.run(f"%surfer report {tmp_path / 'answer.docx'}")
    assert ".html" in predicted.err


@pytest.mark.parametrize(
    ("line", "said"),
    [("", "%%predict [options]"), ("help", "--batch-size"), ("gpus", "H100 SXM5"), ("gpus l4", "Ada Lovelace")],
)
def test_the_line_magic_answers(shell, line, said):
    shell.run(f"%surfer {line}")
    assert said in shell.out


@pytest.mark.parametrize(
    ("line", "said"), [("lst", "last"), ("gpus H1000", "no GPU of the catalogue"), ("last", "%%predict")]
)
def test_the_line_magic_teaches(shell, line, said):
    shell.run(f"%surfer {line}")
    assert said in shell.err


def test_help_lists_the_options_and_does_not_run_the_cell(trained):
    trained.run("%%predict --help" + LOOP)
    assert "--dataset-size" in trained.out
    assert trained["runs"] == 0


def test_a_prediction_shows_itself_where_it_is_the_last_expression(predicted):
    data = predicted.ip.display_formatter.format(surfer_lab.last())[0]
    assert {MIME_TYPE, "text/html", "text/plain"} <= set(data)


def test_loading_the_extension_loads_no_torch():
    import subprocess
    import sys

    code = (
        "import sys\nfrom IPython.core.interactiveshell import InteractiveShell\n"
        "InteractiveShell.instance().run_line_magic('load_ext', 'surfer_lab')\nprint('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_fault_of_our_own_is_told_and_does_not_stop_the_notebook(trained, monkeypatch):
    def broken(*_arguments, **_options):
        raise ZeroDivisionError("float division\x1b[31m")

    monkeypatch.setattr("surfer_lab.magic.predict_cell.predict_as_asked", broken)
    result = trained.run("%%predict" + LOOP)
    assert result.success
    assert "ZeroDivisionError" in trained.out and "test_predict.py" in trained.out
    assert "\x1b" not in trained.out and "Traceback" not in trained.out
    assert trained["runs"] == 1


@pytest.mark.parametrize("name", ["a/b/../c", "\x1b[31m<script>", "..", "\u202ex"])
def test_a_name_is_listed_plainly_and_names_a_file_in_this_folder(predicted, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    options = PredictOptions(on=("T4",), name=name)
    history.add(predict_as_asked(trace(), options, name="x"))
    predicted.run("%surfer list")
    assert "\x1b" not in predicted.out and "\u202e" not in predicted.out
    predicted.run("%surfer report")
    assert "Written" in predicted.out, predicted.err
    assert len(list(tmp_path.glob("*.html"))) == 1


def test_what_follows_behind_a_cell_is_not_caught_by_a_later_one(shell):
    show = _updates_of(shell.ip, DisplayHandle("surfer"))
    with capture_output() as caught:
        show({"text/plain": "with its grid"})
    assert caught.outputs == []
    assert shell.displayed == [{"text/plain": "with its grid"}]
