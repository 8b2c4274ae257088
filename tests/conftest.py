"""Which measured data is at hand: every test asks here, and says why it did not run."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# No deadlines: a loaded machine is not a defect. In CI the same examples each time, so that a change is what changed.
settings.register_profile(
    "surfer", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=bool(os.environ.get("CI"))
)
settings.load_profile("surfer")

DATA_VARIABLE = "SURFER_LAB_DATA"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take minutes come first, then those of many tests: workers that take files in turn end together."""
    of_file = Counter(item.path for item in items)
    items.sort(key=lambda item: (item.get_closest_marker("minutes") is None, -of_file[item.path]))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of measured data (kernels/, e2e/, traces/, facts/...), named by SURFER_LAB_DATA."""
    named = os.environ.get(DATA_VARIABLE, "")
    if not named:
        pytest.skip(f"measured data not at hand: set {DATA_VARIABLE} to its folder")
    folder = Path(named)
    if not folder.is_dir():
        pytest.fail(f"{DATA_VARIABLE} names {folder}, which is no folder")
    return folder


@pytest.fixture(scope="session")
def traces_dir(data_dir: Path) -> Path:
    """The recorded profiler traces, with index.csv beside them."""
    return data_dir / "traces"
