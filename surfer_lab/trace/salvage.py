"""What is sound in a stretch of events that does not decode as a whole?

The text is split where one event seems to end and the next to begin, and each piece is decoded alone. So with k
events damaged exactly those are lost: a broken event cannot take its neighbours along. A piece that does not decode
is tried, in this order,

1. joined with the pieces after it, where its text merely stops (the split fell inside nested lists);
2. value by value, where other text is glued to an event;
3. repaired: writers print `nan`, `inf`, raw control characters, Windows paths and broken UTF-8, which JSON forbids;
4. read without types, to keep an event of which only `args` is unusable.

Relies on event_schema's structs; never raises on any text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from surfer_lab.trace.event_schema import Event, EventDecoder
from surfer_lab.units import BYTES_PER_MIB

__all__ = ["EVENT_BOUNDARY", "EVENT_LIMIT_BYTES", "UNDECODABLE", "Salvaged", "array_ends_at", "salvage", "value_length"]

UNDECODABLE: Final = (msgspec.DecodeError, RecursionError, ValueError)  # what a decoder raises on a bad text

# An object's end, a comma, and an object that begins with a key of an event
EVENT_BOUNDARY: Final = re.compile(rb'\}\s*,\s*(?=\{\s*"(?:ph|cat|name|pid|tid|ts|dur|id|args|s)"\s*:)')
EVENT_LIMIT_BYTES: Final = 8 * BYTES_PER_MIB  # the longest real event (one with a call stack) has some 10 kB
_JOIN_LIMIT: Final = 8  # objects nested in lists: none seen in an event of any release, so few are waited for

_TRAILING: Final = re.compile(r"trailing characters \(byte (\d+)\)")
_AFTER_ARRAY: Final = re.compile(rb'\s*(?:,\s*"|\}|\Z)')
_NEXT_EVENT: Final = re.compile(rb',\s*(?=\{\s*"(?:ph|cat|name|pid|tid|ts|dur|id|args|s)"\s*:)')  # after a cut one
_LAST_EVENT_END: Final = re.compile(rb'\}\s*(?=\]\s*(?:,\s*"|\}|\Z))')
_SEPARATORS: Final = re.compile(rb"[\s,]*")

_STRING_OR_CONSTANT: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\b(?:nan|NaN|inf|Infinity)\b', re.DOTALL)
_CONTROL: Final = re.compile(rb"[\x00-\x1f]")
_SURROGATE: Final = re.compile(rb"(?<!\\)\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_BAD_ESCAPE: Final = re.compile(rb'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})(?<!\\\\)')

_raw_decoder: Final = msgspec.json.Decoder(msgspec.Raw)


@dataclass(kw_only=True)
class Salvaged:
    """The sound events of a text, and how far it was read."""

    events: list[Event] = field(default_factory=list)
    consumed: int = 0  # bytes read; what is left may become whole with more text
    ended_at: int | None = None  # offset after the array's closing bracket
    is_cut: bool = False  # the text ends within an event, and no more follows
    lost_count: int = 0
    partial_count: int = 0


def value_length(text: memoryview | bytes) -> int | None:
    """Bytes of the JSON value that `text` begins with, blanks after it included; None where there is none.

    >>> value_length(b'{"a": 1} , 2'), value_length(b'{"a": 1}'), value_length(b'{"a": ')
    (9, 8, None)
    """
    try:
        _raw_decoder.decode(text)
    except UNDECODABLE as error:
        match = _TRAILING.search(str(error))
        return int(match.group(1)) - 1 if match else None  # it names the first byte after, counted from one
    return len(text)


def array_ends_at(text: bytes, offset: int) -> bool:
    """Whether what follows at `offset` is what follows a trace's event array: another key, the end, nothing."""
    return _AFTER_ARRAY.match(text, offset) is not None


