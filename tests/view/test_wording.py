"""How numbers read: three digits, a unit, a direction; and names that cannot do harm."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.engine.estimate import Limit, Method
from surfer_lab.planner.advice import Bound
from surfer_lab.planner.memory import Fit
from surfer_lab.planner.pricing import PriceKind
from surfer_lab.trace.tables import Phase
from surfer_lab.view.money_words import money_quantity, price_text, prices_text
from surfer_lab.view.wording import (
    BOUND_WORDS,
    LIMIT_WORDS,
    METHOD_WORDS,
    PHASE_WORDS,
    VERDICT_OF,
    bytes_quantity,
    duration_text,
    faster_quantity,
    methods_text,
    name_text,
    percent_text,
    significant,
    time_quantity,
    time_unit,
)
from tests.planner.test_outcome import price

MS = 1_000_000


@pytest.mark.parametrize(
    ("words", "kinds"),
    [(METHOD_WORDS, Method), (LIMIT_WORDS, Limit), (BOUND_WORDS, Bound), (PHASE_WORDS, Phase), (VERDICT_OF, Fit)],
)
def test_every_kind_has_its_words(words, kinds):
    assert set(words) == set(kinds)
    assert len({str(word) for word in words.values()}) == len(words)


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (126.4 * MS, "126 ms"), (99_640_000, "99.6 ms"), (999.6 * MS, "1,000 ms"), (1e9, "1.00 s"),
        (0.31 * MS, "310 µs"),
        (85_000, "85.0 µs"), (119e9, "119 s"), (125e9, "2.1 min"), (41 * 60e9, "41 min"), (3600e9, "1 h"),
        (3660e9, "1 h 1 min"), (200 * 3600e9, "200 h"), (0, "0 ms"), (float("nan"), "–"),
    ],
)  # fmt: skip
def test_a_duration_reads_in_the_unit_that_suits_it(ns, text):
    assert duration_text(ns) == text


def test_a_range_is_in_the_unit_of_its_value():
    quantity = time_quantity(1.2e9, low_ns=0.9e9, high_ns=1.5e9)
    assert (quantity.text, quantity.range_text) == ("1.20 s", "0.900 to 1.50 s")
    assert (quantity.value, quantity.low, quantity.high) == (1.2, 0.9, 1.5)


def test_a_range_is_said_wherever_it_has_a_width_even_where_both_ends_read_alike():
    assert time_quantity(40 * MS, low_ns=40.01 * MS, high_ns=40.06 * MS).range_text == "40.0 to 40.1 ms"
    assert time_quantity(10 * MS, low_ns=9.96 * MS, high_ns=9.98 * MS).range_text == "9.96 to 9.98 ms"
    assert bytes_quantity(0.4e6, low=0.1e6, high=0.8e6).range_text == "<0.001 to <0.001 GB"
    assert money_quantity(1200.2, low=1200, high=1202).range_text == "$1,200 to 1,202"
    assert money_quantity(2.5, low=2.5, high=2.504).range_text == "$2.50 to 2.50"
    assert time_quantity(40 * MS, low_ns=40 * MS, high_ns=40 * MS).range_text == ""
    assert bytes_quantity(0.0, low=0, high=0).range_text == ""


def test_a_column_shares_the_unit_of_its_median():
    assert time_unit([5 * MS, 20 * MS, 3e9]).name == "ms"
    assert time_unit([5000, 20_000, 3 * MS]).name == "µs"
    assert time_unit([]).name == "ms"


def test_a_time_that_is_not_known_is_a_dash_and_no_number():
    assert time_quantity(None).value is None
    assert time_quantity(None).text == "–"


@pytest.mark.parametrize(
    ("speedup", "text"),
    [(3.7, "3.70x faster"), (0.25, "4.00x slower"), (1.0, "equally fast"), (None, "–"), (0.0, "–")],
)
def test_a_ratio_says_its_direction(speedup, text):
    assert faster_quantity(speedup).text == text


def test_money_has_cents_or_three_digits_and_its_range():
    assert money_quantity(2.5, low=2.0, high=3.25).range_text == "$2.00 to 3.25"
    assert money_quantity(0.0123).text == "$0.0123"
    assert money_quantity(0.9999).text == "$1.00"
    assert money_quantity(None).text == "–"


def test_memory_is_in_the_gb_that_cards_are_sold_by():
    assert bytes_quantity(80e9).text == "80 GB"
    assert bytes_quantity(17.34e9).text == "17.3 GB"


@given(st.floats(0, 1))
def test_a_share_above_nothing_never_reads_as_nothing(share):
    text = percent_text(share)
    assert (text == "0 %") == (share == 0)
    assert (text == "100 %") == (share == 1)


@given(st.floats(1e-6, 1e12))
def test_three_digits_are_within_half_a_percent(value):
    read = float(significant(value).replace(",", ""))
    assert read == pytest.approx(value, rel=0.0051)
    assert "e" not in significant(value)


def test_methods_are_listed_by_share():
    assert methods_text({Method.WAVE: 0.35, Method.ROOFLINE: 0.61, Method.UNSCALED: 0.04}) == (
        "61 % roofline, 35 % wave scaling, 4 % not scaled"
    )


@given(st.text(max_size=300))
def test_a_name_keeps_to_its_line_and_cannot_steer_a_terminal_or_turn_the_text(name):
    shown = name_text(name)
    assert len(shown) <= 120
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]", shown)


def test_a_price_says_what_it_rests_on():
    assert price_text(price(2.0)) == "one offer, provider, on demand, 2025-08-01"
    assert price_text(price(2.0, multiple=8)).endswith("rented out only 8 at once, all paid ($2.00 each)")
    assert "1 of 2 GPUs has no known offer" in prices_text([price(2.0), None])
    assert "--price" in prices_text([None])


def test_own_prices_are_counted_in_words_that_agree():
    own = replace(price(2.0), kind=PriceKind.OWN)
    assert "1 of them is yours" in prices_text([price(2.0), own])
    assert "2 of them are yours" in prices_text([price(2.0), own, own])
    assert prices_text([own]) == "The prices known are yours."
