"""How well are whole models predicted on GPUs that nothing learned has seen? The eager FP32 cases of e2e/.

Both ways go through `engine.predict`, as a user's recording does. Without an origin: a capture of the operations'
shapes. With one: a recording made of the origin's measured operations, beside its measured step; the engine itself
finds out whether that origin is healthy, and blends or leaves it aside. Every ordered pair counts.

Sustained rates are the catalogue's: micro-benchmarks of the GPU itself, no model times. Networks and ranges see nothing
of a destination's die. The fractions of the roofline that the networks are drawn to, one number a family, were fitted
over all dies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from surfer_lab.engine import EngineOptions, ScalingMethod, predict
from surfer_lab.engine.estimate import PredictionSet
from surfer_lab.engine.ranges import LEVELS
from surfer_lab.hardware.catalog import Catalog, load_catalog
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Gpu, Rate, RateOrigin
from surfer_lab.trace.model import Trace
from surfer_lab.training.evaluate.cases import Case, Cell, Evaluation, Table, range_table, stats_by
from surfer_lab.training.evaluate.hybrid_baseline import HybridStep
from surfer_lab.training.evaluate.listed_ops import captured, recorded
from surfer_lab.training.evaluate.model_ops import ModelCase, read_cases
from surfer_lab.training.evaluate.plain_roofline import constants_of_others, plain_roofline_ns
from surfer_lab.training.evaluate.protocol import Protocol, die_left_out, protocol_named, weights_for
from surfer_lab.training.gpu_names import gpu_spelled
from surfer_lab.training.step_constants import captured_step, fit_step_constants, with_constants
from surfer_lab.units import NS_PER_MS

__all__ = ["evaluate_e2e", "no_origin_cases", "pair_cases"]

LEARNED: Final = "as shipped, no origin"
ROOFLINE: Final = "roofline calibrated by family, no origin"
ONE_CONSTANT: Final = "plain roofline, one constant of the other dies"
BLENDED: Final = "as shipped, from an origin"
CALIBRATED: Final = "as shipped, no origin, after three steps of other models"
UNMEASURED: Final = "no origin, the GPU's rates not measured"
UNMEASURED_CALIBRATED: Final = "no origin, rates not measured, after three steps of other models"
STEPS: Final = 3
_PLAIN_MS: Final = "plain_roofline_ms"
SUMMED: Final = "as shipped, from an origin's summed operations"
SUSTAINED_WAVES: Final = "wave scaling with sustained rates"
LITERAL_WAVES: Final = "wave scaling, literal, many waves"
ROOFLINE_RATIO: Final = "the origin's step by the ratio of calibrated rooflines"
PLAIN_RATIO: Final = "the origin's step by the ratio of plain rooflines"
HYBRID: Final = "hybrid of literal waves and plain networks, refitted"
_RANGED: Final = (LEARNED, BLENDED)  # ranges belong to what is shown, not to baselines
_TF32_OFF: Final = EngineOptions(convolution_tf32=False, matmul_tf32=False)  # as it was measured
Progress = Callable[[str, int, int], None]


def evaluate_e2e(
    data: Path,
    *,
    protocol: Protocol | str = Protocol.HELD_OUT,
    sample: int | None = None,
    progress: Progress | None = None,
    catalog: Catalog | None = None,
) -> Evaluation:
    """All eager cases with operations, or `sample` of them; all other rows are listed with the reason."""
    split = protocol_named(protocol) if isinstance(protocol, str) else protocol
    cards = catalog or load_catalog()
    read, left_out = read_cases(data)
    gpu_of = {spelled: gpu_spelled(cards, spelled) for spelled in {case.gpu for case in read}}
    known = [case for case in read if gpu_of[case.gpu] is not None]
    outside = [case for case in read if gpu_of[case.gpu] is None]
    cases = known if sample is None else [known[at] for at in _evenly(len(known), sample)]
    found = {spelled: gpu for spelled, gpu in gpu_of.items() if gpu is not None}
    with weights_for(data, split, cards, progress):
        alone = list(no_origin_cases(cases, found, split, progress))
        alone += calibrated_cases(cases, found, split, progress)
        pairs = [*pair_cases(cases, found, split, progress), *_ratio_cases(cases, found, alone)]
    if split is Protocol.LOGO:
        pairs += _hybrid_cases(data, cases, found, cards, progress)
    published = list(_published(data, cases))
    unpredicted = [
        *(_unpredicted(dict(row), reason) for row, reason in left_out),
        *(_unpredicted(dict(case.columns), f"{case.gpu} is outside the catalogue") for case in outside),
    ]
    return Evaluation(
        name="e2e",
        cases=(*alone, *published, *pairs, *unpredicted),
        tables=_tables(alone, published, pairs, split),
        facts={
            "protocol": split.value, "cases": len(cases), "not predicted": len(unpredicted),
            "pairs": sum(one.method == BLENDED for one in pairs),
            "pairs with a trusted origin": sum(
                one.method == BLENDED and bool(one.columns["origin_trusted"]) for one in pairs
            ),
        },
    )  # fmt: skip


def _evenly(count: int, wanted: int) -> list[int]:
    return sorted(set(np.linspace(0, count - 1, min(wanted, count)).round().astype(int).tolist())) if count else []


# -- predictions -------------------------------------------------------------------------------------------------------


def no_origin_cases(
    cases: Sequence[ModelCase], gpu_of: dict[str, Gpu], protocol: Protocol, progress: Progress | None = None
) -> Iterator[Case]:
    """Each case from its shapes alone: by the product, by the calibrated roofline, and by a plain one."""
    plain_ms = np.empty(len(cases))
    for number, case in enumerate(cases):
        gpu = gpu_of[case.gpu]
        held_out = replace(_TF32_OFF, without_die=die_left_out(gpu, protocol))
        trace = _capture(case)
        for method, options in ((LEARNED, held_out), (ROOFLINE, replace(held_out, learned=False))):
            yield _with_ranges(_case(case, method), trace, gpu, None, options)
        plain_ms[number] = float(plain_roofline_ns(predict(trace, [gpu], options=held_out))[0]) / NS_PER_MS
        if progress is not None:
            progress(f"{case.model} on {case.gpu}", number + 1, len(cases))
    measured = np.array([case.step_ms for case in cases])
    constants = constants_of_others(measured / plain_ms, [gpu_of[case.gpu].die for case in cases])
    for case, time_ms, constant in zip(cases, plain_ms.tolist(), constants.tolist(), strict=True):
        said = replace(_case(case, ONE_CONSTANT), columns={**_own_columns(case.columns), _PLAIN_MS: time_ms})
        if math.isfinite(constant):
            yield replace(said, predicted_ms=time_ms * constant)
        else:
            yield replace(said, reason="no other die to take the constant from")


def calibrated_cases(
    cases: Sequence[ModelCase], gpu_of: dict[str, Gpu], protocol: Protocol, progress: Progress | None = None
) -> Iterator[Case]:
    """Each case after `surfer calibrate --from-steps` with `STEPS` measured steps of other models on the same GPU.

    Of the card as it is known, and as if nobody had measured its rates: by the other dies' median fractions of peaks.
    """
    for spelled in dict.fromkeys(case.gpu for case in cases):
        own = [case for case in cases if case.gpu == spelled]
        unmeasured = _unmeasured(gpu_of[spelled], list(gpu_of.values()))
        held_out = replace(_TF32_OFF, without_die=die_left_out(gpu_of[spelled], protocol))
        for case in own:
            yield _with_ranges(_case(case, UNMEASURED), _capture(case), unmeasured, None, held_out)
        for gpu, method in ((gpu_of[spelled], CALIBRATED), (unmeasured, UNMEASURED_CALIBRATED)):
            yield from _after_steps(own, gpu, method, held_out)
        if progress is not None:
            progress(f"calibrated: {spelled}", 0, 1)


def _unmeasured(gpu: Gpu, others: Sequence[Gpu]) -> Gpu:
    """The card with the other dies' median fractions of the peaks in place of what was measured on it."""
    apart = [one for one in others if one.die != gpu.die] or [gpu]
    fraction = float(
        np.median([one.sustained[RateClass.FP32].per_s / one.peak_flop_per_s[RateClass.FP32] for one in apart])
    )
    moved = float(np.median([one.sustained_bandwidth.per_s / one.bandwidth_bytes_per_s for one in apart]))
    rate = Rate(per_s=fraction * gpu.peak_flop_per_s[RateClass.FP32], origin=RateOrigin.TYPICAL, source="of other dies")
    bandwidth = Rate(per_s=moved * gpu.bandwidth_bytes_per_s, origin=RateOrigin.TYPICAL, source="of other dies")
    return replace(gpu, sustained={**gpu.sustained, RateClass.FP32: rate}, sustained_bandwidth=bandwidth)


