"""Which fused attention does CUDA choose for a dtype? Flash attention for halves without a mask, else the other one.

Source: torch 2.13, aten/src/ATen/native/transformers/cuda/sdp_utils.cpp (priority order; flash needs a half, no mask
and a head of at most 256).
"""

from __future__ import annotations

from typing import Final, TypeVar

from surfer_lab.trace.rewrite.draft import OpRow
from surfer_lab.trace.rewrite.names import HALVES

__all__ = ["fit_attention"]

Value = TypeVar("Value")

_FLASH: Final = "aten::_scaled_dot_product_flash_attention"
_EFFICIENT: Final = "aten::_scaled_dot_product_efficient_attention"
_FLASH_BACKWARD: Final = "aten::_scaled_dot_product_flash_attention_backward"
_EFFICIENT_BACKWARD: Final = "aten::_scaled_dot_product_efficient_attention_backward"
_LARGEST_FLASH_HEAD: Final = 256

# where an argument of one op stands in the other; -1: it has none there
# (q, k, v, dropout, causal, return mask, scale) and (q, k, v, mask, log-sum-exps wanted, dropout, causal, scale)
_TO_FLASH: Final = (0, 1, 2, 5, 6, -1, 7)
_TO_EFFICIENT: Final = (0, 1, 2, -1, -1, 3, 4, 6)
# (gradient, q, k, v, out, log-sum-exps, cumulative q, k, longest q, k, dropout, causal, seed, offset, scale) and
# (gradient, q, k, v, mask, out, log-sum-exps, seed, offset, dropout, gradients wanted, causal, scale)
_TO_FLASH_BACKWARD: Final = (0, 1, 2, 3, 5, 6, -1, -1, -1, -1, 9, 11, 7, 8, 12)
_TO_EFFICIENT_BACKWARD: Final = (0, 1, 2, 3, -1, 4, 5, 12, 13, 10, -1, 11, 14)
_SWITCH: Final[dict[tuple[str, bool], tuple[str, tuple[int, ...]]]] = {
    (_EFFICIENT, True): (_FLASH, _TO_FLASH),
    (_FLASH, False): (_EFFICIENT, _TO_EFFICIENT),
    (_EFFICIENT_BACKWARD, True): (_FLASH_BACKWARD, _TO_FLASH_BACKWARD),
    (_FLASH_BACKWARD, False): (_EFFICIENT_BACKWARD, _TO_EFFICIENT_BACKWARD),
}
_MASK_POSITION: Final = {_EFFICIENT: 3, _EFFICIENT_BACKWARD: 4}
_QUERY_POSITION: Final = {_EFFICIENT: 0, _FLASH: 0, _EFFICIENT_BACKWARD: 1, _FLASH_BACKWARD: 1}


def fit_attention(row: OpRow) -> None:
    """Make a fused attention op the one that CUDA chooses for its dtype; any other op stays."""
    query = _QUERY_POSITION.get(row.name)
    if query is None or len(row.input_shapes) <= query:
        return
    mask = _MASK_POSITION.get(row.name)
    has_mask = mask is not None and len(row.input_shapes) > mask and row.input_shapes[mask] is not None
    shape = row.input_shapes[query]
    head = shape[-1] if isinstance(shape, tuple) and shape else 0
    fits = row.input_dtypes[query] in HALVES and not has_mask
    is_flash = fits and isinstance(head, int) and head <= _LARGEST_FLASH_HEAD
    switch = _SWITCH.get((row.name, is_flash))
    if switch is None:
        return
    row.name, order = switch
    row.input_shapes = tuple(_at(row.input_shapes, place) for place in order)
    row.input_dtypes = tuple(_at(row.input_dtypes, place) for place in order)
    row.arguments = tuple(_at(row.arguments, place) or "" for place in order)
    for use in row.reads:
        use.position = order.index(use.position) if use.position in order and use.position >= 0 else -1


def _at(values: tuple[Value, ...], place: int) -> Value | None:
    return values[place] if 0 <= place < len(values) else None
