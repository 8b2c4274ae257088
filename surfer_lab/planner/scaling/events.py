"""When does everything in a step happen? Work in streams, simulated event by event.

A stream runs its pieces in their order, each when what it waits for is done. While a collective runs, the SMs that it
holds do not compute: compute of the same rank goes on at (1 - c) of its speed, c their share. Pieces are given in an
order in which each waits only for earlier ones; so without contention one pass finds all times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.errors import PredictionError

__all__ = ["COMMUNICATION", "COMPUTE", "Piece", "Schedule", "simulate"]

F64 = NDArray[np.float64]

COMPUTE: Final = 0  # streams of a step that one rank stands for
COMMUNICATION: Final = 1
_NOTHING: Final = 1e-9  # of a piece's work: what rounding leaves of it


@dataclass(frozen=True, kw_only=True)
class Piece:
    """Some work: ns alone on its stream, and the pieces (by number) that must be done before."""

    name: str
    stream: int
    work_ns: float
    after: tuple[int, ...] = ()
    is_communication: bool = False
    wire_bytes: int = 0  # sent by all ranks of its group together
    rank: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class Schedule:
    """When each piece ran, (pieces,); ns since the step's start."""

    pieces: tuple[Piece, ...]
    start_ns: F64
    end_ns: F64

    @property
    def end(self) -> float:
        """When all is done."""
        return float(self.end_ns.max(initial=0.0))

    @property
    def communication_ns(self) -> float:
        """Time of one rank in which a collective runs: the first rank's."""
        return sum(length for _, length in self._collectives())

    @property
    def exposed_ns(self) -> float:
        """Time of the first rank in which a collective runs and nothing computes."""
        busy = sorted(
            (float(self.start_ns[at]), float(self.end_ns[at]))
            for at, piece in enumerate(self.pieces)
            if not piece.is_communication and piece.rank == 0
        )
        exposed, reached = 0.0, 0
        for start, length in self._collectives():
            end, covered, at = start + length, 0.0, reached
            while at < len(busy) and busy[at][0] < end:
                covered += max(0.0, min(end, busy[at][1]) - max(start, busy[at][0]))
                if busy[at][1] <= start:
                    reached = at + 1
                at += 1
            exposed += max(0.0, length - covered)
        return exposed

    @property
    def wire_bytes(self) -> int:
        """Sent by all ranks together."""
        return sum(piece.wire_bytes for piece in self.pieces)

    def _collectives(self) -> list[tuple[float, float]]:
        """Start and length of the first rank's, in order; those at the same time counted once."""
        merged: list[list[float]] = []
        for start, end in sorted(
            (float(self.start_ns[at]), float(self.end_ns[at]))
            for at, piece in enumerate(self.pieces)
            if piece.is_communication and piece.rank == 0
        ):
            if merged and start <= merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], end)
            else:
                merged.append([start, end])
        return [(start, end - start) for start, end in merged]


def simulate(pieces: Sequence[Piece], *, contention: float = 0.0) -> Schedule:
    """Run the pieces; contention (0 to below 1) needs pieces of one rank. PredictionError: one waits for a later."""
    for number, piece in enumerate(pieces):
        if any(not 0 <= one < number for one in piece.after):
            raise PredictionError(f"{piece.name} waits for what comes after it", remedy="list pieces in launch order")
    start, end = _contended(pieces, contention) if contention > 0 else _uncontended(pieces)
    return Schedule(pieces=tuple(pieces), start_ns=np.array(start), end_ns=np.array(end))


def _uncontended(pieces: Sequence[Piece]) -> tuple[list[float], list[float]]:
    free: dict[int, float] = {}
    start, end = [0.0] * len(pieces), [0.0] * len(pieces)
    for number, piece in enumerate(pieces):
        begin = free.get(piece.stream, 0.0)
        for one in piece.after:
            begin = max(begin, end[one])
        start[number] = begin
        end[number] = free[piece.stream] = begin + piece.work_ns
    return start, end


def _contended(pieces: Sequence[Piece], contention: float) -> tuple[list[float], list[float]]:
    queues: dict[int, list[int]] = {}
    for number, piece in enumerate(pieces):
        queues.setdefault(piece.stream, []).append(number)
    streams = [iter(queue) for queue in queues.values()]
    heads = [next(stream, None) for stream in streams]
    left = [piece.work_ns for piece in pieces]
    done = [False] * len(pieces)
    start, end = [0.0] * len(pieces), [0.0] * len(pieces)
    begun: set[int] = set()
    now = 0.0
    while any(head is not None for head in heads):
        running = [head for head in heads if head is not None and all(done[one] for one in pieces[head].after)]
        for head in running:
            if head not in begun:
                begun.add(head)
                start[head] = now
        talks = any(pieces[head].is_communication and left[head] > 0 for head in running)
        speed = {head: 1.0 - contention if talks and not pieces[head].is_communication else 1.0 for head in running}
        step = min(left[head] / speed[head] for head in running)
        now += step
        for slot, first in enumerate(heads):
            if first is None or first not in speed:
                continue
            left[first] -= step * speed[first]
            if left[first] <= _NOTHING * pieces[first].work_ns:
                done[first], end[first] = True, now
                heads[slot] = next(streams[slot], None)
    return start, end
