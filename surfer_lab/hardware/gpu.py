"""One GPU as the rest of the package sees it: a frozen record of facts, each with its source.

Peak rates are what the vendor states, sustained rates what was measured; they are kept apart because what limits
a transfer to an unseen GPU is the sustained one. Nothing here computes; `catalog` reads the rows, `limits` the SM's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from surfer_lab.hardware.dtypes import RateClass

__all__ = ["Gpu", "Rate", "RateOrigin", "SmLimits", "Vendor"]


class Vendor(Enum):
    NVIDIA = "NVIDIA"
    AMD = "AMD"


class RateOrigin(Enum):
    """How far a sustained rate can be trusted; the order of liking is the order here."""

    CALIBRATED = "calibrated"  # measured on this user's machine by `surfer calibrate`
    MEASURED = "measured"  # published measurement, source named
    TYPICAL = "typical"  # architecture-typical fraction of the peak: wider range, said so


@dataclass(frozen=True, kw_only=True)
class Rate:
    """A sustained rate: FLOP/s for arithmetic, bytes/s for bandwidth."""

    per_s: float
    origin: RateOrigin
    source: str


@dataclass(frozen=True, kw_only=True)
class SmLimits:
    """What one SM (NVIDIA) or CU (AMD) can hold at once, by compute capability or gfx target."""

    max_threads: int
    max_blocks: int
    max_warps: int
    warp_size: int
    registers: int  # 32-bit registers a SM
    register_unit: int  # registers are given out per warp in multiples of this
    shared_memory_bytes: int
    shared_memory_unit_bytes: int
    reserved_shared_memory_bytes_per_block: int
    source: str
    register_partitions: int = 1  # the register file is split: a warp's registers come from one part
    max_shared_memory_bytes_per_block: int | None = None  # a block that wants more cannot be launched
    max_single_warp_blocks: int | None = None  # AMD: blocks of one wave need no barrier; None: as max_blocks


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """Facts of one GPU model. Rates in FLOP/s and bytes/s, memory in bytes; absent keys mean "no sourced figure".

    `peak_flop_per_s` and `sustained` are keyed by RateClass; a dtype that the hardware lacks is in neither.
    `sustained` always has FP32; `sustained_bandwidth` is always there (TYPICAL where nobody measured).
    """

    name: str
    aliases: tuple[str, ...]
    vendor: Vendor
    architecture: str
    compute_capability: str  # "8.0", or "gfx90a"
    sm_count: int
    fp32_lanes_per_sm: int
    clock_hz: float  # rated boost
    memory_bytes: int
    bandwidth_bytes_per_s: float  # rated
    l2_bytes: int | None
    tdp_w: float | None
    peak_flop_per_s: Mapping[RateClass, float]
    sustained: Mapping[RateClass, Rate]
    sustained_bandwidth: Rate
    nvlink_bytes_per_s: float | None  # one direction, all links
    pcie_generation: int | None
    release_year: int | None
    limits: SmLimits
    die: str  # cards with the same die share it ("GA100"); evaluation holds out by die
    source: str
    notes: str = ""
    user_defined: bool = field(default=False)
    estimated: bool = field(default=False)  # put together from what a recording said of a card outside the catalogue
