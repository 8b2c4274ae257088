"""Convolutions, forward and backward: which argument is what in each spelling, and the work that follows.

One multiply-add for each output element, input channel of its group and kernel tap; the data gradient and the weight
gradient cost as much as the forward pass each. Padding's savings at the border are ignored, as in published counts.

    forward          (n, k, p...) = sum over c, r of  x(n, c, p * stride + r) * w(k, c, r)
    implicit product  m = n * |p|,  n = k / groups,  k = c / groups * |r|,  batch = groups
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from surfer_lab.engine.lowering.call import Call, Rule, Unrecorded, numel, rate_class_of
from surfer_lab.engine.lowering.families import Family
from surfer_lab.engine.lowering.grid import GEMM_THREADS, gemm_blocks
from surfer_lab.engine.lowering.ops.streaming import Reduction, pointwise_work
from surfer_lab.engine.lowering.vendor_libraries import LAYOUT_CHANGES
from surfer_lab.engine.lowering.work import Gemm, KernelWork, Role, Tf32Switch
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Vendor
from surfer_lab.trace.tables import MemoryFormat, Shape

__all__ = ["CONVOLUTION_OPS", "ConvolutionArguments"]

# F(2x2, 3x3) needs 16 multiplications where the direct form needs 36 (Lavin and Gray, CVPR 2016); cuDNN uses it for
# float32 3x3 kernels of stride 1, forward and both gradients
WINOGRAD_FLOP_FRACTION: Final = 16 / 36
_STEM_CHANNELS: Final = 4  # an image has three channels, sometimes padded to four
_HALVES: Final = (RateClass.FP16, RateClass.BF16)


class _Kind(NamedTuple):
    forward: Family
    data: Family
    weight: Family


_1X1: Final = _Kind(Family.CONV_1X1, Family.DGRAD_1X1, Family.WGRAD_1X1)
_KXK: Final = _Kind(Family.CONV_KXK, Family.DGRAD_KXK, Family.WGRAD_KXK)
_STEM: Final = _Kind(Family.CONV_STEM, Family.DGRAD_STEM, Family.WGRAD_STEM)
_PATCH: Final = _Kind(Family.CONV_PATCH, Family.DGRAD_PATCH, Family.WGRAD_PATCH)
_GROUPED: Final = _Kind(Family.CONV_GROUPED, Family.DGRAD_GROUPED, Family.WGRAD_GROUPED)
_DEPTHWISE: Final = _Kind(Family.CONV_DEPTHWISE, Family.DGRAD_DEPTHWISE, Family.WGRAD_DEPTHWISE)


@dataclass(frozen=True, kw_only=True)
class ConvolutionArguments:
    """Positions of the arguments in one spelling of a convolution; -1: it has none.

    `gradient` >= 0 makes it a backward op; `transposed` is a position, or fixed by `is_transposed`.
    """

    input: int = 0
    weight: int = 1
    bias: int = 2
    gradient: int = -1
    stride: int = 3
    padding: int = 4
    dilation: int = 5
    transposed: int = -1
    output_padding: int = -1
    groups: int = 6
    mask: int = -1
    is_transposed: bool = False

    def __call__(self, call: Call) -> tuple[KernelWork, ...]:
        geometry = _geometry(self, call)
        if self.gradient >= 0:
            return _backward(self, call, geometry)
        return _forward(self, call, geometry)


@dataclass(frozen=True, kw_only=True)
class _Geometry:
    """A convolution in the terms of its forward pass without transposition: `x` (n, c, s...), `y` (n, k, p...).

    For a transposed one, `x` is the op's output and `y` its input, so that its forward pass is a data gradient.
    """

    x: Shape
    y: Shape
    taps: Shape
    groups: int
    kind: _Kind
    transposed: bool
    winograd: bool
    assumed: str

    @property
    def multiply_adds(self) -> float:
        return float(numel(self.y)) * (self.x[1] // self.groups) * numel(self.taps)

    @property
    def weight_count(self) -> int:
        return self.y[1] * (self.x[1] // self.groups) * numel(self.taps)


def _geometry(names: ConvolutionArguments, call: Call) -> _Geometry:
    x = _batched(call.need(names.input, at_least=2), call.need(names.weight, at_least=3))
    weight = call.need(names.weight, at_least=3)
    taps = weight[2:]
    transposed = names.is_transposed or bool(call.flag(names.transposed))
    gradient = call.shape(names.gradient)
    result = gradient or call.output()
    assumed = ""
    if result is None or len(result) < len(weight) - 1:
        result, assumed = _result(names, call, x, weight, transposed)
    result = _batched(result, weight)
    if transposed:
        recorded = call.ints(names.groups)
        groups = recorded[0] if recorded else max(1, result[1] // max(1, weight[1]))
        wide, narrow = result, x
    else:
        groups = max(1, x[1] // max(1, weight[1]))
        wide, narrow = x, result
    strides = _spread(call.ints(names.stride), len(taps)) or tuple(
        max(1, round(big / small)) if small else 1 for big, small in zip(wide[2:], narrow[2:], strict=True)
    )
    dilation = call.ints(names.dilation)
    plain = dilation is None or all(step == 1 for step in dilation)
    return _Geometry(
        x=wide,
        y=narrow,
        taps=taps,
        groups=groups,
        kind=_kind(taps, strides, groups, wide[1]),
        transposed=transposed,
        winograd=plain and taps == (3, 3) and groups == 1 and set(strides) == {1},
        assumed=assumed,
    )


def _batched(shape: Shape, weight: Shape) -> Shape:
    """Convolutions accept a sample without its batch dimension."""
    return (1, *shape) if len(shape) == len(weight) - 1 else shape


def _result(names: ConvolutionArguments, call: Call, x: Shape, weight: Shape, transposed: bool) -> tuple[Shape, str]:
    """Output shape from stride, padding and dilation; "same" with stride 1 where they were not recorded."""
    taps = weight[2:]
    rank = len(taps)
    stride, padding, dilation = (_spread(call.ints(p), rank) for p in (names.stride, names.padding, names.dilation))
    channels = weight[0]
    assumed = ""
    if stride is None and padding is None:
        assumed = "stride 1 and same padding assumed: neither the arguments nor the output were recorded"
    stride = stride or (1,) * rank
    dilation = dilation or (1,) * rank
    if padding is None:
        padding = tuple((d * (k - 1)) // 2 for d, k in zip(dilation, taps, strict=True))
    if transposed:
        extra = _spread(call.ints(names.output_padding), rank) or (0,) * rank
        groups = call.ints(names.groups) or (1,)
        channels = weight[1] * groups[0]
        spatial = tuple(
            max(1, (size - 1) * s - 2 * p + d * (k - 1) + e + 1)
            for size, s, p, d, k, e in zip(x[2:], stride, padding, dilation, taps, extra, strict=True)
        )
    else:
        spatial = tuple(
            max(1, (size + 2 * p - d * (k - 1) - 1) // s + 1)
            for size, s, p, d, k in zip(x[2:], stride, padding, dilation, taps, strict=True)
        )
    return (x[0], channels, *spatial), assumed


def _spread(values: tuple[int, ...] | None, rank: int) -> tuple[int, ...] | None:
    if values is None:
        return None
    return values * rank if len(values) == 1 else values if len(values) == rank else None


def _kind(taps: Shape, strides: Shape, groups: int, channels: int) -> _Kind:
    if groups > 1:
        return _DEPTHWISE if groups == channels else _GROUPED
    if numel(taps) == 1:
        return _1X1
    if taps == strides:
        return _PATCH
    return _STEM if channels <= _STEM_CHANNELS else _KXK


def _pass(call: Call, names: ConvolutionArguments, geometry: _Geometry, family: Family, gemm: Gemm) -> KernelWork:
    """One of the three products; read and write bytes are the caller's to fill in."""
    dtype = call.dtype(names.input)
    depthwise = geometry.kind is _DEPTHWISE
    complex_factor = 4 if (dtype or "").startswith("complex") else 1
    rate = rate_class_of(dtype, matrix=not depthwise)  # depthwise kernels run on the vector lanes
    return KernelWork(
        family=family,
        flop=2.0 * geometry.multiply_adds * complex_factor,
        read_bytes=0.0,
        write_bytes=0.0,
        rate_class=rate,
        tf32=Tf32Switch.NONE if depthwise else Tf32Switch.CONVOLUTION,
        blocks=gemm_blocks(gemm.batch, gemm.m, gemm.n, gemm.k),
        threads=GEMM_THREADS,
        gemm=gemm,
        flop_fraction=WINOGRAD_FLOP_FRACTION if geometry.winograd and rate is RateClass.FP32 else 1.0,
        reason=geometry.assumed,
    )


