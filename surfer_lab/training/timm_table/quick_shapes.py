"""Which results on "meta" follow from the operands at once? Torch works some out by running a decomposition.

A batch norm on "meta" runs a dozen smaller ops in Python, 1 to 2 ms of a core; its results are one tensor like the
input and two of a channel each. Rules for the ops that cost most of a network's capture, each only where the operands
lie densely, so that the result's layout is certain; everything else is torch's own to answer. A test holds captures
with and without these rules to be equal.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import torch

from surfer_lab.capture.dispatch import LoggingMode

__all__ = ["QuickMode"]

Rule = Callable[..., Any]  # the op's arguments -> its result, or NotImplemented


class QuickMode(LoggingMode):  # type: ignore[no-untyped-call] # torch's __init_subclass__ has no types
    """Logs as its base does; ops with a rule are answered by it. Nothing here is ever compiled, nor timed."""

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Answer the op, by its rule where it has one, then log it."""
        given = kwargs or {}
        rule = _RULES.get(func)
        result = NotImplemented if rule is None else rule(*args, **given)
        if result is NotImplemented:
            result = func(*args, **given)
        if self.log is not None and not self.log.suspended:
            # from here, not through the base: a log reads the place of a call off the frame below the mode's own
            self.log.add(func, args, given, result, 0, 0, sys._getframe(1))
        return result


def _is_dense(tensor: torch.Tensor) -> bool:
    return tensor.is_contiguous() or tensor.is_contiguous(memory_format=torch.channels_last)


def _like_first(x: torch.Tensor, *_: Any, **__: Any) -> Any:
    return torch.empty_like(x) if _is_dense(x) else NotImplemented


def _like_both(x: torch.Tensor, y: Any, *_: Any, **__: Any) -> Any:
    """Two operands of one shape, layout and dtype; anything that broadcasts or promotes is torch's."""
    if not isinstance(y, torch.Tensor) or x.shape != y.shape or x.dtype != y.dtype or x.stride() != y.stride():
        return NotImplemented
    return torch.empty_like(x) if _is_dense(x) else NotImplemented


def _batch_norm(x: torch.Tensor, weight: Any, bias: Any, mean: Any, variance: Any, training: bool, *_: Any) -> Any:
    if not _is_dense(x) or x.dtype is not torch.float32:
        return NotImplemented
    statistics = x.shape[1]  # CUDA gives none in evaluation mode; as torch's own "meta"
    return torch.empty_like(x), x.new_empty(statistics), x.new_empty(statistics)


def _batch_norm_backward(gradient: torch.Tensor, x: torch.Tensor, *rest: Any) -> Any:
    mask = rest[-1]
    if not _is_dense(x) or x.dtype is not torch.float32 or gradient.stride() != x.stride() or not all(mask):
        return NotImplemented
    return torch.empty_like(x), x.new_empty(x.shape[1]), x.new_empty(x.shape[1])


def _layer_norm(x: torch.Tensor, normalized: Sequence[int], *_: Any) -> Any:
    if not x.is_contiguous() or x.dtype is not torch.float32:
        return NotImplemented
    statistics = (*x.shape[: x.dim() - len(normalized)], *(1 for _ in normalized))
    return torch.empty_like(x), x.new_empty(statistics), x.new_empty(statistics)


def _layer_norm_backward(
    gradient: torch.Tensor, x: torch.Tensor, normalized: Sequence[int], mean: Any, deviation: Any, weight: Any,
    bias: Any, mask: Sequence[bool],
) -> Any:  # fmt: skip
    if not x.is_contiguous() or not gradient.is_contiguous() or not all(mask):
        return NotImplemented
    return torch.empty_like(x), torch.empty_like(weight), torch.empty_like(bias)


def _addmm(bias: torch.Tensor, x: torch.Tensor, y: torch.Tensor, **scales: Any) -> Any:
    return NotImplemented if scales else x.new_empty((x.shape[0], y.shape[1]))


_aten = torch.ops.aten
_RULES: Final[dict[Any, Rule]] = {
    _aten.native_batch_norm.default: _batch_norm,
    _aten.native_batch_norm_backward.default: _batch_norm_backward,
    _aten.native_layer_norm.default: _layer_norm,
    _aten.native_layer_norm_backward.default: _layer_norm_backward,
    _aten.addmm.default: _addmm,
    **dict.fromkeys(
        (
            _aten.gelu.default, _aten.silu.default, _aten.hardswish.default, _aten.sigmoid.default,
            _aten.clamp_min.default, _aten.leaky_relu.default,
        ),
        _like_first,
    ),
    **dict.fromkeys(
        (
            _aten.add.Tensor, _aten.mul.Tensor, _aten.div.Tensor, _aten.sub.Tensor, _aten.gelu_backward.default,
            _aten.silu_backward.default, _aten.sigmoid_backward.default, _aten.threshold_backward.default,
            _aten.hardswish_backward.default, _aten._softmax_backward_data.default,
        ),
        _like_both,
    ),
}  # fmt: skip
