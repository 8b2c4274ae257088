"""Where in a file's text do events begin and end? Decodes block by block, each cut at the last event boundary.

A Chrome trace is `{"traceEvents": [...], other keys}` or a bare `[...]`, whose last bracket may be missing. A block
is decoded in one call; where that fails, `salvage` decodes it event by event and says where the array ended. So the
cut of a block needs no proof: a wrong guess only costs the slower path.

Refuses (TraceError): an empty file, text that is no such JSON, no event array within HEAD_LIMIT_BYTES.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from surfer_lab.errors import TraceError
from surfer_lab.trace.byte_source import ByteSource
from surfer_lab.trace.clock import prints_long_decimals
from surfer_lab.trace.event_schema import Event, EventDecoder
from surfer_lab.trace.salvage import (
    EVENT_BOUNDARY,
    EVENT_LIMIT_BYTES,
    UNDECODABLE,
    Salvaged,
    array_ends_at,
    salvage,
    value_length,
)
from surfer_lab.units import BYTES_PER_MIB

__all__ = ["HOW_TO_RECORD", "EventFrames"]

HOW_TO_RECORD: Final = (
    "record with torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])"
    " and open what its export_chrome_trace wrote"
)
HEAD_LIMIT_BYTES: Final = 32 * BYTES_PER_MIB  # metadata before the events; a recorded environment dump is a few MB
TAIL_LIMIT_BYTES: Final = 32 * BYTES_PER_MIB

_ARRAY_START: Final = re.compile(rb'"traceEvents"\s*:\s*\[')
_LONGEST_ARRAY_START_BYTES: Final = 64
_LOOKED_AT_BYTES: Final = 1 << 16
_ARRAY_TRIES: Final = 16  # the key may also stand in some nested object before
_CUT_TRIES: Final = 200
_NEAR_BYTES: Final = 64  # around a boundary; writers put at most a line break and some blanks there

# What other files begin with: (bytes, what it is, what to do)
_OTHER_FILES: Final = (
    (b"SQLite format 3", "an Nsight Systems database", HOW_TO_RECORD),
    (b"\x28\xb5\x2f\xfd", "a zstd archive", "unpack it first"),
    (b"PK\x03\x04", "a zip archive that holds no saved trace", "unpack it first"),
    (b"\xfd7zXZ", "an xz archive", "unpack it first"),
    (b"BZh", "a bzip2 archive", "unpack it first"),
    (b"\x1f\x8b", "packed twice by gzip", "unpack it once"),
    (b"\xff\xfe", "text in UTF-16", "save it as UTF-8"),
    (b"\xfe\xff", "text in UTF-16", "save it as UTF-8"),
    (b"\x80", "a pickle (a memory snapshot?), which is not opened because it may run code", HOW_TO_RECORD),
)


class EventFrames:
    """Iterate for lists of events; afterwards `metadata`, the counts and `ends_early` are known."""

    def __init__(self, source: ByteSource, *, name: str) -> None:
        self._source = source
        self._name = name
        self._decoder = EventDecoder()
        self._last: tuple[bytes, bool] = (b"[]", False)  # the block last yielded, as a list; whether none follows it
        self.metadata: dict[str, Any] = {}
        self.lost_count = 0  # damaged events, left out
        self.partial_count = 0  # events kept without their args
        self.ends_early = False

    def loses_decimals(self) -> bool:
        """Whether the block just yielded printed times whose decimals were lost in decoding."""
        return not self._decoder.exact and prints_long_decimals(self._last[0])

    def decode_exactly(self) -> list[Event]:
        """The block just yielded once more, with the digits of its times; later blocks come that way too."""
        self._decoder = EventDecoder(exact=True)
        array, at_end = self._last
        return self._decode(array, at_end=at_end).events

    def __iter__(self) -> Iterator[list[Event]]:
        text, head = self._find_array()
        if prints_long_decimals(text, _LOOKED_AT_BYTES):  # saves decoding the first block twice
            self._decoder = EventDecoder(exact=True)
        at_end = ended = is_cut = False
        while not (at_end or ended):
            block = self._source.read()
            at_end = not block
            text += block
            end, following = (len(text), len(text)) if at_end else _last_boundary(text)
            if end == 0 and not at_end and len(text) < EVENT_LIMIT_BYTES:
                continue
            array = b"".join((b"[", memoryview(text)[:end], b"]"))
            taken = self._decode(array, at_end=at_end)
            self._last = (array, at_end)
            self.lost_count += taken.lost_count
            self.partial_count += taken.partial_count
            is_cut |= taken.is_cut
            if taken.events:
                yield taken.events
            ended = taken.ended_at is not None
            if end == 0 and not at_end:  # one event longer than any real one: look for the next
                self.lost_count += 1
                text = text[-_NEAR_BYTES:]
            else:
                text = text[following if taken.consumed == end and not ended else taken.consumed :]
        self._last = (b"[]", False)
        self.ends_early = is_cut or (not ended and head is not None)
        if head is not None:
            self._read_metadata(head, text if ended else None)
        self.ends_early |= self._source.ends_early

    def _decode(self, array: bytes, *, at_end: bool) -> Salvaged:
        """All of a block's text, set in brackets, at once; else up to the array's own end, else piece by piece."""
        try:
            return Salvaged(events=self._decoder.many(array), consumed=len(array) - 2)
        except UNDECODABLE:
            length = value_length(array)
        text = array[1:-1]
        if length is not None and length < len(array) and array_ends_at(text, length - 1):
            try:
                return Salvaged(events=self._decoder.many(array[:length]), consumed=length - 1, ended_at=length - 1)
            except UNDECODABLE:
                pass
        return salvage(self._decoder, text, at_end=at_end)

    def _find_array(self) -> tuple[bytes, bytes | None]:
        """The text after the array's bracket, and the object's text up to it (None: a bare list)."""
        text = b""
        while not text:
            block = self._source.read()
            if not block:
                cut = ", or cut off before its first byte" if self._source.ends_early else ""
                raise TraceError(f"{self._name} is empty{cut}", remedy=HOW_TO_RECORD)
            text = block.removeprefix(b"\xef\xbb\xbf").lstrip()
        for magic, what, remedy in _OTHER_FILES:
            if text.startswith(magic):
                raise TraceError(f"{self._name} is {what}, not a profiler trace", remedy=remedy)
        if text.startswith(b"["):
            return text[1:], None
        if not text.startswith(b"{"):
            raise TraceError(f"{self._name} is no profiler trace: it does not begin as JSON does", remedy=HOW_TO_RECORD)
        searched = tries = 0
        while True:
            for match in _ARRAY_START.finditer(text, searched):
                head = text[: match.end()]
                tries += 1
                if tries <= _ARRAY_TRIES and _as_object(head + b"]}") is not None:
                    return text[match.end() :], head
            searched = max(len(text) - _LONGEST_ARRAY_START_BYTES, 0)
            block = self._source.read() if len(text) < HEAD_LIMIT_BYTES else b""
            if not block:
                raise TraceError(f"{self._name} is no profiler trace: it has no traceEvents", remedy=HOW_TO_RECORD)
            text += block

    def _read_metadata(self, head: bytes, tail: bytes | None) -> None:
        """What stands beside the events; a tail that is cut, damaged or too long is left out."""
        self.metadata = _as_object(head + b"]}") or {}
        if tail is not None:
            while len(tail) < TAIL_LIMIT_BYTES and (block := self._source.read()):
                tail += block
            rest = _as_object(b'{"traceEvents":[]' + tail)
            self.ends_early |= rest is None
            self.metadata |= rest or {}
        self.metadata.pop("traceEvents", None)


def _last_boundary(text: bytes) -> tuple[int, int]:
    """Where the last whole event ends and the next begins; (0, 0) where none is found."""
    before = len(text)
    for _ in range(_CUT_TRIES):
        before = text.rfind(b"{", 0, before)
        if before <= 0:
            return 0, 0
        near = max(text.rfind(b"}", max(before - _NEAR_BYTES, 0), before), 0)
        match = EVENT_BOUNDARY.match(text, near, before + _NEAR_BYTES)
        if match and match.end() == before:
            return match.start() + 1, before
    return 0, 0


def _as_object(text: bytes) -> dict[str, Any] | None:
    """The JSON object, None where the text is none."""
    try:
        value = msgspec.json.decode(text)
    except UNDECODABLE:
        try:  # writers print NaN and Infinity, which JSON does not know, and Python's own reader does
            value = json.loads(text, parse_constant=lambda _word: None)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None
