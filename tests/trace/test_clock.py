"""Are nanoseconds exact, whatever the writer's base?"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surfer_lab.trace import read_bytes
from surfer_lab.trace.clock import LONGEST_US, exceeds_float, ns_of_digits, ns_of_us
from tests.trace.written import ERAS, Era, Written


@given(st.lists(st.tuples(st.integers(0, int(LONGEST_US) - 1), st.integers(0, 999)), max_size=20))
def test_printed_digits_give_exact_nanoseconds(times):
    ns, sound = ns_of_digits([f"{whole}.{part:03d}".encode() for whole, part in times])
    assert sound.all() and ns.tolist() == [whole * 1000 + part for whole, part in times]


@given(st.lists(st.tuples(st.integers(0, (1 << 43) - 1), st.integers(0, 999)), max_size=20))
def test_floats_below_the_limit_give_exact_nanoseconds_too(times):
    us = np.array([float(f"{whole}.{part:03d}") for whole, part in times], np.float64)
    ns, sound = ns_of_us(us)
    assert sound.all() and ns.tolist() == [whole * 1000 + part for whole, part in times]
    assert not exceeds_float(us)


@pytest.mark.parametrize(
    ("text", "ns", "sound"),
    [
        (b"12", 12_000, True),
        (b"12.3", 12_300, True),
        (b"0.0009", 1, True),
        (b"0.0004", 0, True),
        (b"1.9999", 2_000, True),
        (b"-3.5", -3_500, True),
        (b"1.5e3", 1_500_000, True),
        (b"1e400", 0, False),
        (b"9" * 30, 0, False),
        (b"true", 0, False),
        (b'"12"', 0, False),
        (b"[1]", 0, False),
        (b"", 0, False),
        (b".", 0, False),
        (b"1.", 1_000, True),
    ],
)
def test_other_prints(text, ns, sound):
    got, is_sound = ns_of_digits([text])
    assert (int(got[0]), bool(is_sound[0])) == (ns if sound else int(got[0]), sound)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(0, 10**9), min_size=1, max_size=8), st.sampled_from(["torch 2.3", "torch 2.6", "torch 2.14"])
)
def test_gaps_between_kernels_are_exact_to_the_nanosecond(gaps_ns, era):
    written = Written(ERAS[era])
    starts_ns = np.cumsum(gaps_ns).tolist()
    for index, start_ns in enumerate(starts_ns):
        written.kernel(f"k{index}", start_ns / 1000, 1, correlation=index + 1)
    kernels = read_bytes(written.text()).kernels
    assert kernels.start_ns.tolist() == [start_ns - starts_ns[0] for start_ns in starts_ns]


def test_a_file_whose_first_long_time_comes_late_is_exact_throughout():
    whole = Era("whole microseconds")
    written = Written(whole)
    for index in range(4000):
        written.kernel("k", 10 * index, 1, correlation=index + 1)
    written.era = ERAS["torch 2.3"]
    written.kernel("late", 50_000.123, 1, correlation=9999)
    assert read_bytes(written.text()).kernels.start_ns[-1] == 50_000_123
