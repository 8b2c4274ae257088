"""Pooling and interpolation, forward and backward: windows read once, indices written where a maximum is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from surfer_lab.engine.lowering.call import Call, Rule, numel
from surfer_lab.engine.lowering.families import Family
from surfer_lab.engine.lowering.ops.streaming import Moving, pointwise_work
from surfer_lab.engine.lowering.work import KernelWork
from surfer_lab.trace.tables import Shape

__all__ = ["POOLING_OPS", "Interpolation", "Pooling"]

_INDEX_BYTES: Final = 8  # int64 positions of the maxima


@dataclass(frozen=True, kw_only=True)
class Pooling:
    """Window sizes at `kernel`, or an output size there when `adaptive`; `rank` pooled dimensions."""

    rank: int
    adaptive: bool = False
    indices: bool = False
    kernel: int = 1
    stride: int = 2
    padding: int = 3

    def __call__(self, call: Call) -> tuple[KernelWork, ...]:
        shape = call.need(0, at_least=self.rank)
        size = call.itemsize(0)
        result = call.output()
        assumed = ""
        if result is None:
            result, assumed = self._result(call, shape)
        elements = numel(result)
        if elements == 0:
            return ()
        return (
            pointwise_work(
                Family.POOL,
                elements=elements,
                read_bytes=float(numel(shape) * size),
                write_bytes=float(elements * (size + (_INDEX_BYTES if self.indices else 0))),
                flop_per_element=max(1.0, self._window(call, shape, result)),
                dtype=call.dtype(0),
                reason=assumed,
            ),
        )

    def _window(self, call: Call, shape: Shape, result: Shape) -> float:
        kernel = None if self.adaptive else self._spread(call.ints(self.kernel))
        return float(numel(kernel)) if kernel else numel(shape) / max(1, numel(result))

    def _spread(self, values: tuple[int, ...] | None) -> Shape | None:
        if values is None:
            return None
        return values * self.rank if len(values) == 1 else values if len(values) == self.rank else None

    def _result(self, call: Call, shape: Shape) -> tuple[Shape, str]:
        lead, spatial = shape[: -self.rank], shape[-self.rank :]
        kernel = self._spread(call.ints(self.kernel))
        if kernel is None:
            return (*lead, *(max(1, extent // 2) for extent in spatial)), "half the size assumed: no arguments recorded"
        if self.adaptive:
            return (*lead, *kernel), ""
        stride = self._spread(call.ints(self.stride)) or kernel
        padding = self._spread(call.ints(self.padding)) or (0,) * self.rank
        sizes = (max(1, (e + 2 * p - k) // s + 1) for e, k, s, p in zip(spatial, kernel, stride, padding, strict=True))
        return (*lead, *sizes), ""


@dataclass(frozen=True, kw_only=True)
class PoolingBackward:
    """Reads the gradient (and indices), writes a gradient of the input's size."""

    gradient: int = 0
    input: int = 1
    indices: bool = False
    family: Family = Family.POOL_BACKWARD

    def __call__(self, call: Call) -> tuple[KernelWork, ...]:
        gradient, shape = call.need(self.gradient), call.need(self.input)
        size = call.itemsize(self.gradient)
        return (
            pointwise_work(
                self.family,
                elements=max(1, numel(shape)),
                read_bytes=float(numel(gradient) * (size + (_INDEX_BYTES if self.indices else 0))),
                write_bytes=float(numel(shape) * size),
                flop_per_element=2.0,
                dtype=call.dtype(self.gradient),
            ),
        )