def _products(geometry: _Geometry) -> tuple[Gemm, Gemm, Gemm]:
    """The implicit matrix products of the forward pass, the data gradient and the weight gradient."""
    x, y, groups, taps = geometry.x, geometry.y, geometry.groups, numel(geometry.taps)
    channels, filters = x[1] // groups, max(1, y[1] // groups)
    positions, pixels = y[0] * numel(y[2:]), x[0] * numel(x[2:])
    return (
        Gemm(groups, positions, filters, channels * taps),
        Gemm(groups, pixels, channels, filters * taps),
        Gemm(groups, filters, channels * taps, positions),
    )


def _forward(names: ConvolutionArguments, call: Call, geometry: _Geometry) -> tuple[KernelWork, ...]:
    if numel(geometry.x) == 0 or numel(geometry.y) == 0:
        return ()
    size = call.itemsize(names.input)
    product, data_product, _ = _products(geometry)
    source, result = (geometry.y, geometry.x) if geometry.transposed else (geometry.x, geometry.y)
    family, gemm = (geometry.kind.data, data_product) if geometry.transposed else (geometry.kind.forward, product)
    weight_bytes = float(geometry.weight_count * size)
    main = replace(
        _pass(call, names, geometry, family, gemm),
        read_bytes=float(numel(source) * size) + weight_bytes,
        write_bytes=float(numel(result) * size),
    )
    works = [main, *_layout_helpers(call, main, geometry, source, result, size)]
    if call.shape(names.bias) is not None:
        # the libraries' plain convolutions have no bias: PyTorch adds it in a second kernel
        moved = float(numel(result) * size)
        works.append(
            replace(
                pointwise_work(
                    Family.BINARY, elements=numel(result), read_bytes=moved + call.bytes_of(names.bias),
                    write_bytes=moved, flop_per_element=1.0, dtype=call.dtype(names.input),
                ),
                role=Role.HELPER,
            )
        )  # fmt: skip
    return tuple(works)


