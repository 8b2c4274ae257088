"""Do ranges hold what they are made of: a level, a card's known doubts, and less for a step than for its items?"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.engine import EngineOptions
from surfer_lab.engine.estimate import Method
from surfer_lab.engine.ranges import (
    ALL_DIES,
    LEVELS,
    SLOT_POWER_FACTOR,
    Kind,
    StepUnits,
    is_slot_powered,
    range_sets,
    spreads,
)
from surfer_lab.errors import OptionError
from surfer_lab.hardware.catalog import load_catalog

booleans = st.booleans()


def spread_of(
    method: Method, kind: Kind, *, level: float = 0.8, without_die: str = "", units: bool = False,
    typical: bool = False, slot: bool = False, memory_share: float = 0.0,
) -> tuple[float, float]:  # fmt: skip
    yes = np.array([[True]])
    found = spreads(
        np.array([[method]], np.int8), np.array([kind]), yes & units,
        step_units=np.where(yes & units, StepUnits.MATRIX, StepUnits.LANES), level=level,
        without_die=without_die, moved=yes & False, typical_rate=yes & typical, slot_powered=yes & slot,
        typical_bandwidth=yes & typical, memory_share=np.array([[memory_share]]),
    )  # fmt: skip
    return float(found.item[0, 0]), float(found.step[0, 0])


@given(st.sampled_from(Method), st.sampled_from(Kind), booleans, booleans, booleans, st.floats(0, 1))
def test_a_step_is_known_no_worse_than_its_items_and_nine_cases_in_ten_need_more_than_eight(
    method: Method, kind: Kind, units: bool, typical: bool, slot: bool, memory_share: float
) -> None:
    narrow, wide = (
        spread_of(method, kind, level=level, units=units, typical=typical, slot=slot, memory_share=memory_share)
        for level in LEVELS
    )
    assert 0.0 <= narrow[1] <= narrow[0] <= wide[0]
    assert narrow[1] <= wide[1]


@given(st.sampled_from([Method.WAVE, Method.ROOFLINE]), st.sampled_from(Kind), st.floats(0, 1))
def test_doubts_about_a_card_only_widen(method: Method, kind: Kind, memory_share: float) -> None:
    plain = spread_of(method, kind, memory_share=memory_share)
    for doubt in ("typical", "slot"):
        doubted = spread_of(method, kind, memory_share=memory_share, **{doubt: True})  # type: ignore[arg-type] # a flag by name
        assert doubted[0] >= plain[0] and doubted[1] >= plain[1]


def test_a_slot_fed_board_adds_its_factor_in_squares() -> None:
    plain, slot = (spread_of(Method.ROOFLINE, Kind.PRODUCT, slot=one)[1] for one in (False, True))
    assert slot == pytest.approx(math.hypot(plain, math.log(SLOT_POWER_FACTOR)))


def test_what_was_measured_there_has_no_range() -> None:
    assert spread_of(Method.MEASURED, Kind.PRODUCT, slot=True, typical=True) == (0.0, 0.0)


def test_every_set_has_every_step_factor_and_dies_that_nobody_measured_use_all() -> None:
    stored = range_sets()
    for name, one in stored["sets"].items():
        for steps in ("lanes", "matrix", "matrix seen", "convolution"):
            low, high = one["steps"][steps]
            assert 1.0 < low <= high, (name, steps)
        assert all(1.0 < low <= high for low, high in one["items"].values())
    assert ALL_DIES in stored["sets"]
    assert spread_of(Method.WAVE, Kind.MOVING, without_die="GH100") == spread_of(Method.WAVE, Kind.MOVING)


def test_the_cards_that_a_slot_feeds_are_told() -> None:
    catalog = load_catalog()
    assert [is_slot_powered(catalog.find(name)) for name in ("T4", "L4", "A100 PCIe 40GB")] == [True, True, False]


def test_a_level_that_was_not_fitted_is_refused() -> None:
    with pytest.raises(OptionError, match=r"0\.95 of all cases were not fitted"):
        EngineOptions(range_level=0.95)
