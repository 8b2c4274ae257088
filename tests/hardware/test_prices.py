from __future__ import annotations

import csv
from pathlib import Path

import pytest

from surfer_lab.errors import GpuError
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.hardware.prices import PRICES_FILE, Seller, load_prices, save_own_price


def test_every_offer_of_the_facts_is_there_with_its_source(data_dir: Path) -> None:
    with (data_dir / "facts" / "prices.csv").open(encoding="utf-8", newline="") as file:
        facts = list(csv.DictReader(file))
    offers = load_prices().offers
    assert len(offers) == len(facts) == 213
    for row, offer in zip(facts, offers, strict=True):
        assert (offer.gpu, offer.provider, offer.gpu_count) == (row["gpu"], row["provider"], int(row["gpu_count"]))
        assert offer.usd_per_hour == float(row["usd_per_hour"])
        assert offer.usd_per_gpu_hour == pytest.approx(float(row["usd_per_gpu_hour"]), abs=1e-4)
        assert offer.source and offer.as_of_note


def test_offers_are_of_known_gpus_and_peer_hosts_are_marked() -> None:
    names = {gpu.name for gpu in load_catalog().all()}
    for offer in load_prices().offers:
        assert offer.gpu in names
        peer = offer.provider == "vast" or "COMMUNITY" in offer.instance_type
        assert (offer.seller is Seller.MARKETPLACE) == peer
        assert offer.as_of == "" or offer.as_of[:2] == "20"


def test_an_own_price_is_kept() -> None:
    save_own_price("RTX 3090", 0.35)
    save_own_price("T4", 0)
    save_own_price("RTX 3090", 0.4)
    assert load_prices().own == {"RTX 3090": 0.4, "T4": 0.0}


def test_a_price_that_is_none_is_refused() -> None:
    with pytest.raises(GpuError, match="price of T4 is -1"):
        save_own_price("T4", -1)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("usd_per_gpu_hour", "not valid TOML"),
        ('"T4" = 0.3', "outside of"),
        ('[usd_per_gpu_hour]\n"T4" = "cheap"', "price of T4 is 'cheap'"),
        ("usd_per_gpu_hour = 3", "expected a table"),
    ],
)
def test_a_broken_file_is_a_warning_that_names_it(own_folder: Path, content: str, said: str) -> None:
    own_folder.mkdir(parents=True)
    (own_folder / PRICES_FILE).write_text(content, encoding="utf-8")
    data = load_prices()
    assert len(data.offers) == 213 and data.own == {}
    assert said in data.warnings[0] and PRICES_FILE in data.warnings[0]
