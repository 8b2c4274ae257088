"""How well are single operations predicted on dies that nothing learned saw? The tables of kernels/.

Products and convolutions by the networks, beside the calibrated roofline, wave scaling from the other dies' timings of
the same shape (literal, and with sustained rates), and, under the protocol `logo`, the first paper's plain networks
refitted under the same split.

The harness's launch, the same for all methods, is added to what is predicted (`fit.micro_benchmarks`). Beside the
two sustained numbers of the catalogue a third row says what a family's own rate is worth: its scale is the median of a
dozen long timings of the GPU itself, evenly over the table, which are then no cases.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.learned import LearnedFamily, predict_times
from surfer_lab.engine.learned.machine import machines_of
from surfer_lab.engine.learned.parametric import parametric_ms
from surfer_lab.engine.wave_scaling import memory_share
from surfer_lab.errors import OptionError
from surfer_lab.hardware.catalog import Catalog, load_catalog
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.training.evaluate.cases import Case, Evaluation, stats_by
from surfer_lab.training.evaluate.hybrid_baseline import networks_without
from surfer_lab.training.evaluate.protocol import Protocol, die_left_out, protocol_named, weights_for
from surfer_lab.training.fit.micro_benchmarks import TABLES, Timings, read_timings
from surfer_lab.units import NS_PER_MS

__all__ = ["evaluate_kernels"]

F64 = NDArray[np.float64]
Progress = Callable[[str, int, int], None]
I64 = NDArray[np.int64]

LEARNED: Final = "learned, its die held out"
ROOFLINE: Final = "roofline calibrated by family"
ONE_CONSTANT: Final = "plain roofline, one constant of the other dies"
SUSTAINED_WAVES: Final = "wave scaling with sustained rates, other dies' mean"
LITERAL_WAVES: Final = "wave scaling, literal, other dies' mean"
HYBRID: Final = "plain network on sizes and specs, refitted"
OWN_RATE: Final = "learned, scaled by a dozen of the GPU's own timings"
SAMPLE: Final = 2_000  # rows of a family on a GPU, evenly over its table
_PROBES: Final = 12
_TAPS: Final = 9.0
_FP32_BYTES: Final = 4.0
_MS_A_SECOND: Final = 1e3
_PROBE_MS: Final = (2.0, 60.0)


def evaluate_kernels(
    data: Path,
    *,
    protocol: Protocol | str = Protocol.HELD_OUT,
    sample: int | None = SAMPLE,
    progress: Progress | None = None,
    catalog: Catalog | None = None,
) -> Evaluation:
    """Every `sample` rows of a family on a GPU, None: all of them. Families without a table are named in the facts."""
    split = protocol_named(protocol) if isinstance(protocol, str) else protocol
    cards = catalog or load_catalog()
    paths = {one: data / "kernels" / f"{table}.parquet" for one, (table, _) in TABLES.items()}
    families = [one for one, path in paths.items() if path.is_file()]
    if not families:
        raise OptionError(f"there are no tables of operations: {data / 'kernels'}", remedy="a folder with kernels/")
    missing = [one.value for one in paths if one not in families]
    with weights_for(data, split, cards, progress):
        cases = [case for family in families for case in _family_cases(data, family, cards, sample, split)]
    return Evaluation(
        name="kernels",
        cases=tuple(cases),
        tables=(
            stats_by(cases, title="single operations", by=lambda case: (case.model, case.method),
                     names=("family", "method")),
            stats_by(cases, title="single operations, by GPU", by=lambda case: (case.model, case.method, case.gpu),
                     names=("family", "method", "gpu")),
        ),
        facts={"protocol": split.value, "cases": len(cases), "tables that are missing": ", ".join(missing) or None},
    )  # fmt: skip


def _family_cases(
    data: Path, family: LearnedFamily, catalog: Catalog, sample: int | None, protocol: Protocol
) -> Iterator[Case]:
    timings = read_timings(data, family, catalog)
    plain_ms = _plain_roofline_ms(timings)
    for index, gpu in enumerate(timings.gpus):
        rows = np.flatnonzero(timings.gpu == index)
        if not len(rows):
            continue
        judged = yield from _gpu_cases(timings, index, rows, sample, protocol, plain_ms)
        yield from _from_other_dies(timings, index, judged)
        others = ~timings.on_die(gpu.die)
        if protocol is Protocol.LOGO and others.any():
            hybrid = networks_without(data, family, gpu.die, catalog)
            said = hybrid.times_ms(timings.shapes[judged], (gpu,), np.zeros(len(judged), dtype=np.int64))
            yield from _cases(timings, index, judged, HYBRID, said)


def _gpu_cases(
    timings: Timings, index: int, rows: I64, sample: int | None, protocol: Protocol, plain_ms: F64
) -> Generator[Case, None, I64]:
    """Cases without an origin; the rows judged come back."""
    gpu, measured, floor = timings.gpus[index], timings.measured_ms, timings.floor_ms
    long = rows[(measured[rows] > _PROBE_MS[0]) & (measured[rows] < _PROBE_MS[1])]
    probes = _evenly(long, _PROBES)
    judged = _evenly(np.setdiff1d(rows, probes), sample)
    without = die_left_out(gpu, protocol)
    scale = 1.0
    if len(probes):
        scale = float(np.median((measured - floor)[probes] / _learned_ms(timings, index, probes, without)))
    learned = _learned_ms(timings, index, judged, without)
    machines = machines_of([gpu], timings.family, long_run=False).take(np.zeros(len(judged), dtype=np.int64))
    roofline = parametric_ms(timings.family, timings.shapes[judged], machines)
    constant = float(np.median(((measured - floor) / plain_ms)[~timings.on_die(gpu.die)]))
    for method, predicted in (
        (LEARNED, learned), (ROOFLINE, roofline), (OWN_RATE, learned * scale),
        (ONE_CONSTANT, plain_ms[judged] * constant),
    ):  # fmt: skip
        yield from _cases(timings, index, judged, method, predicted + floor[judged])
    return judged


def _from_other_dies(timings: Timings, index: int, judged: I64) -> Iterator[Case]:
    """Wave scaling of many waves from each other die's timing of the same shape; a case is their geometric mean."""
    gpu = timings.gpus[index]
    by_shape: dict[tuple[float, ...], list[int]] = {}
    for row in np.flatnonzero(~timings.on_die(gpu.die)).tolist():
        by_shape.setdefault(tuple(timings.shapes[row].tolist()), []).append(row)
    pairs = [(row, other) for row in judged.tolist() for other in by_shape.get(tuple(timings.shapes[row].tolist()), [])]
    if not pairs:
        return
    row_of, other = np.array(pairs, dtype=np.int64).T
    flop, moved = work_of_shapes(timings.family, timings.shapes[row_of])
    for method, ratio in (
        (SUSTAINED_WAVES, _sustained_ratio(timings, other, gpu, flop, moved)),
        (LITERAL_WAVES, _literal_ratio(timings, other, gpu, flop, moved)),
    ):
        above = np.maximum(timings.measured_ms[other] - timings.floor_ms[other], 1e-4)
        logs = np.log(above * ratio)
        rows, which = np.unique(row_of, return_inverse=True)
        mean = np.bincount(which, weights=logs) / np.bincount(which)
        yield from _cases(timings, index, rows, method, np.exp(mean) + timings.floor_ms[rows])


