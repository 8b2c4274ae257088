"""At what rate does this machine's GPU really multiply matrices and copy memory: the two sustained numbers, by dtype?

Runs large matrix multiplications in each dtype class the GPU has and copies far beyond its caches, a few seconds each
so that clocks settle under power, and keeps the median of the later half: under 60 s in all. Matrices are random (zeros
draw less power and run faster), made by a generator of its own: the user's random state, flags and memory are as
before. The figures are saved for this user and win over the catalogue's from then on. With `cpu=True` the CPU is
measured, a real figure that no GPU uses. Refuses, with GpuError, to run without a GPU otherwise.
"""

from __future__ import annotations

import datetime
import platform
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final, Protocol

from surfer_lab.errors import GpuError, UnknownGpuError
from surfer_lab.hardware.calibrations import Calibration, save_calibrations
from surfer_lab.hardware.cards import BANDWIDTH
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Gpu, Rate, Vendor
from surfer_lab.units import BYTES_PER_GIB, BYTES_PER_MIB, NS_PER_MS, NS_PER_S

if TYPE_CHECKING:
    import torch

__all__ = ["CalibrationRun", "calibrate", "gpu_name"]

SECONDS_EACH: Final = 3.0  # a quantity: long enough for clocks to settle, six of them far below a minute
WARM_UP_FRACTION: Final = 0.5  # of that time, left out of the median
BATCH_NS: Final = 100 * NS_PER_MS  # work queued between two looks at the clock
LONG_CALL_NS: Final = 5 * NS_PER_MS  # a matrix is big enough when one multiplication takes this long
SIZES: Final = (1024, 2048, 4096, 8192, 16384)  # n of n x n; multiples of 16, which FP8 needs
CPU_SIZES: Final = (512, 1024, 2048)
MATMUL_MEMORY_FRACTION: Final = 0.25  # of free memory, at most, for the three matrices
COPY_BYTES: Final = BYTES_PER_GIB  # far beyond any L2; less on a small card
COPY_MEMORY_FRACTION: Final = 0.125
CPU_COPY_BYTES: Final = 256 * BYTES_PER_MIB

TORCH_DTYPES: Final[Mapping[RateClass, str]] = {
    RateClass.FP32: "float32",
    RateClass.TF32: "float32",
    RateClass.FP16: "float16",
    RateClass.BF16: "bfloat16",
    RateClass.FP8: "float8_e4m3fn",
}
Progress = Callable[[str, float], None]  # what is measured now, share done


@dataclass(frozen=True, kw_only=True)
class CalibrationRun:
    """What was measured, what it replaces, and what could not be measured, with the reason."""

    gpu: Gpu | None  # as known before; None for a CPU or a GPU the catalogue cannot place
    device: str
    measured: tuple[Calibration, ...]
    before: Mapping[str, Rate]  # by quantity, the rates used until now
    skipped: Mapping[str, str]  # by quantity: why
    seconds: float
    saved_to: Path | None


class Machine(Protocol):
    """What is measured: something that can multiply, copy and tell the time."""

    name: str
    gpu: Gpu | None
    classes: tuple[RateClass, ...]

    def matmul(self, rate_class: RateClass) -> tuple[Callable[[], object], float]:
        """A call that multiplies two matrices, and its FLOPs."""
        ...

    def copy(self) -> tuple[Callable[[], object], float]:
        """A call that copies a buffer, and the bytes it reads and writes."""
        ...

    def time_ns(self, work: Callable[[], object], repeats: int) -> float:
        """How long `repeats` calls in a row take."""
        ...


