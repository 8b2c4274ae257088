"""What do GPUs cost by the hour, as found in dated public lists, and what does this user pay?

Opens prices.csv beside the catalogue's data and `prices.toml` of the configuration folder. Offers only, each with its
provider, instance and date: what follows from them is `planner.pricing`'s to say. A price list is never fetched here. A
broken file of the user's becomes a line of `warnings`.
"""

from __future__ import annotations

import csv
import difflib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Final

from surfer_lab.errors import GpuError
from surfer_lab.hardware.cards import DATA_FOLDER
from surfer_lab.hardware.configuration import configuration_folder, parse_toml, read_text, write_text

__all__ = ["PRICES_FILE", "Offer", "PriceData", "Seller", "load_prices", "save_own_price"]

PRICES_FILE: Final = "prices.toml"
OWN_TABLE: Final = "usd_per_gpu_hour"
EXAMPLE: Final = f'[{OWN_TABLE}] and lines such as "RTX 3090" = 0.35'


class Seller(Enum):
    """Who stands behind an offer."""

    NAMED = "named"  # the provider's own machines
    MARKETPLACE = "marketplace"  # peer hosts, single offers: kept apart


@dataclass(frozen=True, kw_only=True)
class Offer:
    """One instance of one provider. USD; spot None where unknown; `as_of` sorts and is "" where no date is known."""

    gpu: str
    provider: str
    seller: Seller
    instance_type: str
    gpu_count: int
    usd_per_hour: float  # of the instance
    spot_usd_per_gpu_hour: float | None
    region: str
    as_of: str
    as_of_note: str
    source: str

    @property
    def usd_per_gpu_hour(self) -> float:
        """The instance's price by GPU."""
        return self.usd_per_hour / self.gpu_count


@dataclass(frozen=True, kw_only=True)
class PriceData:
    """All offers, and the user's own prices by the GPU name they wrote (USD per GPU and hour)."""

    offers: tuple[Offer, ...]
    own: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def load_prices(folder: Path | None = None) -> PriceData:
    """The bundled offers, and the user's prices of the configuration folder."""
    path = (folder or configuration_folder()) / PRICES_FILE
    try:
        return PriceData(offers=_offers(), own=_own_prices(path))
    except GpuError as error:
        return PriceData(offers=_offers(), warnings=(f"your prices are left out: {error}",))


def save_own_price(gpu: str, usd_per_gpu_hour: float, folder: Path | None = None) -> Path:
    """Keep what this user pays for a GPU; the path of the file. GpuError where it is no price or the file is broken."""
    path = (folder or configuration_folder()) / PRICES_FILE
    own = {**_own_prices(path), gpu: _checked(gpu, usd_per_gpu_hour, str(path))}
    lines = (f"{json.dumps(name, ensure_ascii=False)} = {usd:.6g}" for name, usd in own.items())
    write_text(path, f"[{OWN_TABLE}]\n" + "\n".join(lines) + "\n")
    return path


@cache
def _offers() -> tuple[Offer, ...]:
    with (DATA_FOLDER / "prices.csv").open(encoding="utf-8", newline="") as file:
        return tuple(
            Offer(
                gpu=row["gpu"],
                provider=row["provider"],
                seller=Seller(row["seller"]),
                instance_type=row["instance_type"],
                gpu_count=int(row["gpu_count"]),
                usd_per_hour=float(row["usd_per_hour"]),
                spot_usd_per_gpu_hour=float(row["spot_usd_per_gpu_hour"]) if row["spot_usd_per_gpu_hour"] else None,
                region=row["region"],
                as_of=row["as_of"],
                as_of_note=row["as_of_note"],
                source=row["source"],
            )
            for row in csv.DictReader(file)
        )


def _own_prices(path: Path) -> dict[str, float]:
    if not path.exists():
        return {}
    content = parse_toml(read_text(path), str(path))
    for key in content:
        if key != OWN_TABLE:
            near = difflib.get_close_matches(key, [OWN_TABLE])
            raise GpuError(
                f"{path} has {key!r} outside of [{OWN_TABLE}]", remedy=f"[{OWN_TABLE}]?" if near else EXAMPLE
            )
    table = content.get(OWN_TABLE, {})
    if not isinstance(table, dict):
        raise GpuError(f"{path}: {OWN_TABLE} is {table!r}, expected a table", remedy=EXAMPLE)
    return {name: _checked(name, value, str(path)) for name, value in table.items()}


def _checked(gpu: str, value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not (0 <= value < math.inf):
        raise GpuError(f"{where}: the price of {gpu} is {value!r}, expected USD per GPU and hour", remedy=EXAMPLE)
    return float(value)