def _after_steps(own: Sequence[ModelCase], gpu: Gpu, method: str, held_out: EngineOptions) -> Iterator[Case]:
    for model in dict.fromkeys(case.model for case in own):
        others = [case for case in own if case.model != model]
        if not others:
            continue
        steps = [
            captured_step(_capture(case), case.step_ms * NS_PER_MS, name=case.model, options=held_out)
            for case in (others[at] for at in _evenly(len(others), STEPS))
        ]
        found = fit_step_constants(steps, gpu)
        card = with_constants(gpu, found.arithmetic, found.memory)
        columns: dict[str, Cell] = {"arithmetic": found.arithmetic, "memory": found.memory}
        for case in own:
            if case.model == model:
                said = _with_ranges(_case(case, method), _capture(case), card, None, held_out)
                yield replace(said, columns={**said.columns, **columns})


def _capture(case: ModelCase) -> Trace:
    return captured([(op.name, op.shapes) for op in case.ops for _ in range(op.repeats)])


def pair_cases(
    cases: Sequence[ModelCase], gpu_of: dict[str, Gpu], protocol: Protocol, progress: Progress | None = None
) -> Iterator[Case]:
    """Each case from each other die's run of the same model."""
    for number, origin in enumerate(cases):
        here = gpu_of[origin.gpu]
        targets = [one for one in cases if one.key == origin.key and gpu_of[one.gpu].die != here.die]
        if not targets:
            continue
        with_step, summed = _recording(origin, origin.step_ms), _recording(origin, None)
        for case in targets:
            there = gpu_of[case.gpu]
            held_out = replace(_TF32_OFF, without_die=die_left_out(there, protocol))
            for method, trace, options in (
                (BLENDED, with_step, held_out),
                (SUMMED, summed, held_out),
                (SUSTAINED_WAVES, with_step, replace(held_out, blended=False)),
                (LITERAL_WAVES, with_step, replace(held_out, method=ScalingMethod.LITERAL_MANY_WAVES)),
            ):
                yield _with_ranges(_case(case, method, origin=origin.gpu), trace, there, here, options)
        if progress is not None:
            progress(f"from {origin.gpu}: {origin.model}", number + 1, len(cases))


