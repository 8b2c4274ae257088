"""Scaled dot-product attention as the transformers here use it: torch's fused call, or the products written out.

"math" is what programs did before torch 2 (scores and probabilities kept in memory, dropout on the probabilities);
"sdpa" leaves the choice of kernel to torch.
"""

from __future__ import annotations

import math
from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from surfer_lab.errors import OptionError

__all__ = ["ATTENTION_KINDS", "MultiHeadAttention", "attend", "checked_attention"]

ATTENTION_KINDS: Final = ("sdpa", "math")


def checked_attention(kind: str) -> str:
    """The kind, refused (OptionError) unless known."""
    if kind not in ATTENTION_KINDS:
        raise OptionError(f"attention is {kind!r}", remedy=" or ".join(ATTENTION_KINDS))
    return kind


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    kind: str,
    dropout: float = 0.0,
    causal: bool = False,
    keep: Tensor | None = None,
) -> Tensor:
    """Softmax(q k' / sqrt(d)) v. Shapes (N, heads, q, d), (N, heads, k, d) twice; `keep` bool, as (.., q, k)."""
    if kind == "sdpa":
        return F.scaled_dot_product_attention(query, key, value, attn_mask=keep, dropout_p=dropout, is_causal=causal)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if causal:
        length = query.shape[-2]
        keep = torch.ones(length, key.shape[-2], dtype=torch.bool, device=query.device).tril()
    if keep is not None:
        scores = scores.masked_fill(~keep, torch.finfo(scores.dtype).min)
    probabilities = F.dropout(F.softmax(scores, dim=-1), dropout, training=dropout > 0.0)
    return probabilities @ value


class MultiHeadAttention(nn.Module):
    """Separate projections of query, key, value and output, each with a bias."""

    def __init__(self, width: int, heads: int, *, dropout: float, kind: str) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.kind = checked_attention(kind)
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)

    def forward(self, x: Tensor, source: Tensor, *, causal: bool = False, keep: Tensor | None = None) -> Tensor:
        """Queries from x (N, q, width), keys and values from source (N, k, width), to (N, q, width)."""
        mixed = attend(
            self._split(self.query(x)),
            self._split(self.key(source)),
            self._split(self.value(source)),
            kind=self.kind,
            dropout=self.dropout if self.training else 0.0,
            causal=causal,
            keep=keep,
        )
        return self.output(mixed.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]

    def _split(self, x: Tensor) -> Tensor:
        return torch.unflatten(x, -1, (self.heads, -1)).transpose(1, 2)
