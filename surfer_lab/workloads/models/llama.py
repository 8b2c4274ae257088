"""Llama-like decoders, 7 to 70 billion parameters: RMS norm, rotary positions, grouped queries, gated feed-forward.

Touvron et al. 2023, arXiv 2302.13971 and 2307.09288 (Llama 2); Llama 3: arXiv 2407.21783, table 3. On "meta" the
largest is built in seconds and without memory; a real one is meant for machines that hold it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from surfer_lab.errors import OptionError
from surfer_lab.workloads.models.attention import attend, checked_attention
from surfer_lab.workloads.published import PublishedCount, Quantity
from surfer_lab.workloads.workload import Batch, Device, Workload, one_model_step

__all__ = ["Llama", "LlamaShape", "llama"]


@dataclass(frozen=True, kw_only=True)
class LlamaShape:
    """Sizes of one member of the family."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    feed_forward: int
    vocabulary: int
    rotary_base: float
    parameters: int  # of the released weights, embedding and output apart


_SIZES: Final[dict[str, LlamaShape]] = {
    "7b": LlamaShape(
        layers=32, width=4096, heads=32, kv_heads=32, feed_forward=11_008, vocabulary=32_000, rotary_base=1e4,
        parameters=6_738_415_616,
    ),
    "13b": LlamaShape(
        layers=40, width=5120, heads=40, kv_heads=40, feed_forward=13_824, vocabulary=32_000, rotary_base=1e4,
        parameters=13_015_864_320,
    ),
    "70b": LlamaShape(
        layers=80, width=8192, heads=64, kv_heads=8, feed_forward=28_672, vocabulary=32_000, rotary_base=1e4,
        parameters=68_976_648_192,
    ),
    "3-8b": LlamaShape(
        layers=32, width=4096, heads=32, kv_heads=8, feed_forward=14_336, vocabulary=128_256, rotary_base=5e5,
        parameters=8_030_261_248,
    ),
    "3-70b": LlamaShape(
        layers=80, width=8192, heads=64, kv_heads=8, feed_forward=28_672, vocabulary=128_256, rotary_base=5e5,
        parameters=70_553_706_496,
    ),
}  # fmt: skip


class RmsNorm(nn.Module):
    """x / sqrt(mean(x^2) + eps) * weight, the mean in fp32."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        return (wide * (wide.square().mean(-1, keepdim=True) + 1e-5).rsqrt()).to(x.dtype) * self.weight


def _rotate(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Rotary positions on (N, heads, S, d), the halves paired."""
    first, second = x.chunk(2, dim=-1)
    return x * cosine + torch.cat((-second, first), dim=-1) * sine