@dataclass(frozen=True, kw_only=True)
class Interpolation:
    """`taps` neighbours read a result; backward as many added to, atomically."""

    taps: int
    backward: bool = False

    def __call__(self, call: Call) -> tuple[KernelWork, ...]:
        shape = call.need(0, at_least=3)
        item = call.itemsize(0)
        result = call.output()
        assumed = ""
        if result is None:
            sizes = call.ints(2 if self.backward else 1)
            if sizes and len(sizes) == len(shape):
                result = sizes
            elif sizes and len(sizes) == len(shape) - 2:
                result = (*shape[:2], *sizes)
            else:
                spatial = (max(1, extent // 2) if self.backward else 2 * extent for extent in shape[2:])
                result = (*shape[:2], *spatial)
                assumed = "a factor of 2 assumed: neither sizes nor the output were recorded"
        elements = numel(shape) if self.backward else numel(result)
        return (
            pointwise_work(
                Family.INTERPOLATE_BACKWARD if self.backward else Family.INTERPOLATE,
                elements=max(1, elements),
                read_bytes=float(numel(shape) * item),
                write_bytes=float(numel(result) * item),
                flop_per_element=2.0 * self.taps,
                dtype=call.dtype(0),
                reason=assumed,
            ),
        )


def _grid_sample_bytes(call: Call) -> float:
    return float(call.bytes_of(0) + call.bytes_of(1))


def _grid_sample_result(call: Call) -> float:
    written = call.output_bytes()
    if written is not None:
        return float(written)
    x, grid = call.need(0, at_least=4), call.need(1, at_least=4)
    return float(x[0] * x[1] * numel(grid[1:-1]) * call.itemsize(0))


_MAX_BACKWARD: Final = PoolingBackward(indices=True)
_INTERPOLATIONS: Final = {  # neighbours a result reads
    "upsample_nearest1d": 1, "upsample_nearest2d": 1, "upsample_nearest3d": 1,
    "_upsample_nearest_exact1d": 1, "_upsample_nearest_exact2d": 1, "_upsample_nearest_exact3d": 1,
    "upsample_linear1d": 2, "upsample_bilinear2d": 4, "upsample_trilinear3d": 8, "upsample_bicubic2d": 16,
    "_upsample_bilinear2d_aa": 4, "_upsample_bicubic2d_aa": 16, "_upsample_lanczos2d_aa": 36,
}  # fmt: skip

POOLING_OPS: Final[dict[str, Rule]] = {
    "max_pool1d": Pooling(rank=1),
    "max_pool1d_with_indices": Pooling(rank=1, indices=True),
    **dict.fromkeys(("max_pool2d", "mkldnn_max_pool2d", "quantized_max_pool2d"), Pooling(rank=2)),
    "max_pool2d_with_indices": Pooling(rank=2, indices=True),
    **dict.fromkeys(("max_pool3d", "mkldnn_max_pool3d"), Pooling(rank=3)),
    "max_pool3d_with_indices": Pooling(rank=3, indices=True),
    "avg_pool1d": Pooling(rank=1),
    "avg_pool2d": Pooling(rank=2),
    "avg_pool3d": Pooling(rank=3),
    "adaptive_avg_pool1d": Pooling(rank=1, adaptive=True),
    **dict.fromkeys(
        ("adaptive_avg_pool2d", "_adaptive_avg_pool2d", "mkldnn_adaptive_avg_pool2d"), Pooling(rank=2, adaptive=True)
    ),
    **dict.fromkeys(("adaptive_avg_pool3d", "_adaptive_avg_pool3d"), Pooling(rank=3, adaptive=True)),
    "adaptive_max_pool1d": Pooling(rank=1, adaptive=True, indices=True),
    "adaptive_max_pool2d": Pooling(rank=2, adaptive=True, indices=True),
    "adaptive_max_pool3d": Pooling(rank=3, adaptive=True, indices=True),
    "fractional_max_pool2d": Pooling(rank=2, adaptive=True, kernel=2, indices=True),
    "fractional_max_pool3d": Pooling(rank=3, adaptive=True, kernel=2, indices=True),
    **dict.fromkeys(("max_unpool2d", "max_unpool3d"), Moving(
        family=Family.POOL_BACKWARD,
        read=lambda call: float(call.bytes_of(0) + call.bytes_of(1)),
        write=lambda call: float(call.output_bytes() or 4 * call.bytes_of(0)),
    )),
    **dict.fromkeys(
        (
            "max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward", "adaptive_max_pool2d_backward",
            "adaptive_max_pool3d_backward", "fractional_max_pool2d_backward", "fractional_max_pool3d_backward",
        ),
        _MAX_BACKWARD,
    ),
    "mkldnn_max_pool2d_backward": PoolingBackward(input=2),
    "mkldnn_max_pool3d_backward": PoolingBackward(input=2),
    "max_pool2d_backward": PoolingBackward(),
    **dict.fromkeys(
        (
            "avg_pool2d_backward", "avg_pool3d_backward", "_adaptive_avg_pool2d_backward",
            "_adaptive_avg_pool3d_backward", "adaptive_avg_pool3d_backward", "mkldnn_adaptive_avg_pool2d_backward",
        ),
        PoolingBackward(),
    ),
    **{name: Interpolation(taps=taps) for name, taps in _INTERPOLATIONS.items()},
    **{f"{name}_backward": Interpolation(taps=taps, backward=True) for name, taps in _INTERPOLATIONS.items()},
    **dict.fromkeys(
        ("grid_sampler", "grid_sampler_2d", "grid_sampler_3d", "cudnn_grid_sampler", "_grid_sampler_2d_cpu_fallback"),
        Moving(family=Family.INTERPOLATE, read=_grid_sample_bytes, write=_grid_sample_result, flop=12.0),
    ),
    **dict.fromkeys(
        ("grid_sampler_2d_backward", "grid_sampler_3d_backward", "cudnn_grid_sampler_backward"),
        Moving(
            family=Family.INTERPOLATE_BACKWARD,
            read=lambda call: float(call.bytes_of(0) + call.bytes_of(1) + call.bytes_of(2)),
            write=lambda call: float(call.bytes_of(1) + call.bytes_of(2)),
            flop=24.0,
        ),
    ),
    **dict.fromkeys(("affine_grid_generator", "cudnn_affine_grid_generator"), Moving(
        family=Family.INTERPOLATE,
        read=lambda call: float(call.bytes_of(0)),
        write=lambda call: float(call.output_bytes() or call.bytes_of(0)),
        flop=6.0,
    )),
}  # fmt: skip
