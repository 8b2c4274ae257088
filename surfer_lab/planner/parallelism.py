"""How is the work spread over the GPUs? Words of `--strategy` and what they mean.

ddp                 every GPU the whole model, gradients all-reduced
fsdp, zero3         parameters, gradients and optimizer state sharded, gathered for forward and backward
zero2               gathered once a step: parameters stay from forward to backward
tp, tp:4            blocks split over 4 (else over a node), replicas of that data-parallel
pp, pp:4, pp:4:16   blocks on 4 GPUs in turn, 16 micro-batches; pp:4:16:2 interleaved, 2 parts a GPU
tables              embedding tables spread over the GPUs, the rest data-parallel (recommenders)
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from surfer_lab.errors import OptionError

__all__ = ["Spread", "Strategy", "strategy_of"]


class Spread(Enum):
    """The kinds; the value is the word."""

    DDP = "ddp"
    FSDP = "fsdp"
    ZERO2 = "zero2"
    TENSOR = "tp"
    PIPELINE = "pp"
    TABLES = "tables"


_OTHER_WORDS: Final = {
    "zero3": "fsdp", "zero-3": "fsdp", "full_shard": "fsdp", "zero-2": "zero2", "shard_grad_op": "zero2",
    "tensor": "tp", "pipeline": "pp", "dp": "ddp", "hybrid": "tables",
}  # fmt: skip
_MOST_NUMBERS: Final = {Spread.TENSOR: 1, Spread.PIPELINE: 3}


@dataclass(frozen=True, kw_only=True)
class Strategy:
    """A kind with its numbers; None: chosen by the number of GPUs."""

    spread: Spread = Spread.DDP
    degree: int | None = None  # GPUs that share one copy of the model
    micro_batches: int | None = None
    chunks: int = 1

    @property
    def name(self) -> str:
        """As it is typed."""
        numbers = [self.degree, self.micro_batches, self.chunks if self.chunks > 1 else None]
        given = [str(one) for one in numbers if one is not None]
        return ":".join([self.spread.value, *given])


def strategy_of(text: str) -> Strategy:
    """What was typed; OptionError with the words.

    >>> strategy_of("pp:4:16").micro_batches
    16
    """
    word, *numbers = text.strip().lower().split(":")
    word = _OTHER_WORDS.get(word, word)
    known = {spread.value: spread for spread in Spread}
    if word not in known:
        raise OptionError(f"{text!r} is no strategy", remedy=f"one of {', '.join(known)}")
    spread = known[word]
    most = _MOST_NUMBERS.get(spread, 0)
    if len(numbers) > most or any(not one.isdigit() or int(one) < 1 for one in numbers):
        raise OptionError(f"{text!r} is no strategy", remedy="ddp, fsdp, tp:4, or pp:4:16 (GPUs, micro-batches)")
    values = [int(one) for one in numbers] + [None] * 3
    return Strategy(spread=spread, degree=values[0], micro_batches=values[1], chunks=values[2] or 1)
