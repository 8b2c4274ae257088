"""Fastest, cheapest, and the few worth showing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.planner.memory import Fit
from surfer_lab.planner.outcome import Scenario, outcomes
from surfer_lab.planner.ranking import cheapest, equally_fast, fastest, pareto, shortlist
from tests.planner.predictions import gpu, prediction, trace
from tests.planner.test_outcome import price

NO_WAIT = (0.0, 0.0, 0.0, 0.0)


def answers(cards, *, peak_gb=None):
    """Outcomes for (speed, USD per hour or None, memory in GB)."""
    gpus = [gpu(f"Card {index}", memory_gb=memory) for index, (_, _, memory) in enumerate(cards)]
    recorded = trace(peak_bytes=None if peak_gb is None else int(peak_gb * 1e9))
    predicted = prediction(
        recorded,
        [(card, speed) for card, (speed, _, _) in zip(gpus, cards, strict=True)],
        origin=gpus[0],
        waits=NO_WAIT,
    )
    return outcomes(
        predicted,
        [
            Scenario(gpu=card, price=price(usd) if usd is not None else None)
            for card, (_, usd, _) in zip(gpus, cards, strict=True)
        ],
    )


def name(outcome):
    return None if outcome is None else outcome.gpu.name


def test_the_fastest_has_the_least_step_time():
    assert name(fastest(answers([(1, 1, 16), (3, 9, 16), (2, 2, 16)]))) == "Card 1"


def test_among_equally_fast_ones_the_cheaper_is_named():
    found = answers([(1, 1, 16), (3, 9, 16), (2.97, 2, 16)])
    assert name(fastest(found)) == "Card 2"
    assert [outcome.gpu.name for outcome in equally_fast(found)] == ["Card 2", "Card 1"]


def test_the_cheapest_is_by_work_done_not_by_hour():
    # 4x as fast at twice the price costs half
    assert name(cheapest(answers([(1, 1, 16), (4, 2, 16)]))) == "Card 1"


def test_what_does_not_fit_is_neither_fastest_nor_cheapest():
    found = answers([(1, 1, 80), (10, 0.1, 16)], peak_gb=20)
    assert found[1].fit is Fit.DOES_NOT_FIT
    assert name(fastest(found)) == name(cheapest(found)) == "Card 0"


def test_without_prices_there_is_no_cheapest_and_no_front():
    found = answers([(1, None, 16), (2, None, 16)])
    assert cheapest(found) is None
    assert pareto(found) == []


def test_the_front_has_only_gpus_that_none_beats_in_both():
    # cost = usd / speed: 1, 3, 0.5, 1.5
    found = answers([(1, 1, 16), (3, 9, 16), (2, 1, 16), (2, 3, 16)])
    assert [outcome.gpu.name for outcome in pareto(found)] == ["Card 1", "Card 2"]


cards = st.lists(
    st.tuples(st.floats(0.1, 10), st.none() | st.floats(0.1, 10), st.sampled_from([8, 16, 80])), min_size=1, max_size=20
)


@given(cards, st.integers(1, 15))
def test_the_short_list_is_short_sorted_and_holds_the_choices(listed, limit):
    found = answers(listed, peak_gb=10)
    short = shortlist(found, limit=limit)
    names = [outcome.gpu.name for outcome in short]
    assert len(names) == len(set(names)) == min(limit, len(listed))
    assert [outcome.step_ns for outcome in short] == sorted(outcome.step_ns for outcome in short)
    if limit >= 3:
        assert {"Card 0", name(fastest(found)), name(cheapest(found))} - {None} <= set(names)


@given(cards)
def test_nobody_on_the_front_is_beaten_in_both(listed):
    found = answers(listed)
    for best in pareto(found):
        for other in found:
            cost = other.usd_per_1000_steps
            assert not (cost is not None and other.step_ns < best.step_ns and cost < best.usd_per_1000_steps)
