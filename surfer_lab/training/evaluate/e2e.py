"""How well are whole models predicted on GPUs that nothing fitted has seen? The eager FP32 cases of e2e/.

Without an origin: the sum of the operations' predicted times against the measured step, with learned weights that never
saw the destination's die. With an origin: the origin's measured step times the ratio of the two predictions, blended
half and half in the logarithm with the absolute prediction; an origin whose measured operations do not add up to its
step (`HEALTHY`), or whose long products do not run at its sustained rate, is answered by the absolute one.

Sustained rates are the catalogue's: micro-benchmarks of the GPU itself, no model times. P4 and T4, fed by the slot,
count with half of their peak at most (`engine.learned.machine`); the roofline beside them does not, as the engine's.
The networks see nothing else of a destination. The fractions of the roofline that they are drawn to, one number a
family, were fitted over all dies: refitted without the destination's, errors are 6.0 / 4.4 % without an origin and
7.7 / 5.1 % with one, in place of 5.8 / 4.3 and 7.2 / 4.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from surfer_lab.engine import EngineOptions
from surfer_lab.engine.item_times import item_times
from surfer_lab.engine.literal_scaling import literal_gamma, scale_many_waves
from surfer_lab.engine.rates import rates_of
from surfer_lab.engine.wave_scaling import memory_share
from surfer_lab.engine.work_items import work_of
from surfer_lab.errors import SurferError
from surfer_lab.hardware.catalog import Catalog, load_catalog
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.training.evaluate.cases import Case, Evaluation, Table, stats_by
from surfer_lab.training.evaluate.listed_ops import captured
from surfer_lab.training.evaluate.model_ops import ModelCase, read_cases
from surfer_lab.units import NS_PER_MS

__all__ = ["evaluate_e2e", "is_healthy"]

F64 = NDArray[np.float64]

LEARNED: Final = "learned, no origin"
ROOFLINE: Final = "roofline calibrated by family, no origin"
BLENDED: Final = "origin's step x ratio, blended by its health"
RATIO: Final = "origin's step x ratio"
RATIO_OF_SUMS: Final = "origin's summed operations x ratio, blended by its health"
SUSTAINED_WAVES: Final = "wave scaling with sustained rates"
LITERAL_WAVES: Final = "wave scaling, literal, many waves"
# from the data's own disagreement between summed operations and steps (6 to 9 % on average, twice over); a half is two
# witnesses that count alike. Not fitted to these cases
HEALTHY: Final = 0.2  # |log| of summed operations over step
AT_RATE: Final = 0.3  # |log| of the measured long products over their prediction on the origin
_LONG_MS: Final = 1.0
_BLEND: Final = 0.5


@dataclass(frozen=True, kw_only=True, eq=False)
class _Predicted:
    """A case's operations on some GPUs: ns of a step, (gpus,), and by operation (gpus, ops)."""

    step_ms: F64
    low_ms: F64
    high_ms: F64
    op_ms: F64
    flop: F64
    moved_bytes: F64


