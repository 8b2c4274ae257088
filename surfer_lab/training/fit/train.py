"""Fit the learned predictors to a data folder: the shipped weights, those of every die held out, and the manifest.

    timings of a family -> a network without each die -> its errors there, beside the roofline's -> the route
                        -> a network of all dies      -> what is used
    steps of timm, and single operations of DeepBench in half precision -> efficiencies through the sum (`train_steps`)

Deterministic: the same data gives the same files. Other tables' times are judges.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from surfer_lab.engine.learned.efficiency import Efficiency
from surfer_lab.engine.learned.form import COLUMNS, LearnedFamily, Terms
from surfer_lab.engine.learned.machine import machines_of
from surfer_lab.engine.learned.parametric import NETWORK_SHARE, drawn_to_roofline_ms, parametric_ms
from surfer_lab.engine.learned.predictor import ALL_DIES, Network, network_ms, terms
from surfer_lab.errors import OptionError
from surfer_lab.hardware.catalog import Catalog, load_catalog
from surfer_lab.training.fit.deepbench import table_of_deepbench, with_deepbench
from surfer_lab.training.fit.gradient_fit import FitSettings, fit_network
from surfer_lab.training.fit.micro_benchmarks import TABLES, Timings, read_timings
from surfer_lab.training.fit.train_steps import train_steps

__all__ = ["SETTINGS", "TrainingRun", "held_out_figures", "is_routed", "predicted_without_each_die", "train"]

F64 = NDArray[np.float64]
Progress = Callable[[str, int, int], None]  # what is fitted, how many are done, of how many

MAX_WEIGHT_BYTES: Final = 2_000_000
SETTINGS: Final = {
    LearnedFamily.LINEAR: FitSettings(),
    LearnedFamily.BMM: FitSettings(weight_decay=0.5),
    LearnedFamily.CONV: FitSettings(hidden=16, weight_decay=0.5),
}
# rows are drawn by their dies' equal share, of products times the root of their length within these bounds: products of
# models are long, and most of those that were timed are short
_LENGTH_MS: Final = (0.05, 3.0)
_SHARE_OF_DEEPBENCH: Final = 0.1  # of the draws, where its operations join
_WON_SHARE: Final = 0.5  # of the cases, beside a smaller median: what a route takes
_DECIMALS: Final = 4


@dataclass(frozen=True, kw_only=True)
class TrainingRun:
    """What was written, and the held-out figures by family."""

    folder: Path
    weight_bytes: int
    manifest: dict[str, Any]


def train(
    data_dir: Path,
    out_dir: Path,
    *,
    families: tuple[LearnedFamily, ...] = tuple(LearnedFamily),
    settings: FitSettings | None = None,
    catalog: Catalog | None = None,
    cache: Path | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> TrainingRun:
    """Fit `families` and write weights and manifest.json to `out_dir`; OptionError where a table is missing.

    `settings` instead of `SETTINGS` for every family. `cache` holds captured steps of timm's networks, or the table of
    their items: None, or none there: no efficiencies are fitted through the sum.
    """
    cards = catalog or load_catalog()
    for family in families:
        table = data_dir / "kernels" / f"{TABLES[family][0]}.parquet"
        if not table.is_file():
            raise OptionError(f"there is no table of {family.value} timings: {table}", remedy="a folder with kernels/")
    out_dir.mkdir(parents=True, exist_ok=True)
    entries = {}
    read = {family: read_timings(data_dir, family, cards) for family in families}
    total, done = sum(1 + len(with_deepbench(one, data_dir, cards).dies) for one in read.values()), 0
    for family in families:
        timings = read[family]
        taught = with_deepbench(timings, data_dir, cards)
        rows = _terms(taught)
        without: dict[str, Network] = {}
        for die in (*taught.dies, ALL_DIES):
            if progress is not None:
                progress(f"{family.value}, {'all dies' if die == ALL_DIES else f'without {die}'}", done, total)
            seen = ~taught.on_die(die)
            fitted = _fit(taught.of(seen), _some(rows, seen), settings or SETTINGS[family])
            if die != ALL_DIES:
                without[die] = fitted
            _save(fitted, out_dir / f"{family.value}-{die}.npz")
            done += 1
        held_out = held_out_figures(timings, predicted_without_each_die(timings, without))
        entries[family.value] = {"routed": is_routed(held_out), **_described(taught, rows), "held_out": held_out}
    manifest: dict[str, Any] = {
        "schema": 3,
        "form": "T = t0 + smooth minimum of ((C/u)^3 + (M/w)^3)^(1/3); engine/learned/form.py",
        "units": {"time": "ms", "compute and memory terms": "ms", "shapes": "elements"},
        "settings": {one.value: asdict(settings or SETTINGS[one]) for one in families},
        "network_share": {one.value: NETWORK_SHARE[one] for one in families},
        "data": {f"kernels/{TABLES[one][0]}.parquet": _hash(data_dir, one) for one in families}
        | _of_deepbench(data_dir),
        "families": entries,
    }
    if cache is not None and (data_dir / "timm" / "bench.csv").is_file():
        of_steps = train_steps(data_dir, cache, cards, workers=workers, progress=progress)
        if of_steps is not None:
            for name, weights in of_steps.weights.items():
                _save_efficiency(weights, out_dir / f"{name}.npz")
            manifest["data"]["timm/bench.csv"] = _sha256(data_dir / "timm" / "bench.csv")
            manifest["steps"] = of_steps.entry
    (out_dir / "manifest.json").write_bytes(orjson.dumps(manifest, option=orjson.OPT_INDENT_2))
    size = sum(file.stat().st_size for file in sorted(out_dir.iterdir()) if file.suffix in (".npz", ".json"))
    if size > MAX_WEIGHT_BYTES:
        raise OptionError(
            f"the weights take {size:,} bytes", remedy=f"fewer members: at most {MAX_WEIGHT_BYTES:,} bytes"
        )
    return TrainingRun(folder=out_dir, weight_bytes=size, manifest=manifest)


def predicted_without_each_die(timings: Timings, without: dict[str, Network]) -> F64:
    """Times of each row by the network that never saw its die, ms, (rows,); `without`: networks by that die."""
    rows, predicted = _terms(timings), np.full(len(timings), np.nan)
    for die, fitted in without.items():
        held = timings.on_die(die)
        predicted[held] = network_ms(fitted, _some(rows, held))
    return predicted


def is_routed(held_out: dict[str, Any]) -> bool:
    """Whether a family goes to its network: a smaller median error, and nearer in most cases."""
    smaller = held_out["learned_median_percent"] < held_out["roofline_median_percent"]
    return bool(smaller and held_out["won"] > _WON_SHARE)


def held_out_figures(timings: Timings, network_alone_ms: F64) -> dict[str, Any]:
    """Errors in percent of what is said without each row's die, beside the calibrated roofline's, also by GPU.

    Harness launches are added to both; the network's times, made without the row's die, are drawn to the roofline.
    """
    measured = timings.measured_ms
    machines = machines_of(timings.gpus, timings.family, long_run=False).take(timings.gpu)
    roofline_ms = parametric_ms(timings.family, timings.shapes, machines)
    predicted_ms = drawn_to_roofline_ms(timings.family, network_alone_ms, roofline_ms) + timings.floor_ms
    learned = np.abs(predicted_ms / measured - 1.0)
    alone = np.abs((network_alone_ms + timings.floor_ms) / measured - 1.0)
    plain = np.abs((roofline_ms + timings.floor_ms) / measured - 1.0)
    by_gpu = {}
    for index, gpu in enumerate(timings.gpus):
        rows = timings.gpu == index
        if rows.any():
            by_gpu[gpu.name] = {
                **_errors("learned", learned[rows]), **_errors("roofline", plain[rows]),
                "learned_bias_percent": _percent(np.median(predicted_ms[rows] / measured[rows] - 1.0)),
                "won": round(float(np.mean(learned[rows] < plain[rows])), _DECIMALS), "cases": int(rows.sum()),
            }  # fmt: skip
    return {
        **_errors("learned", learned), **_errors("roofline", plain), **_errors("network_alone", alone),
        "won": round(float(np.mean(learned < plain)), _DECIMALS), "cases": len(timings), "by_gpu": by_gpu,
    }  # fmt: skip


def _errors(name: str, size: F64) -> dict[str, float]:
    return {f"{name}_mean_percent": _percent(size.mean()), f"{name}_median_percent": _percent(np.median(size))}


def _percent(value: float) -> float:
    return round(100.0 * float(value), 2)


def _terms(timings: Timings) -> Terms:
    """As measured: alone, in bursts of milliseconds."""
    machines = machines_of(timings.gpus, timings.family, long_run=False).take(timings.gpu)
    return terms(timings.family, timings.shapes, machines)


def _some(rows: Terms, which: NDArray[np.bool_]) -> Terms:
    return Terms(rows.features[which], rows.compute_ms[which], rows.memory_ms[which])


def _fit(timings: Timings, rows: Terms, settings: FitSettings) -> Network:
    die = np.array([timings.dies.index(gpu.die) for gpu in timings.gpus])[timings.gpu]
    own = ~timings.is_deepbench
    share = np.where(own, 1.0 / np.maximum(np.bincount(die[own], minlength=len(timings.dies)), 1)[die], 0.0)
    if timings.family is not LearnedFamily.CONV:
        share = share * np.sqrt(np.clip(rows.compute_ms.min(axis=1), *_LENGTH_MS))
    share /= share.sum()
    if not own.all():
        share = np.where(own, (1.0 - _SHARE_OF_DEEPBENCH) * share, _SHARE_OF_DEEPBENCH / np.sum(~own))
    return fit_network(rows, timings.measured_ms, timings.floor_ms, share, settings)


def _described(timings: Timings, rows: Terms) -> dict[str, Any]:
    """Ranges of what was fitted: outside of them a prediction is an extrapolation."""
    return {
        "columns": list(COLUMNS[timings.family]),
        "shape_ranges": [[float(column.min()), float(column.max())] for column in timings.shapes.T],
        "features": int(rows.features.shape[1]),
        "feature_ranges": [[round(float(column.min()), _DECIMALS), round(float(column.max()), _DECIMALS)]
                           for column in rows.features.T],
        "gpus": [gpu.name for gpu in timings.gpus],
    }  # fmt: skip


def _save(learned: Network, path: Path) -> None:
    stored: dict[str, Any] = {"mean": learned.mean, "scale": learned.scale, "members": np.int64(len(learned.layers))}
    for member, layers in enumerate(learned.layers):
        for layer, (weight, bias) in enumerate(layers):
            stored[f"weight{member}_{layer}"] = weight.astype(np.float16)
            stored[f"bias{member}_{layer}"] = bias.astype(np.float16)
    np.savez_compressed(path, **stored)


def _save_efficiency(weights: Efficiency, path: Path) -> None:
    columns = {name: getattr(weights, name) for name in ("base", "bias", "of_item", "of_pair")}
    np.savez_compressed(path, floor_ms=np.float64(weights.floor_ms), **columns)


def _of_deepbench(data: Path) -> dict[str, str]:
    table = table_of_deepbench(data)
    return {table.relative_to(data).as_posix(): _sha256(table)} if table.is_file() else {}


def _hash(data: Path, family: LearnedFamily) -> str:
    return _sha256(data / "kernels" / f"{TABLES[family][0]}.parquet")


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
