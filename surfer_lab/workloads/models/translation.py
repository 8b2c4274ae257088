"""The Transformer of machine translation, base and big: encoder and decoder, one embedding for all three uses.

Vaswani et al. 2017, arXiv 1706.03762, table 3; normalisation after each sub-layer as there; projections with biases
as in fairseq and NVIDIA's example.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from surfer_lab.errors import OptionError
from surfer_lab.workloads.models.attention import MultiHeadAttention
from surfer_lab.workloads.published import PublishedCount, Quantity
from surfer_lab.workloads.workload import Batch, Device, Workload, one_model_step

__all__ = ["TranslationTransformer", "transformer"]


@dataclass(frozen=True, kw_only=True)
class _Size:
    layers: int
    width: int
    heads: int
    feed_forward: int
    dropout: float
    parameters: float
    rounding_fraction: float


# table 3; the base model's 65 million are 3 % above what its shapes give with the paper's 37,000 tokens
_SIZES: Final[dict[str, _Size]] = {
    "base": _Size(
        layers=6, width=512, heads=8, feed_forward=2048, dropout=0.1, parameters=65e6, rounding_fraction=0.03
    ),
    "big": _Size(
        layers=6, width=1024, heads=16, feed_forward=4096, dropout=0.3, parameters=213e6, rounding_fraction=0.01
    ),
}


class _FeedForward(nn.Sequential):
    def __init__(self, width: int, inner: int, dropout: float) -> None:
        super().__init__(nn.Linear(width, inner), nn.ReLU(), nn.Dropout(dropout), nn.Linear(inner, width))


class _Layer(nn.Module):
    """Self-attention, attention to the source in a decoder, feed-forward; each added to its input and normalised."""

    def __init__(self, size: _Size, *, decodes: bool, attention: str) -> None:
        super().__init__()
        self.own = MultiHeadAttention(size.width, size.heads, dropout=size.dropout, kind=attention)
        self.source = (
            MultiHeadAttention(size.width, size.heads, dropout=size.dropout, kind=attention) if decodes else None
        )
        self.feed_forward = _FeedForward(size.width, size.feed_forward, size.dropout)
        self.norms = nn.ModuleList(nn.LayerNorm(size.width) for _ in range(3 if decodes else 2))
        self.dropout = nn.Dropout(size.dropout)

    def forward(self, x: Tensor, memory: Tensor | None = None) -> Tensor:
        x = self.norms[0](x + self.dropout(self.own(x, x, causal=self.source is not None)))
        if self.source is not None:
            x = self.norms[1](x + self.dropout(self.source(x, memory)))
        return self.norms[-1](x + self.dropout(self.feed_forward(x)))  # type: ignore[no-any-return]


class TranslationTransformer(nn.Module):
    """Source and target tokens (N, S), (N, T) to scores of the target's vocabulary (N, T, vocabulary)."""

    def __init__(self, size: _Size, *, vocabulary: int, longest: int, attention: str) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, size.width)
        nn.init.normal_(self.embedding.weight, std=size.width**-0.5)
        self.scale = math.sqrt(size.width)
        self.register_buffer("positions", _sinusoids(longest, size.width), persistent=False)
        self.positions: Tensor
        self.dropout = nn.Dropout(size.dropout)
        self.encoder = nn.ModuleList(_Layer(size, decodes=False, attention=attention) for _ in range(size.layers))
        self.decoder = nn.ModuleList(_Layer(size, decodes=True, attention=attention) for _ in range(size.layers))
        self.output = nn.Linear(size.width, vocabulary, bias=False)
        self.output.weight = self.embedding.weight

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        memory = self._embed(source)
        for layer in self.encoder:
            memory = layer(memory)
        x = self._embed(target)
        for layer in self.decoder:
            x = layer(x, memory)
        return self.output(x)  # type: ignore[no-any-return]

    def _embed(self, tokens: Tensor) -> Tensor:
        embedded = self.embedding(tokens) * self.scale + self.positions[: tokens.shape[1]]
        return self.dropout(embedded)  # type: ignore[no-any-return]


def _sinusoids(length: int, width: int) -> Tensor:
    """Section 3.5: sin and cos of position / 10000^(2i/width), (length, width)."""
    angles = torch.arange(length)[:, None] * torch.exp(torch.arange(0, width, 2) * (-math.log(10_000.0) / width))
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


def transformer(
    *,
    device: Device = "cpu",
    size: str = "base",
    layers: int | None = None,
    width: int | None = None,
    heads: int | None = None,
    feed_forward: int | None = None,
    vocabulary: int = 37_000,
    sequence: int = 50,
    attention: str = "sdpa",
) -> Workload:
    """Transformer "base" or "big", Adam, label smoothing 0.1. Inputs: `source`, `target` (N, sequence), `label` alike.

    A sample is a pair of sentences of `sequence` tokens each (the first paper's experiments take 50).
    """
    if size not in _SIZES:
        raise OptionError(f"transformer has no size {size!r}", remedy=" or ".join(_SIZES))
    named = _SIZES[size]
    shape = _Size(
        layers=layers or named.layers,
        width=width or named.width,
        heads=heads or named.heads,
        feed_forward=feed_forward or named.feed_forward,
        dropout=named.dropout,
        parameters=named.parameters,
        rounding_fraction=named.rounding_fraction,
    )
    with torch.device(device):
        model = TranslationTransformer(shape, vocabulary=vocabulary, longest=sequence, attention=attention)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4, betas=(0.9, 0.98), eps=1e-9, foreach=True)

    def inputs(batch_size: int, device: torch.device) -> Batch:
        return {
            name: torch.randint(vocabulary, (batch_size, sequence), device=device)
            for name in ("source", "target", "label")
        }

    def loss(batch: Batch) -> Tensor:
        scores = model(batch["source"], batch["target"])
        return F.cross_entropy(scores.flatten(0, 1), batch["label"].flatten(), label_smoothing=0.1)

    published = [
        PublishedCount(
            quantity=Quantity.PARAMETERS,
            value=named.parameters,
            rounding_fraction=named.rounding_fraction,
            source="Vaswani et al., arXiv 1706.03762, table 3",
        )
    ]
    if size == "base":
        published.append(
            PublishedCount(
                quantity=Quantity.FORWARD_MACS,
                value=27e9,
                rounding_fraction=0.03,
                scope="both stacks at 512 tokens, without the output layer",
                without=("output",),
                sizes={"sequence": 512},
                source="Gholami et al., AI and Memory Wall, data table: 54 GFLOPs of inference",
            )
        )
    return Workload(
        name="transformer" if size == "base" else f"transformer_{size}",
        title=f"Transformer {size}, {sequence} tokens a sentence",
        paper="Vaswani et al., Attention Is All You Need, arXiv 1706.03762",
        device=torch.device(device),
        models={"model": model},
        optimizers={"adam": optimizer},
        inputs=inputs,
        training=one_model_step(optimizer, loss),
        inference=lambda batch: model(batch["source"], batch["target"]),
        default_batch_size=32,
        studied_batch_sizes=(32, 48, 64),  # Yu et al., USENIX ATC'21, experiments/run_experiment.py
        sample_unit="sentence pairs",
        tokens_per_sample=2 * sequence,
        left_out=("padding: all sentences have the same length", "beam search: inference scores a given target"),
        published=tuple(published),
        sizes={
            "size": size, "layers": shape.layers, "width": shape.width, "heads": shape.heads,
            "feed_forward": shape.feed_forward, "vocabulary": vocabulary, "sequence": sequence, "attention": attention,
        },
    )  # fmt: skip
