"""A recorded program leaves behind, bit for bit, what it would have left behind unrecorded."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, Dataset, TensorDataset

from surfer_lab.capture import record
from tests.capture.fingerprints import digest, seed_all, surroundings
from tests.capture.programs import mlp, small_cnn

Program = Callable[[], Any]


class _Noisy(Dataset[Any]):
    """Draws from all three generators for each item."""

    def __len__(self) -> int:
        return 24

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.randn(3, 8, 8) + np.random.rand() + random.random(), index % 4  # noqa: NPY002


def loader_loop() -> Any:
    model, seen = small_cnn(), []
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    for _ in range(2):
        for x, y in DataLoader(_Noisy(), batch_size=4, shuffle=True):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            seen.append((loss.item(), y))
    return model, optimizer, seen


def loader_workers() -> Any:
    model, seen = small_cnn(), []
    optimizer = torch.optim.Adam(model.parameters())
    for x, y in DataLoader(TensorDataset(torch.randn(20, 3, 8, 8), torch.arange(20) % 4), batch_size=4, num_workers=2):
        optimizer.zero_grad(set_to_none=False)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        seen.append((loss.item(), y))
    return model, optimizer, seen


def amp_with_scaler() -> Any:
    model = mlp()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**40, growth_interval=3)  # the first steps overflow: skipped
    losses = []
    for step in range(30):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = model(torch.randn(8, 16)).square().mean() * 1e30
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append((step, loss.item(), scaler.get_scale()))
    return model, optimizer, scaler, losses


def scheduler() -> Any:
    model = mlp()
    optimizer = torch.optim.RMSprop(model.parameters(), 1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=8)
    for _ in range(6):
        optimizer.zero_grad()
        model(torch.randn(4, 16)).sum().backward()
        optimizer.step()
        schedule.step()
    return model, optimizer, schedule, schedule.get_last_lr()


def accumulation() -> Any:
    model = mlp()
    optimizer = torch.optim.Adagrad(model.parameters())
    for micro in range(12):
        model(torch.randn(4, 16)).sum().backward()
        if micro % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()
    return model, optimizer


def two_optimizers() -> Any:
    generator, critic = mlp(16, 16), mlp(16, 1)
    first = torch.optim.Adam(critic.parameters())
    second = torch.optim.Adam(generator.parameters())
    for _ in range(4):
        first.zero_grad()
        (critic(torch.randn(4, 16)).mean() - critic(generator(torch.randn(4, 16)).detach()).mean()).backward()
        first.step()
        second.zero_grad()
        critic(generator(torch.randn(4, 16))).mean().backward()
        second.step()
    return generator, critic, first, second


def closure() -> Any:
    model, x = mlp(), torch.randn(8, 16)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)

    def evaluate() -> torch.Tensor:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        return loss

    return model, [optimizer.step(evaluate).item() for _ in range(3)]


def every_optimizer() -> Any:
    left = []
    for name in ("SGD", "Adam", "AdamW", "Adadelta", "Adafactor", "Adamax", "ASGD", "NAdam", "RAdam", "Rprop"):
        model = mlp()
        optimizer = getattr(torch.optim, name)(model.parameters())
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(4, 16)).sum().backward()
            optimizer.step()
        left.append((model, optimizer))
    return left


def hooks_of_the_user() -> Any:
    model, calls = mlp(), []
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    model[0].register_forward_hook(lambda *_: calls.append("forward"))
    model[0].register_full_backward_hook(lambda *_: calls.append("backward"))
    model[0].weight.register_hook(lambda grad: calls.append(float(grad.sum())))
    optimizer.register_step_pre_hook(lambda *_: calls.append("before"))
    optimizer.register_step_post_hook(lambda *_: calls.append("after"))
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(4, 16, requires_grad=True)).sum().backward()
        optimizer.step()
    return model, optimizer, calls


class _Counter(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def mode_of_the_user() -> Any:
    """Entered before the recording's window ends, left after it."""
    model, counter = mlp(), _Counter()
    optimizer = torch.optim.AdamW(model.parameters())

    def step() -> None:
        optimizer.zero_grad()
        model(torch.randn(4, 16)).sum().backward()
        optimizer.step()

    step()
    with counter:
        for _ in range(3):
            step()
    step()
    with _Counter() as second:
        step()
    return model, optimizer, counter.names, second.names


def profiler_of_the_user() -> Any:
    model = mlp()
    optimizer = torch.optim.AdamW(model.parameters())
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(4, 16)).sum().backward()
            optimizer.step()
    names = {event.key: event.count for event in profile.key_averages() if event.key in ("aten::addmm", "aten::lerp_")}
    return model, optimizer, sorted(names.items())


def compiled() -> Any:
    model = torch.compile(mlp(), backend="aot_eager")
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    double = torch.compile(lambda x: x * 2 + 1, backend="eager")
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = double(model(torch.randn(4, 16))).sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    from torch._dynamo.utils import counters

    return model, optimizer, losses, dict(counters["frames"]), dict(counters["stats"])


