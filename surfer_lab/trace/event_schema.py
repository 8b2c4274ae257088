"""What is read of one Chrome-trace event: typed structs that skip every field a Trace does not need.

Typed decoding is what makes the importer fast: on the recorded traces `msgspec` fills these structs in a fifth of
the time in which `orjson.loads` builds dictionaries of the same bytes. Three rules follow:

- what an event cannot be without (name, time, duration) is typed strictly, so that a wrong one is noticed;
- everything under `args` is `Any`: a writer that prints a number as a string is no damage;
- nested lists (shapes, grids) stay raw bytes: they repeat, and are parsed once a distinct value.

Relies on the `ph` letter of the Chrome format (X complete, i instant, the rest carries nothing we read).
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgspec

__all__ = [
    "NOT_RECORDED", "NO_ALLOCATION", "NO_ARGUMENTS", "Allocation", "Arguments", "Complete", "Event", "EventDecoder",
    "ExactComplete", "ExactInstant", "Instant",
]  # fmt: skip

_field = msgspec.field
NOT_RECORDED: Final = msgspec.Raw()


class Arguments(msgspec.Struct, gc=False):
    """`args` of a complete event; one struct for all categories, as their keys do not clash."""

    external_id: Any = _field(name="External id", default=-1)
    external_id_2021: Any = _field(name="external id", default=-1)
    correlation: Any = -1
    device: Any = -1
    stream: Any = -1
    grid: msgspec.Raw = NOT_RECORDED
    block: msgspec.Raw = NOT_RECORDED
    regs_per_thread: Any = _field(name="registers per thread", default=-1)
    smem_bytes: Any = _field(name="shared memory", default=-1)
    size_bytes: Any = _field(name="bytes", default=-1)
    size: Any = -1  # hip copy calls of roctracer
    # host-side ops
    sequence: Any = _field(name="Sequence number", default=-1)
    forward_thread: Any = _field(name="Fwd thread id", default=-1)
    input_dims: msgspec.Raw = _field(name="Input Dims", default=NOT_RECORDED)
    input_types: msgspec.Raw = _field(name="Input type", default=NOT_RECORDED)
    input_strides: msgspec.Raw = _field(name="Input Strides", default=NOT_RECORDED)
    concrete_inputs: msgspec.Raw = _field(name="Concrete Inputs", default=NOT_RECORDED)
    call_stack: msgspec.Raw = _field(name="Call stack", default=NOT_RECORDED)
    module_hierarchy: msgspec.Raw = _field(name="Module Hierarchy", default=NOT_RECORDED)
    finished: Any = True
    # collectives
    collective: Any = _field(name="Collective name", default=None)
    in_elements: Any = _field(name="In msg nelems", default=-1)
    out_elements: Any = _field(name="Out msg nelems", default=-1)
    group_size: Any = _field(name="Group size", default=-1)
    dtype: Any = None
    # cuda_sync and cuda_event
    wait_on_stream: Any = -1
    recorded_by: Any = _field(name="wait_on_cuda_event_record_corr_id", default=-1)


class Allocation(msgspec.Struct, gc=False):
    """`args` of a `[memory]` instant."""

    delta_bytes: Any = _field(name="Bytes", default=0)
    allocated_bytes: Any = _field(name="Total Allocated", default=-1)
    reserved_bytes: Any = _field(name="Total Reserved", default=-1)
    device_type: Any = _field(name="Device Type", default=0)
    device: Any = _field(name="Device Id", default=-1)


class Complete(msgspec.Struct, gc=False, tag_field="ph", tag="X"):
    """An event with a duration; times in microseconds."""

    name: str
    ts: float
    dur: float
    cat: str | None = None
    pid: Any = 0
    tid: Any = 0
    args: Arguments | None = None


class Instant(msgspec.Struct, gc=False, tag_field="ph", tag="i"):
    """A point in time."""

    name: str
    ts: float
    pid: Any = 0
    tid: Any = 0
    args: Allocation | None = None


class ExactComplete(msgspec.Struct, gc=False, tag_field="ph", tag="X"):
    """As Complete, with the time's digits kept: see `clock`."""

    name: str
    ts: msgspec.Raw
    dur: float
    cat: str | None = None
    pid: Any = 0
    tid: Any = 0
    args: Arguments | None = None


class ExactInstant(msgspec.Struct, gc=False, tag_field="ph", tag="i"):
    """As Instant, with the time's digits kept."""

    name: str
    ts: msgspec.Raw
    pid: Any = 0
    tid: Any = 0
    args: Allocation | None = None


class _FlowStart(msgspec.Struct, gc=False, tag_field="ph", tag="s"):
    pass


class _FlowStep(msgspec.Struct, gc=False, tag_field="ph", tag="t"):
    pass


class _FlowEnd(msgspec.Struct, gc=False, tag_field="ph", tag="f"):
    pass


class _Metadata(msgspec.Struct, gc=False, tag_field="ph", tag="M"):
    pass


class _OldInstant(msgspec.Struct, gc=False, tag_field="ph", tag="I"):
    pass


class _Counter(msgspec.Struct, gc=False, tag_field="ph", tag="C"):
    pass


class _AsyncBegin(msgspec.Struct, gc=False, tag_field="ph", tag="b"):
    pass


class _AsyncEnd(msgspec.Struct, gc=False, tag_field="ph", tag="e"):
    pass


_Skipped: TypeAlias = _FlowStart | _FlowStep | _FlowEnd | _Metadata | _OldInstant | _Counter | _AsyncBegin | _AsyncEnd
Event: TypeAlias = Complete | Instant | ExactComplete | ExactInstant | _Skipped

NO_ARGUMENTS: Final = Arguments()
NO_ALLOCATION: Final = Allocation()


class EventDecoder:
    """Decodes many events, or one; `exact` keeps the digits of times that a float64 would round.

    Raises what msgspec raises (`DecodeError`, its subclass `ValidationError`, `RecursionError`): `salvage` turns
    that into what can be kept.
    """

    def __init__(self, *, exact: bool = False) -> None:
        self.exact = exact
        if exact:
            self._many: Any = msgspec.json.Decoder(list[ExactComplete | ExactInstant | _Skipped])
            self._one: Any = msgspec.json.Decoder(ExactComplete | ExactInstant | _Skipped)
        else:
            self._many = msgspec.json.Decoder(list[Complete | Instant | _Skipped])
            self._one = msgspec.json.Decoder(Complete | Instant | _Skipped)

    def many(self, text: bytes) -> list[Event]:
        """All events of a JSON array."""
        events: list[Event] = self._many.decode(text)
        return events

    def one(self, text: bytes | memoryview) -> Event:
        """The event of one JSON object."""
        event: Event = self._one.decode(text)
        return event