def calibrate(
    *,
    cpu: bool = False,
    save: bool = True,
    folder: Path | None = None,
    progress: Progress | None = None,
    machine: Machine | None = None,
    seconds_each: float = SECONDS_EACH,
) -> CalibrationRun:
    """Measure the sustained rates of this machine's first GPU (or its CPU), and keep them for this user."""
    started = time.perf_counter()
    with _quiet_torch():
        device = machine if machine is not None else _CpuMachine() if cpu else _gpu_machine()
        rates: dict[str, float] = {}
        skipped: dict[str, str] = {}
        quantities = (*(one.value for one in device.classes), BANDWIDTH)
        for index, quantity in enumerate(quantities):
            if progress is not None:
                progress(quantity, index / len(quantities))
            try:
                work, amount = device.copy() if quantity == BANDWIDTH else device.matmul(RateClass(quantity))
                rates[quantity] = sustained_per_s(device, work, amount, seconds_each)
            except (RuntimeError, NotImplementedError, AttributeError, TypeError) as error:
                # a dtype this build of torch cannot multiply on this card; out of memory is a RuntimeError too
                skipped[quantity] = str(error).splitlines()[0] if str(error) else type(error).__name__
    if not rates:
        raise GpuError(
            f"nothing could be measured on {device.name}: {next(iter(skipped.values()))}",
            remedy="free the GPU's memory, or check that torch runs on it",
        )
    today = datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()
    measured = tuple(
        Calibration(
            gpu=device.gpu.name if device.gpu is not None else device.name,
            quantity=quantity,
            value_per_s=rate,
            measured_on=today,
            how=f"large matrix multiplications and copies on {device.name}",
        )
        for quantity, rate in rates.items()
    )
    if progress is not None:
        progress("done", 1.0)
    return CalibrationRun(
        gpu=device.gpu,
        device=device.name,
        measured=measured,
        before={} if device.gpu is None else _rates_before(device.gpu),
        skipped=skipped,
        seconds=time.perf_counter() - started,
        saved_to=save_calibrations(measured, folder) if save else None,
    )


def sustained_per_s(machine: Machine, work: Callable[[], object], amount: float, seconds: float) -> float:
    """FLOPs or bytes by the second: median over batches of the later half of `seconds`, all machine time."""
    machine.time_ns(work, 1)  # the first call loads the kernel
    repeats = max(1, round(BATCH_NS / max(machine.time_ns(work, 1), 1.0)))
    batches: list[float] = []
    spent_ns = 0.0
    while spent_ns < seconds * NS_PER_S or not batches:
        batch_ns = max(machine.time_ns(work, repeats), 1.0)
        spent_ns += batch_ns
        batches.append(batch_ns / repeats)
    settled = batches[int(len(batches) * WARM_UP_FRACTION) :]
    return amount / (median(settled) / NS_PER_S)


def _rates_before(gpu: Gpu) -> dict[str, Rate]:
    return {BANDWIDTH: gpu.sustained_bandwidth, **{one.value: rate for one, rate in gpu.sustained.items()}}


@contextmanager
def _quiet_torch() -> Iterator[None]:
    """Without gradients, and with the fp32 precision flag back as it was."""
    import torch  # training imports torch where it measures, not on import

    precision = torch.get_float32_matmul_precision()
    try:
        with torch.no_grad():
            yield
    finally:
        torch.set_float32_matmul_precision(precision)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


@dataclass(kw_only=True)
class _CpuMachine:
    """The CPU, as torch uses it."""

    name: str = field(default_factory=lambda: f"CPU ({_cpu_model()})")
    gpu: Gpu | None = None
    classes: tuple[RateClass, ...] = (RateClass.FP32,)

    def matmul(self, rate_class: RateClass) -> tuple[Callable[[], object], float]:
        return _big_enough(self, CPU_SIZES, lambda size: _matmul_call("cpu", rate_class, size))

    def copy(self) -> tuple[Callable[[], object], float]:
        return _copy_call("cpu", CPU_COPY_BYTES)

    def time_ns(self, work: Callable[[], object], repeats: int) -> float:
        start = time.perf_counter_ns()
        for _ in range(repeats):
            work()
        return time.perf_counter_ns() - start