def _backward(names: ConvolutionArguments, call: Call, geometry: _Geometry) -> tuple[KernelWork, ...]:
    if numel(geometry.x) == 0 or numel(geometry.y) == 0:
        return ()
    size = call.itemsize(names.gradient)
    forward, data, weight = _products(geometry)
    # the op's own input and gradient: swapped for a transposed convolution
    source, gradient = (geometry.y, geometry.x) if geometry.transposed else (geometry.x, geometry.y)
    source_bytes, gradient_bytes = float(numel(source) * size), float(numel(gradient) * size)
    weight_bytes = float(geometry.weight_count * size)
    want_input, want_weight, want_bias = _wanted(names, call, geometry)
    works: list[KernelWork] = []
    if want_input:
        family, gemm = (geometry.kind.forward, forward) if geometry.transposed else (geometry.kind.data, data)
        main = replace(
            _pass(call, names, geometry, family, gemm),
            read_bytes=gradient_bytes + weight_bytes,
            write_bytes=source_bytes,
        )
        works += [main, *_layout_helpers(call, main, geometry, gradient, source, size)]
    if want_weight:
        main = replace(
            _pass(call, names, geometry, geometry.kind.weight, weight),
            read_bytes=source_bytes + gradient_bytes,
            write_bytes=weight_bytes,
        )
        works += [main, *_layout_helpers(call, main, geometry, source, gradient, size)]
    if want_bias:
        bias_call = Call(
            "sum", (gradient,), (call.dtype(names.gradient),), ((gradient[1],),), None, (), MemoryFormat.UNKNOWN
        )
        works += (replace(work, role=Role.HELPER) for work in Reduction()(bias_call))
    return tuple(works)