def _plain_roofline_ms(timings: Timings) -> F64:
    """The larger of arithmetic and memory time at the sustained rates, of each row on its own GPU."""
    flop, moved = work_of_shapes(timings.family, timings.shapes)
    rate, bandwidth = (
        np.array([get(one) for one in timings.gpus])[timings.gpu] for get in (_fp32_rate, _sustained_bandwidth)
    )
    found: F64 = np.maximum(flop / rate, moved / bandwidth) * _MS_A_SECOND
    return found


def _sustained_ratio(timings: Timings, other: I64, gpu: Gpu, flop: F64, moved: F64) -> F64:
    rate, bandwidth = (
        np.array([get(one) for one in timings.gpus])[timings.gpu[other]] for get in (_fp32_rate, _sustained_bandwidth)
    )
    gamma = memory_share(flop, moved, rate, bandwidth)
    ratio: F64 = gamma * bandwidth / _sustained_bandwidth(gpu) + (1.0 - gamma) * rate / _fp32_rate(gpu)
    return ratio


def _literal_ratio(timings: Timings, other: I64, gpu: Gpu, flop: F64, moved: F64) -> F64:
    gamma = memory_share(flop, moved, gpu.peak_flop_per_s[RateClass.FP32], gpu.bandwidth_bytes_per_s)
    bandwidth, sms, clock = (
        np.array([getattr(one, name) for one in timings.gpus], dtype=np.float64)[timings.gpu[other]]
        for name in ("bandwidth_bytes_per_s", "sm_count", "clock_hz")
    )
    compute = sms / gpu.sm_count * clock / gpu.clock_hz
    ratio: F64 = (bandwidth / gpu.bandwidth_bytes_per_s) ** gamma * compute ** (1.0 - gamma)
    return ratio


def _fp32_rate(gpu: Gpu) -> float:
    return gpu.sustained[RateClass.FP32].per_s


def _sustained_bandwidth(gpu: Gpu) -> float:
    return gpu.sustained_bandwidth.per_s


def work_of_shapes(family: LearnedFamily, shapes: F64) -> tuple[F64, F64]:
    """FLOPs and bytes of FP32 operations, (rows,) each; a convolution by the direct algorithm."""
    first, m, k, n = shapes.T
    if family is LearnedFamily.CONV:
        pixels = first * n**2
        return 2.0 * pixels * m * k * _TAPS, _FP32_BYTES * (pixels * (m + k) + m * k * _TAPS)
    return 2.0 * first * m * k * n, _FP32_BYTES * first * (m * k + k * n + m * n)


def _cases(timings: Timings, index: int, rows: I64, method: str, predicted_ms: F64) -> Iterator[Case]:
    for row, value in zip(rows.tolist(), predicted_ms.tolist(), strict=True):
        yield Case(
            gpu=timings.gpus[index].name, model=timings.family.value, mode="forward", precision="fp32", method=method,
            predicted_ms=value, measured_ms=float(timings.measured_ms[row]),
            columns=dict(zip(TABLES[timings.family][1], map(int, timings.shapes[row].tolist()), strict=True)),
        )  # fmt: skip


def _learned_ms(timings: Timings, index: int, rows: I64, without_die: str) -> F64:
    gpu = timings.gpus[index]
    times = predict_times(timings.family, timings.shapes[rows], [gpu], without_die=without_die, long_run=False)
    ms: F64 = times[0] / NS_PER_MS
    return ms


def _evenly(rows: I64, count: int | None) -> I64:
    if count is None or len(rows) <= count:
        return rows
    return rows[np.linspace(0, len(rows) - 1, count).round().astype(np.int64)]
