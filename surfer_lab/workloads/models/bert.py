"""BERT, base and large, with its two pre-training heads (masked tokens, next sentence).

Devlin et al. 2018, arXiv 1810.04805, section 3; normalisation after each sub-layer, exact GELU, the token head tied to
the embedding and applied to the masked places only, as in the released code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from surfer_lab.errors import OptionError
from surfer_lab.workloads.models.attention import MultiHeadAttention
from surfer_lab.workloads.published import PublishedCount, Quantity
from surfer_lab.workloads.workload import Batch, Device, Output, Workload, one_model_step

__all__ = ["BertPretraining", "bert"]


@dataclass(frozen=True, kw_only=True)
class _Size:
    layers: int
    width: int
    heads: int
    feed_forward: int
    parameters: int  # with the pooler, without the pre-training heads


_SIZES: Final[dict[str, _Size]] = {
    "base": _Size(layers=12, width=768, heads=12, feed_forward=3072, parameters=109_482_240),
    "large": _Size(layers=24, width=1024, heads=16, feed_forward=4096, parameters=335_141_888),
}
_POSITIONS: Final = 512
_DROPOUT: Final = 0.1
_EPSILON: Final = 1e-12  # layer norm, as released


class _Layer(nn.Module):
    def __init__(self, width: int, heads: int, feed_forward: int, attention: str) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(width, heads, dropout=_DROPOUT, kind=attention)
        self.norm1 = nn.LayerNorm(width, eps=_EPSILON)
        self.feed_forward = nn.Sequential(nn.Linear(width, feed_forward), nn.GELU(), nn.Linear(feed_forward, width))
        self.norm2 = nn.LayerNorm(width, eps=_EPSILON)
        self.dropout = nn.Dropout(_DROPOUT)

    def forward(self, x: Tensor, keep: Tensor) -> Tensor:
        x = self.norm1(x + self.dropout(self.attention(x, x, keep=keep)))
        return self.norm2(x + self.dropout(self.feed_forward(x)))  # type: ignore[no-any-return]


class _Encoder(nn.Module):
    """Tokens, segments (N, S) and a mask of the real ones to (N, S, width) and the pooled first place (N, width)."""

    def __init__(
        self, *, layers: int, width: int, heads: int, feed_forward: int, vocabulary: int, positions: int, attention: str
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(positions, width)
        self.segments = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, eps=_EPSILON)
        self.dropout = nn.Dropout(_DROPOUT)
        self.layers = nn.ModuleList(_Layer(width, heads, feed_forward, attention) for _ in range(layers))
        self.pool = nn.Linear(width, width)

    def forward(self, token: Tensor, segment: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        places = torch.arange(token.shape[1], device=token.device)
        x = self.dropout(self.norm(self.tokens(token) + self.positions(places) + self.segments(segment)))
        keep = mask[:, None, None, :]
        for layer in self.layers:
            x = layer(x, keep)
        return x, torch.tanh(self.pool(x[:, 0]))


class _TokenHead(nn.Module):
    def __init__(self, width: int, tied: nn.Embedding) -> None:
        super().__init__()
        self.transform = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width, eps=_EPSILON))
        self.weight = tied.weight
        self.bias = nn.Parameter(torch.zeros(tied.num_embeddings))

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(self.transform(x), self.weight, self.bias)


class BertPretraining(nn.Module):
    """Scores of the masked places (N, P, vocabulary) and of the next sentence (N, 2)."""

    def __init__(self, encoder: _Encoder, width: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.token_head = _TokenHead(width, encoder.tokens)
        self.sentence_head = nn.Linear(width, 2)
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)

    def forward(self, token: Tensor, segment: Tensor, mask: Tensor, place: Tensor) -> tuple[Tensor, Tensor]:
        x, pooled = self.encoder(token, segment, mask)
        masked = x.gather(1, place[:, :, None].expand(-1, -1, x.shape[-1]))
        return self.token_head(masked), self.sentence_head(pooled)


def bert(
    *,
    device: Device = "cpu",
    size: str = "base",
    layers: int | None = None,
    width: int | None = None,
    heads: int | None = None,
    feed_forward: int | None = None,
    vocabulary: int = 30_522,
    sequence: int = 512,
    predictions: int | None = None,
    attention: str = "sdpa",
) -> Workload:
    """BERT "base" or "large" in pre-training, AdamW.

    Inputs: `token`, `segment`, `mask` (N, sequence), masked places `place` and their `label` (N, predictions),
    `is_next` (N,). `predictions` is 15 % of the sequence by default, rounded up to 80 of 512 and 20 of 128 as in
    NVIDIA's example.
    """
    if size not in _SIZES:
        raise OptionError(f"bert has no size {size!r}", remedy=" or ".join(_SIZES))
    named = _SIZES[size]
    masked = predictions or max(1, -(-sequence * 5 // 32))
    shape = {
        "layers": layers or named.layers,
        "width": width or named.width,
        "heads": heads or named.heads,
        "feed_forward": feed_forward or named.feed_forward,
    }
    with torch.device(device):
        encoder = _Encoder(
            **shape,
            vocabulary=vocabulary,
            positions=max(sequence, _POSITIONS),
            attention=attention,
        )
        model = BertPretraining(encoder, shape["width"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, foreach=True)

    def inputs(batch_size: int, device: torch.device) -> Batch:
        return {
            "token": torch.randint(vocabulary, (batch_size, sequence), device=device),
            "segment": torch.randint(2, (batch_size, sequence), device=device),
            "mask": torch.ones(batch_size, sequence, dtype=torch.bool, device=device),
            "place": torch.randint(sequence, (batch_size, masked), device=device),
            "label": torch.randint(vocabulary, (batch_size, masked), device=device),
            "is_next": torch.randint(2, (batch_size,), device=device),
        }

    def forward(batch: Batch) -> tuple[Tensor, Tensor]:
        scores: tuple[Tensor, Tensor] = model(batch["token"], batch["segment"], batch["mask"], batch["place"])
        return scores

    def loss(batch: Batch) -> Tensor:
        tokens, sentences = forward(batch)
        return F.cross_entropy(tokens.flatten(0, 1), batch["label"].flatten()) + F.cross_entropy(
            sentences, batch["is_next"]
        )

    def inference(batch: Batch) -> Output:
        return forward(batch)

    published = [
        PublishedCount(
            quantity=Quantity.PARAMETERS,
            value=named.parameters,
            scope="encoder with pooler, without the two pre-training heads",
            without=("token_head", "sentence_head"),
            source=f"Keras Hub, bert_{size}_en_uncased, params; Devlin et al. print 110M and 340M",
        )
    ]
    if size == "large":
        published.append(
            PublishedCount(
                quantity=Quantity.FORWARD_MACS,
                value=170e9,
                rounding_fraction=0.03,
                scope="encoder at 512 tokens, without the heads",
                without=("token_head", "sentence_head"),
                source="Gholami et al., AI and Memory Wall, data table: 340 GFLOPs of inference",
            )
        )
    return Workload(
        name=f"bert_{size}",
        title=f"BERT {size} pre-training, {sequence} tokens",
        paper="Devlin et al., BERT, arXiv 1810.04805",
        device=torch.device(device),
        models={"model": model},
        optimizers={"adamw": optimizer},
        inputs=inputs,
        training=one_model_step(optimizer, loss),
        inference=inference,
        default_batch_size=8,
        studied_batch_sizes=(8, 16, 32),
        sample_unit="sequences",
        tokens_per_sample=sequence,
        left_out=("padding: the mask is passed and all true", "LAMB, which NVIDIA's example updates with: AdamW here"),
        published=tuple(published),
        sizes={
            "size": size, **shape, "vocabulary": vocabulary, "sequence": sequence, "predictions": masked,
            "attention": attention,
        },
    )  # fmt: skip