def _ratio_cases(cases: Sequence[ModelCase], gpu_of: dict[str, Gpu], alone: Sequence[Case]) -> Iterator[Case]:
    """Baselines of pairs: the origin's measured step by the ratio of what two rooflines say of both GPUs."""
    calibrated = [case.predicted_ms for case in alone if case.method == ROOFLINE]
    plain = [case.columns[_PLAIN_MS] for case in alone if case.method == ONE_CONSTANT]
    for method, times in ((ROOFLINE_RATIO, calibrated), (PLAIN_RATIO, plain)):
        for origin, here in zip(cases, times, strict=True):
            for case, there in zip(cases, times, strict=True):
                if case.key == origin.key and gpu_of[case.gpu].die != gpu_of[origin.gpu].die:
                    time_ms = origin.step_ms * float(there or math.nan) / float(here or math.nan)
                    yield replace(_case(case, method, origin=origin.gpu), predicted_ms=time_ms)


def _recording(origin: ModelCase, step_ms: float | None) -> Trace:
    ops = [op for op in origin.ops for _ in range(op.repeats)]
    return recorded(
        [(op.name, op.shapes) for op in ops],
        [op.measured_ms * NS_PER_MS for op in ops],
        None if step_ms is None else step_ms * NS_PER_MS,
    )


