"""How far off is each way of predicting, on measured work of dies held out? Fits `surfer_lab/engine/ranges.json`.

Operations: every pair (origin, destination) of GPUs of different dies in the tables of kernels/ and DeepBench, at most
`ROWS_PER_TABLE` shapes a table: predicted by the engine from the origin's times as recorded (WAVE: scaled; BLEND), with
shapes withheld (NAMED), and from shapes alone (ROOFLINE; LEARNED, by networks that never saw the destination's
die). The factor k of a method, kind of work and units is the conformal quantile of |log error| at 80 and 90 %; the set
without a die uses no pair that has it on either side.

Steps: models of e2e/, without an origin and from every other GPU, and with --timm the steps of timm's tables as
`surfer evaluate timm-steps --json FILE` judged them. What a typical rate or a slot-fed board adds is taken off; then
the largest of the dies' own conformal quantiles. Where the die was seen, another network is what is new: there it is
the quantile of all cases. Convolutions on FP32 lanes: the largest |median log error| of a die.

The roofline's utilisations were fitted over all dies at once (one number a family): its factors have that advantage.

    python -m tools.fit_ranges --data FOLDER [--timm FILE] [--write]
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from surfer_lab.engine import EngineOptions
from surfer_lab.engine.estimate import Method
from surfer_lab.engine.item_times import item_times
from surfer_lab.engine.ranges import ALL_DIES, LEVELS, range_sets
from surfer_lab.engine.work_items import work_of
from surfer_lab.hardware.catalog import Catalog, load_catalog
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.training.evaluate.cases import Case
from surfer_lab.training.evaluate.e2e import BLENDED, LEARNED, no_origin_cases, pair_cases
from surfer_lab.training.evaluate.model_ops import read_cases
from surfer_lab.training.evaluate.protocol import Protocol
from surfer_lab.training.evaluate.timm_held_out import WAYS as TIMM_WAYS
from surfer_lab.training.gpu_names import gpu_spelled
from tools.measured_work import OPERATIONS, MeasuredOp, deepbench, kernel_timings, trace_of

F64 = NDArray[np.float64]

WRITTEN: Final = Path(__file__).parents[1] / "surfer_lab" / "engine" / "ranges.json"
KINDS: Final = {
    "add": "moving", "mul": "moving", "relu": "moving", "gelu": "moving", "tanh": "moving", "ln": "reducing",
    "softmax": "reducing", "bmm": "product", "linear": "product", "gemm": "product", "conv": "convolution",
}  # fmt: skip
# cuDNN may use TF32 by torch's defaults; it was off in the data
AS_MEASURED: Final = EngineOptions(convolution_tf32=False, matmul_tf32=False)
WAYS: Final = {  # method: options, with measured kernels, with shapes
    Method.WAVE: (replace(AS_MEASURED, blended=False), True, True),
    Method.BLEND: (AS_MEASURED, True, True),
    Method.NAMED: (AS_MEASURED, True, False),
    Method.ROOFLINE: (replace(AS_MEASURED, learned=False), False, True),
    Method.LEARNED: (AS_MEASURED, False, True),
}
FEWEST: Final = 100  # cases, below which a factor is not stated
DECIMALS: Final = 3


@dataclass(frozen=True, kw_only=True, eq=False)
class Errors:
    """Signed log errors of one method and kind on one pair of dies."""

    key: str  # "wave moving lanes", as ranges.json has it
    origin_die: str
    die: str
    log_errors: F64


def conformal(sizes: F64, level: float) -> float:
    """The quantile that a further case is below with that probability, (n + 1) counted; the largest of few."""
    ordered = np.sort(sizes)
    return float(ordered[min(len(ordered), math.ceil((len(ordered) + 1) * level)) - 1])


def operation_errors(data: Path, catalog: Catalog) -> Iterator[Errors]:
    """All pairs of all tables."""
    tables = {name: kernel_timings(data, catalog, name) for name in OPERATIONS}
    for name in ("gemm", "conv"):
        for dtype in ("float32", "float16"):
            tables[f"{name} {dtype}"] = {
                gpu: [op for op in ops if op.key[0] == name and op.dtypes[0] == dtype]
                for gpu, ops in deepbench(data, catalog).items()
            }
    for table, by_gpu in tables.items():
        units = "matrix" if table.endswith("float16") else "lanes"
        kind = KINDS[table.split()[0]]
        for origin, there, ops, measured in _pairs(by_gpu, catalog):
            for method in WAYS:
                if method is Method.NAMED and not ops[0].kernel_name:
                    continue
                chosen, times = _predicted(ops, origin, there, method)
                if chosen.any():
                    errors = np.log(times[chosen] / measured[chosen])
                    key = f"{method.name} {kind} {units}".lower()
                    yield Errors(key=key, origin_die=origin.die, die=there.die, log_errors=errors)


def _pairs(by_gpu: dict[str, list[MeasuredOp]], catalog: Catalog) -> Iterator[tuple[Gpu, Gpu, list[MeasuredOp], F64]]:
    for origin_name, measured in by_gpu.items():
        for name, there in by_gpu.items():
            origin, gpu = catalog.find(origin_name), catalog.find(name)
            times = {op.key: op.duration_ns for op in there}
            common = [op for op in measured if op.key in times]
            if origin.die != gpu.die and common:
                yield origin, gpu, common, np.array([times[op.key] for op in common])


def _predicted(ops: Sequence[MeasuredOp], origin: Gpu, gpu: Gpu, method: Method) -> tuple[NDArray[np.bool_], F64]:
    """Operations that the method answers, and its times."""
    options, with_kernels, with_shapes = WAYS[method]
    work = work_of(trace_of(ops, with_kernels=with_kernels, with_shapes=with_shapes))
    said = item_times(work, origin if with_kernels else None, [gpu], replace(options, without_die=gpu.die))
    count = len(ops)
    times = np.bincount(work.items.op, weights=said.duration_ns[0], minlength=count).astype(np.float64)
    own = np.bincount(work.items.op, weights=said.method[0] == method, minlength=count)
    return (own > 0) & (times > 0), times


def item_factors(errors: Sequence[Errors], without: str) -> dict[str, list[float]]:
    """Factors at each level by key, from pairs that do not have the die."""
    pooled: dict[str, list[F64]] = defaultdict(list)
    for one in errors:
        if without not in (one.die, one.origin_die):
            pooled[one.key].append(np.abs(one.log_errors))
    found = {}
    for key, parts in sorted(pooled.items()):
        sizes = np.concatenate(parts)
        if len(sizes) >= FEWEST:
            found[key] = [round(math.exp(conformal(sizes, level)), DECIMALS) for level in LEVELS]
    return found


# -- steps -------------------------------------------------------------------------------------------------------------


def model_cases(data: Path, catalog: Catalog) -> list[Case]:
    """Steps of e2e/ that the product predicts, with its ranges; networks without the destination's die."""
    cases, _ = read_cases(data)
    spelled = {case.gpu: gpu_spelled(catalog, case.gpu) for case in cases}
    gpu_of = {name: gpu for name, gpu in spelled.items() if gpu is not None}
    known = [case for case in cases if case.gpu in gpu_of]
    every: Iterable[Case] = (
        *no_origin_cases(known, gpu_of, Protocol.HELD_OUT), *pair_cases(known, gpu_of, Protocol.HELD_OUT)
    )  # fmt: skip
    return [case for case in every if case.method in (LEARNED, BLENDED)]


