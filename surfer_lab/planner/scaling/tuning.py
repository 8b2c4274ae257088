"""What may be chosen or assumed of a step on several GPUs, whatever the strategy."""

from __future__ import annotations

from dataclasses import dataclass

from surfer_lab.errors import OptionError
from surfer_lab.planner.scaling.collectives import Group
from surfer_lab.planner.scaling.stragglers import EVEN_WORK_SPREAD, slowdown

__all__ = ["Tuning"]


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """Choices with torch's defaults. `gradient_scale`: bytes sent for each byte of a gradient as captured.

    `rank_spread`: how much ranks' step times differ (standard deviation over mean), see `stragglers`.
    """

    bucket_mib: float | None = None  # None: torch's 25, the first 1
    gradient_scale: float = 1.0  # 0.5: fp32 gradients sent as 16 bit
    accumulation: int = 1  # micro-steps of a step
    micro_batches: int = 1  # of a pipeline; each is the profile's step without its optimizer
    # of "tables": a network beside the tables that one GPU runs for all samples, and the tables (beginnings of paths)
    dense_on_one: str = ""
    tables: str = ""
    chunks: int = 1  # model parts on each stage of an interleaved pipeline
    rank_spread: float = EVEN_WORK_SPREAD
    contention_fraction: float | None = None  # of compute that collectives keep still; None: by their channels

    def __post_init__(self) -> None:
        if self.contention_fraction is not None and not 0 <= self.contention_fraction < 1:
            raise OptionError(f"a contention of {self.contention_fraction!r}", remedy="0 to below 1")
        for name, value in (
            ("gradients accumulated over", self.accumulation),
            ("micro-batches", self.micro_batches),
            ("parts of an interleaved pipeline", self.chunks),
        ):
            if value < 1:
                raise OptionError(f"{name}: {value}", remedy="1 or more")

    def slowdown(self, rank_count: int) -> float:
        """The factor on compute for the slowest of the ranks."""
        return slowdown(self.rank_spread, rank_count)

    def contention(self, sm_count: int, group: Group) -> float:
        """Share of compute that a collective of the group keeps still: NCCL's channels are a thread block each."""
        if group.size <= 1:
            return 0.0
        if self.contention_fraction is not None:
            return self.contention_fraction
        return min(0.5, group.channel_count / sm_count)
