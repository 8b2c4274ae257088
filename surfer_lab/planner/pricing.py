"""What does an hour on a GPU cost, out of many offers?

The rule: the median of dated on-demand offers of named providers, lowest and highest beside it. A provider counts once,
by its newest list, with the largest instance that `count` GPUs can be rented in exactly (for one GPU, an instance of
one). Where nobody rents out so few, the price is that of the smallest instance there is, by GPU, and
`instance_multiple` says how many GPUs must be taken and paid. Marketplaces never enter it; they can be asked for apart.
Spot prices follow the same rule over the offers that have one. Offers whose date is unknown serve only where no dated
one exists, and the kind says so. The user's own price wins over everything. No price is None, never a guess.

Pure: offers come from `hardware.prices`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from statistics import median
from typing import Final

from surfer_lab.errors import OptionError, UnknownGpuError
from surfer_lab.hardware import prices as hardware_prices
from surfer_lab.hardware.catalog import Catalog
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.hardware.prices import Offer, PriceData, Seller

__all__ = ["Price", "PriceKind", "PriceList", "load_prices"]

UNKNOWN_DATE: Final = "date unknown"
OWN_SOURCE: Final = "your price"


class PriceKind(Enum):
    """Where a price comes from; the value is how it is worded."""

    OWN = "your price"
    ON_DEMAND = "on demand"
    UNDATED = "on demand, date unknown"
    SPOT = "spot"
    UNDATED_SPOT = "spot, date unknown"
    MARKETPLACE = "marketplace"


@dataclass(frozen=True, kw_only=True)
class Price:
    """USD per GPU and hour. `low` and `high` are the cheapest and dearest offers that count, `as_of` their dates."""

    usd_per_gpu_hour: float
    low: float
    high: float
    offer_count: int
    as_of: str
    source: str
    kind: PriceKind
    instance_multiple: int = 1  # GPUs are sold in this many at once
    providers: tuple[str, ...] = ()

    @property
    def instance_usd_per_hour(self) -> float:
        """What must be paid by the hour at least, for the smallest number of GPUs that can be rented."""
        return self.usd_per_gpu_hour * self.instance_multiple


@dataclass(frozen=True, kw_only=True)
class PriceList:
    """Prices of all GPUs. `own` is keyed by the catalogue's names."""

    offers: Mapping[str, Sequence[Offer]]
    own: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def price(self, gpu: Gpu | str, *, spot: bool = False, count: int = 1) -> Price | None:
        """The price by the rule above; None where no offer is known."""
        name = gpu if isinstance(gpu, str) else gpu.name
        if name in self.own:
            usd = self.own[name]
            return Price(
                usd_per_gpu_hour=usd, low=usd, high=usd, offer_count=1, as_of="", source=OWN_SOURCE, kind=PriceKind.OWN
            )
        named = [offer for offer in self.offers.get(name, ()) if offer.seller is Seller.NAMED]
        dated = [offer for offer in named if offer.as_of]
        undated = [offer for offer in named if not offer.as_of]
        if spot:
            return _quote(dated, PriceKind.SPOT, count) or _quote(undated, PriceKind.UNDATED_SPOT, count)
        return _quote(dated, PriceKind.ON_DEMAND, count) or _quote(undated, PriceKind.UNDATED, count)

    def marketplace(self, gpu: Gpu | str, *, count: int = 1) -> Price | None:
        """What peer hosts ask, shown apart: single offers that may be gone, on machines of anybody."""
        name = gpu if isinstance(gpu, str) else gpu.name
        peers = [offer for offer in self.offers.get(name, ()) if offer.seller is Seller.MARKETPLACE]
        return _quote(peers, PriceKind.MARKETPLACE, count)


def load_prices(
    catalog: Catalog, given: Mapping[str, float] | None = None, *, data: PriceData | None = None
) -> PriceList:
    """Prices by catalogue name: the bundled offers and the user's prices (or `data`); `given`, of this call, wins.

    Own prices may be written by any name a GPU is found by. UnknownGpuError where `given` names no GPU; a saved price
    that names none becomes a warning.
    """
    known = hardware_prices.load_prices() if data is None else data
    own: dict[str, float] = {}
    warnings = list(known.warnings)
    for name, usd in known.own.items():
        try:
            own[catalog.find(name).name] = usd
        except UnknownGpuError as error:
            warnings.append(f"a price of yours is left out: {error}")
    for name, usd in (given or {}).items():
        if not 0 <= usd < math.inf:
            raise OptionError(f"the price of {name} is {usd!r}", remedy=f'USD per GPU and hour: --price "{name}=2.99"')
        own[catalog.find(name).name] = usd
    offers: dict[str, list[Offer]] = {}
    for offer in known.offers:
        offers.setdefault(offer.gpu, []).append(offer)
    return PriceList(offers=offers, own=own, warnings=tuple(warnings))


def _quote(offers: Iterable[Offer], kind: PriceKind, count: int) -> Price | None:
    spot = kind in (PriceKind.SPOT, PriceKind.UNDATED_SPOT)
    usable = [offer for offer in offers if not spot or offer.spot_usd_per_gpu_hour is not None]
    if not usable:
        return None
    chosen = _one_a_provider([offer for offer in usable if count % offer.gpu_count == 0])
    if not chosen:  # nobody rents out exactly so many: more must be taken
        larger = [offer for offer in usable if offer.gpu_count > count] or usable
        smallest = min(offer.gpu_count for offer in larger)
        chosen = _one_a_provider([offer for offer in larger if offer.gpu_count == smallest])
    rates = [_rate(offer, spot) for offer in chosen]
    return Price(
        usd_per_gpu_hour=median(rates),
        low=min(rates),
        high=max(rates),
        offer_count=len(rates),
        as_of=_dates(chosen),
        source="; ".join(f"{offer.provider}: {offer.source}" for offer in chosen),
        kind=kind,
        instance_multiple=min(offer.gpu_count for offer in chosen),
        providers=tuple(offer.provider for offer in chosen),
    )


def _one_a_provider(offers: Iterable[Offer]) -> list[Offer]:
    """Of each provider the newest list's largest instance (GPUs in one machine), the cheapest of several."""
    best: dict[str, Offer] = {}
    for offer in offers:
        held = best.get(offer.provider)
        if held is None or _rank(offer) > _rank(held):
            best[offer.provider] = offer
    return list(best.values())


def _rank(offer: Offer) -> tuple[str, bool, int, float]:
    # of two undated copies of one list the note says which is probably the older
    return offer.as_of, "older" not in offer.as_of_note, offer.gpu_count, -offer.usd_per_hour


def _rate(offer: Offer, spot: bool) -> float:
    if spot and offer.spot_usd_per_gpu_hour is not None:
        return offer.spot_usd_per_gpu_hour
    return offer.usd_per_gpu_hour


def _dates(offers: Sequence[Offer]) -> str:
    dates = sorted({offer.as_of for offer in offers if offer.as_of})
    if not dates:
        return UNKNOWN_DATE
    return dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