def evaluate_e2e(data: Path, *, catalog: Catalog | None = None) -> Evaluation:
    """All eager cases with operations; the others are listed with the reason."""
    cards = catalog or load_catalog()
    cases, left_out = read_cases(data)
    gpu_of: dict[str, Gpu] = {}
    for spelled in {case.gpu for case in cases}:
        gpu = cards.find_spelling("kernels e2e", spelled)
        if gpu is None:
            raise SurferError(f"{spelled} is outside the catalogue", remedy="add it to the catalogue")
        gpu_of[spelled] = gpu
    alone = [one for case in cases for one in _alone(case, gpu_of[case.gpu])]
    published = list(_published(data, cases))
    pairs = [one for case in cases for other in cases for one in _pair(other, case, gpu_of)]
    unpredicted = [
        Case(
            gpu=str(row["gpu"]), model=str(row["model"]), mode=str(row["mode"]), batch=int(row["batch"]),
            option=str(row["option"]) if isinstance(row["option"], str) else None, num_gpus=int(row["num_gpus"]),
            method=LEARNED, measured_ms=float(row["e2e_ms"]), reason=reason, columns={"seq": int(row["seq"])},
        )
        for row, reason in left_out
    ]  # fmt: skip
    tables = (
        _table("models, no origin, the destination's die held out", [*alone, *published], by_gpu=False),
        _table("models, no origin, by GPU", alone, by_gpu=True),
        _table("models, every ordered pair of GPUs with the same case", pairs, by_gpu=False),
        _table(
            "models, every ordered pair, by destination", [one for one in pairs if one.method == BLENDED], by_gpu=True
        ),
    )
    healthy = [one for one in pairs if one.method == BLENDED and one.columns["origin_healthy"]]
    return Evaluation(
        name="e2e", cases=(*alone, *published, *pairs, *unpredicted), tables=tables,
        facts={"cases": len(cases), "not predicted": len(left_out),
               "pairs": sum(one.method == BLENDED for one in pairs), "pairs with a healthy origin": len(healthy)},
    )  # fmt: skip


def _table(title: str, cases: Sequence[Case], *, by_gpu: bool) -> Table:
    if by_gpu:
        return stats_by(cases, title=title, by=lambda case: (case.method, case.gpu), names=("method", "gpu"))
    return stats_by(cases, title=title, by=lambda case: (case.method,), names=("method",))


def _predicted(case: ModelCase, gpus: Sequence[Gpu], *, without_die: str, learned: bool) -> _Predicted:
    work = work_of(captured([(op.name, op.shapes) for op in case.ops]))
    options = EngineOptions(
        learned=learned, without_die=without_die, convolution_tf32=False, matmul_tf32=False
    )  # TF32 was off
    times = item_times(work, None, gpus, options)
    of_op = work.items.op.astype(np.int64)
    repeats = np.array([op.repeats for op in case.ops], dtype=np.float64)

    def by_op(column: F64) -> F64:
        return np.bincount(of_op, weights=column, minlength=len(case.ops)).astype(np.float64)

    op_ms = np.array([by_op(row) for row in times.duration_ns]) / NS_PER_MS
    low, high = (np.array([by_op(row) for row in end]) / NS_PER_MS for end in (times.low_ns, times.high_ns))
    return _Predicted(
        step_ms=op_ms @ repeats, low_ms=low @ repeats, high_ms=high @ repeats, op_ms=op_ms,
        flop=by_op(np.nan_to_num(work.items.flop)), moved_bytes=by_op(np.nan_to_num(work.items.bytes)),
    )  # fmt: skip


def _alone(case: ModelCase, gpu: Gpu) -> Iterable[Case]:
    for method, learned in ((LEARNED, True), (ROOFLINE, False)):
        said = _predicted(case, [gpu], without_die=gpu.die, learned=learned)
        yield _case(case, method, float(said.step_ms[0]), low_ms=float(said.low_ms[0]), high_ms=float(said.high_ms[0]))


def _case(
    case: ModelCase, method: str, predicted_ms: float, *, origin: str | None = None, low_ms: float | None = None,
    high_ms: float | None = None, healthy: bool | None = None,
) -> Case:  # fmt: skip
    columns: dict[str, str | int | float | None] = {"seq": case.seq}
    if healthy is not None:
        columns["origin_healthy"] = int(healthy)
    return Case(
        gpu=case.gpu, model=case.model, mode=case.mode, batch=case.batch, precision="fp32", origin_gpu=origin,
        method=method, predicted_ms=predicted_ms, low_ms=low_ms, high_ms=high_ms, measured_ms=case.step_ms,
        columns=columns,
    )  # fmt: skip