class _Block(nn.Module):
    def __init__(self, shape: LlamaShape, attention: str) -> None:
        super().__init__()
        head = shape.width // shape.heads
        self.head = head
        self.repeats = shape.heads // shape.kv_heads
        self.attention = checked_attention(attention)
        self.norm1 = RmsNorm(shape.width)
        self.query = nn.Linear(shape.width, shape.heads * head, bias=False)
        self.key = nn.Linear(shape.width, shape.kv_heads * head, bias=False)
        self.value = nn.Linear(shape.width, shape.kv_heads * head, bias=False)
        self.output = nn.Linear(shape.heads * head, shape.width, bias=False)
        self.norm2 = RmsNorm(shape.width)
        self.gate = nn.Linear(shape.width, shape.feed_forward, bias=False)
        self.up = nn.Linear(shape.width, shape.feed_forward, bias=False)
        self.down = nn.Linear(shape.feed_forward, shape.width, bias=False)

    def forward(self, x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        normed = self.norm1(x)
        query = _rotate(self._split(self.query(normed)), cosine, sine)
        key = self._repeat(_rotate(self._split(self.key(normed)), cosine, sine))
        value = self._repeat(self._split(self.value(normed)))
        mixed = attend(query, key, value, kind=self.attention, causal=True)
        x = x + self.output(mixed.transpose(1, 2).flatten(2))
        normed = self.norm2(x)
        return x + self.down(F.silu(self.gate(normed)) * self.up(normed))  # type: ignore[no-any-return]

    def _split(self, x: Tensor) -> Tensor:
        return torch.unflatten(x, -1, (-1, self.head)).transpose(1, 2)

    def _repeat(self, x: Tensor) -> Tensor:
        """Each key or value head for the queries of its group."""
        return x if self.repeats == 1 else x.repeat_interleave(self.repeats, dim=1)


class Llama(nn.Module):
    """Tokens (N, S) to scores (N, S, vocabulary)."""

    def __init__(self, shape: LlamaShape, *, longest: int, attention: str, checkpointed: bool) -> None:
        super().__init__()
        self.checkpointed = checkpointed
        self.tokens = nn.Embedding(shape.vocabulary, shape.width)
        self.blocks = nn.ModuleList(_Block(shape, attention) for _ in range(shape.layers))
        self.norm = RmsNorm(shape.width)
        self.output = nn.Linear(shape.width, shape.vocabulary, bias=False)
        head = shape.width // shape.heads
        rates = shape.rotary_base ** (-torch.arange(0, head, 2, dtype=torch.float32) / head)
        angles = torch.outer(torch.arange(longest, dtype=torch.float32), rates).repeat(1, 2)
        self.register_buffer("cosine", angles.cos(), persistent=False)
        self.register_buffer("sine", angles.sin(), persistent=False)
        self.cosine: Tensor
        self.sine: Tensor

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.tokens(tokens)
        length = tokens.shape[1]
        rotary = self.cosine[:length].to(x.dtype), self.sine[:length].to(x.dtype)
        for block in self.blocks:
            if self.checkpointed and self.training:
                x = checkpoint(block, x, *rotary, use_reentrant=False)
            else:
                x = block(x, *rotary)
        return self.output(self.norm(x))  # type: ignore[no-any-return]


@contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Parameters made inside have this dtype (converting them afterwards fails under fake tensors)."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def llama(
    *,
    device: Device = "cpu",
    size: str = "7b",
    dtype: torch.dtype = torch.float32,
    layers: int | None = None,
    width: int | None = None,
    heads: int | None = None,
    kv_heads: int | None = None,
    feed_forward: int | None = None,
    vocabulary: int | None = None,
    sequence: int = 4096,
    attention: str = "sdpa",
    checkpointed: bool = False,
) -> Workload:
    """Llama 2 "7b", "13b", "70b" or Llama 3 "3-8b", "3-70b", AdamW. Inputs: `token` (N, sequence), also the labels.

    `dtype` is that of the weights (torch.bfloat16: pure bf16, optimizer state too); `checkpointed` recomputes each
    block in the backward pass. Build it with device="meta" unless the machine holds it.
    """
    if size not in _SIZES:
        raise OptionError(f"llama has no size {size!r}", remedy=", ".join(_SIZES))
    named = _SIZES[size]
    shape = replace(
        named,
        layers=layers or named.layers,
        width=width or named.width,
        heads=heads or named.heads,
        kv_heads=kv_heads or named.kv_heads,
        feed_forward=feed_forward or named.feed_forward,
        vocabulary=vocabulary or named.vocabulary,
    )
    with torch.device(device), _default_dtype(dtype):
        model = Llama(shape, longest=sequence, attention=attention, checkpointed=checkpointed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1, foreach=True)

    def inputs(batch_size: int, device: torch.device) -> Batch:
        return {"token": torch.randint(shape.vocabulary, (batch_size, sequence), device=device)}

    def loss(batch: Batch) -> Tensor:
        scores = model(batch["token"])[:, :-1]
        return F.cross_entropy(scores.flatten(0, 1), batch["token"][:, 1:].flatten())

    family, name = ("Llama 3", f"llama3_{size[2:]}") if size.startswith("3-") else ("Llama 2", f"llama_{size}")
    return Workload(
        name=name,
        title=f"{family} {size.removeprefix('3-').upper()}, {sequence} tokens",
        paper="Touvron et al., Llama 2, arXiv 2307.09288"
        if family == "Llama 2"
        else "Grattafiori et al., The Llama 3 Herd of Models, arXiv 2407.21783",
        device=torch.device(device),
        models={"model": model},
        optimizers={"adamw": optimizer},
        inputs=inputs,
        training=one_model_step(optimizer, loss),
        inference=lambda batch: model(batch["token"]),
        default_batch_size=1,
        studied_batch_sizes=(1,),
        sample_unit="sequences",
        tokens_per_sample=sequence,
        left_out=("padding: all sequences are full", "generation with a key-value cache"),
        published=(
            PublishedCount(
                quantity=Quantity.PARAMETERS,
                value=named.parameters,
                source=f"Hugging Face, safetensors total of the released {family} {size.removeprefix('3-')} weights",
            ),
        ),
        sizes={
            "size": size, "dtype": dtype, "layers": shape.layers, "width": shape.width, "heads": shape.heads,
            "kv_heads": shape.kv_heads, "feed_forward": shape.feed_forward, "vocabulary": shape.vocabulary,
            "sequence": sequence, "attention": attention, "checkpointed": checkpointed,
        },
    )  # fmt: skip
