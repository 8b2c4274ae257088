from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.errors import OptionError, UnknownGpuError
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.hardware.configuration import FOLDER_VARIABLE
from surfer_lab.hardware.prices import Offer, PriceData, Seller
from surfer_lab.planner.pricing import Price, PriceKind, PriceList, load_prices

GPU = "A100 SXM4 80GB"


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "configuration"))


def offer(
    provider: str,
    usd_per_hour: float,
    *,
    count: int = 1,
    as_of: str = "2026-01-01",
    spot: float | None = None,
    seller: Seller = Seller.NAMED,
    note: str = "",
) -> Offer:
    return Offer(
        gpu=GPU,
        provider=provider,
        seller=seller,
        instance_type=f"{count}x",
        gpu_count=count,
        usd_per_hour=usd_per_hour,
        spot_usd_per_gpu_hour=spot,
        region="",
        as_of=as_of,
        as_of_note=note or as_of,
        source=f"list of {provider}",
    )


def listed(*offers: Offer) -> PriceList:
    return PriceList(offers={GPU: offers})


def price(*offers: Offer, **options: int | bool) -> Price:
    found = listed(*offers).price(GPU, **options)  # type: ignore[arg-type]
    assert found is not None
    return found


def test_the_price_is_the_median_over_providers_with_the_extremes_beside_it() -> None:
    found = price(offer("a", 1.0), offer("b", 2.0), offer("c", 9.0, as_of="2025-01-01"))
    assert (found.usd_per_gpu_hour, found.low, found.high, found.offer_count) == (2.0, 1.0, 9.0, 3)
    assert found.kind is PriceKind.ON_DEMAND
    assert found.as_of == "2025-01-01 to 2026-01-01"
    assert found.source == "a: list of a; b: list of b; c: list of c"


def test_of_two_middle_offers_the_mean_is_taken() -> None:
    assert price(offer("a", 1.0), offer("b", 2.0)).usd_per_gpu_hour == 1.5


def test_a_provider_counts_once_by_its_newest_list() -> None:
    found = price(offer("a", 5.0, as_of="2024-07-04"), offer("a", 3.0, as_of="2025-03-07"), offer("b", 1.0))
    assert (found.usd_per_gpu_hour, found.offer_count) == (2.0, 2)  # (3 + 1) / 2


def test_marketplaces_stay_apart() -> None:
    peer = offer("peers", 0.1, seller=Seller.MARKETPLACE)
    both = listed(peer, offer("a", 2.0))
    own = both.price(GPU)
    assert own is not None and own.usd_per_gpu_hour == 2.0
    apart = both.marketplace(GPU)
    assert apart is not None
    assert (apart.usd_per_gpu_hour, apart.kind) == (0.1, PriceKind.MARKETPLACE)
    assert listed(peer).price(GPU) is None


def test_no_offer_is_no_price() -> None:
    assert listed().price(GPU) is None
    assert listed().price(GPU, spot=True) is None
    assert listed().marketplace(GPU) is None
    assert listed(offer("a", 1.0)).price("T4") is None


def test_for_one_gpu_an_instance_of_eight_is_no_offer() -> None:
    found = price(offer("a", 3.0), offer("b", 80.0, count=8))
    assert (found.usd_per_gpu_hour, found.instance_multiple) == (3.0, 1)


def test_gpus_sold_only_in_eights_are_priced_so() -> None:
    found = price(offer("a", 32.0, count=8), offer("b", 48.0, count=8), offer("c", 160.0, count=16))
    assert found.usd_per_gpu_hour == 5.0  # (32 / 8 + 48 / 8) / 2
    assert found.instance_multiple == 8
    assert found.instance_usd_per_hour == 40.0


def test_eight_gpus_are_rented_as_one_machine_where_there_is_one() -> None:
    found = price(offer("a", 3.0), offer("a", 20.0, count=8), offer("b", 2.0), count=8)
    assert found.usd_per_gpu_hour == 2.25  # a: 20 / 8 = 2.5 as one machine; b: eight single ones at 2
    assert found.instance_multiple == 1


def test_spot_is_asked_for_and_follows_the_same_rule() -> None:
    offers = (offer("a", 3.0, spot=1.0), offer("b", 2.0, spot=0.5), offer("c", 1.0))
    found = price(*offers, spot=True)
    assert (found.usd_per_gpu_hour, found.kind, found.offer_count) == (0.75, PriceKind.SPOT, 2)
    assert listed(offer("c", 1.0)).price(GPU, spot=True) is None