def _wanted(names: ConvolutionArguments, call: Call, geometry: _Geometry) -> tuple[bool, bool, bool]:
    """Which gradients are computed: the recorded mask, else the recorded outputs, else all but an image's."""
    mask = call.flags(names.mask)
    if mask is not None and len(mask) >= 2:
        return mask[0], mask[1], len(mask) > 2 and mask[2]
    if call.outputs is not None and len(call.outputs) >= 2:
        given = [entry is not None for entry in call.outputs]
        return given[0], given[1], len(given) > 2 and given[2]
    return geometry.x[1] > _STEM_CHANNELS, True, False


def _layout_helpers(
    call: Call, main: KernelWork, geometry: _Geometry, source: Shape, result: Shape, size: int
) -> list[KernelWork]:
    """Half-precision NCHW: matrix units want NHWC, so the libraries copy tensors around their kernels."""
    if call.memory_format is not MemoryFormat.CONTIGUOUS or main.rate_class not in _HALVES or main.gemm is None:
        return []
    if main.family in (_1X1.forward, _1X1.data, _1X1.weight) or len(call.need(0)) < 4:
        return []  # 1x1 runs as a plain product; 1-D has no such path
    copied, on_amd = (
        LAYOUT_CHANGES[vendor].elements(numel(source), geometry.weight_count, numel(result))
        for vendor in (Vendor.NVIDIA, Vendor.AMD)
    )
    bytes_moved = float(copied * size)
    return [
        replace(
            pointwise_work(
                Family.LAYOUT, elements=copied, read_bytes=bytes_moved, write_bytes=bytes_moved,
                flop_per_element=0.0, dtype=call.dtype(0), launch_count=2,
            ),
            role=Role.HELPER,
            amd_bytes=on_amd / copied,
        )
    ]  # fmt: skip