def salvage(decoder: EventDecoder, text: bytes, *, at_end: bool) -> Salvaged:
    """Decode `text` piece by piece; `at_end`: no more text follows, so what is incomplete is lost."""
    found = Salvaged()
    view = memoryview(text)
    boundaries = [match.span() for match in EVENT_BOUNDARY.finditer(text)]
    starts = [0, *(end for _, end in boundaries)]
    ends = [*(start + 1 for start, _ in boundaries), len(text)]
    piece = 0
    while piece < len(starts):
        start, end, is_last = starts[piece], ends[piece], piece + 1 == len(starts)
        event, error = _decode(decoder, view[start:end])
        joined = 0
        while event is None and _stops_short(error) and joined < _JOIN_LIMIT and piece + joined + 1 < len(starts):
            joined += 1
            event, error = _decode(decoder, view[start : ends[piece + joined]])
        if event is not None:
            found.events.append(event)
            piece += joined + 1
            continue
        reaches_end = is_last or (_stops_short(error) and piece + joined + 1 == len(starts))
        found.consumed = start
        if _read_values(decoder, text, start, end, found, at_end=at_end or not reaches_end):
            return found
        if not at_end and reaches_end and found.consumed < end and len(text) - found.consumed < EVENT_LIMIT_BYTES:
            return found  # more text may complete it
        if found.consumed < end:
            if is_last and at_end and _stops_short(_decode(decoder, view[found.consumed : end])[1]):
                found.is_cut = True
            else:
                _keep(decoder, text[found.consumed : end], found)
        piece += 1
    found.consumed = len(text)
    return found


def _decode(decoder: EventDecoder, text: memoryview | bytes) -> tuple[Event | None, Exception | None]:
    try:
        return decoder.one(text), None
    except UNDECODABLE as error:
        return None, error


def _stops_short(error: Exception | None) -> bool:
    return error is not None and "truncated" in str(error)


def _read_values(decoder: EventDecoder, text: bytes, start: int, end: int, found: Salvaged, *, at_end: bool) -> bool:
    """Read whole values from a piece, and set `consumed` to where they stop. True: the array ended in the piece."""
    while start < end:
        separators = _SEPARATORS.match(text, start, end)
        start = separators.end() if separators else start
        found.consumed = start
        if text[start : start + 1] == b"]" and array_ends_at(text, start + 1):
            found.ended_at = found.consumed = start + 1
            return True
        length = value_length(memoryview(text)[start:end])
        if length is None:
            last = _LAST_EVENT_END.search(text, start, end) if at_end and end == len(text) else None
            next_event = _NEXT_EVENT.search(text, start + 1, end)
            found_end = next_event or last
            if found_end is None:
                return False
            length = (found_end.start() if next_event else found_end.end()) - start
        if length:
            _keep(decoder, text[start : start + length], found)
        start += length
        found.consumed = start
    return False


def _keep(decoder: EventDecoder, text: bytes, found: Salvaged) -> None:
    """Add what one event still tells, or count it as lost."""
    for candidate in (text, _repaired(text)):
        event, _ = _decode(decoder, candidate)
        if event is not None:
            found.events.append(event)
            return
        event = _without_args(decoder, candidate)
        if event is not None:
            found.events.append(event)
            found.partial_count += 1
            return
    found.lost_count += 1


def _repaired(text: bytes) -> bytes:
    """The same event with what JSON forbids replaced."""

    def sound(match: re.Match[bytes]) -> bytes:
        token = match.group()
        if not token.startswith(b'"'):
            return b"null"
        return _CONTROL.sub(b" ", _BAD_ESCAPE.sub(b"/", _SURROGATE.sub(b"?", token)))

    return _STRING_OR_CONSTANT.sub(sound, text.decode("utf-8", errors="replace").encode())


def _without_args(decoder: EventDecoder, text: bytes) -> Event | None:
    """The event if nothing but its args is unusable: a kernel without them still took its time."""
    try:
        fields: Any = msgspec.json.decode(text)
    except UNDECODABLE:
        return None
    if not isinstance(fields, dict) or "args" not in fields:
        return None
    fields["args"] = None
    return _decode(decoder, msgspec.json.encode(fields))[0]
