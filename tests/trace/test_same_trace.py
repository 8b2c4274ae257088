"""Is a Trace the same however its file was written: twice, gzipped, in another order, saved and loaded?"""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surfer_lab.errors import TraceError
from surfer_lab.trace import check, differences, from_bytes, load, read, read_bytes, same, save, to_bytes
from surfer_lab.trace.columns import Interned
from surfer_lab.trace.model import SCHEMA_VERSION, CellRecord
from surfer_lab.trace.storage import _HEAD
from tests.trace.written import ERAS, Written, dumped

eras = st.sampled_from(list(ERAS.values()))


def shuffled(written: Written, seed: int, **metadata) -> bytes:
    document = written.document(**metadata)
    random.Random(seed).shuffle(document["traceEvents"])
    return dumped(document)


@settings(max_examples=40, deadline=None)
@given(era=eras, count=st.integers(1, 4), marks=st.booleans(), seed=st.integers(0, 10_000))
def test_the_order_of_events_in_the_file_does_not_matter(era, count, marks, seed):
    written = Written(era).steps(count, marks=marks)
    one, other = read_bytes(written.text()), read_bytes(shuffled(written, seed))
    assert differences(one, other) == []
    assert to_bytes(one) == to_bytes(other)


@settings(max_examples=20, deadline=None)
@given(era=eras, seed=st.integers(0, 10_000))
def test_ties_of_whole_microseconds_are_resolved_whatever_the_order(era, seed):
    written = Written(era)
    for index in range(6):
        written.op("aten::add" if index % 2 else "aten::mul", 10, 10)
        written.launched(f"kernel{index % 3}", 12, 30, 0, stream=7 + index % 2)
        written.memory(12, 512 * (index % 4 - 2), allocated=index)
    written.annotation("Optimizer.step#SGD.step", 10, 10)
    assert differences(read_bytes(written.text()), read_bytes(shuffled(written, seed))) == []


@settings(max_examples=15, deadline=None)
@given(era=eras, block_bytes=st.integers(64, 5000))
def test_the_size_of_blocks_does_not_matter(era, block_bytes):
    written = Written(era).steps(2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("surfer_lab.trace.byte_source.BLOCK_BYTES", block_bytes)
        patch.setattr("surfer_lab.trace.byte_source._COMPRESSED_BLOCK_BYTES", block_bytes)
        small = [read_bytes(written.text()), read_bytes(written.gzipped())]
    whole = read_bytes(written.text())
    assert [differences(trace, whole) for trace in small] == [[], []]


@pytest.mark.parametrize("era", ERAS.values(), ids=list(ERAS))
def test_twice_gzipped_saved_and_loaded_give_the_same_trace(era, tmp_path):
    written = Written(era).steps(3)
    (tmp_path / "plain.json").write_bytes(written.text())
    (tmp_path / "packed.json.gz").write_bytes(written.gzipped())
    plain = read(tmp_path / "plain.json")
    assert same(read(tmp_path / "plain.json"), plain)
    assert same(read(tmp_path / "packed.json.gz"), plain)
    save(plain, tmp_path / "saved.surfer")
    assert same(load(tmp_path / "saved.surfer"), plain)
    assert same(read(tmp_path / "saved.surfer"), plain)
    assert to_bytes(load(tmp_path / "saved.surfer")) == to_bytes(plain)


def test_a_batch_size_given_on_reading_counts_for_files_of_both_kinds(tmp_path):
    trace = read_bytes(Written().step(1).text(), batch_size=32)
    assert trace.batch_size == 32
    save(trace, tmp_path / "saved")
    assert read(tmp_path / "saved").batch_size == 32
    assert read(tmp_path / "saved", batch_size=64).batch_size == 64


def test_equal_traces_give_equal_bytes_whatever_codes_their_columns_use():
    trace = read_bytes(Written().steps(2).text())
    names = trace.kernels.name
    turned = Interned((len(names.values) - 1 - names.codes).astype(np.int32), (*names.values[::-1], "unused"))
    other = replace(trace, kernels=replace(trace.kernels, name=turned))
    assert same(trace, other) and to_bytes(trace) == to_bytes(other)


@pytest.mark.parametrize(
    "change",
    [
        lambda trace: replace(trace, wall_ns=trace.wall_ns + 1),
        lambda trace: replace(trace, environment={"cuda": "12.4", "rank": "1"}),
        lambda trace: replace(trace, kernels=replace(trace.kernels, stream=trace.kernels.stream + 1)),
        lambda trace: replace(trace, ops=replace(trace.ops, name=Interned.of(["other"] * len(trace.ops)))),
    ],
)
def test_traces_that_differ_in_anything_are_not_the_same(change):
    trace = read_bytes(Written().step(1).text())
    assert not same(trace, change(trace))


def test_what_no_profiler_file_has_survives_a_save_too():
    trace = read_bytes(Written().step(1).text())
    cell = CellRecord(wall_ns=5_000_000, step_count=9, profiled_step_count=3, unprofiled_step_ns=400)
    full = replace(trace, cell=cell, peak_allocated_bytes=1 << 40, batch_size=3)
    assert same(from_bytes(to_bytes(full)), full)


@pytest.mark.parametrize(
    ("version", "says"), [(SCHEMA_VERSION + 1, "newer Surfer Lab"), (0, "older than this version reads")]
)
def test_another_schema_version_is_named_with_the_remedy(version, says):
    data = bytearray(to_bytes(read_bytes(Written().step(1).text())))
    data[8:12] = version.to_bytes(4, "little")
    with pytest.raises(TraceError, match=says) as caught:
        read_bytes(bytes(data), name="old.surfer")
    assert caught.value.remedy


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_damaged_save_is_refused_or_still_sound(data):
    saved = bytearray(SAVED)
    position = data.draw(st.integers(8, len(saved) - 1))
    saved[position] ^= 1 << data.draw(st.integers(0, 7))
    try:
        check(from_bytes(bytes(saved)))
    except TraceError as error:
        assert error.remedy


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000))
def test_a_cut_save_is_refused(length):
    with pytest.raises(TraceError):
        from_bytes(SAVED[: length % len(SAVED)])


def test_a_head_that_names_an_impossible_size_costs_no_memory():
    head = list(_HEAD.unpack_from(SAVED))
    head[5] = 1 << 40
    with pytest.raises(TraceError, match="impossible size"):
        from_bytes(_HEAD.pack(*head) + SAVED[_HEAD.size :])


def test_a_save_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    trace = read_bytes(Written().step(1).text())
    save(trace, tmp_path / "kept")
    before = (tmp_path / "kept").read_bytes()

    def full_disk(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full_disk)
    with pytest.raises(OSError, match="No space"):
        save(trace, tmp_path / "kept")
    assert [entry.name for entry in tmp_path.iterdir()] == ["kept"]
    assert (tmp_path / "kept").read_bytes() == before


def test_a_broken_trace_is_not_saved():
    trace = read_bytes(Written().step(1).text())
    with pytest.raises(TraceError, match="contradicts itself"):
        to_bytes(replace(trace, wall_ns=1))


SAVED = to_bytes(read_bytes(Written().steps(2).text()))