def timm_cases(path: Path, way: str) -> list[Case]:
    """Steps that `surfer evaluate timm-steps` predicted with something left out, with its ranges."""
    rows: list[dict[str, Any]] = orjson.loads(path.read_bytes())["cases"]
    return [
        Case(
            gpu=row["gpu"], method=row["method"], predicted_ms=row["predicted_ms"], low_ms=row["low_ms"],
            high_ms=row["high_ms"], measured_ms=row["measured_ms"],
        )
        for row in rows
        if row["method"] == TIMM_WAYS[way] and row["predicted_ms"] and row["high_ms"]
    ]  # fmt: skip


def own_errors(cases: Sequence[Case], steps: str, catalog: Catalog) -> dict[str, F64]:
    """By die, |log error| less what is known of the card; the ranges in the cases are those of the present file."""
    found: dict[str, list[float]] = defaultdict(list)
    sets = range_sets()["sets"]
    for case in cases:
        gpu = gpu_spelled(catalog, str(case.gpu))
        if gpu is None or not case.is_predicted or case.high_ms is None or not case.predicted_ms:
            continue
        used = math.log(sets.get(gpu.die, sets[ALL_DIES])["steps"][steps][0])
        known = max(0.0, math.log(case.high_ms / case.predicted_ms) ** 2 - used**2)
        error = math.log1p(case.error) ** 2
        found[gpu.die].append(math.sqrt(max(0.0, error - known)))
    return {die: np.array(sizes) for die, sizes in found.items()}


