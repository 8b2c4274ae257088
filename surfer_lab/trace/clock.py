"""How does a printed microsecond become an exact nanosecond?

Kineto prints "1712195495505543.123": microseconds since 1970 with three decimals. A float64 of that size has steps
of 0.25 us, so the decimals are lost unless the digits themselves are read. Newer writers subtract a base time; up to
2**43 us (101 days) a float64 still tells nanoseconds apart, because its half step stays below half a nanosecond.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.units import NS_PER_US

__all__ = ["LONGEST_US", "exceeds_float", "ns_of_digits", "ns_of_us", "prints_long_decimals"]

LONGEST_US: Final = 4.0e15  # the year 2096; differences of such times still fit int64 nanoseconds
_EXACT_BELOW_US: Final = float(1 << 43)
_LONG_DECIMALS: Final = re.compile(rb'"ts"\s*:\s*-?(?:\d{14,}|9\d{12}|8[7-9]\d{11})\.\d*[1-9]')
_LONGEST_PRINT: Final = 24  # characters of a plain number; anything longer is read on its own
_MOST_WHOLE_DIGITS: Final = 16
_DECIMALS: Final = 3  # of a microsecond: nanoseconds
_POWERS: Final = np.array([1, 10, 100, 1000])
_ZERO, _POINT = ord("0"), ord(".")


def exceeds_float(us: NDArray[np.float64]) -> bool:
    """Whether some of these times are so large that decimals, if the file printed any, are lost in them.

    >>> exceeds_float(np.array([1712195495505543.0])), exceeds_float(np.array([2413669096090.1]))
    (True, False)
    """
    return bool((np.abs(us) >= _EXACT_BELOW_US).any())


def prints_long_decimals(text: bytes, limit: int | None = None) -> bool:
    """Whether a text (its first `limit` bytes) prints an event time whose decimals a float64 would lose.

    >>> prints_long_decimals(b'"ts": 1712195495505543.123'), prints_long_decimals(b'"ts": 1712195495505543.0')
    (True, False)
    """
    return _LONG_DECIMALS.search(text, 0, len(text) if limit is None else limit) is not None


def ns_of_us(us: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Nanoseconds, and which of them are sound (finite and in int64's range). Shapes: (n,) each."""
    sound = np.abs(us) < LONGEST_US  # False for nan
    us = np.where(sound, us, 0.0)
    whole = np.floor(us)
    ns = whole.astype(np.int64) * NS_PER_US + np.rint((us - whole) * NS_PER_US).astype(np.int64)
    return ns, sound


def ns_of_digits(printed: Sequence[Any]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """As `ns_of_us`, from the JSON text of each number; text that is no number is not sound.

    >>> ns_of_digits([b"1712195495505543.123", b"2.5", b"7", b"true"])
    (array([1712195495505543123, 2500, 7000, 0]), array([ True, True, True, False]))
    """
    texts = [bytes(text) for text in printed]
    if max(map(len, texts), default=0) > _LONGEST_PRINT:
        columns = np.array([text if len(text) <= _LONGEST_PRINT else b"" for text in texts], dtype=f"S{_LONGEST_PRINT}")
    else:
        columns = np.array(texts, dtype=f"S{_LONGEST_PRINT}")
    ns, plain = _plain_numbers(columns.view(np.uint8).reshape(len(texts), _LONGEST_PRINT).T.copy())
    sound = plain & (np.abs(ns) < int(LONGEST_US) * NS_PER_US)
    for row in np.flatnonzero(~plain).tolist():
        ns[row], sound[row] = _any_number(texts[row])
    return ns, sound


def _plain_numbers(columns: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Read numbers like "123.456" column by column; the second result tells which are of that form.

    `columns` (characters, n): first characters, then second ones, ..., 0 behind a number's end.
    """
    width = np.count_nonzero(columns, axis=0)
    is_point = columns == _POINT
    digit = columns - _ZERO  # wraps to large values below "0"
    is_digit = digit <= 9
    points = np.count_nonzero(is_point, axis=0)
    point = np.where(points > 0, is_point.argmax(axis=0), width)
    plain = np.count_nonzero(is_digit, axis=0) + points == width
    plain &= (points <= 1) & (point > 0) & (point <= _MOST_WHOLE_DIGITS) & (point != width - 1)
    last = point + _DECIMALS  # position of the last digit that counts
    ns = np.zeros(columns.shape[1], dtype=np.int64)
    for position in range(int(width.max(initial=0))):
        ns = np.where(is_digit[position] & (position <= last), ns * 10 + digit[position], ns)
    missing = np.where(point == width, _DECIMALS, np.clip(last - width + 1, 0, _DECIMALS))
    ns *= _POWERS[missing]
    after = digit[np.minimum(last + 1, len(columns) - 1), np.arange(columns.shape[1])]
    ns += (width > last + 1) & (after >= 5) & (after <= 9)
    return ns, plain


def _any_number(text: bytes) -> tuple[int, bool]:
    """A number in any other form ("-3.5", "1.7e15"); "true", a quoted string and a list are no numbers."""
    try:
        us = float(text)
    except ValueError:
        return 0, False
    ns, sound = ns_of_us(np.array([us]))
    return int(ns[0]), bool(sound[0])