def _pair(origin: ModelCase, case: ModelCase, gpu_of: dict[str, Gpu]) -> Iterable[Case]:
    """`case` predicted from `origin`, the same model on another die."""
    here, there = gpu_of[origin.gpu], gpu_of[case.gpu]
    if origin.key != case.key or here.die == there.die:
        return
    said = _predicted(case, [here, there], without_die=there.die, learned=True)
    at_origin, absolute = float(said.step_ms[0]), float(said.step_ms[1])
    healthy = is_healthy(origin, said.op_ms[0])
    for method, measured in ((BLENDED, origin.step_ms), (RATIO_OF_SUMS, origin.sum_ms)):
        blended = absolute * (measured / at_origin) ** (_BLEND if healthy else 0.0)
        yield _case(case, method, blended, origin=origin.gpu, healthy=healthy)
    yield _case(case, RATIO, absolute * origin.step_ms / at_origin, origin=origin.gpu, healthy=healthy)
    measured_ms = np.array([op.measured_ms for op in origin.ops])
    repeats = np.array([op.repeats for op in origin.ops], dtype=np.float64)
    for method, scaled in (
        (SUSTAINED_WAVES, _sustained(measured_ms, said, here, there)),
        (LITERAL_WAVES, _literal(measured_ms, said, here, there)),
    ):
        # the operations' own share of the step: views and host time go along
        share = origin.step_ms / float(measured_ms @ repeats)
        yield _case(case, method, float(scaled @ repeats) * share, origin=origin.gpu, healthy=healthy)


def is_healthy(origin: ModelCase, predicted_op_ms: F64) -> bool:
    """Whether an origin's operations add up to its step, and its long products run at about its sustained rate."""
    if abs(float(np.log(origin.sum_ms / origin.step_ms))) > HEALTHY:
        return False
    measured = np.array([op.measured_ms for op in origin.ops])
    long = np.array([op.name in ("aten::mm", "aten::bmm") for op in origin.ops]) & (measured > _LONG_MS)
    if not long.any():
        return True
    return abs(float(np.median(np.log(measured[long] / predicted_op_ms[long])))) <= AT_RATE


def _sustained(measured_ms: F64, said: _Predicted, here: Gpu, there: Gpu) -> F64:
    rates = rates_of([here, there])
    fp32 = [gpu.sustained[RateClass.FP32].per_s for gpu in (here, there)]
    gamma = memory_share(said.flop, said.moved_bytes, fp32[0], float(rates.bytes_per_s[0]))
    gamma = np.where(np.isfinite(gamma), gamma, 1.0)
    factor = gamma * rates.bytes_per_s[0] / rates.bytes_per_s[1] + (1.0 - gamma) * fp32[0] / fp32[1]
    scaled: F64 = measured_ms * factor
    return scaled


def _literal(measured_ms: F64, said: _Predicted, here: Gpu, there: Gpu) -> F64:
    peak, bandwidth = np.array([there.peak_flop_per_s[RateClass.FP32]]), np.array([there.bandwidth_bytes_per_s])
    gamma = literal_gamma(said.flop, said.moved_bytes, peak, bandwidth)

    def pair(here: float, there: float) -> tuple[F64, F64]:
        return np.array([[here]]), np.array([[there]])

    scaled = scale_many_waves(
        measured_ms, gamma, waves=pair(here.sm_count, there.sm_count),
        bandwidth=pair(here.bandwidth_bytes_per_s, there.bandwidth_bytes_per_s),
        clock=pair(here.clock_hz, there.clock_hz),
    )  # fmt: skip
    first: F64 = scaled[0]
    return first


def _published(data: Path, cases: Sequence[ModelCase]) -> Iterable[Case]:
    """Predictions that others published for the same cases, as they stand, whichever GPUs they saw."""
    path = data / "e2e" / "predictors.csv"
    if not path.is_file():
        return
    table = pd.read_csv(path)
    table = table[table.option.isna()]
    known = {(case.gpu, *case.key): case for case in cases}
    for row in table.to_dict("records"):
        case = known.get((str(row["gpu"]), str(row["model"]), str(row["mode"]), int(row["seq"]), int(row["batch"])))
        if case is not None:
            yield _case(case, f"published: {row['predictor']}", float(row["pred_e2e_ms"]))