_A: Final = ConvolutionArguments
CONVOLUTION_OPS: Final[dict[str, Rule]] = {
    # aten's own
    "convolution": _A(transposed=6, output_padding=7, groups=8),
    "_convolution": _A(transposed=6, output_padding=7, groups=8),
    "convolution_overrideable": _A(transposed=6, output_padding=7, groups=8),
    **dict.fromkeys(("conv1d", "conv2d", "conv3d", "_convolution_mode"), _A()),
    **dict.fromkeys(
        ("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"),
        _A(output_padding=5, groups=6, dilation=7, is_transposed=True),
    ),
    # NVIDIA
    "cudnn_convolution": _A(bias=-1, padding=2, stride=3, dilation=4, groups=5),
    "cudnn_convolution_relu": _A(bias=-1),  # the bias is part of the kernel
    "cudnn_convolution_add_relu": _A(bias=-1, stride=5, padding=6, dilation=7, groups=8),
    "cudnn_convolution_transpose": _A(
        bias=-1, padding=2, output_padding=3, stride=4, dilation=5, groups=6, is_transposed=True
    ),
    # AMD
    **dict.fromkeys(
        ("miopen_convolution", "miopen_depthwise_convolution"), _A(padding=3, stride=4, dilation=5, groups=6)
    ),
    "miopen_convolution_relu": _A(bias=-1),
    "miopen_convolution_add_relu": _A(bias=-1, stride=5, padding=6, dilation=7, groups=8),
    "miopen_convolution_transpose": _A(
        padding=3, output_padding=4, stride=5, dilation=6, groups=7, is_transposed=True
    ),
    # CPU, which a capture without a GPU sees
    **dict.fromkeys(("mkldnn_convolution", "_nnpack_spatial_convolution"), _A(padding=3, stride=4)),
    # written in CUDA by PyTorch
    **dict.fromkeys(
        ("thnn_conv2d", "_slow_conv2d_forward", "thnn_conv2d_forward", "slow_conv3d", "slow_conv3d_forward"),
        _A(bias=3, stride=4, padding=5, dilation=-1, groups=-1),
    ),
    **dict.fromkeys(
        (
            "slow_conv_dilated2d", "slow_conv_dilated3d", "_conv_depthwise2d", "thnn_conv_depthwise2d",
            "thnn_conv_depthwise2d_forward", "conv_depthwise3d",
        ),
        _A(bias=3, stride=4, padding=5, dilation=6, groups=-1),
    ),
    **dict.fromkeys(
        ("slow_conv_transpose2d", "slow_conv_transpose3d"),
        _A(bias=3, stride=4, padding=5, output_padding=6, dilation=7, groups=-1, is_transposed=True),
    ),
    # backward
    "convolution_backward": _A(
        gradient=0, input=1, weight=2, bias=-1, stride=4, padding=5, dilation=6, transposed=7, groups=9, mask=10
    ),
    "convolution_backward_overrideable": _A(
        gradient=0, input=1, weight=2, bias=-1, stride=3, padding=4, dilation=5, transposed=6, groups=8, mask=9
    ),
    "cudnn_convolution_backward": _A(
        input=0, gradient=1, weight=2, bias=-1, padding=3, stride=4, dilation=5, groups=6, mask=10
    ),
    "cudnn_convolution_transpose_backward": _A(
        input=0, gradient=1, weight=2, bias=-1, padding=3, stride=5, dilation=6, groups=7, mask=11, is_transposed=True
    ),
    **dict.fromkeys(
        ("miopen_convolution_backward", "miopen_depthwise_convolution_backward"),
        _A(input=0, gradient=1, weight=2, bias=-1, padding=3, stride=4, dilation=5, groups=6, mask=9),
    ),
    "miopen_convolution_transpose_backward": _A(
        input=0, gradient=1, weight=2, bias=-1, padding=3, stride=5, dilation=6, groups=7, mask=10, is_transposed=True
    ),
    "mkldnn_convolution_backward": _A(
        input=0, gradient=1, weight=2, bias=-1, padding=3, stride=4, dilation=5, groups=6, mask=8
    ),
    **dict.fromkeys(
        (
            "thnn_conv2d_backward", "_slow_conv2d_backward", "slow_conv3d_backward", "slow_conv_dilated2d_backward",
            "slow_conv_dilated3d_backward", "thnn_conv_depthwise2d_backward", "_conv_depthwise2d_backward",
            "conv_depthwise3d_backward",
        ),
        _A(gradient=0, input=1, weight=2, bias=-1, stride=4, padding=5, dilation=6, groups=-1),
    ),
    **dict.fromkeys(
        ("slow_conv_transpose2d_backward", "slow_conv_transpose3d_backward"),
        _A(gradient=0, input=1, weight=2, bias=-1, stride=4, padding=5, groups=-1, is_transposed=True),
    ),
}  # fmt: skip


def _conv_tbc(call: Call) -> tuple[KernelWork, ...]:
    """Time, batch, channel layout: (t, b, c) with a weight of (taps, c, k); one product for each tap."""
    t, b, c = call.need(0, at_least=3)
    taps, _, k = call.need(1, at_least=3)
    if not t * b * c * taps * k:
        raise Unrecorded(f"{call.name}: an empty operand")
    like = Call("conv1d", ((b, c, t), (k, c, taps)), call.dtypes[:2], ((b, k, t),), None, (), MemoryFormat.UNKNOWN)
    return _A(bias=-1)(like)


CONVOLUTION_OPS["conv_tbc"] = _conv_tbc
