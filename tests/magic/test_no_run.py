"""`%%predict --no-run` in a real shell: nothing computes, nothing leaks, and the step is known at any batch size."""

from __future__ import annotations

import json

import jsonschema
import msgspec
import pytest

import surfer_lab
from surfer_lab.report.bundle import MIME_TYPE
from surfer_lab.view.stored_model import StoredView

torch = pytest.importorskip("torch")

SETUP = """
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 48), torch.nn.ReLU(), torch.nn.Linear(48, 4))
optimizer = torch.optim.Adam(model.parameters())
runs = 0
"""
STEP = """
inputs = torch.randn(24, 8)
loss = model(inputs).square().mean()
loss.backward()
optimizer.step()
optimizer.zero_grad()
runs += 1
print("trained", float(loss))
"""


@pytest.fixture
def ready(shell):
    shell.run(SETUP)
    return shell


def answer(shell):
    (bundle,) = [data for data in shell.displayed if MIME_TYPE in data]
    return bundle[MIME_TYPE]


def test_the_cell_is_answered_and_neither_run_nor_left_traces(ready):
    before = {name: value.clone() for name, value in ready["model"].state_dict().items()}
    names = set(ready.ip.user_ns)
    result = ready.run("%%predict --no-run --on T4,L4" + STEP)
    assert result.success, ready.err
    assert "trained" not in ready.out
    assert ready["runs"] == 0
    assert {name for name in set(ready.ip.user_ns) - names if not name.startswith("_")} == set()
    for name, value in ready["model"].state_dict().items():
        assert torch.equal(value, before[name])
    assert all(parameter.grad is None for parameter in ready["model"].parameters())
    assert not ready["optimizer"].state
    view = answer(ready)
    jsonschema.validate(json.loads(json.dumps(view)), msgspec.json.schema(StoredView))
    assert view["title"] == "Training step, batch 24"
    assert "nothing was run" in view["sentences"][0]["text"]
    assert set(view["rows"]["gpu"]) == {"T4", "L4"}
    assert any("numbers read from tensors" in warning for warning in view["warnings"])


def test_a_batch_size_in_the_cell_is_followed_to_others(ready):
    ready.run("%%predict --no-run --on L4 --batch-sizes 12,96" + STEP)
    predicted = surfer_lab.last()
    curve = predicted.batch_curve()
    assert {12, 24, 96} <= set(predicted.batch_curve(batch_sizes=[12, 96]).index)
    assert curve.attrs["largest_fitting"] == predicted.largest_batch("L4") > 1_000
    shapes = {shape for shapes in predicted.what_if(batch_size=96).trace.ops.input_shapes if shapes for shape in shapes}
    assert (96, 8) in shapes
    assert (24, 8) not in shapes


@pytest.mark.parametrize(
    ("made", "used"),
    [
        ("inputs = torch.randn(24, 8)", "x = inputs"),
        ("batch_size = 24", "x = torch.randn(batch_size, 8)"),
        ("data = (torch.randn(24, 8), 1)", "x, _ = data"),
        (
            "from torch.utils.data import DataLoader\nloader = DataLoader(torch.randn(240, 8), batch_size=24)",
            "x = next(iter(loader))",
        ),
    ],
)
def test_what_earlier_cells_made_is_followed_too(ready, made, used):
    ready.run(made)
    ready.run(f"%%predict --no-run --on L4\n{used}\nmodel(x).mean().backward()\noptimizer.step()")
    assert surfer_lab.last().question.scaling is not None, surfer_lab.last().question.notes
    assert surfer_lab.last().trace.batch_size == 24


def test_a_size_of_the_model_that_equals_the_batch_is_not_taken_for_it(shell):
    shell.run("import torch")
    cell = """
batch_size = 16
model = torch.nn.Linear(16, 16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.randn(batch_size, 16)).mean().backward()
optimizer.step()
"""
    shell.run("%%predict --no-run --on L4" + cell)
    scaling = surfer_lab.last().question.scaling
    assert scaling is not None
    assert (torch.numel(torch.empty(5, 16)) * 4) in scaling.tensor_bytes(5)
    shell.run("%%predict --no-run --on L4" + cell.replace("batch_size", "rows"))
    assert surfer_lab.last().question.scaling is None
    assert any("a size of the model is 16 too" in note for note in surfer_lab.last().view.assumptions)
    shell.run("%%predict --no-run --on L4 --batch-sizes 8" + cell.replace("batch_size", "rows"))
    assert "known at one batch size only" in shell.out


