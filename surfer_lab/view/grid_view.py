"""How does a grid of outcomes travel? As a `GridView`: times, memory and reasons of every cell, packed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from surfer_lab.engine.compilation import CompileMode
from surfer_lab.engine.precision import Precision
from surfer_lab.planner.grid import AMP, GridPrecision, StepGrid
from surfer_lab.planner.memory import Fit
from surfer_lab.units import BYTES_PER_GB, NS_PER_MS
from surfer_lab.view.detail_model import GridView, Packed
from surfer_lab.view.packed import pack_floats, pack_logs, pack_whole
from surfer_lab.view.wording import COMPILE_WORDS, PRECISION_WORDS, VERDICT_OF, name_text

__all__ = ["grid_view"]

_AMP_WORDS: Final = "AMP (bf16, else fp16)"


def grid_view(
    grid: StepGrid,
    *,
    own_batch: int | None,
    own_precision: Precision = Precision.AS_RUN,
    own_compile: CompileMode = CompileMode.OFF,
    largest_batches: Mapping[tuple[str, str], int] | None = None,
    with_parts: bool = False,
    names_gpus: bool = False,
) -> GridView:
    """The grid as it is sent. Its GPUs must be the view's rows in their order, or be named (`names_gpus`).

    `largest_batches` by GPU and the vocabulary's word for the precision. `with_parts` adds the time that the GPU is
    busy, which a grid of one batch size has room for.
    """
    words = [_word(one) for one in grid.precisions]
    step = grid.step_ns[..., None]  # the axis of counts
    compiles = [mode.value for mode in grid.compiles]
    reasons: dict[str, int] = {}
    reason = [
        [-1 if why is None else reasons.setdefault(_without_name(why, gpu.name), len(reasons)) for why in row]
        for gpu, row in zip(grid.gpus, grid.blockers, strict=True)
    ]
    return GridView(
        batch_sizes=list(grid.batch_sizes),
        precisions=words,
        precision_labels=[_label(one) for one in grid.precisions],
        compiles=compiles,
        compile_labels=[COMPILE_WORDS[mode] for mode in grid.compiles],
        counts=[1],
        own=[
            _place(list(grid.batch_sizes), own_batch) if len(grid.batch_sizes) > 1 else 0,
            _place(words, own_precision.value),
            _place(compiles, own_compile.value),
            0,
        ],
        step_ms=pack_logs(step / NS_PER_MS),
        low_ratio=pack_logs(grid.low_ns[..., None] / step),
        high_ratio=pack_logs(grid.high_ns[..., None] / step),
        busy_ratio=pack_logs(grid.gpu_busy_ns[..., None] / step) if with_parts else None,
        memory_gb=_gigabytes(grid.memory_bytes),
        memory_high_gb=_gigabytes(grid.memory_high_bytes),
        fit=pack_whole(grid.fit),
        fits=[VERDICT_OF[fit].value for fit in Fit],
        largest_batch=_largest(grid, words, largest_batches) if largest_batches else None,
        reason=pack_whole(reason) if reasons else None,
        reasons=list(reasons),
        notes=[name_text(note, longest=400) for note in grid.notes],
        gpus=[name_text(gpu.name) for gpu in grid.gpus] if names_gpus else [],
    )


def _gigabytes(table: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Packed | None:
    return pack_logs(table / BYTES_PER_GB) if np.isfinite(table).any() else None


def _largest(grid: StepGrid, words: Sequence[str], found: Mapping[tuple[str, str], int]) -> Packed:
    return pack_floats([[found.get((gpu.name, word), np.nan) for word in words] for gpu in grid.gpus])


def _word(precision: GridPrecision) -> str:
    return AMP.value if precision is AMP else precision.value


def _label(precision: GridPrecision) -> str:
    return PRECISION_WORDS[precision] if isinstance(precision, Precision) else _AMP_WORDS


def _without_name(why: str, gpu: str) -> str:
    """A reason that stands once for all GPUs that share it."""
    return name_text(why.removeprefix(f"{gpu} "), longest=200)


def _place(values: Sequence[object], value: object) -> int:
    return values.index(value) if value in values else -1
