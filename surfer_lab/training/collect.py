"""How long do operations take on this machine's GPU? The micro-benchmarks, in the layout of kernels/.

A table an operation, a row a timing, as `surfer train` and `surfer evaluate` read them: what takes part of the error of
an unseen GPU away are these few minutes on it. Sizes are drawn once, evenly over their logarithms, always the same; the
first rows of each table already span them, so that a run that is cut says something. Timings are those of the data at
hand: one call between two events, the mean of the 5 fastest of 25, in FP32 with TF32 off, on random numbers.

A run stops at its limit of time, and one that is started anew goes on with the rows that are missing. The sustained
rates are measured first (`training.calibrate`), and written beside the tables.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import pandas as pd

from surfer_lab.errors import GpuError, OptionError
from surfer_lab.hardware.cards import BANDWIDTH
from surfer_lab.training.calibrate import CalibrationRun
from surfer_lab.units import BYTES_PER_GB, FLOPS_PER_TFLOPS

if TYPE_CHECKING:
    import torch

__all__ = ["COLUMNS", "Bench", "Collected", "collect", "plan"]

SECONDS: Final = 420.0  # of the 8 minutes; the sustained rates take the rest
ROWS: Final = {"linear": 500, "bmm": 500, "conv": 400}
VECTOR_ROWS: Final = 60
VECTOR_OPS: Final = (
    "add", "mul", "div", "pow", "addu", "mulu", "divu", "powu", "relu", "gelu", "tanh", "ln", "softmax",
)  # fmt: skip
COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "linear": ("b", "m", "k_reduce", "n_out"),
    "bmm": ("b", "m", "k_reduce", "n_out"),
    "conv": ("b", "in_ch", "out_ch", "ksize", "in_size", "stride", "padding"),
    **dict.fromkeys(VECTOR_OPS, ("b", "h")),
}
LARGEST_BYTES: Final = 2 * 10**9  # of an operation's tensors: fits a card of 4 GB
LARGEST_FLOP: Final = 1e12  # a second of a slow card
KEPT_EVERY: Final = 50  # new rows of a table between two writings of it
CALLS: Final = 25
FASTEST: Final = 5
_FP32_BYTES: Final = 4
Dims = tuple[int, ...]
Progress = Callable[[str, int, int], None]


class Bench(Protocol):
    """What is measured: a GPU that runs an operation of given sizes, and a clock."""

    name: str
    versions: Mapping[str, str]  # torch_version, cuda_version, cudnn_version

    def time_ms(self, op: str, dims: Dims) -> float:
        """One operation; RuntimeError where the GPU cannot (out of memory)."""
        ...

    def now_s(self) -> float:
        """A clock that only grows."""
        ...


@dataclass(frozen=True, kw_only=True)
class Collected:
    """What is in the folder now."""

    folder: Path
    gpu: str
    measured: int  # rows of this run
    kept_before: int
    skipped: int  # rows that the GPU could not run
    left: int  # rows that the time did not suffice for: start it anew
    rates: Mapping[str, float]


def plan() -> Iterator[tuple[str, Dims]]:
    """All rows, tables in turn, always the same."""
    draws = {name: random.Random(f"surfer collect {name}") for name in COLUMNS}
    left = {name: ROWS.get(name, VECTOR_ROWS) for name in COLUMNS}
    while any(left.values()):
        for name, count in left.items():
            # the longer tables more often, so that all end together
            for _ in range(min(count, max(1, ROWS.get(name, VECTOR_ROWS) // VECTOR_ROWS))):
                yield name, _dims(name, draws[name])
                left[name] -= 1


def _dims(name: str, draw: random.Random) -> Dims:
    while True:
        if name == "linear":
            dims: Dims = (1, _size(draw, 16, 8192), _size(draw, 32, 16384), _size(draw, 32, 16384))
            flop, elements = _product(dims)
        elif name == "bmm":
            dims = (_size(draw, 2, 512), _size(draw, 16, 2048), _size(draw, 16, 2048), _size(draw, 16, 2048))
            flop, elements = _product(dims)
        elif name == "conv":
            batch, inputs, outputs, side = (
                _size(draw, 1, 128), _size(draw, 3, 1024), _size(draw, 16, 1024), _size(draw, 7, 224)
            )  # fmt: skip
            dims = (batch, inputs, outputs, 3, side, 1, 1)
            flop, elements = 18.0 * batch * side**2 * inputs * outputs, batch * side**2 * (inputs + outputs)
        else:
            dims = (_size(draw, 16, 65536), _size(draw, 64, 16384))
            flop, elements = 0.0, 3 * dims[0] * dims[1]
        if flop <= LARGEST_FLOP and _FP32_BYTES * elements <= LARGEST_BYTES:
            return dims


def _size(draw: random.Random, low: int, high: int) -> int:
    """Evenly over the logarithm; two of three are multiples of 8 (of 1 where small), as sizes of models are."""
    value = round(math.exp(draw.uniform(math.log(low), math.log(high))))
    return max(8, value // 8 * 8) if value >= 8 and draw.random() < 2 / 3 else value


def _product(dims: Dims) -> tuple[float, int]:
    batch, m, k, n = dims
    return 2.0 * batch * m * k * n, batch * (m * k + k * n + m * n)


def collect(
    out: Path,
    *,
    seconds: float = SECONDS,
    bench: Bench | None = None,
    rates: Callable[[], CalibrationRun] | None = None,
    progress: Progress | None = None,
) -> Collected:
    """Measure into `out`/kernels and `out`/facts, or go on with what is there; GpuError where there is no GPU."""
    device = bench if bench is not None else _cuda_bench()
    folder = out / "kernels"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"{folder} cannot be made ({error.strerror})", remedy="another folder: --out") from error
    tables = {name: _read(folder / f"{name}.parquet", device.name) for name in COLUMNS}
    before = sum(len(table) for table in tables.values())
    sustained = _sustained(out, device, rates)
    limit_s = device.now_s() + seconds
    every = list(plan())
    measured = skipped = left = 0
    new: Counter[str] = Counter()
    for number, (name, dims) in enumerate(every):
        if dims in tables[name]:
            continue
        if device.now_s() >= limit_s:
            left += 1
            continue
        try:
            tables[name][dims] = device.time_ms(name, dims)
        except RuntimeError:  # out of memory is one
            skipped += 1
            continue
        measured += 1
        new[name] += 1
        if new[name] >= KEPT_EVERY:
            _write(folder, device, name, tables[name])
            del new[name]
        if progress is not None:
            progress(name, number + 1, len(every))
    for name in new:
        _write(folder, device, name, tables[name])
    return Collected(
        folder=folder, gpu=device.name, measured=measured, kept_before=before, skipped=skipped, left=left,
        rates=sustained,
    )  # fmt: skip


def _read(path: Path, gpu: str) -> dict[Dims, float]:
    if not path.is_file():
        return {}
    table = pd.read_parquet(path)
    table = table[table["gpu"] == gpu]
    sizes = table[list(COLUMNS[path.stem])].to_numpy().tolist()
    return {tuple(map(int, row)): float(time) for row, time in zip(sizes, table["time_ms"].tolist(), strict=True)}


def _write(folder: Path, device: Bench, name: str, times: Mapping[Dims, float]) -> None:
    """One table; other GPUs' rows in it stay."""
    path = folder / f"{name}.parquet"
    sizes = pd.DataFrame(list(times), columns=list(COLUMNS[name]))
    frame = pd.DataFrame({"gpu": device.name, "op": name, "dtype": "float32"}, index=sizes.index).join(sizes)
    frame = frame.assign(
        time_ms=list(times.values()), kernel_name="", kernel_names="", n_kernels=0, grid_x=0, grid_y=0, grid_z=0,
        block_x=0, block_y=0, block_z=0, source_split="collect", source="surfer collect", **device.versions,
    )  # fmt: skip
    if path.is_file():
        others = pd.read_parquet(path)
        frame = pd.concat([others[others["gpu"] != device.name], frame], ignore_index=True)
    part = path.with_suffix(".part")
    frame.to_parquet(part, index=False)
    part.replace(path)


