"""What card is it that a recording names but the catalogue lacks: put together from the facts of the device?

Two ways, both marked `estimated`, with notes that say what was assumed. A variant: the name is a known card's but the
facts are not (8 GB in place of 16, 70 SMs in place of 68, a MIG slice): rates scale with SMs, in a MIG slice bandwidth
with memory. A newcomer: the name is unknown, but SMs, memory and compute capability are there: rates by SM as in the
median of the catalogue's cards of that capability. Refuses, with None, a device whose facts do not suffice.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from surfer_lab.errors import GpuError
from surfer_lab.hardware.cards import Card
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Vendor
from surfer_lab.hardware.limits import LIMITS_BY_CAPABILITY
from surfer_lab.hardware.naming import compact
from surfer_lab.hardware.user_cards import MAX_NAME_LENGTH, card_from_row
from surfer_lab.units import BYTES_PER_GB

__all__ = ["DeviceFacts", "newcomer", "variant"]

# Vendors' GB are GiB on HBM and GDDR, less what ECC takes: a device reports 0.98 (T4: 15.8e9 of 16) to 1.075 (MI250:
# 68.7e9 of 64) of the printed GB in 10^9 bytes. Outside of this band it is another memory.
MEMORY_RATIO_BAND: Final = (0.94, 1.09)
VARIANT_SM_RATIO_BAND: Final = (0.05, 1.15)  # a slice has fewer SMs; more than a few more is another card
MEMORY_WORD: Final = re.compile(r"\s+\d+GB\b")
GENERIC_NAME: Final = "unnamed GPU"


@dataclass(frozen=True, kw_only=True)
class DeviceFacts:
    """What a recording says of its device beside the name; None: not recorded."""

    sm_count: int | None = None
    memory_bytes: int | None = None
    compute_capability: str | None = None

    def __bool__(self) -> bool:
        return any(fact is not None for fact in (self.sm_count, self.memory_bytes, self.compute_capability))

    def fit(self, card: Card) -> bool:
        """Whether nothing recorded contradicts the card."""
        low, high = MEMORY_RATIO_BAND
        return (
            self.sm_count in (None, card.sm_count)
            and (self.memory_bytes is None or low <= self.memory_bytes / (card.memory_gb * BYTES_PER_GB) <= high)
            and (self.compute_capability is None or same_capability(card, self.compute_capability))
        )

    def words(self) -> str:
        """The facts as a person reads them: "42 SMs, 20.9 GB, compute capability 8.0"."""
        parts = [
            f"{self.sm_count} SMs" if self.sm_count is not None else "",
            f"{self.memory_bytes / BYTES_PER_GB:.1f} GB" if self.memory_bytes is not None else "",
            f"compute capability {self.compute_capability}" if self.compute_capability is not None else "",
        ]
        return ", ".join(filter(None, parts))


def same_capability(card: Card, recorded: str) -> bool:
    """Kineto writes an AMD target as major.minor: gfx90a is "9.0", gfx942 "9.4"."""
    key = recorded.split(":")[0].strip()
    if card.vendor is Vendor.AMD and not key.startswith("gfx"):
        digits = card.compute_capability.removeprefix("gfx")
        return key == f"{digits[0]}.{digits[1]}"
    return key == card.compute_capability


def variant(card: Card, facts: DeviceFacts, name: str) -> Card | None:
    """The card with the recorded SMs and memory; None where that is too far from it to be one of its kind."""
    if facts.compute_capability is not None and not same_capability(card, facts.compute_capability):
        return None
    sms = facts.sm_count if facts.sm_count is not None else card.sm_count
    scale = sms / card.sm_count
    low, high = VARIANT_SM_RATIO_BAND
    if not low <= scale <= high:
        return None
    memory_gb = card.memory_gb if facts.memory_bytes is None else facts.memory_bytes / BYTES_PER_GB
    # a MIG instance has its share of the memory's channels with its share of the memory
    is_slice = "mig" in name.lower()
    share = min(1.0, memory_gb / card.memory_gb) if is_slice else 1.0
    return dataclasses.replace(
        card,
        name=f"{MEMORY_WORD.sub('', card.name)} ({facts.words()})",
        aliases=(),
        sm_count=sms,
        memory_gb=memory_gb,
        bandwidth_gb_per_s=card.bandwidth_gb_per_s * share,
        l2_mb=None if card.l2_mb is None else card.l2_mb * share,
        peak_tflops={rate: peak * scale for rate, peak in card.peak_tflops.items()},
        fp32_matrix_tflops=None if card.fp32_matrix_tflops is None else card.fp32_matrix_tflops * scale,
        notes=f"recorded as {name!r} with {facts.words()}, unlike the catalogue's {card.name}: peaks taken by SM"
        + (", bandwidth by memory" if is_slice else ", bandwidth as there"),
        estimated=True,
    )


def newcomer(name: str, facts: DeviceFacts, known: Sequence[Card]) -> Card | None:
    """A card of the recorded size, each SM as in the median of its compute capability; None without SMs or kin."""
    kin = _kin(facts, known)
    if facts.sm_count is None or facts.memory_bytes is None or not kin:
        return None
    sms = facts.sm_count
    fp32 = RateClass.FP32
    row = {
        "name": _sound(name),
        "compute_capability": kin[0].compute_capability,
        "sm_count": sms,
        "memory_gb": facts.memory_bytes / BYTES_PER_GB,
        "bandwidth_gb_per_s": sms * median(card.bandwidth_gb_per_s / card.sm_count for card in kin),
        "fp32_tflops": sms * median(card.peak_tflops[fp32] / card.sm_count for card in kin),
        "clock_mhz": median([card.clock_mhz for card in kin if card.clock_mhz is not None]),
        "architecture": kin[0].architecture,
        "source": f"estimated from {facts.words()}",
    }
    try:
        card, _ = card_from_row(row, known, "the recorded device")
    except GpuError:  # facts that no GPU can have: a damaged recording
        return None
    notes = (
        f"not in the catalogue: rates and bandwidth by SM as in the median of {len(kin)} cards of compute capability "
        f"{kin[0].compute_capability}; give a row of its own for better ones; {card.notes}"
    )
    return dataclasses.replace(card, user_defined=False, estimated=True, notes=notes)


def _sound(name: str) -> str:
    """The recorded name as a row may have it: a recording's may be of any length, and hostile."""
    cleaned = "".join(letter if letter.isprintable() and letter != "," else " " for letter in name)
    cleaned = " ".join(cleaned.split())[:MAX_NAME_LENGTH].strip()
    return cleaned if compact(cleaned) else GENERIC_NAME


def _kin(facts: DeviceFacts, known: Sequence[Card]) -> list[Card]:
    capability = (facts.compute_capability or "").split(":")[0]
    if capability not in LIMITS_BY_CAPABILITY:
        return []
    same = [card for card in known if card.compute_capability == capability and not card.user_defined]
    major = capability.split(".")[0]
    return same or [
        card for card in known if card.compute_capability.split(".")[0] == major and card.vendor is Vendor.NVIDIA
    ]