def test_what_needs_data_is_told_with_its_line_and_the_remedy(ready):
    ready.run("%%predict --no-run\nx = torch.randn(4, 8)\nwhile x.sum() < 2:\n    x = x * 2\nx.numpy()[0, 99]")
    assert "Surfer Lab cannot predict this cell" in ready.out
    assert "]:5: without data this fails with IndexError" in ready.out
    assert "%%predict without --no-run" in ready.out


def test_a_magic_or_shell_command_in_the_cell_is_refused_before_anything_runs(ready, tmp_path):
    ready.run(f"%%predict --no-run\nmodel(torch.randn(4, 8))\n!touch {tmp_path / 'ran'}")
    assert "line 3 is a magic or a shell command" in ready.out
    assert not (tmp_path / "ran").exists()


def test_an_error_of_the_users_is_told_with_its_line(ready):
    ready.run("%%predict --no-run\nmodel(torch.randn(4, 9))")
    assert "]:2" in ready.out
    assert "RuntimeError" in ready.out


def test_a_gpu_that_lacks_a_dtype_is_named_instead_of_a_number(ready):
    ready.run("%%predict --no-run --on T4,L4 --precision amp-bf16 --compile default" + STEP)
    view = answer(ready)
    assert view["rows"]["gpu"] == ["L4"]
    assert view["blocked"] == [{"gpu": "T4", "why": "no bf16 tensor cores: torch would emulate it"}]
    assert view["title"] == "Training step, batch 24, AMP bf16, compiled"
    shown = [row for row in view["alternatives"] if row.get("is_shown")]
    assert [row["label"] for row in shown] == ["AMP bf16, compiled"]
    table = surfer_lab.last().table()
    assert "bf16" in table.loc["T4", "blocker"]
    ready.run("%%predict --no-run --on T4 --precision bf16" + STEP)
    assert "none of the GPUs" in ready.out


def test_a_cell_that_awaits_is_told_what_to_do_instead(ready):
    ready.run("%%predict --no-run\nimport asyncio\nawait asyncio.sleep(0)\nmodel(torch.randn(4, 8))")
    assert "line 3 awaits outside a function" in ready.out
    assert "await it in a cell of its own, before" in ready.out


def test_what_the_compiler_alone_refuses_is_a_syntax_error(ready):
    result = ready.run("%%predict --no-run\nmodel(torch.randn(4, 8))\nreturn 3")
    assert not result.success
    assert "'return' outside function" in ready.out
    assert "unrun_cell.py" not in ready.out


@pytest.mark.parametrize("word", ["exit()", "quit()"])
def test_a_cell_that_ends_the_kernel_is_told_and_ends_nothing(ready, word):
    ready.ip.exit_now = False
    ready.run("%%predict --no-run\nmodel(torch.randn(4, 8))\n" + word)
    assert not ready.ip.exit_now
    assert "]:3: without data this fails with SystemExit" in ready.out


def test_a_variable_called_exit_is_the_users(ready):
    ready.ip.user_ns["exit"] = 8
    assert ready.run("%%predict --no-run --on T4\nmodel(torch.randn(4, exit))").success
    assert answer(ready)["title"] == "Forward pass, batch 4"


def test_inputs_of_earlier_cells_are_followed_without_an_op_more(ready):
    ready.run("inputs = torch.randn(24, 8)\nlabels = [torch.zeros(24, dtype=torch.int64)]")
    step = STEP.replace("inputs = torch.randn(24, 8)\n", "").replace("square()", "square().mul(labels[0][:, None])")
    assert ready.run("%%predict --no-run --on T4" + step).success
    assert surfer_lab.last().question.scaling is not None
