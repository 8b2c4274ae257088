"""What is left of a damaged file? All that is sound, a warning that says what is missing, or one clear sentence."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surfer_lab.errors import TraceError
from surfer_lab.trace import differences, read, read_bytes
from tests.trace.written import ERAS, STEP_KERNELS, Written, dumped


def without_warnings(trace):
    return replace(trace, warnings=())


def seen(trace) -> str:
    return " | ".join(warning.seen for warning in trace.warnings)


# -- k events damaged --------------------------------------------------------------------------------------------


def _cut_in_the_middle(text: str) -> str:
    return text[: len(text) // 2]


def _brace_lost(text: str) -> str:
    return text[:-1]


def _quote_lost(text: str) -> str:
    return text.replace('"', "", 1)


def _time_as_words(text: str) -> str:
    return re.sub(r'"ts":[0-9.]+', '"ts":"yesterday"', text)


def _time_lost(text: str) -> str:
    return re.sub(r'"ts":[0-9.]+,?', "", text)


def _time_absurd(text: str) -> str:
    return re.sub(r'"ts":[0-9.]+', '"ts":1e300', text)


def _time_at_epoch(text: str) -> str:
    return re.sub(r'"ts":[0-9.]+', '"ts":0', text)


def _duration_negative(text: str) -> str:
    return re.sub(r'"dur":', '"dur":-', text)


def _name_as_list(text: str) -> str:
    return re.sub(r'"name":"[^"]*"', '"name":["a","b"]', text, count=1)


def _noise(text: str) -> str:
    return "\\\\x00 noise " + text[5:20].replace('"', "'")


def _a_number(text: str) -> str:
    return "17"


def _deep(text: str) -> str:
    return '{"ph":"X","args":' + "[" * 5000 + "]" * 5000 + "}"


DAMAGES = [
    _cut_in_the_middle, _brace_lost, _quote_lost, _time_as_words, _time_lost, _time_absurd, _time_at_epoch,
    _duration_negative, _name_as_list, _noise, _a_number, _deep,
]  # fmt: skip


def document_text(pieces: list[str]) -> bytes:
    head = dumped(Written().document() | {"traceEvents": []}).decode()
    return head.replace('"traceEvents":[]', '"traceEvents":[' + ",".join(pieces) + "]").encode()


PIECES = [dumped(event).decode() for event in Written().steps(4).events]
# not beside each other: half an event and the next one without a quote can add up to sound JSON
COMPLETE = [index for index, piece in enumerate(PIECES) if '"ph":"X"' in piece and index % 2]


@settings(max_examples=150, deadline=None)
@given(
    damaged=st.dictionaries(st.sampled_from(COMPLETE), st.sampled_from(DAMAGES), min_size=1, max_size=8),
)
def test_exactly_the_damaged_events_are_missing(damaged):
    pieces = [damaged[index](piece) if index in damaged else piece for index, piece in enumerate(PIECES)]
    kept = [piece for index, piece in enumerate(PIECES) if index not in damaged]
    trace, expected = read_bytes(document_text(pieces)), read_bytes(document_text(kept))
    assert differences(without_warnings(trace), without_warnings(expected)) == []
    assert f"{len(damaged)} of " in seen(trace)


@settings(max_examples=40, deadline=None)
@given(damage=st.sampled_from(DAMAGES), block_bytes=st.integers(200, 3000))
def test_damage_costs_the_same_events_wherever_a_block_of_the_file_ends(damage, block_bytes):
    pieces = [damage(piece) if index in COMPLETE[10:14] else piece for index, piece in enumerate(PIECES)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("surfer_lab.trace.byte_source.BLOCK_BYTES", block_bytes)
        patch.setattr("surfer_lab.trace.byte_source._COMPRESSED_BLOCK_BYTES", block_bytes)
        in_blocks = read_bytes(document_text(pieces))
    assert differences(in_blocks, read_bytes(document_text(pieces))) == []


def test_an_event_with_unusable_args_keeps_its_time():
    document = Written().step(1).document()
    kernel = next(event for event in document["traceEvents"] if event.get("cat") == "kernel")
    kernel["args"] = "none"
    trace = read_bytes(dumped(document))
    assert len(trace.kernels) == STEP_KERNELS and (trace.kernels.host_call < 0).sum() == 1
    assert "1 events have unreadable details" in seen(trace)


@pytest.mark.parametrize("wrong", [None, True, [1], {"a": 1}, "x", 1e300, -5, 10**40, float("nan")], ids=repr)
@pytest.mark.parametrize("key", ["correlation", "device", "stream", "grid", "shared memory", "registers per thread"])
def test_a_wrong_detail_is_not_recorded_and_harms_nothing_else(key: str, wrong: Any):
    document = Written().steps(2).document()
    kernel = next(event for event in document["traceEvents"] if event.get("cat") == "kernel")
    kernel["args"][key] = wrong
    trace = read_bytes(dumped(document))
    assert len(trace.kernels) == 2 * STEP_KERNELS
    if key == "grid":
        assert trace.kernels.grid[0].tolist() == [0, 0, 0]


# -- text that JSON forbids, but writers wrote ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sound", "written"),
    [
        ('"shared memory":512', '"shared memory":512,"memory bandwidth (GB/s)":inf'),
        ('"shared memory":512', '"shared memory":512,"blocks per SM":-nan'),
        ('"shared memory":512', '"shared memory":512,"warps per SM":Infinity'),
        ('"shared memory":512', '"shared memory":512,"path":"C:\\Users\\somebody\\x.py"'),
        ('"shared memory":512', '"shared memory":512,"note":"two\nlines\tand a tab"'),
        ('"shared memory":512', '"shared memory":512,"note":"\\ud83d alone"'),
    ],
)
def test_numbers_and_strings_that_json_forbids_cost_no_event(sound, written):
    text = Written().steps(2).text().decode()
    assert sound in text
    trace = read_bytes(text.replace(sound, written).encode())
    assert differences(trace, read_bytes(text.encode())) == []


def test_broken_utf8_in_a_name_costs_no_event():
    text = Written().step(1).text().replace(b"volta_sgemm", b"volta\xff\xfesgemm")
    trace = read_bytes(text)
    assert len(trace.kernels) == STEP_KERNELS and trace.kernels.name[0].startswith("volta")


def test_indented_files_and_files_with_a_byte_order_mark_read_alike():
    document = Written().steps(2).document()
    plain = read_bytes(dumped(document))
    assert differences(read_bytes(dumped(document, indent=2)), plain) == []
    assert differences(read_bytes(b"\xef\xbb\xbf \n" + dumped(document)), plain) == []


def test_a_bare_list_of_events_reads_alike_even_without_its_last_bracket():
    document = Written().steps(2).document(deviceProperties=[])
    bare = dumped(document["traceEvents"])
    assert differences(read_bytes(bare), read_bytes(bare[:-1])) == []
    assert differences(read_bytes(bare), read_bytes(bare[:-1] + b",")) == []
    assert len(read_bytes(bare).kernels) == 2 * STEP_KERNELS


@pytest.mark.parametrize("order", [["traceEvents", "deviceProperties"], ["deviceProperties", "traceEvents"]])
def test_metadata_is_found_on_either_side_of_the_events(order):
    document = (
        Written().step(1).document(distributedInfo={"world_size": 4, "pg_config": [{"name": "a"}, {"name": "b"}]})
    )
    keys = order + [key for key in document if key not in order]
    trace = read_bytes(dumped({key: document[key] for key in keys}))
    assert trace.device is not None and trace.environment["world_size"] == "4"
    assert "cut off" not in seen(trace) and "damaged" not in seen(trace)


# -- files that end early ------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_cut_file_gives_the_events_before_the_cut_or_one_sentence(data):
    text = Written().steps(2).text()
    cut = text[: data.draw(st.integers(0, len(text) - 2))]
    try:
        trace = read_bytes(cut, name="t.json")
    except TraceError as error:
        assert str(error).startswith("t.json") and "Try:" in str(error)
        return
    assert "cut off" in seen(trace)
    assert len(trace.kernels) == cut.count(b'"registers per thread":38,"shared memory":512}}') + cut.count(
        b'"bytes":4096}}'
    )


def test_a_cut_gzip_gives_what_came_before_the_cut():
    data = gzip.compress(Written().steps(400).text())
    trace = read_bytes(data[: len(data) * 2 // 3])
    assert 0 < len(trace.kernels) < 400 * STEP_KERNELS
    assert "cut off" in seen(trace)


def test_a_gzip_damaged_in_the_middle_gives_what_came_before():
    data = bytearray(gzip.compress(Written().steps(400).text()))
    middle = len(data) // 2
    data[middle : middle + 400] = bytes(400)
    try:
        trace = read_bytes(bytes(data))
    except TraceError as error:
        assert "Try:" in str(error)
    else:
        assert len(trace.kernels) <= 400 * STEP_KERNELS and trace.warnings


def test_glued_gzip_members_and_padding_read_as_one_file():
    text = Written().steps(2).text()
    glued = gzip.compress(text[:500]) + gzip.compress(text[500:]) + bytes(64)
    assert differences(read_bytes(glued), read_bytes(text)) == []


# -- what is no trace ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is empty"),
        (b"  \n ", "is empty"),
        (b"hello", "does not begin as JSON"),
        (b"{}", "no traceEvents"),
        (b'{"cells": [], "nbformat": 4}', "no traceEvents"),
        (b'{"traceEvents": []}', "holds no events"),
        (b"[]", "holds no events"),
        (b"SQLite format 3\x00", "Nsight Systems"),
        (b"PK\x03\x04rest", "zip archive"),
        (b"\x28\xb5\x2f\xfdrest", "zstd"),
        (b"\x80\x04\x95", "pickle"),
        (b"\x1f\x8b\x08\x00", "is empty, or cut off"),
        (
            b'{"traceEvents": [{"ph":"X","cat":"cpu_op","name":"aten::add","ts":1,"dur":1,"pid":1,"tid":1}]}',
            "holds 1 event, but no GPU work",
        ),
    ],
    ids=lambda value: value[:20].decode("latin-1") if isinstance(value, bytes) else "",
)
def test_what_is_no_trace_gives_one_sentence_with_the_remedy(tmp_path, data, says):
    path = tmp_path / "some.json"
    path.write_bytes(data)
    with pytest.raises(TraceError) as caught:
        read(path)
    assert says in str(caught.value) and "some.json" in str(caught.value)
    assert caught.value.remedy and "\n" not in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(TraceError, match=r"there is no file gone\.json"):
        read(tmp_path / "gone.json")
    with pytest.raises(TraceError, match="is a folder"):
        read(tmp_path)


def test_a_head_that_repeats_the_key_is_not_searched_for_ever():
    nested = b'{"a":' + b'{"traceEvents":[],"b":' * 3000
    with pytest.raises(TraceError):
        read_bytes(nested)


def test_events_of_unknown_kinds_are_named():
    written = Written().step(1)
    written.event("quantum_kernel", "q", 5, 5)
    trace = read_bytes(written.text())
    assert "quantum_kernel" in seen(trace)


def test_a_kernel_event_that_stands_twice_counts_once():
    written = Written().step(1)
    kernel = next(event for event in written.events if event.get("cat") == "kernel")
    written.events.append(dict(kernel))
    trace = read_bytes(written.text())
    assert len(trace.kernels) == STEP_KERNELS
    assert "stand in the file twice" in seen(trace)


def test_whole_microseconds_are_said_where_kernels_seem_to_last_nothing():
    written = Written(ERAS["torch 1.8"]).step(1)
    written.launched("short_kernel", 900, 910, 0)
    trace = read_bytes(written.text())
    assert "whole microseconds" in seen(trace)
    assert " % of the kernels" in seen(trace)  # percent and units are worded as everywhere else
    assert "up to 1 µs each" in str(trace.warnings)


def test_an_interrupt_reaches_the_caller_and_leaves_nothing_behind(tmp_path):
    path = tmp_path / "long.json"
    path.write_bytes(Written().steps(300).text())

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read(path, progress=interrupt)
    assert [entry.name for entry in tmp_path.iterdir()] == ["long.json"]
    assert len(read(path).kernels) == 300 * STEP_KERNELS


@pytest.mark.parametrize("compressed", [False, True])
def test_progress_ends_at_the_files_size(tmp_path, compressed):
    path = tmp_path / "long.json"
    data = Written().steps(400).text()
    path.write_bytes(gzip.compress(data) if compressed else data)
    calls: list[tuple[int, int]] = []
    read(path, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (path.stat().st_size, path.stat().st_size)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)


def test_json_is_what_the_writer_of_these_tests_writes():
    assert json.loads(Written().step(1).text())["traceEvents"][0]["ts"] > 0


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_metadata_that_no_json_may_hold_does_not_hide_the_events(value):
    document = Written(list(ERAS.values())[-1]).steps(2).document()
    odd = json.dumps({"odd": {"value": value}} | document).encode()
    assert not differences(without_warnings(read_bytes(odd)), without_warnings(read_bytes(dumped(document))))


@pytest.mark.parametrize(
    ("packed", "said"),
    [
        (lambda text: gzip.compress(gzip.compress(text)), "packed twice"),
        (lambda text: text.decode().encode("utf-16"), "UTF-16"),
        (lambda text: b"\xfe\xff" + text.decode().encode("utf-16-be"), "UTF-16"),
    ],
)
def test_a_file_in_another_form_is_named_with_what_to_do(packed, said):
    text = dumped(Written().steps(2).document())
    with pytest.raises(TraceError, match=said):
        read_bytes(packed(text))