def _sustained(out: Path, device: Bench, rates: Callable[[], CalibrationRun] | None) -> dict[str, float]:
    """The sustained rates, measured once a folder: FLOP/s by class, bytes/s of copies."""
    path = out / "facts" / "sustained.csv"
    kept = pd.read_csv(path) if path.is_file() else pd.DataFrame(columns=["gpu", "dtype", "value", "unit"])
    own = kept[kept["gpu"] == device.name]
    if not len(own):
        run = rates() if rates is not None else _calibrated()
        own = pd.DataFrame(
            {
                "gpu": device.name, "dtype": one.quantity,
                "value": one.value_per_s / (BYTES_PER_GB if one.quantity == BANDWIDTH else FLOPS_PER_TFLOPS),
                "unit": "GB/s" if one.quantity == BANDWIDTH else "TFLOP/s", "how_measured": one.how,
                "source": "surfer collect", "date": one.measured_on, "note": "",
            }
            for one in run.measured
        )  # fmt: skip
        path.parent.mkdir(parents=True, exist_ok=True)
        (pd.concat([kept, own], ignore_index=True) if len(kept) else own).to_csv(path, index=False)
    unit = {"GB/s": BYTES_PER_GB, "TFLOP/s": FLOPS_PER_TFLOPS}
    columns = (own[name].tolist() for name in ("dtype", "value", "unit"))
    return {str(dtype): float(value) * unit[str(word)] for dtype, value, word in zip(*columns, strict=True)}