@dataclass(kw_only=True)
class _GpuMachine:
    """The current CUDA or ROCm device, timed by its own events."""

    name: str
    gpu: Gpu | None
    classes: tuple[RateClass, ...]

    def matmul(self, rate_class: RateClass) -> tuple[Callable[[], object], float]:
        import torch

        torch.set_float32_matmul_precision("high" if rate_class is RateClass.TF32 else "highest")
        free_bytes, _ = torch.cuda.mem_get_info()
        fitting = [size for size in SIZES if 3 * size * size * 4 <= free_bytes * MATMUL_MEMORY_FRACTION] or SIZES[:1]
        return _big_enough(self, tuple(fitting), lambda size: _matmul_call("cuda", rate_class, size))

    def copy(self) -> tuple[Callable[[], object], float]:
        import torch

        free_bytes, _ = torch.cuda.mem_get_info()
        return _copy_call("cuda", min(COPY_BYTES, int(free_bytes * COPY_MEMORY_FRACTION)))

    def time_ns(self, work: Callable[[], object], repeats: int) -> float:
        import torch

        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]  # torch's
        start.record()
        for _ in range(repeats):
            work()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) * NS_PER_MS


def gpu_name() -> str:
    """This machine's first GPU as the catalogue names it, or as it names itself; GpuError where there is none."""
    machine = _gpu_machine()
    return machine.gpu.name if machine.gpu is not None else machine.name


def _gpu_machine() -> _GpuMachine:
    import torch

    if not torch.cuda.is_available():
        raise GpuError(
            "torch sees no CUDA or ROCm GPU here",
            remedy="run it on the machine with the GPU, or `surfer calibrate --cpu` to measure this CPU",
        )
    facts = torch.cuda.get_device_properties(torch.cuda.current_device())
    target = str(getattr(facts, "gcnArchName", ""))
    capability = target if torch.version.hip and target else f"{facts.major}.{facts.minor}"
    gpu: Gpu | None
    try:
        gpu = load_catalog().find(
            facts.name,
            sm_count=facts.multi_processor_count,
            memory_bytes=facts.total_memory,
            compute_capability=capability,
        )
    except UnknownGpuError:  # measured all the same, under its own name; the figures count once it has a row
        gpu = None
    classes = tuple(one for one in TORCH_DTYPES if gpu is None or one in gpu.sustained)
    if gpu is not None and gpu.vendor is Vendor.AMD:  # TF32 and FP8 need switches and types of their own there
        classes = tuple(one for one in classes if one not in (RateClass.TF32, RateClass.FP8))
    return _GpuMachine(name=str(facts.name), gpu=gpu, classes=classes)


def _big_enough(
    machine: Machine, sizes: tuple[int, ...], call_of: Callable[[int], tuple[Callable[[], object], float]]
) -> tuple[Callable[[], object], float]:
    """The first size whose multiplication takes long enough, or the largest."""
    for size in sizes:
        work, flop = call_of(size)
        work()  # the library picks its kernel here
        if machine.time_ns(work, 1) >= LONG_CALL_NS:
            break
    return work, flop


def _matmul_call(device: str, rate_class: RateClass, size: int) -> tuple[Callable[[], object], float]:
    import torch

    dtype: torch.dtype = getattr(torch, TORCH_DTYPES[rate_class])
    generator = torch.Generator(device=device).manual_seed(0)
    left, right = (torch.rand(size, size, device=device, generator=generator).sub_(0.5) for _ in range(2))
    flop = 2.0 * size**3
    if rate_class is RateClass.FP8:
        one = torch.ones((), device=device)
        left8, right8 = left.to(dtype), right.to(dtype).t()
        scaled = torch._scaled_mm  # the only door to FP8 multiplication; private, so its absence is caught
        return lambda: scaled(left8, right8, scale_a=one, scale_b=one, out_dtype=torch.bfloat16), flop
    left, right = left.to(dtype), right.to(dtype)
    out = torch.empty_like(left)
    return lambda: torch.mm(left, right, out=out), flop


def _copy_call(device: str, size_bytes: int) -> tuple[Callable[[], object], float]:
    import torch

    count = max(1, size_bytes // 4)
    generator = torch.Generator(device=device).manual_seed(0)
    source = torch.rand(count, device=device, generator=generator)
    target = torch.empty_like(source)
    return lambda: target.copy_(source), 2.0 * 4 * count


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.lower().startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass  # not Linux: the platform's word for it
    return platform.processor() or platform.machine() or "unknown model"
