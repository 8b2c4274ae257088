"""At what rate does a card really compute and copy, chosen from several measurements or none?

One rule. A card's rate is the median of its measurements of the first of these tiers that has any, MEASURED:

    arithmetic   1. ordinary large matrix multiplications
                 2. best shapes of a search and vendors' max-achievable figures, times `correction` (about 0.98)
                 3. vector FMA loops, times `correction`
    bandwidth    1. streams of hundreds of MB
                 2. (TYPICAL) the stream fraction of cards of the same die and segment
                 3. measurements whose method is not recorded, times `correction`
                 4. copies of tens of MB

each tier looked up on the card itself, then on its twins: same die and, for arithmetic, same segment, peak and power
limit; for bandwidth, same rated bandwidth. `correction` is the median ratio of tier 1 to that tier over the cards that
have both, so that one card's optimistic search is not held against another's ordinary run. Additions-only counts, data
sheet figures and measurements contradicted by their own note are never used.

A card without any is TYPICAL: rated peak x the median fraction of the nearest cards that were measured (`NEIGHBOURS`).
A tensor class is first taken from another tensor class of the same card, times the median ratio of the two classes'
fractions: it knows the card's power limit. Power separates cards: boards fed by the slot alone (T4, L4: fp32 at 0.4 to
0.5 of the peak) say nothing of others, nor GeForce's half-rate tensor cores (1.0 to 1.15, above the rated boost) of
full-rate ones (0.6 to 0.85). Where a card has tensor cores but no sourced peak (H800), the rate per SM and clock of the
same die stands in.

Refuses nothing; a dtype without a peak on the card and without same-die figures stays absent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from surfer_lab.hardware.cards import BANDWIDTH, Card, Kind, Measurement
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Rate, RateOrigin
from surfer_lab.units import BYTES_PER_GB, FLOPS_PER_TFLOPS

__all__ = ["Sustained"]

TENSOR_CLASSES: Final = (RateClass.BF16, RateClass.FP16, RateClass.TF32, RateClass.FP8)

ARITHMETIC_TIERS: Final = (Kind.MATMUL, Kind.SEARCH, Kind.FMA_LOOP)
STREAM_TIERS: Final = (Kind.STREAM,)
OTHER_COPY_TIERS: Final = (Kind.UNSPECIFIED, Kind.SMALL_COPY)
FIRST_TIER: Final = {Kind.SEARCH: Kind.MATMUL, Kind.FMA_LOOP: Kind.MATMUL, Kind.UNSPECIFIED: Kind.STREAM}

SLOT_POWER_W: Final = 75.0  # a PCIe slot's limit (PCI Express card electromechanical specification)
SAME_RATING: Final = 0.02  # relative: two ratings closer than this are one memory or one clock
SHOWN_NAMES: Final = 4  # cards named in a source text before "and n more"

KIND_WORDS: Final[Mapping[Kind, str]] = {
    Kind.MATMUL: "matrix multiplication",
    Kind.SEARCH: "best of a search over shapes",
    Kind.FMA_LOOP: "vector FMA loop",
    Kind.STREAM: "stream of hundreds of MB",
    Kind.UNSPECIFIED: "measured, method not recorded",
    Kind.SMALL_COPY: "copy of tens of MB",
    Kind.OWN: "stated in the user's row",
}

# cards that may stand in for one another, nearest first, with the words shown
Neighbours: TypeAlias = Sequence[tuple[str, Callable[[Card], tuple[object, ...]]]]
NEIGHBOURS: Final[Neighbours] = (
    ("same die, segment and power class", lambda card: (card.die, card.segment, _slot_powered(card))),
    ("same compute capability, segment and power class",
     lambda card: (card.compute_capability, card.segment, _slot_powered(card))),
    ("same die and power class", lambda card: (card.die, _slot_powered(card))),
    ("same compute capability and power class", lambda card: (card.compute_capability, _slot_powered(card))),
    ("same architecture and power class", lambda card: (card.architecture, _slot_powered(card))),
    ("same architecture", lambda card: (card.architecture,)),
    ("same vendor", lambda card: (card.vendor,)),
)  # fmt: skip
TENSOR_NEIGHBOURS: Final[Neighbours] = (
    ("same die, tensor rate and power class", lambda card: (card.die, card.half_rate_tensor, _slot_powered(card))),
    ("same compute capability, tensor rate and power class",
     lambda card: (card.compute_capability, card.half_rate_tensor, _slot_powered(card))),
    ("same architecture, tensor rate and power class",
     lambda card: (card.architecture, card.half_rate_tensor, _slot_powered(card))),
    ("same architecture and tensor rate", lambda card: (card.architecture, card.half_rate_tensor)),
    ("same vendor and tensor rate", lambda card: (card.vendor, card.half_rate_tensor)),
    ("same vendor", lambda card: (card.vendor,)),
)  # fmt: skip


class Sustained:
    """Sustained rates by the rule above, over a fixed set of cards and measurements."""

    def __init__(self, cards: Sequence[Card], measurements: Iterable[Measurement]) -> None:
        self._cards = {card.name: card for card in cards}
        self._by_die: dict[str, list[Card]] = defaultdict(list)
        for card in cards:
            self._by_die[card.die].append(card)
        self._rows: dict[tuple[str, str, Kind], list[Measurement]] = defaultdict(list)
        for row in measurements:
            self._rows[row.gpu, row.quantity, row.kind].append(row)
        self._correction = {kind: self._ratio_to_first_tier(kind) for kind in FIRST_TIER}
        self._class_ratios: dict[tuple[RateClass, RateClass], float] = {}
        self._fractions = self._measured_fractions()  # quantity -> card -> fraction of the peak
        self._complete_tensor_fractions()
        self._groups = self._grouped()

    def bandwidth(self, card: Card) -> Rate:
        """Sustained copy bandwidth, bytes/s (read plus written)."""
        rated = card.bandwidth_gb_per_s * BYTES_PER_GB
        return (
            self._measured(card, BANDWIDTH, (Kind.OWN, *STREAM_TIERS), BYTES_PER_GB)
            or self._typical(card, BANDWIDTH, rated, NEIGHBOURS[:1])
            or self._measured(card, BANDWIDTH, OTHER_COPY_TIERS, BYTES_PER_GB)
            or self._typical(card, BANDWIDTH, rated, NEIGHBOURS)
            or _unmeasured_vendor(rated)
        )

    def arithmetic(self, card: Card) -> dict[RateClass, Rate]:
        """Sustained FLOP/s by dtype class; classes the card lacks are absent, FP32 never is."""
        rates = {rate_class: self._arithmetic(card, rate_class) for rate_class in (RateClass.FP32, *TENSOR_CLASSES)}
        return {rate_class: rate for rate_class, rate in rates.items() if rate is not None}

    def _arithmetic(self, card: Card, rate_class: RateClass) -> Rate | None:
        peak = _matmul_peak(card, rate_class)
        if peak is None:
            return self._per_sm_and_clock(card, rate_class)
        tensor = _is_tensor(card, rate_class)
        return (
            self._measured(card, rate_class.value, (Kind.OWN, *ARITHMETIC_TIERS), FLOPS_PER_TFLOPS)
            or (self._from_other_class(card, rate_class, peak) if tensor else None)
            or self._typical(
                card, rate_class.value, peak * FLOPS_PER_TFLOPS, TENSOR_NEIGHBOURS if tensor else NEIGHBOURS
            )
            or _unmeasured_vendor(peak * FLOPS_PER_TFLOPS)
        )

    def _measured(self, card: Card, quantity: str, tiers: Sequence[Kind], unit: int) -> Rate | None:
        for kind in tiers:
            rows = self._rows.get((card.name, quantity, kind))
            twin = ""
            if not rows:
                twin, rows = self._of_a_twin(card, quantity, kind)
            if rows:
                factor = self._correction.get(kind, 1.0)
                return Rate(
                    per_s=_median([row.value for row in rows]) * factor * unit,
                    origin=RateOrigin.MEASURED,
                    source=_measured_words(rows, kind, factor, twin),
                )
        return None

    def _of_a_twin(self, card: Card, quantity: str, kind: Kind) -> tuple[str, list[Measurement]]:
        if card.user_defined or card.estimated or kind is Kind.OWN:
            return "", []
        for other in self._by_die[card.die]:
            rows = self._rows.get((other.name, quantity, kind))
            if rows and other.name != card.name and _alike(card, other, quantity):
                return other.name, rows
        return "", []

    def _from_other_class(self, card: Card, rate_class: RateClass, peak: float) -> Rate | None:
        for other in TENSOR_CLASSES:
            other_peak = card.peak_tflops.get(other)
            if other is rate_class or other_peak is None:
                continue
            rate = self._measured(card, other.value, (Kind.OWN, *ARITHMETIC_TIERS), FLOPS_PER_TFLOPS)
            if rate is not None:
                fraction = rate.per_s / FLOPS_PER_TFLOPS / other_peak * self._class_ratio(rate_class, other)
                return Rate(
                    per_s=peak * FLOPS_PER_TFLOPS * fraction,
                    origin=RateOrigin.TYPICAL,
                    source=f"{fraction:.2f} of the rated peak, from this card's {other.value} ({rate.source})",
                )
        return None

    def _class_ratio(self, wanted: RateClass, known: RateClass) -> float:
        """Median over cards measured in both: fraction of peak in `wanted` over that in `known`; 1 without any."""
        key = (wanted, known)
        if key not in self._class_ratios:
            of_wanted, of_known = self._fractions[wanted.value], self._fractions[known.value]
            both = [
                of_wanted[name] / of_known[name]
                for name in of_wanted
                if name in of_known and not self._cards[name].fp16_is_vector
            ]
            self._class_ratios[key] = _median(both) if both else 1.0
        return self._class_ratios[key]

    def _typical(self, card: Card, quantity: str, peak_per_s: float, neighbours: Neighbours) -> Rate | None:
        for words, key in neighbours:
            names = [name for name in self._groups.get((quantity, words, key(card)), ()) if name != card.name]
            if names:
                fraction = _median([self._fractions[quantity][name] for name in names])
                if neighbours is TENSOR_NEIGHBOURS and not card.half_rate_tensor:
                    fraction = min(fraction, 1.0)  # another card's cautious rating is not this one's
                return Rate(
                    per_s=peak_per_s * fraction,
                    origin=RateOrigin.TYPICAL,
                    source=f"{fraction:.2f} of the rated peak, as on cards of the {words}: {_listed(names)}",
                )
        return None

    def _per_sm_and_clock(self, card: Card, rate_class: RateClass) -> Rate | None:
        if card.clock_mhz is None or rate_class not in TENSOR_CLASSES:
            return None
        others = {
            other.name: rate.per_s / (other.sm_count * other.clock_mhz)
            for other in self._by_die[card.die]
            if other.clock_mhz is not None
            and _is_tensor(other, rate_class)
            and other.segment is card.segment
            and (rate := self._measured(other, rate_class.value, ARITHMETIC_TIERS, FLOPS_PER_TFLOPS)) is not None
        }
        if not others:
            return None
        return Rate(
            per_s=_median(list(others.values())) * card.sm_count * card.clock_mhz,
            origin=RateOrigin.TYPICAL,
            source=f"no peak could be sourced: rate per SM and clock as on cards of the same die: {_listed([*others])}",
        )

    def _ratio_to_first_tier(self, kind: Kind) -> float:
        ratios = [
            _median([row.value for row in first]) / _median([row.value for row in rows])
            for (name, quantity, row_kind), rows in self._rows.items()
            if row_kind is kind and (first := self._rows.get((name, quantity, FIRST_TIER[kind])))
        ]
        return _median(ratios) if ratios else 1.0

    def _measured_fractions(self) -> dict[str, dict[str, float]]:
        quantities = {rate_class.value: ARITHMETIC_TIERS for rate_class in (RateClass.FP32, *TENSOR_CLASSES)}
        fractions: dict[str, dict[str, float]] = {}
        for quantity, tiers in {BANDWIDTH: (*STREAM_TIERS, *OTHER_COPY_TIERS), **quantities}.items():
            fractions[quantity] = {}
            for card in self._cards.values():
                peak = card.bandwidth_gb_per_s if quantity == BANDWIDTH else _matmul_peak(card, RateClass(quantity))
                rows = next((rows for kind in tiers if (rows := self._rows.get((card.name, quantity, kind)))), None)
                if rows and peak is not None:
                    value = _median([row.value for row in rows]) * self._correction.get(rows[0].kind, 1.0)
                    fractions[quantity][card.name] = value / peak
        return fractions

    def _complete_tensor_fractions(self) -> None:
        """Give cards measured in one tensor class the fractions of their others, so that groups speak of all alike."""
        derived: list[tuple[str, str, float]] = []
        for card in self._cards.values():
            known = next((known for known in TENSOR_CLASSES if card.name in self._fractions[known.value]), None)
            if known is None or not _is_tensor(card, known):
                continue
            derived += [
                (wanted.value, card.name, self._fractions[known.value][card.name] * self._class_ratio(wanted, known))
                for wanted in TENSOR_CLASSES
                if wanted in card.peak_tflops and card.name not in self._fractions[wanted.value]
            ]
        for quantity, name, fraction in derived:
            self._fractions[quantity][name] = fraction

    def _grouped(self) -> dict[tuple[str, str, tuple[object, ...]], list[str]]:
        groups: dict[tuple[str, str, tuple[object, ...]], list[str]] = defaultdict(list)
        for quantity, by_card in self._fractions.items():
            for name in by_card:
                card = self._cards[name]
                tensor = quantity != BANDWIDTH and _is_tensor(card, RateClass(quantity))
                for level, (words, key) in enumerate(TENSOR_NEIGHBOURS if tensor else NEIGHBOURS):
                    # the first level is asked before the lesser copies: it must rest on streams alone
                    if quantity == BANDWIDTH and level == 0 and (name, BANDWIDTH, Kind.STREAM) not in self._rows:
                        continue
                    groups[quantity, words, key(card)].append(name)
        return groups


def _matmul_peak(card: Card, rate_class: RateClass) -> float | None:
    """The rated TFLOP/s that a matrix multiplication can reach."""
    if rate_class is RateClass.FP32 and card.fp32_matrix_tflops is not None:
        return card.fp32_matrix_tflops
    return card.peak_tflops.get(rate_class)


def _is_tensor(card: Card, rate_class: RateClass) -> bool:
    return rate_class in TENSOR_CLASSES and rate_class in card.peak_tflops and not card.fp16_is_vector


def _slot_powered(card: Card) -> bool:
    return card.tdp_w is not None and card.tdp_w <= SLOT_POWER_W


def _alike(card: Card, other: Card, quantity: str) -> bool:
    """Whether cards of one die are twins: for bandwidth the same memory, for arithmetic the same clocks and power."""
    if quantity == BANDWIDTH:
        return _close(card.bandwidth_gb_per_s, other.bandwidth_gb_per_s)
    rate_class = RateClass(quantity)
    peak, other_peak = card.peak_tflops.get(rate_class), other.peak_tflops.get(rate_class)
    return (
        card.segment is other.segment
        and card.tdp_w == other.tdp_w
        and peak is not None
        and other_peak is not None
        and _close(peak, other_peak)
    )


def _close(one: float, other: float) -> bool:
    return abs(one - other) <= SAME_RATING * max(one, other)


def _median(values: list[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def _unmeasured_vendor(rated_per_s: float) -> Rate:
    return Rate(
        per_s=rated_per_s, origin=RateOrigin.TYPICAL, source="the rated figure: no card of this vendor was measured"
    )


def _measured_words(rows: Sequence[Measurement], kind: Kind, factor: float, twin: str) -> str:
    what = KIND_WORDS[kind]
    count = what if len(rows) == 1 else f"median of {len(rows)}: {what}"
    corrected = "" if factor == 1.0 else f", times {factor:.3f} (the usual ratio to the first tier)"
    on_twin = f", on its twin {twin}" if twin else ""
    return f"{count}{corrected}{on_twin}: {'; '.join(dict.fromkeys(row.source for row in rows))}"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - SHOWN_NAMES
    return ", ".join(names[:SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")
