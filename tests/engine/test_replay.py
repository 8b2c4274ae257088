"""Does a replay start kernels when a GPU would, and does the host move as it would? Timelines with known answers.

Microseconds. A kernel starts 1.7 after its launch call returned, 0.9 after the kernel before it on the stream.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surfer_lab.engine.recorded_timeline import recorded_timeline
from surfer_lab.engine.replay import DISPATCH_GAP_NS, LAUNCH_LATENCY_NS, LAUNCH_QUEUE_DEPTH, Replay, replay
from surfer_lab.engine.step_times import step_durations, windows_of
from surfer_lab.trace.model import Trace
from surfer_lab.trace.tables import HostCallKind, KernelKind
from tests.engine.hand_made import US, HandMade

LATENCY = LAUNCH_LATENCY_NS / US
GAP = DISPATCH_GAP_NS / US


def replayed(trace: Trace, *factors: float, host_scale: float = 1.0) -> Replay:
    """Row 0: as recorded; row 1, 2, ...: all kernels times each factor."""
    recorded = trace.kernels.duration_ns.astype(np.float64)
    durations = np.stack([recorded * factor for factor in factors], axis=1)
    return replay(recorded_timeline(trace), recorded, durations, host_scale=host_scale)


def starts_us(run: Replay, row: int) -> list[float]:
    starts: list[float] = (run.start_ns[:, row] / US).tolist()
    return starts


def test_launches_that_come_before_the_gpu_is_free_queue_on_the_stream() -> None:
    made = HandMade()
    for at in (0, 10, 20):
        made.launch(at, 100)
    assert starts_us(replayed(made.trace(), 1.0), 1) == pytest.approx(
        [5 + LATENCY, 5 + LATENCY + 100 + GAP, 5 + LATENCY + 200 + 2 * GAP]
    )


def test_kernels_that_get_shorter_than_their_launches_are_apart_become_launch_bound() -> None:
    made = HandMade()
    for at in (0, 10, 20):
        made.launch(at, 100)
    assert starts_us(replayed(made.trace(), 0.01), 1) == pytest.approx([5 + LATENCY, 15 + LATENCY, 25 + LATENCY])


def test_a_synchronisation_moves_later_launches_with_the_gpu() -> None:
    made = HandMade()
    made.launch(0, 100)  # runs 6.7 to 106.7
    made.synchronize(10, 110)  # so 3.3 of it is the host's own time
    made.launch(120, 50)
    run = replayed(made.trace(), 1.0, 2.0, 0.1)
    second = [starts_us(run, row)[1] for row in (1, 2, 3)]
    assert second[0] == pytest.approx(125 + LATENCY)
    assert second[1] == pytest.approx(225 + LATENCY)  # 100 more of the first kernel
    assert second[2] == pytest.approx(35 + LATENCY)  # 90 less


def test_a_synchronisation_that_found_the_gpu_idle_keeps_its_length() -> None:
    made = HandMade()
    made.launch(0, 2)
    made.synchronize(100, 130)
    made.launch(140, 5)
    assert starts_us(replayed(made.trace(), 0.5), 1)[1] == pytest.approx(145 + LATENCY)
    assert starts_us(replayed(made.trace(), 100.0), 1)[1] == pytest.approx(5 + LATENCY + 200 + 30 + 10 + 5 + LATENCY)


def test_an_allocation_waits_only_if_the_record_shows_that_it_did() -> None:
    waited, returned = HandMade(), HandMade()
    for made, until in ((waited, 110), (returned, 20)):
        made.launch(0, 100)
        made.call("cudaMalloc", HostCallKind.ALLOCATE, 10, until - 10)
        made.launch(120, 5)
    assert starts_us(replayed(waited.trace(), 2.0), 1)[1] == pytest.approx(225 + LATENCY)
    assert starts_us(replayed(returned.trace(), 2.0), 1)[1] == pytest.approx(5 + LATENCY + 200 + GAP)


def test_streams_run_side_by_side_until_one_waits_for_an_event_of_the_other() -> None:
    made = HandMade()
    made.launch(0, 100, stream=7)
    record = made.call("cudaEventRecord", HostCallKind.EVENT_RECORD, 10, 1, stream=7)
    made.launch(20, 10, stream=8)
    made.call("cudaStreamWaitEvent", HostCallKind.STREAM_WAIT, 30, 1, stream=8, waits_for=record)
    made.launch(40, 10, stream=8)
    first, beside, after = starts_us(replayed(made.trace(), 1.0), 1)
    assert beside == pytest.approx(25 + LATENCY)
    assert after == pytest.approx(first + 100 + GAP)


def test_a_collective_waits_for_the_work_before_it_and_wait_joins_it_again() -> None:
    made = HandMade()
    launching, joining = made.op("record_param_comms"), made.op("record_param_comms")
    made.launch(0, 100, stream=7)
    made.call("cudaStreamWaitEvent", HostCallKind.STREAM_WAIT, 10, 1, op=launching)
    made.launch(12, 50, stream=20, kind=KernelKind.COMMUNICATION, op=launching)
    made.call("cudaStreamWaitEvent", HostCallKind.STREAM_WAIT, 20, 1, op=launching)  # the library's own
    made.launch(25, 10, stream=7)  # overlaps the collective
    made.call("cudaStreamWaitEvent", HostCallKind.STREAM_WAIT, 35, 1, op=joining)
    made.launch(40, 10, stream=7)
    trace = made.trace()
    first, collective, beside, joined = starts_us(replayed(trace, 1.0), 1)
    assert collective == pytest.approx(first + 100 + GAP)
    assert beside == pytest.approx(first + 100 + GAP)
    assert joined == pytest.approx(collective + 50 + GAP)
    assert recorded_timeline(trace).ignored_wait_count == 1


def test_a_copy_from_pageable_memory_blocks_the_host_and_a_pinned_one_does_not() -> None:
    pageable, pinned = HandMade(), HandMade()
    for made, name in ((pageable, "Memcpy HtoD (Pageable -> Device)"), (pinned, "Memcpy HtoD (Pinned -> Device)")):
        made.launch(0, 1000)
        made.launch(
            10, 100, call_us=1100 if made is pageable else 5, name=name, kind=KernelKind.MEMCPY, size_bytes=1 << 20,
            call="cudaMemcpyAsync",
        )  # fmt: skip
        made.launch(1200, 10)
    assert starts_us(replayed(pageable.trace(), 1.0), 1)[2] == pytest.approx(1205 + LATENCY, abs=1)
    assert starts_us(replayed(pageable.trace(), 2.0), 1)[2] == pytest.approx(1205 + LATENCY + 1100, abs=3)
    assert starts_us(replayed(pinned.trace(), 0.1), 1)[2] == pytest.approx(1205 + LATENCY)


def test_a_full_launch_queue_holds_the_host_back() -> None:
    launches = LAUNCH_QUEUE_DEPTH + 300
    made = HandMade()
    for number in range(launches):
        made.launch(10 * number, 10)
    made.step(0, 10 * launches)
    run = replayed(made.trace(), 1.0, 10.0)
    _, as_recorded, slower = run.mark_host_ns[1] / US
    assert as_recorded == pytest.approx(10 * launches)
    assert slower > 10 * launches  # with a queue without end the host would not notice
    assert slower == pytest.approx(run.start_ns[launches - 1 - LAUNCH_QUEUE_DEPTH, 2] / US + 10, abs=1)


def test_kernels_of_a_graph_keep_their_gaps_and_move_with_the_launch() -> None:
    made = HandMade()
    made.launch(0, 100)
    made.synchronize(10, 107)
    graph = made.call("cudaGraphLaunch", HostCallKind.GRAPH_LAUNCH, 110, 5, stream=7)
    made.kernel(120, 10, call=graph)
    made.kernel(150, 10, call=graph)  # 20 after the end of the one before
    run = replayed(made.trace(), 1.0, 2.0)
    one, two = starts_us(run, 1)[1:], starts_us(run, 2)[1:]
    assert one[1] - one[0] == pytest.approx(30)
    assert two[1] - two[0] == pytest.approx(40)
    assert two[0] - one[0] == pytest.approx(100, abs=1)


def test_kernels_whose_launch_was_cut_off_follow_the_one_before() -> None:
    made = HandMade()
    made.kernel(100, 50)
    made.kernel(170, 50)
    made.launch(10, 5, start_us=230)
    run = replayed(made.trace(), 2.0)
    assert starts_us(run, 1) == pytest.approx([100, 220, 320 + GAP])


def test_recorded_kernel_starts_are_withheld() -> None:
    made = HandMade()
    for at in (0, 50, 100, 150):
        made.launch(at, 30 + at % 100)
    made.synchronize(160, 400)
    made.launch(420, 20)
    trace = made.trace()
    kernels = trace.kernels
    elsewhere = replace(trace, kernels=replace(kernels, start_ns=np.arange(len(kernels), dtype=np.int64)))
    assert starts_us(replayed(trace, 1.0), 1) == starts_us(replayed(elsewhere, 1.0), 1)


def test_host_time_scales_except_in_the_data_loader() -> None:
    made = HandMade()
    made.launch(0, 1)
    made.input_wait(10, 110)
    made.launch(120, 1)
    second = starts_us(replayed(made.trace(), 1.0, host_scale=0.5), 1)[1]
    assert second == pytest.approx(100 + 0.5 * (125 - 100) + LATENCY)


def test_a_thread_that_launches_nothing_does_not_move_the_host() -> None:
    made = HandMade()
    made.launch(0, 100)
    made.call("cudaEventSynchronize", HostCallKind.SYNCHRONIZE, 10, 100, thread=9)
    made.launch(30, 5)
    assert starts_us(replayed(made.trace(), 0.01), 1)[1] == pytest.approx(35 + LATENCY)


kernel_lists = st.lists(
    st.tuples(
        st.integers(0, 60),  # host gap
        st.integers(1, 200),  # kernel
        st.sampled_from([7, 8]),
        st.booleans(),  # a synchronisation after it
    ),
    min_size=1,
    max_size=30,
)


@settings(max_examples=80, deadline=None)
@given(kernel_lists, st.lists(st.floats(0.1, 10), min_size=30, max_size=30), st.floats(1.0, 4.0))
def test_longer_kernels_never_end_earlier(
    made_of: list[tuple[int, int, int, bool]], factors: list[float], longer: float
) -> None:
    made, at = HandMade(), 0.0
    for gap, length, stream, synchronizes in made_of:
        at += gap
        made.launch(at, length, stream=stream)
        at += 5
        if synchronizes:
            made.synchronize(at, at + length + 10)
            at += length + 10
    trace = made.trace()
    recorded = trace.kernels.duration_ns.astype(np.float64)
    some = recorded * np.array(factors[: len(recorded)])
    run = replay(recorded_timeline(trace), recorded, np.stack([some, some * longer], axis=1))
    assert (run.end_ns[:, 2] >= run.end_ns[:, 1] - 1e-3).all()
    assert (run.start_ns[:, 1] >= 0).all()


def test_a_slower_gpu_can_have_the_shorter_step_since_its_queue_moves_the_start_but_never_the_sooner_end() -> None:
    made = HandMade()
    made.launch(0, 10)
    made.step(0, 20)
    made.launch(25, 10)
    made.step(20, 60)
    trace = made.trace()
    timeline = recorded_timeline(trace)
    recorded = trace.kernels.duration_ns.astype(np.float64)
    run = replay(timeline, recorded, np.stack([recorded, recorded * np.array([2.5, 1.0])], axis=1))
    windows = windows_of(timeline.marks, np.array([True, True]))
    fast, slow = step_durations(run, windows)[:, 1:].T / US
    assert fast.tolist() == pytest.approx([20, 40])
    # the first kernel ends at 5 + launch latency + 25: so much later does the second step start
    assert slow.tolist() == pytest.approx([30 + LATENCY, 30 - LATENCY])
    ends = run.mark_done_ns[windows.end_mark]
    assert (ends[:, 2] >= ends[:, 1]).all()


@settings(max_examples=40, deadline=None)
@given(kernel_lists)
def test_kernels_of_a_stream_run_one_at_a_time_and_never_before_their_launch(
    made_of: list[tuple[int, int, int, bool]],
) -> None:
    made, at = HandMade(), 0.0
    for gap, length, stream, _ in made_of:
        at += gap
        made.launch(at, length, stream=stream)
        at += 5
    trace = made.trace()
    run = replayed(trace, 1.0)
    launched = trace.host_calls.start_ns[trace.kernels.host_call]
    assert (run.start_ns[:, 1] > launched).all()
    for stream in (7, 8):
        rows = trace.kernels.stream == stream
        assert (run.start_ns[rows, 1][1:] >= run.end_ns[rows, 1][:-1]).all()
