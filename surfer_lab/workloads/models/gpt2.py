"""GPT-2, small to XL: a decoder-only transformer with learned positions and the output tied to the embedding.

Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", table 2 for layers and widths; 64 values a
head (small 12 heads, medium 16, large 20, XL 25) and one fused projection of query, key and value as in the
released code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from surfer_lab.errors import OptionError
from surfer_lab.workloads.models.attention import attend, checked_attention
from surfer_lab.workloads.published import PublishedCount, Quantity
from surfer_lab.workloads.workload import Batch, Device, Workload, one_model_step

__all__ = ["Gpt2", "gpt2"]


@dataclass(frozen=True, kw_only=True)
class _Size:
    layers: int
    width: int
    heads: int
    parameters: int  # of Hugging Face's GPT2LMHeadModel, tied weights once


_SIZES: Final[dict[str, _Size]] = {
    "small": _Size(layers=12, width=768, heads=12, parameters=124_439_808),
    "medium": _Size(layers=24, width=1024, heads=16, parameters=354_823_168),
    "large": _Size(layers=36, width=1280, heads=20, parameters=774_030_080),
    "xl": _Size(layers=48, width=1600, heads=25, parameters=1_557_611_200),
}

_POSITIONS: Final = 1024  # the context of all four


class _Block(nn.Module):
    def __init__(self, width: int, heads: int, *, dropout: float, attention: str) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.attention = checked_attention(attention)
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.project = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.feed_forward = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width), nn.Dropout(dropout)
        )

    def forward(self, x: Tensor) -> Tensor:
        """(N, S, width) to the same."""
        parts = self.qkv(self.norm1(x)).unflatten(-1, (3, self.heads, -1))
        query, key, value = (part.transpose(1, 2) for part in parts.unbind(2))
        dropout = self.dropout if self.training else 0.0
        mixed = attend(query, key, value, kind=self.attention, dropout=dropout, causal=True)
        x = x + F.dropout(self.project(mixed.transpose(1, 2).flatten(2)), self.dropout, self.training)
        return x + self.feed_forward(self.norm2(x))  # type: ignore[no-any-return]


class Gpt2(nn.Module):
    """Tokens (N, S) to scores (N, S, vocabulary)."""

    def __init__(
        self,
        *,
        layers: int,
        width: int,
        heads: int,
        vocabulary: int,
        positions: int,
        dropout: float,
        attention: str,
        checkpointed: bool,
    ) -> None:
        super().__init__()
        self.checkpointed = checkpointed
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(positions, width)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(_Block(width, heads, dropout=dropout, attention=attention) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.output = nn.Linear(width, vocabulary, bias=False)
        self.output.weight = self.tokens.weight
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)

    def forward(self, tokens: Tensor) -> Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.dropout(self.tokens(tokens) + self.positions(places))
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpointed and self.training else block(x)
        return self.output(self.norm(x))  # type: ignore[no-any-return]


def gpt2(
    *,
    device: Device = "cpu",
    size: str = "small",
    layers: int | None = None,
    width: int | None = None,
    heads: int | None = None,
    vocabulary: int = 50_257,
    sequence: int = 1024,
    dropout: float = 0.1,
    attention: str = "sdpa",
    checkpointed: bool = False,
) -> Workload:
    """GPT-2 "small", "medium", "large" or "xl", AdamW. Inputs: `token` (N, sequence), also the labels, shifted.

    `checkpointed` recomputes each block in the backward pass.
    """
    if size not in _SIZES:
        raise OptionError(f"gpt2 has no size {size!r}", remedy=", ".join(_SIZES))
    named = _SIZES[size]
    shape = (layers or named.layers, width or named.width, heads or named.heads)
    with torch.device(device):
        model = Gpt2(
            layers=shape[0],
            width=shape[1],
            heads=shape[2],
            vocabulary=vocabulary,
            positions=max(sequence, _POSITIONS),
            dropout=dropout,
            attention=attention,
            checkpointed=checkpointed,
        )
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4, betas=(0.9, 0.95), weight_decay=0.1, foreach=True)

    def inputs(batch_size: int, device: torch.device) -> Batch:
        return {"token": torch.randint(vocabulary, (batch_size, sequence), device=device)}

    def loss(batch: Batch) -> Tensor:
        scores = model(batch["token"])[:, :-1]
        return F.cross_entropy(scores.flatten(0, 1), batch["token"][:, 1:].flatten())

    published = [
        PublishedCount(
            quantity=Quantity.PARAMETERS,
            value=named.parameters,
            source=f"Hugging Face, openai-community/gpt2{'' if size == 'small' else '-' + size}, GPT2LMHeadModel",
        )
    ]
    if size == "xl":
        published.append(
            PublishedCount(
                quantity=Quantity.FORWARD_MACS,
                value=1.7e12,
                rounding_fraction=0.03,
                scope="the blocks at 1,024 tokens, without the output layer",
                without=("output",),
                source="Gholami et al., AI and Memory Wall, data table: 3,400 GFLOPs of inference",
            )
        )
    return Workload(
        name="gpt2" if size == "small" else f"gpt2_{size}",
        title=f"GPT-2 {size}, {sequence} tokens",
        paper="Radford et al., Language Models are Unsupervised Multitask Learners, 2019",
        device=torch.device(device),
        models={"model": model},
        optimizers={"adamw": optimizer},
        inputs=inputs,
        training=one_model_step(optimizer, loss),
        inference=lambda batch: model(batch["token"]),
        default_batch_size=8,
        studied_batch_sizes=(1, 4, 8),
        sample_unit="sequences",
        tokens_per_sample=sequence,
        left_out=("padding: all sequences are full", "generation: inference scores a given sequence"),
        published=tuple(published),
        sizes={
            "size": size, "layers": shape[0], "width": shape[1], "heads": shape[2], "vocabulary": vocabulary,
            "sequence": sequence, "dropout": dropout, "attention": attention, "checkpointed": checkpointed,
        },
    )  # fmt: skip