def step_factor(by_die: dict[str, F64], without: str) -> list[float] | None:
    """The largest of the dies' own quantiles, as factors at each level."""
    others = [sizes for die, sizes in by_die.items() if die != without]
    if not others:
        return None
    return [round(math.exp(max(conformal(sizes, level) for sizes in others)), DECIMALS) for level in LEVELS]


def pooled_factor(by_die: dict[str, F64]) -> list[float] | None:
    """The quantile over the cases of all dies, as factors at each level: of dies that were seen."""
    if not by_die:
        return None
    sizes = np.concatenate(list(by_die.values()))
    return [round(math.exp(conformal(sizes, level)), DECIMALS) for level in LEVELS]


def convolution_step(errors: Sequence[Errors], without: str) -> list[float] | None:
    """The dies' errors of FP32 convolutions as a whole: the largest |median|; at 90 % by the same ratio as of items."""
    by_die: dict[str, list[F64]] = defaultdict(list)
    for one in errors:
        if one.key == "roofline convolution lanes" and without not in (one.die, one.origin_die):
            by_die[one.die].append(one.log_errors)
    if not by_die:
        return None
    together = [abs(float(np.median(np.concatenate(parts)))) for parts in by_die.values()]
    return [round(math.exp(conformal(np.array(together), level)), DECIMALS) for level in LEVELS]


def main() -> None:
    """Print the sets, and write them where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--timm", type=Path, help="what `surfer evaluate timm-steps --json FILE` wrote")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    catalog = load_catalog()
    errors = list(operation_errors(asked.data, catalog))
    lanes = own_errors(model_cases(asked.data, catalog), "lanes", catalog)
    matrix = own_errors(timm_cases(asked.timm, "GPU"), "matrix", catalog) if asked.timm else {}
    seen = own_errors(timm_cases(asked.timm, "families"), "matrix seen", catalog) if asked.timm else {}
    before = range_sets()["sets"][ALL_DIES]["steps"]
    sets = {}
    dies = dict.fromkeys([*(one.die for one in errors), *lanes, *matrix])
    for die in (ALL_DIES, *dies):
        sets[die] = {
            "items": item_factors(errors, die),
            "steps": {
                "lanes": step_factor(lanes, die) or before["lanes"],
                "matrix": step_factor(matrix, die) or before["matrix"],
                "matrix seen": pooled_factor(seen) or before["matrix seen"],
                "convolution": convolution_step(errors, die) or before["convolution"],
            },
        }
        print(die, sets[die]["steps"])
    for key, factors in sets[ALL_DIES]["items"].items():
        sizes = np.concatenate([one.log_errors for one in errors if one.key == key])
        print(f"{key:32} 80 % {factors[0]:5.2f}  90 % {factors[1]:5.2f}  n {len(sizes):7,}")
    if asked.write:
        content = {
            "schema": 1,
            "levels": LEVELS,
            "made_by": "python -m tools.fit_ranges --data FOLDER --timm FILE --write",
            "source": "kernels/, e2e/ (NeuSight's artifact, MIT), deepbench/ (Apache-2.0), timm/ (Apache-2.0)",
            "cases": {
                "operations": int(sum(len(one.log_errors) for one in errors)),
                "steps on lanes": int(sum(map(len, lanes.values()))),
                "steps on matrix units": int(sum(map(len, matrix.values()))),
            },
            "seen_dies": sorted(seen) or range_sets()["seen_dies"],
            "sets": sets,
        }
        WRITTEN.write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2))


if __name__ == "__main__":
    main()
