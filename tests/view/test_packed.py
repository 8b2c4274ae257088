"""Packed numbers: what comes back, and how near it is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.view.packed import pack_floats, pack_logs, pack_whole, three_digits, unpack

TIMES = st.floats(min_value=1e-6, max_value=1e6)


@given(st.lists(TIMES, min_size=1, max_size=40))
def test_a_log_code_keeps_a_number_to_its_promised_share(values):
    kept = unpack(pack_logs(values))
    tolerance = (max(values) / min(values)) ** (0.5 / 65_534) - 1
    assert np.all(np.abs(kept / np.array(values) - 1) <= tolerance + 1e-9)


@given(st.lists(st.floats(min_value=1e-4, max_value=1e5), min_size=1, max_size=40))
def test_three_digits_come_back_exactly(values):
    rounded = three_digits(np.array(values))
    assert three_digits(unpack(pack_logs(rounded))).tolist() == rounded.tolist()


@given(st.lists(st.integers(-1, 65_534), max_size=40))
def test_whole_numbers_come_back_and_negative_ones_are_not_known(values):
    kept = unpack(pack_whole(values))
    assert [-1 if np.isnan(one) else int(one) for one in kept.tolist()] == values


def test_what_is_not_known_stays_so():
    assert np.isnan(unpack(pack_logs([1.0, np.nan, 0.0, -3.0, np.inf]))).tolist() == [False, True, True, True, True]
    assert np.isnan(unpack(pack_floats([np.nan, 1.5]))).tolist() == [True, False]
    assert np.isnan(unpack(pack_whole([255, 254]))).tolist() == [False, False]  # as pairs of bytes


def test_equal_numbers_are_kept_exactly():
    assert unpack(pack_logs([3.25, 3.25])).tolist() == pytest.approx([3.25, 3.25], rel=1e-15)


def test_numbers_too_large_for_two_bytes_are_refused():
    with pytest.raises(OverflowError, match="65536"):
        pack_whole([65_536])


def test_nothing_packs_to_nothing():
    assert unpack(pack_logs([])).size == unpack(pack_floats([])).size == unpack(pack_whole([])).size == 0