def _calibrated() -> CalibrationRun:
    from surfer_lab.training.calibrate import calibrate

    return calibrate()


# -- a CUDA or ROCm GPU ------------------------------------------------------------------------------------------------


def _cuda_bench() -> Bench:
    import torch

    if not torch.cuda.is_available():
        raise GpuError(
            "torch sees no CUDA or ROCm GPU here, and operations are timed on one",
            remedy="run it on the machine with the GPU; the folder it writes can be carried anywhere",
        )
    return _CudaBench()


class _CudaBench:
    """The current device, timed by its own events."""

    def __init__(self) -> None:
        import torch

        from surfer_lab.training.calibrate import gpu_name

        self.name = gpu_name()
        self.versions: Mapping[str, str] = {
            "torch_version": str(torch.__version__), "cuda_version": str(torch.version.cuda or torch.version.hip or ""),
            "cudnn_version": str(torch.backends.cudnn.version() or ""),  # type: ignore[no-untyped-call]  # torch's
        }  # fmt: skip

    def now_s(self) -> float:
        import time

        return time.monotonic()

    def time_ms(self, op: str, dims: Dims) -> float:
        import torch

        with _fp32(), torch.no_grad():
            call = _call(op, dims)
            times = []
            for _ in range(CALLS):
                start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]  # torch's
                start.record()
                call()
                end.record()
                end.synchronize()
                times.append(float(start.elapsed_time(end)))
        return sum(sorted(times)[:FASTEST]) / FASTEST


@contextmanager
def _fp32() -> Iterator[None]:
    """TF32 off and the library's search for convolutions on, as in the data; the flags come back."""
    import torch

    cudnn, matmul = torch.backends.cudnn, torch.backends.cuda.matmul
    before = (cudnn.allow_tf32, cudnn.benchmark, matmul.allow_tf32)
    cudnn.allow_tf32, cudnn.benchmark, matmul.allow_tf32 = False, True, False
    try:
        yield
    finally:
        cudnn.allow_tf32, cudnn.benchmark, matmul.allow_tf32 = before


def _call(op: str, dims: Dims, device: str = "cuda") -> Callable[[], Any]:
    """A call of the operation on tensors of these sizes."""
    import torch

    generator = torch.Generator(device=device).manual_seed(0)

    def tensor(*shape: int) -> torch.Tensor:
        return torch.rand(*shape, device=device, generator=generator)

    functional = torch.nn.functional
    if op == "linear":
        _, m, k, n = dims
        x, weight, bias = tensor(m, k), tensor(n, k), tensor(n)
        return lambda: functional.linear(x, weight, bias)
    if op == "bmm":
        batch, m, k, n = dims
        left, right = tensor(batch, m, k), tensor(batch, k, n)
        return lambda: torch.bmm(left, right)
    if op == "conv":
        batch, inputs, outputs, kernel, side, stride, padding = dims
        image, filters = tensor(batch, inputs, side, side), tensor(outputs, inputs, kernel, kernel)
        return lambda: functional.conv2d(image, filters, stride=stride, padding=padding)
    x = tensor(*dims)
    other = tensor(*dims) if op in ("add", "mul", "div", "pow") else x
    weight, bias = tensor(dims[1]), tensor(dims[1])
    calls: dict[str, Callable[[], Any]] = {
        "add": lambda: x + other, "mul": lambda: x * other, "div": lambda: x / other, "pow": lambda: x**other,
        "addu": lambda: x + 1.5, "mulu": lambda: x * 1.5, "divu": lambda: x / 1.5, "powu": lambda: x**1.5,
        "relu": lambda: torch.relu(x), "gelu": lambda: functional.gelu(x), "tanh": lambda: torch.tanh(x),
        "softmax": lambda: torch.softmax(x, dim=-1),
        "ln": lambda: functional.layer_norm(x, (dims[1],), weight, bias),
    }  # fmt: skip
    return calls[op]