def test_undated_offers_serve_only_where_no_dated_one_exists_and_say_so() -> None:
    undated = offer("a", 1.0, as_of="")
    assert price(undated, offer("b", 4.0)).usd_per_gpu_hour == 4.0
    found = price(undated)
    assert (found.usd_per_gpu_hour, found.kind, found.as_of) == (1.0, PriceKind.UNDATED, "date unknown")


def test_of_two_undated_copies_the_one_not_called_older_counts() -> None:
    older = offer("a", 1.0, as_of="", note="date unknown (probably the older of two)")
    newer = offer("a", 2.0, as_of="", note="date unknown (probably the newer of two)")
    assert price(older, newer).usd_per_gpu_hour == price(newer, older).usd_per_gpu_hour == 2.0


def test_the_users_own_price_wins() -> None:
    catalog = load_catalog()
    data = PriceData(offers=(offer("a", 2.0),), own={"a100-sxm4-80gb": 1.2, "no such gpu": 1.0})
    prices = load_prices(catalog, data=data)
    own = prices.price(GPU)
    assert own is not None
    assert (own.usd_per_gpu_hour, own.kind) == (1.2, PriceKind.OWN)
    assert "no such gpu" in prices.warnings[0]
    given_now = load_prices(catalog, {GPU: 0.9}, data=data).price(GPU, spot=True)
    assert given_now is not None and given_now.usd_per_gpu_hour == 0.9


def test_a_price_given_for_no_gpu_or_no_number_is_refused() -> None:
    with pytest.raises(UnknownGpuError):
        load_prices(load_catalog(), {"banana": 1.0})
    for value in (-1.0, float("nan"), float("inf")):
        with pytest.raises(OptionError, match="--price"):
            load_prices(load_catalog(), {"T4": value})


# by hand from the price lists of the facts
@pytest.mark.parametrize(
    ("gpu", "usd", "multiple", "kind"),
    [
        ("T4", 0.53, 1, PriceKind.ON_DEMAND),  # aws 0.526, azure 0.53, gcp 0.82
        ("V100 SXM2 16GB", (3.06 + 2.95) / 2, 1, PriceKind.ON_DEMAND),  # aws, gcp of 2025
        ("V100 SXM2 32GB", 31.21 / 8, 8, PriceKind.ON_DEMAND),  # aws, sold in eights
        ("H100 SXM5", 3.90, 1, PriceKind.ON_DEMAND),  # crusoe; aws and oracle sell eights
        ("L4", (0.8048 + 1.0) / 2, 1, PriceKind.ON_DEMAND),  # aws, ovhcloud
        ("RTX 4090", 0.74, 1, PriceKind.UNDATED),  # runpod's undated list; the rest is a marketplace
    ],
)
def test_bundled_prices(gpu: str, usd: float, multiple: int, kind: PriceKind) -> None:
    found = load_prices(load_catalog()).price(gpu)
    assert found is not None
    assert found.usd_per_gpu_hour == pytest.approx(usd, abs=1e-3)
    assert (found.instance_multiple, found.kind) == (multiple, kind)


def test_cards_without_any_named_offer_have_no_price() -> None:
    prices = load_prices(load_catalog())
    for name in ("H100 NVL", "RTX 3070", "MI355X", "Titan V"):
        assert prices.price(name) is None


OFFERS = st.lists(
    st.builds(
        offer,
        st.sampled_from("abcdef"),
        st.floats(0.01, 100),
        count=st.sampled_from([1, 2, 4, 8, 16]),
        as_of=st.sampled_from(["", "2024-07-04", "2026-03"]),
        spot=st.none() | st.floats(0.01, 100),
        seller=st.sampled_from(Seller),
    ),
    max_size=12,
)


@given(OFFERS, st.integers(1, 16), st.booleans())
def test_any_offers_give_a_price_between_their_extremes_or_none(offers: list[Offer], count: int, spot: bool) -> None:
    found = listed(*offers).price(GPU, count=count, spot=spot)
    named = [one for one in offers if one.seller is Seller.NAMED and (one.spot_usd_per_gpu_hour or not spot)]
    assert (found is None) == (not named)
    if found is not None:
        rates = [one.spot_usd_per_gpu_hour if spot else one.usd_per_gpu_hour for one in named]
        assert min(rates) <= found.low <= found.usd_per_gpu_hour <= found.high <= max(rates)
        assert len(set(found.providers)) == found.offer_count


@given(OFFERS, st.randoms(use_true_random=False))
def test_the_order_of_offers_does_not_matter(offers: list[Offer], random: object) -> None:
    shuffled = list(offers)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = listed(*offers).price(GPU), listed(*shuffled).price(GPU)
    assert (one is None) == (other is None)
    if one is not None and other is not None:
        assert (one.usd_per_gpu_hour, one.low, one.high) == (other.usd_per_gpu_hour, other.low, other.high)
