from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.hardware.configuration import FOLDER_VARIABLE
from surfer_lab.planner.gpu_table import gpu_rows
from surfer_lab.planner.pricing import load_prices


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "configuration"))


def test_every_gpu_has_a_row_that_is_plain_data_with_a_source_for_each_figure() -> None:
    catalog = load_catalog()
    rows = gpu_rows(catalog.all(), catalog, load_prices(catalog))
    assert len(rows) == 75
    for row in rows:
        assert json.loads(json.dumps(dataclasses.asdict(row)))["name"] == row.name
        assert row.source and row.sources["limits"] and row.sources["aliases"] and row.sources["die"]
        for rate in (row.bandwidth, *row.rates.values()):
            assert (rate.sustained is None) == (rate.source is None) == (rate.origin is None)
        assert (row.usd_per_gpu_hour is None) == (row.price_source is None)
        assert not row.nvlink_gb_per_s or row.sources.get("nvlink_gb_per_s_both_ways", row.source)


def test_peak_and_sustained_stand_side_by_side() -> None:
    catalog = load_catalog()
    (row,) = gpu_rows([catalog.find("A100 SXM4 80GB")], catalog, load_prices(catalog))
    assert row.rates["tf32"].peak == 156
    assert row.rates["tf32"].sustained == pytest.approx(116)
    assert row.rates["tf32"].origin == "measured"
    assert row.bandwidth.peak == 2039
    assert row.memory_gb == 80
    assert row.nvlink_gb_per_s == 300


def test_a_gpu_put_together_from_facts_has_a_row_too() -> None:
    catalog = load_catalog()
    gpu = catalog.find("Some Card", sm_count=30, memory_bytes=8_000_000_000, compute_capability="8.6")
    (row,) = gpu_rows([gpu], catalog, load_prices(catalog))
    assert row.estimated and row.usd_per_gpu_hour is None