def in_a_thread() -> Any:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def train() -> None:
        for _ in range(4):
            optimizer.zero_grad()
            model(torch.ones(4, 16)).sum().backward()
            optimizer.step()

    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
    return model, optimizer


def nested() -> Any:
    model = mlp()
    optimizer = torch.optim.Adam(model.parameters())
    with record() as inner:
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(4, 16)).sum().backward()
            optimizer.step()
    return model, optimizer, list(inner.trace.ops.name)


def checkpointed() -> Any:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    drop = nn.Dropout(0.5)
    for _ in range(3):
        optimizer.zero_grad()
        checkpoint(lambda x: drop(model(x)), torch.randn(4, 16), use_reentrant=False).sum().backward()
        optimizer.step()
    return model, optimizer


def inference() -> Any:
    model = small_cnn().eval()
    with torch.no_grad():
        return [model(torch.randn(2, 3, 8, 8)) for _ in range(6)]


def recurrent() -> Any:
    model = nn.LSTM(8, 8, 2, dropout=0.3, batch_first=True)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(3):
        optimizer.zero_grad(set_to_none=False)
        model(torch.randn(2, 5, 8))[0].sum().backward()
        optimizer.step()
    return model, optimizer


PROGRAMS = [
    loader_loop, loader_workers, amp_with_scaler, scheduler, accumulation, two_optimizers, closure, every_optimizer,
    hooks_of_the_user, mode_of_the_user, profiler_of_the_user, compiled, in_a_thread, nested, checkpointed, inference,
    recurrent,
]  # fmt: skip


def _left_behind(program: Program, *, recorded: bool) -> tuple[str, dict[str, str]]:
    seed_all()
    torch.compiler.reset()
    from torch._dynamo.utils import counters

    counters.clear()
    if recorded:
        recording = record()
        with recording:
            left = program()
        if program is not profiler_of_the_user:
            assert len(recording.trace.ops) > 0
    else:
        left = program()
    return digest(left), {name: digest(value) for name, value in surroundings().items()}


@pytest.mark.filterwarnings("ignore:The .grad attribute")  # torch's compiler looks at a result's gradient
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_state_is_as_if_the_program_had_run_plainly(program: Program) -> None:
    plain = _left_behind(program, recorded=False)
    recorded = _left_behind(program, recorded=True)
    assert recorded == plain


def _fails_in_the_middle(error: type[BaseException], log: list[Any]) -> Program:
    def program() -> None:
        model = mlp()
        optimizer = torch.optim.Adam(model.parameters())
        log.extend((model, optimizer))
        for step in range(5):
            optimizer.zero_grad()
            loss = model(torch.randn(4, 16)).sum()
            loss.backward()
            optimizer.step()
            log.append(loss.item())
            if step == 2:
                raise error("the user's own")

    return program


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, RuntimeError])
def test_an_error_of_the_users_passes_with_its_traceback_and_what_ran_stays(error: type[BaseException]) -> None:
    lines, states = [], []
    for recorded in (False, True):
        seed_all()
        log: list[Any] = []
        program = _fails_in_the_middle(error, log)
        with pytest.raises(error, match="the user's own") as caught:
            record(program) if recorded else program()
        lines.append(caught.traceback[-1].lineno)
        assert caught.traceback[-1].path.name == "test_state.py"
        states.append((digest(log), {name: digest(value) for name, value in surroundings().items()}))
    assert lines[0] == lines[1] and states[0] == states[1]


def test_an_error_inside_an_op_ends_where_it_would_end_unrecorded() -> None:
    def program() -> None:
        nn.Linear(4, 4)(torch.ones(2, 5))

    ends = []
    for recorded in (False, True):
        with pytest.raises(RuntimeError) as caught:
            record(program) if recorded else program()
        ends.append([(entry.path.name, entry.lineno, entry.name) for entry in caught.traceback][-3:])
        message = str(caught.value)
    assert ends[0][-1] == ends[1][-1] and "mat1" in message


def test_what_ran_before_an_error_is_in_the_recording() -> None:
    recording = record()
    with pytest.raises(ValueError, match="own"), recording:
        _fails_in_the_middle(ValueError, [])()
    assert recording.cell.step_count == 3
    assert any("error" in warning.seen for warning in recording.trace.warnings)


def test_an_interrupt_inside_the_recorded_step_leaves_no_trace_of_us() -> None:
    before = {name: digest(value) for name, value in surroundings().items()}

    def program() -> None:
        model = mlp()
        model(torch.ones(4, 16))
        raise KeyboardInterrupt

    state = torch.get_rng_state()
    with pytest.raises(KeyboardInterrupt):
        record(program)
    torch.set_rng_state(state)
    assert {name: digest(value) for name, value in surroundings().items()} == before
