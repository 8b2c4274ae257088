"""Where CUDA is missing, calls for it run on the CPU while a cell is recorded, say so in one line, and are undone."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from surfer_lab.capture import observe, record
from surfer_lab.trace.tables import Phase, TensorRole
from tests.capture.fingerprints import digest, surroundings
from tests.capture.programs import mlp
from tests.capture.reading import lives, names, rows

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="nothing is redirected where a GPU is")

CALLS: dict[str, Any] = {
    ".cuda()": lambda: torch.ones(2).cuda(),
    ".cuda(0)": lambda: torch.ones(2).cuda(0, non_blocking=True),
    ".to('cuda')": lambda: torch.ones(2).to("cuda"),
    ".to('cuda:1')": lambda: torch.ones(2).to("cuda:1", torch.float64),
    ".to(0)": lambda: torch.ones(2).to(0),
    ".to(device=...)": lambda: torch.ones(2).to(device=torch.device("cuda"), dtype=torch.float16),
    "model.cuda()": lambda: nn.Linear(2, 2).cuda().weight,
    "model.to(device)": lambda: nn.Linear(2, 2).to(torch.device("cuda"), torch.float64).weight,
    "factory": lambda: torch.zeros(2, device="cuda"),
    "tensor": lambda: torch.tensor([1.0], device="cuda"),
    "like": lambda: torch.zeros_like(torch.ones(2), device="cuda"),
    "new": lambda: torch.ones(2).new_zeros(3, device="cuda"),
    "pinned": lambda: torch.randn(4, pin_memory=True).pin_memory().to("cuda", non_blocking=True),
    "module on device": lambda: nn.Linear(2, 2, device="cuda").weight,
    "generator": lambda: torch.randn(2, generator=torch.Generator(device="cuda").manual_seed(1), device="cuda"),
    "context": lambda: _under(torch.device("cuda"), lambda: torch.ones(3)),
    "synchronize": lambda: torch.cuda.synchronize(),  # noqa: PLW0108 # looked up in the cell
    "memory": lambda: (torch.cuda.max_memory_allocated(), torch.cuda.memory_summary(), torch.cuda.empty_cache()),
    "seed": lambda: torch.cuda.manual_seed_all(1),
    "name": lambda: torch.cuda.get_device_name(0),
    "stream": lambda: _under(torch.cuda.stream(torch.cuda.Stream()), lambda: torch.cuda.current_stream().synchronize()),
    "range": lambda: (torch.cuda.nvtx.range_push("x"), torch.cuda.nvtx.range_pop()),
}


def _under(context: Any, call: Any) -> Any:
    with context:
        return call()


def _saved_and_loaded() -> torch.Tensor:
    import io

    file = io.BytesIO()
    torch.save(torch.ones(2), file)
    file.seek(0)
    return torch.load(file, map_location="cuda")


def _loaded_by_map() -> torch.Tensor:
    import io

    file = io.BytesIO()
    torch.save(torch.ones(2), file)
    file.seek(0)
    return torch.load(file, map_location={"cpu": "cuda:0"})


def _random_state_put_back() -> torch.Tensor:
    state = torch.cuda.get_rng_state()
    first = torch.rand(3, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(first, torch.rand(3, device="cuda"))
    with torch.random.fork_rng(devices=[0]):
        return torch.rand(2, device="cuda")


CALLS["load"] = _saved_and_loaded
CALLS["load by a map"] = _loaded_by_map
CALLS["random state"] = _random_state_put_back
CALLS["type"] = lambda: torch.ones(2).type(torch.cuda.DoubleTensor)
CALLS["type by name"] = lambda: torch.ones(2).type("torch.cuda.HalfTensor")
CALLS["stream's numbers"] = lambda: torch.cuda.Stream(device="cuda:0", priority=-1).priority
CALLS["stream of others"] = lambda: torch.cuda.ExternalStream(0).synchronize()
CALLS["statistics"] = lambda: torch.cuda.memory_stats()["allocated_bytes.all.peak"]
CALLS["profiler's switches"] = lambda: (torch.cuda.profiler.start(), torch.cuda.profiler.stop())
QUIET = [CALLS[name] for name in ("seed", "stream", "stream's numbers", "stream of others")]
CALLS["storage"] = lambda: torch.ones(2).untyped_storage().cuda()


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_call_for_cuda_runs_here_with_one_line_and_is_undone(call: Any) -> None:
    state = torch.get_rng_state()
    before = {name: digest(value) for name, value in surroundings().items()}
    with observe() as o:
        result = call()
        _ = (result if isinstance(result, torch.Tensor) else torch.ones(2)).double() + 1
    torch.set_rng_state(state)
    after = {name: digest(value) for name, value in surroundings().items()}
    assert after == before
    if isinstance(result, torch.Tensor):
        assert result.device.type == "cpu"
        (result.double() * 2).sum().item()  # usable afterwards
    notices = o.result().notices
    assert len(notices) <= 1
    if call not in QUIET:  # queued by torch until CUDA starts; nothing to wait for
        assert "No CUDA GPU here" in notices[0] and "\n" not in notices[0]


def test_the_line_names_the_first_call_its_place_and_how_many_more() -> None:
    with observe() as o:
        nn.Linear(2, 2).cuda()(torch.ones(2).to("cuda"))
    (notice,) = o.result().notices
    assert "model.cuda()" in notice and "test_redirect.py:" in notice and "one other kind of call" in notice


def test_a_cell_without_cuda_gets_no_line() -> None:
    with observe() as o:
        torch.ones(2).to("cpu", torch.float64) + 1
    assert o.result().notices == ()


def test_whether_cuda_is_available_is_answered_truthfully() -> None:
    with observe() as o:
        available = torch.cuda.is_available(), torch.cuda.device_count()
        torch.ones(2) + 1
    assert available == (False, 0) and o.result().notices == ()


def test_what_cannot_be_answered_fails_as_it_would_here() -> None:
    with record() as r:
        torch.ones(2) + 1
        with pytest.raises((RuntimeError, AssertionError)):
            torch.cuda.get_device_properties(0)
    assert len(r.trace.ops)


def test_events_made_in_the_cell_stay_usable() -> None:
    with observe():
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        torch.ones(2) + 1
        end.record()
        torch.cuda.synchronize()
    assert start.elapsed_time(end) > 0 and end.query()


def test_a_move_copies_as_it_does_on_a_gpu() -> None:
    with observe():
        x = torch.ones(3)
        y = x.to("cuda")
        y.add_(1)
        z = y.cuda()  # there already
        z.add_(1)
    assert x.tolist() == [1, 1, 1] and y.tolist() == [3, 3, 3] and z is y


def test_gradients_flow_through_a_move() -> None:
    with observe():
        w = torch.ones(3, requires_grad=True)
        (w.cuda() * 2).sum().backward()
    assert w.grad is not None and w.grad.tolist() == [2, 2, 2]


def test_what_is_built_on_the_host_before_the_move_is_no_gpu_work() -> None:
    with record() as r:
        model = mlp().cuda()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(3):
            batch = torch.stack([torch.randn(16).exp() for _ in range(4)])
            x = batch.to("cuda")
            optimizer.zero_grad()
            (model(x) + torch.randn(4, 4, device="cuda")).sum().backward()
            optimizer.step()
    found = names(r.trace)
    assert "stack" not in found and "exp" not in found and "randn" in found
    assert found.count("addmm") == 2 and r.trace.batch_size == 4


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast_for_cuda_computes_in_float32_and_shows_in_the_dtypes(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    model = mlp()
    x = torch.randn(8, 16)
    optimizer = torch.optim.SGD(model.parameters(), 0.0)
    losses = []
    with record() as r:
        for _ in range(3):
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=dtype):
                loss = model.eval()(x).float().square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert losses[0] == model(x).square().mean().item()
    half = str(dtype).removeprefix("torch.")
    products = [row for row in rows(r.trace) if row.name in ("aten::addmm", "aten::mm")]
    assert products and all(row.dtypes[0] == row.dtypes[1] == half for row in products)
    casts = [row for row in rows(r.trace) if row.name == "aten::_to_copy" and row.phase is Phase.FORWARD]
    assert len(casts) == 5 + 1  # x, two weights, two biases; the result by .float()
    back = [row for row in rows(r.trace) if row.name == "aten::_to_copy" and row.phase is Phase.BACKWARD]
    assert len(back) == 4 + 1
    assert any("float32 on this CPU" in warning.seen for warning in r.trace.warnings)
    gradients = [life for life in lives(r.trace) if life.role is TensorRole.GRADIENT and life.allocated_by > 0]
    assert {life.dtype for life in gradients} == {"float32"}


class _NoNorm(nn.Module):
    """Only ops that CPU and CUDA autocast treat alike."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.linear = nn.Linear(4 * 36, 8)
        self.other = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.conv(x).relu().flatten(1)
        x = self.linear(x)
        return (self.other(x) + x).relu()


