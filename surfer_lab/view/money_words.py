"""How is money worded, and what does a price rest on? USD, its range, offers and dates."""

from __future__ import annotations

from collections.abc import Iterable

from surfer_lab.planner.pricing import Price, PriceKind
from surfer_lab.view.model import Quantity
from surfer_lab.view.wording import UNKNOWN, is_point, rounded, significant

__all__ = ["hourly_text", "money_quantity", "money_text", "price_text", "prices_text"]


def money_text(usd: float) -> str:
    """USD: cents from a dollar up, three significant digits below, two below a hundredth of a cent.

    >>> money_text(2.5), money_text(0.0123), money_text(1234.5), money_text(0)
    ('$2.50', '$0.0123', '$1,234', '$0')
    """
    if usd == 0:
        return "$0"
    if usd < 0.0001:
        return f"${significant(usd, 2)}" if usd >= 0.000001 else "<$0.000001"
    if usd >= 1000:
        return f"${usd:,.0f}"
    if usd >= 0.995:
        return f"${usd:,.2f}"
    return f"${significant(usd)}"


def money_quantity(
    usd: float | None, *, low: float | None = None, high: float | None = None, text: str | None = None
) -> Quantity:
    """An amount in USD with its range; `text` words it otherwise."""
    if usd is None:
        return Quantity(text=UNKNOWN, unit="USD")
    span = ""
    if low is not None and high is not None and not is_point(low, high):
        span = f"{money_text(low)} to {money_text(high).lstrip('$')}"
    return Quantity(
        text=money_text(usd) if text is None else text,
        unit="USD",
        value=rounded(usd),
        low=None if low is None else rounded(low),
        high=None if high is None else rounded(high),
        range_text=span,
    )


def hourly_text(usd: float | None, sold_by: int) -> str:
    """What must be paid by the hour: "$31.21 for 8" where GPUs are rented out only eight at once."""
    if usd is None:
        return UNKNOWN
    return money_text(usd) + (f" for {sold_by}" if sold_by > 1 else "")


def price_text(price: Price) -> str:
    """Where an hourly price comes from: "median of 5 offers, $1.99 to 3.50, on demand, 2025-08"."""
    if price.kind is PriceKind.OWN:
        return PriceKind.OWN.value
    offers = f"median of {price.offer_count} offers, {money_text(price.low)} to {money_text(price.high).lstrip('$')}"
    parts = [offers if price.offer_count > 1 else f"one offer, {', '.join(price.providers)}", price.kind.value]
    if price.as_of and price.as_of not in price.kind.value:
        parts.append(price.as_of)
    if price.instance_multiple > 1:
        each = money_text(price.usd_per_gpu_hour)
        parts.append(f"rented out only {price.instance_multiple} at once, all paid ({each} each)")
    return ", ".join(parts)


def prices_text(prices: Iterable[Price | None]) -> str:
    """What the money of a table rests on: kinds, dates, and how many have no price."""
    listed = list(prices)
    known = [price for price in listed if price is not None]
    if not known:
        return "No price is known for these GPUs: give your own with --price GPU=USD_PER_HOUR."
    offered = [price for price in known if price.kind is not PriceKind.OWN]
    kinds = ", ".join(dict.fromkeys(price.kind.value.split(",")[0] for price in offered))
    dates = sorted({date for price in offered for date in price.as_of.split(" to ") if date[:1].isdigit()})
    text = ""
    if offered:
        when = f", {dates[0]} to {dates[-1]}" if len(dates) > 1 else f", {dates[0]}" if dates else ""
        text = f"Prices: medians of named providers' offers ({kinds}{when}); offers change, your own wins (--price)."
    own = len(known) - len(offered)
    if own:
        text += f" {own} of them {'is' if own == 1 else 'are'} yours." if text else "The prices known are yours."
    blank = len(listed) - len(known)
    have = "has" if blank == 1 else "have"
    return f"{text} {blank} of {len(listed)} GPUs {have} no known offer.".strip() if blank else text.strip()