def _with_ranges(case: Case, trace: Trace, gpu: Gpu, origin: Gpu | None, options: EngineOptions) -> Case:
    said = predict(trace, [gpu], origin=origin, options=options)
    columns = dict(case.columns)
    if origin is not None:
        columns["origin_trusted"] = int(said.origin_is_trusted)
    step_ms = float(said.steps.step_ns[0]) / NS_PER_MS
    if case.method not in _RANGED:
        return replace(case, predicted_ms=step_ms, columns=columns)
    low, high = _ends_ms(said)
    wide = predict(trace, [gpu], origin=origin, options=replace(options, range_level=LEVELS[1]))
    columns["low90_ms"], columns["high90_ms"] = _ends_ms(wide)
    return replace(case, predicted_ms=step_ms, low_ms=low, high_ms=high, columns=columns)


def _ends_ms(said: PredictionSet) -> tuple[float, float]:
    return float(said.steps.low_ns[0]) / NS_PER_MS, float(said.steps.high_ns[0]) / NS_PER_MS


def _hybrid_cases(
    data: Path, cases: Sequence[ModelCase], gpu_of: dict[str, Gpu], catalog: Catalog, progress: Progress | None
) -> Iterator[Case]:
    hybrid = HybridStep(data, catalog, progress)
    for origin in cases:
        here = gpu_of[origin.gpu]
        for case in cases:
            there = gpu_of[case.gpu]
            if case.key == origin.key and there.die != here.die:
                said = replace(_case(case, HYBRID, origin=origin.gpu), predicted_ms=hybrid.step_ms(origin, here, there))
                yield replace(said, columns={**said.columns, "origin_trusted": None})


# -- rows --------------------------------------------------------------------------------------------------------------


def _case(case: ModelCase, method: str, *, origin: str | None = None) -> Case:
    return Case(
        gpu=case.gpu, model=case.model, mode=case.mode, batch=case.batch, precision="fp32", compile="none",
        origin_gpu=origin, method=method, measured_ms=case.step_ms, columns=_own_columns(case.columns),
    )  # fmt: skip


def _unpredicted(row: dict[str, object], reason: str) -> Case:
    option = row.get("option")
    return Case(
        gpu=str(row["gpu"]), model=str(row["model"]), mode=str(row["mode"]), batch=int(str(row["batch"])),
        precision="fp32", option=option if isinstance(option, str) else None, num_gpus=int(str(row.get("num_gpus", 1))),
        method=LEARNED, measured_ms=float(str(row["e2e_ms"])), reason=reason, columns=_own_columns(row),
    )  # fmt: skip


def _own_columns(row: object) -> dict[str, Cell]:
    """The index's columns as it spells them; empty cells as None."""
    if not hasattr(row, "items"):
        return {}
    return {str(name): None if pd.isna(value) else value for name, value in row.items()}


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
            yield replace(_case(case, f"published: {row['predictor']}"), predicted_ms=float(row["pred_e2e_ms"]))


# -- tables ------------------------------------------------------------------------------------------------------------


def _tables(alone: list[Case], published: list[Case], pairs: list[Case], protocol: Protocol) -> tuple[Table, ...]:
    held = "all dies seen" if protocol is Protocol.PUBLISHED else "the destination's die held out"
    own = [one for one in alone if one.method == LEARNED]
    blended = [one for one in pairs if one.method == BLENDED]
    return (
        _by(f"models, no origin, {held}", [*alone, *published], "method"),
        _by("models, no origin, by GPU", own, "gpu"),
        stats_by(
            [one for one in alone if one.method in (UNMEASURED, UNMEASURED_CALIBRATED, CALIBRATED)],
            title="models, no origin, after three steps of other models, by GPU",
            by=lambda case: (case.method, case.gpu),
            names=("method", "gpu"),
        ),
        _by("models, no origin, by model", own, "model"),
        _by("models, every ordered pair of GPUs with the same case", pairs, "method"),
        _by("models, every ordered pair, by destination", blended, "gpu"),
        _by("models, every ordered pair, by origin", blended, "origin_gpu"),
        _by("models, every ordered pair, by model", blended, "model"),
        range_table("models: ranges of a step", [*own, *blended]),
    )


def _by(title: str, cases: Sequence[Case], name: str) -> Table:
    return stats_by(cases, title=title, by=lambda case: (getattr(case, name),), names=(name,))
