"""Steps are found while the program runs, by the rules of `capture.steps`."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from surfer_lab.capture import observe, record
from surfer_lab.errors import CaptureError
from surfer_lab.trace import check
from surfer_lab.trace.model import Trace
from surfer_lab.trace.tables import Phase, SpanKind, StepSource
from tests.capture.programs import mlp, small_cnn, train
from tests.capture.reading import names, rows


def test_a_loop_gives_its_second_step_as_the_steady_state() -> None:
    model = mlp()
    optimizer = torch.optim.AdamW(model.parameters())
    with record() as r:
        train(model, optimizer, torch.randn(8, 16), 6)
    assert r.trace.step_source is StepSource.OPTIMIZER
    assert r.trace.steps.number.tolist() == [2]
    assert r.cell.step_count == 6 and r.cell.profiled_step_count == 1
    assert r.cell.unprofiled_step_ns is not None and 0 < r.cell.unprofiled_step_ns < r.cell.wall_ns
    assert "zeros_like" not in names(r.trace)  # optimizer state appears in the first step
    assert r.trace.warnings == ()
    check(r.trace)


def test_a_single_step_is_cold_and_says_so_with_the_remedy() -> None:
    model = mlp()
    optimizer = torch.optim.AdamW(model.parameters())
    with record() as r:
        train(model, optimizer, torch.randn(8, 16), 1)
    assert r.cell.step_count == 1 and r.cell.unprofiled_step_ns is None
    (warning,) = r.trace.warnings
    assert "single step" in warning.seen and "loop" in warning.consequence
    assert "zeros_like" in names(r.trace)


def test_what_prepares_a_single_step_is_not_in_it() -> None:
    with record() as r:
        model = mlp()  # initialises weights
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        train(model, optimizer, torch.randn(8, 16), 1)
    assert "uniform_" not in names(r.trace) and names(r.trace)[0] == "addmm"


def test_accumulation_lies_inside_a_step_and_counts_into_the_batch() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with record() as r:
        for micro in range(12):
            model(torch.randn(5, 16)).sum().backward()
            if micro % 4 == 3:
                optimizer.step()
                optimizer.zero_grad()
    assert r.cell.step_count == 3
    assert names(r.trace, Phase.FORWARD).count("addmm") == 2 * 4
    assert r.trace.batch_size == 5 * 4


def test_a_second_optimizer_lies_inside_the_steps_of_the_first() -> None:
    generator, critic = mlp(16, 16), mlp(16, 1)
    first, second = torch.optim.SGD(critic.parameters(), 0.1), torch.optim.SGD(generator.parameters(), 0.1)
    with record() as r:
        for _ in range(4):
            first.zero_grad()
            critic(generator(torch.randn(6, 16)).detach()).mean().backward()
            first.step()
            second.zero_grad()
            critic(generator(torch.randn(6, 16))).mean().backward()
            second.step()
    assert r.cell.step_count == 4
    assert names(r.trace, Phase.OPTIMIZER) == ["_foreach_add_"] * 2
    assert r.trace.batch_size == 6


def test_steps_that_a_scaler_skips_lie_inside() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scaler = torch.amp.GradScaler(
        "cpu", init_scale=2.0**10, growth_factor=2.0**40, backoff_factor=2.0**-40, growth_interval=1
    )
    with record() as r:
        for _ in range(8):
            optimizer.zero_grad()
            scaler.scale(model(torch.randn(4, 16)).sum() * 1e28).backward()
            scaler.step(optimizer)
            scaler.update()
    assert 1 < r.cell.step_count < 8
    assert names(r.trace).count("_amp_foreach_non_finite_check_and_unscale_") > 1


def test_marks_overrule_optimizer_steps() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with record() as r:
        for _ in range(3):
            train(model, optimizer, torch.randn(8, 16), 2)
            r.step()
    assert r.trace.step_source is StepSource.MARKED and r.cell.step_count == 3
    assert names(r.trace, Phase.OPTIMIZER) == ["_foreach_add_"] * 2


def test_marks_alone_make_steps_of_anything() -> None:
    weight = torch.randn(16, 16)
    with record() as r:
        for _ in range(4):
            weight = torch.tanh(weight @ weight)
            r.step()
    assert r.trace.step_source is StepSource.MARKED and names(r.trace) == ["mm", "tanh"]


def test_inference_without_an_optimizer_is_one_outermost_module_call() -> None:
    model = small_cnn().eval()
    with record() as r, torch.no_grad():
        for _ in range(7):
            model(torch.randn(3, 3, 8, 8)).argmax(1)
    assert r.trace.step_source is StepSource.MODULE_CALL and r.cell.step_count == 7
    assert r.trace.batch_size == 3
    assert names(r.trace).count("convolution") == 2 and "argmax" in names(r.trace)
    assert r.cell.unprofiled_step_ns is not None


def test_a_loss_module_and_transforms_are_no_steps_of_inference() -> None:
    model, criterion, scale = mlp().eval(), nn.MSELoss(), nn.Upsample(size=16)
    with record() as r, torch.no_grad():
        for _ in range(4):
            criterion(model(scale(torch.randn(3, 1, 4)).squeeze(1)), torch.zeros(3, 4))
    assert r.cell.step_count == 4 and names(r.trace).count("addmm") == 2


def test_evaluation_before_training_does_not_hide_the_training() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with record() as r:
        with torch.no_grad():
            for _ in range(6):
                model(torch.randn(4, 16))
        train(model, optimizer, torch.randn(8, 16), 3)
    assert r.trace.step_source is StepSource.OPTIMIZER and r.trace.batch_size == 8


def test_gradients_without_an_optimizer_are_part_of_the_call() -> None:
    model = mlp()
    with record() as r:
        model(torch.randn(4, 16)).sum().backward()
    assert names(r.trace, Phase.BACKWARD).count("mm") == 3 and r.trace.step_source is StepSource.MODULE_CALL


def test_without_modules_and_optimizers_the_block_is_one_step() -> None:
    with record() as r:
        torch.linalg.vector_norm(torch.randn(8, 8) @ torch.ones(8, 8))
    assert r.trace.step_source is StepSource.CELL and names(r.trace) == ["randn", "ones", "mm", "linalg_vector_norm"]
    assert "r.step()" in r.trace.warnings[0].consequence


def test_training_in_a_thread_is_found() -> None:
    import threading

    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with record() as r:
        thread = threading.Thread(target=train, args=(model, optimizer, torch.randn(4, 16), 4))
        thread.start()
        thread.join()
    assert r.cell.step_count == 4 and "addmm" in names(r.trace)


def test_a_block_without_any_op_is_refused_with_a_remedy() -> None:
    with record() as r:
        pass
    with pytest.raises(CaptureError, match="no PyTorch op ran"):
        _ = r.trace


def test_a_result_is_not_given_while_the_block_runs() -> None:
    with observe() as o, pytest.raises(CaptureError, match="not ended"):
        o.result()


def test_a_recording_runs_once() -> None:
    r = record()
    with r:
        torch.ones(2) + 1
    with pytest.raises(CaptureError, match="already"):
        r.__enter__()


@pytest.mark.filterwarnings("ignore")  # torch's compiler's own
@pytest.mark.parametrize("grad", [True, False])
def test_a_compiled_module_is_recorded_with_the_ops_that_it_has_uncompiled(grad: bool) -> None:
    found = []
    for is_compiled in (False, True):
        torch.compiler.reset()
        model: nn.Module = mlp().train(grad)
        optimizer = torch.optim.AdamW(model.parameters())
        called = torch.compile(model, backend="aot_eager") if is_compiled else model
        with record() as r, torch.set_grad_enabled(grad):
            for _ in range(4):
                loss = called(torch.randn(8, 16)).square().mean()
                if grad:
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
        assert r.cell.step_count == 4 and r.trace.batch_size == 8
        found.append((sorted(map(repr, _without_lines(r.trace))), sorted(r.trace.tensors.size_bytes.tolist())))
    assert found[0] == found[1]
    assert any("before torch.compile" in warning.seen for warning in r.trace.warnings)


def _without_lines(trace: Trace) -> list[object]:
    return [row[:-1] for row in rows(trace)]


@pytest.mark.filterwarnings("ignore")
def test_a_compiled_function_is_said_to_be_incomplete() -> None:
    torch.compiler.reset()
    double = torch.compile(lambda x: x * 2 + 1, backend="eager")
    with record() as r:
        double(torch.ones(3)).sum()
    assert any("compiled function" in warning.seen for warning in r.trace.warnings)


def test_what_the_data_loader_computes_is_input_time_and_no_op() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with record() as r:
        for (x,) in DataLoader(TensorDataset(torch.randn(24, 16)), batch_size=6):
            train(model, optimizer, x, 1)
    assert "stack" not in names(r.trace)
    kinds = [SpanKind(kind) for kind in r.trace.spans.kind.tolist()]
    assert SpanKind.INPUT in kinds and SpanKind.OPTIMIZER in kinds and SpanKind.MODULE in kinds


def test_ops_know_their_module_line_and_forward_op() -> None:
    model = small_cnn()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with record() as r:
        train(model, optimizer, torch.randn(2, 3, 8, 8), 2)
    convolutions = [row for row in rows(r.trace) if row.name == "aten::convolution"]
    assert [row.module for row in convolutions] == ["0", "4"]
    gradients = [row for row in rows(r.trace) if row.name == "aten::convolution_backward"]
    assert [row.module for row in gradients] == ["4", "0"]
    assert all(row.source is not None and row.source.startswith("test_steps.py:") for row in convolutions)
    assert convolutions[0].source == gradients[0].source  # where the forward op was called, not loss.backward()
    forward = r.trace.ops.forward_op.tolist()
    by_name = names(r.trace)
    linked = {by_name[i]: by_name[f] for i, f in enumerate(forward) if f >= 0}
    assert linked["convolution_backward"] == "convolution" and linked["threshold_backward"] == "relu"


def test_a_cell_names_its_lines_by_the_label_given() -> None:
    code = compile("y = x @ x\ny = y.relu()\n", "/somewhere/ipykernel_77/12345.py", "exec")
    variables = {"x": torch.ones(2, 2)}
    for label, name in ((lambda file: "cell 3" if "ipykernel" in file else None, "cell 3"), (None, "cell")):
        with observe(label=label) as o:
            exec(code, variables)
        sources = [(row.source or "").split(" > ") for row in rows(o.result().trace)]
        assert [source[-1] for source in sources] == [f"{name}:1", f"{name}:2"]
        assert all(source[0].startswith("test_steps.py:") for source in sources)  # the line that called the cell


def test_two_recordings_of_one_program_are_the_same_but_for_time() -> None:
    traces = []
    for _ in range(2):
        model = mlp()
        with record() as r:
            train(model, torch.optim.AdamW(model.parameters()), torch.randn(8, 16), 3)
        traces.append(r.trace)
    assert rows(traces[0]) == rows(traces[1])
    assert traces[0].tensors.size_bytes.tolist() == traces[1].tensors.size_bytes.tolist()


def test_a_loop_without_steps_stops_filling_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surfer_lab.capture.oplog.MAX_LOGGED_OPS", 100)
    x = torch.ones(3)
    with record() as r:
        for _ in range(300):
            x = x + 1
    assert len(r.trace.ops) == 100 and float(x[0]) == 301
    assert any("more than 100 ops" in warning.seen for warning in r.trace.warnings)
