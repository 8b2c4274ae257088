"""The discrete-event timeline: hand-worked schedules, and what no schedule may break."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.errors import PredictionError
from surfer_lab.planner.scaling.events import COMMUNICATION, COMPUTE, Piece, simulate


def compute(name, work, after=()):
    return Piece(name=name, stream=COMPUTE, work_ns=work, after=after)


def send(name, work, after=()):
    return Piece(name=name, stream=COMMUNICATION, work_ns=work, after=after, is_communication=True)


def test_communication_hides_behind_the_compute_that_follows_it():
    # backward 10, bucket 4 beside 10 more of backward, the rest 4 exposed before the optimizer
    schedule = simulate(
        [compute("a", 10), send("1", 4, (0,)), compute("b", 10), send("2", 4, (2,)), compute("step", 1, (1, 3))]
    )
    assert schedule.end == 25
    assert schedule.communication_ns == 8
    assert schedule.exposed_ns == 4


def test_a_collective_that_holds_a_quarter_of_the_sms_slows_what_runs_beside_it():
    # 4 ns of collective beside compute at 3/4: after 4 ns 3 of 10 are done, 7 follow
    schedule = simulate([compute("a", 10), send("1", 4, (0,)), compute("b", 10)], contention=0.25)
    assert schedule.end == pytest.approx(10 + 4 + 7)


def test_what_waits_for_a_later_piece_is_refused():
    with pytest.raises(PredictionError, match="comes after"):
        simulate([compute("a", 1, (1,)), compute("b", 1)])


@st.composite
def programs(draw):
    """Compute with a collective after each piece, and a last piece that waits for all."""
    work = draw(st.lists(st.floats(0.1, 1e3), min_size=1, max_size=12))
    sent = draw(st.lists(st.floats(0.1, 1e3), min_size=len(work), max_size=len(work)))
    pieces = []
    for one, other in zip(work, sent, strict=True):
        pieces.append(compute("work", one))
        pieces.append(send("bucket", other, (len(pieces) - 1,)))
    pieces.append(compute("last", draw(st.floats(0.1, 10.0)), tuple(range(1, len(pieces), 2))))
    return pieces


@given(pieces=programs(), contention=st.floats(0.0, 0.9))
def test_a_step_is_no_shorter_than_any_stream_and_no_longer_than_all_after_one_another(pieces, contention):
    schedule = simulate(pieces, contention=contention)
    by_stream = {stream: sum(p.work_ns for p in pieces if p.stream == stream) for stream in (COMPUTE, COMMUNICATION)}
    assert schedule.end >= max(by_stream.values()) * (1 - 1e-9)
    assert schedule.end <= sum(by_stream.values()) * (1 + 1e-9)
    assert -1e-6 <= schedule.exposed_ns <= schedule.communication_ns + 1e-6
    for number, piece in enumerate(pieces):
        assert all(schedule.start_ns[number] >= schedule.end_ns[one] - 1e-9 for one in piece.after)


@given(pieces=programs(), contention=st.floats(0.0, 0.9), factor=st.floats(1.0, 20.0))
def test_slower_collectives_never_end_a_step_sooner(pieces, contention, factor):
    slower = [
        send(p.name, p.work_ns * factor, p.after) if p.is_communication else compute(p.name, p.work_ns, p.after)
        for p in pieces
    ]
    assert simulate(slower, contention=contention).end >= simulate(pieces, contention=contention).end * (1 - 1e-9)


@given(pieces=programs())
def test_contention_of_nothing_is_the_plain_schedule(pieces):
    assert simulate(pieces, contention=1e-12).end == pytest.approx(simulate(pieces).end)