def test_emulated_casts_are_those_of_a_real_autocast_where_the_lists_agree() -> None:
    found = []
    for device in ("cpu", "cuda"):
        model = _NoNorm()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        x = torch.randn(2, 3, 8, 8)
        with record() as r:
            for _ in range(2):
                optimizer.zero_grad()
                with torch.autocast(device, dtype=torch.bfloat16):
                    out = model(x)
                F.mse_loss(out.float(), torch.zeros(2, 8)).backward()
                optimizer.step()
        trace = r.trace
        ops = [(row.name, row.phase, row.dtypes, _sizes(row.shapes), _sizes(row.results)) for row in rows(trace)]
        found.append((sorted(map(repr, ops)), sorted((life.size_bytes, life.dtype) for life in lives(trace))))
    assert found[0][0] == found[1][0]
    assert found[0][1] == found[1][1]


def _sizes(shapes: Any) -> Any:
    return [
        sorted(entry) if isinstance(entry, tuple) and entry and isinstance(entry[0], int) else entry for entry in shapes
    ]


def test_an_inner_region_switches_the_outer_one_off() -> None:
    model = nn.Linear(4, 4)
    with record() as r:
        for _ in range(2):
            with torch.autocast("cuda", dtype=torch.float16):
                model(torch.ones(2, 4))
                with torch.autocast("cuda", enabled=False):
                    model(torch.ones(2, 4))
            r.step()
    first, second = (row for row in rows(r.trace) if row.name == "aten::addmm")
    assert (first.dtypes[1], second.dtypes[1]) == ("float16", "float32")


def test_a_scaler_for_cuda_scales_here() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with record() as r:
        scaler = torch.amp.GradScaler("cuda")
        for _ in range(3):
            optimizer.zero_grad()
            scaler.scale(model(torch.randn(4, 16)).sum()).backward()
            scaler.step(optimizer)
            scaler.update()
    assert scaler.is_enabled() and scaler.get_scale() == 65536.0
    assert "_amp_foreach_non_finite_check_and_unscale_" in names(r.trace)
