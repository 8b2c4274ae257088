"""Do the recorded traces say what their index says? All of them, of five years, two vendors and many releases."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import msgspec
import numpy as np
import orjson
import pytest

from surfer_lab.trace import busy_ns, check, differences, from_bytes, read, read_bytes, step_of_kernels, to_bytes
from surfer_lab.trace.tables import KernelKind, Phase, StepSource

ONE_PERCENT = 0.01
KERNELS = (KernelKind.COMPUTE, KernelKind.COMMUNICATION)


class PlainEvent(msgspec.Struct):
    """An event read without the importer, to compare with."""

    name: str = ""
    cat: str = ""
    dur: float = 0.0


class PlainFile(msgspec.Struct, rename={"events": "traceEvents"}):
    events: list[PlainEvent]


@pytest.fixture(scope="session")
def index(traces_dir: Path) -> list[dict[str, str]]:
    with (traces_dir / "index.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture(scope="session")
def traces(traces_dir: Path, index):
    return {row["file"]: read(traces_dir / row["file"]) for row in index}


def test_every_recorded_trace_is_read_and_sound(traces):
    assert len(traces) == 24
    for trace in traces.values():
        check(trace)


def test_kernel_counts_agree_with_the_index(traces, index):
    for row in index:
        kernels = traces[row["file"]].kernels
        real = np.isin(kernels.kind, KERNELS)
        found = (
            int(real.sum()),
            int((kernels.host_call[real] < 0).sum()),
            int((kernels.kind == KernelKind.COMMUNICATION).sum()),
            len(np.unique(kernels.name.codes[real])),
        )
        said = [int(row[key]) for key in ("n_kernels", "kernels_without_launch", "nccl_kernels", "n_kernel_names")]
        assert list(found) == said, row["file"]


def test_launch_shapes_agree_with_the_index(traces, index):
    for row in index:
        kernels = traces[row["file"]].kernels
        real = np.isin(kernels.kind, KERNELS)
        on_call = 14 if row["file"].startswith("amd_trace") else 0  # there only the launch calls carry them
        assert int((kernels.grid[real, 0] > 0).sum()) == int(row["with_grid"]) + on_call, row["file"]
        assert int((kernels.regs_per_thread[real] >= 0).sum()) == int(row["with_regs"]), row["file"]
        assert int((kernels.duration_ns[real] == 0).sum()) == int(row["kernels_zero_dur"]), row["file"]


def test_the_step_is_the_median_of_the_files_own_marks(traces, index, traces_dir):
    for row in index:
        trace = traces[row["file"]]
        file = msgspec.json.decode(gzip.decompress((traces_dir / row["file"]).read_bytes()), type=PlainFile)
        marks = [
            event.dur * 1000
            for event in file.events
            if event.name.startswith("ProfilerStep#") and event.cat != "gpu_user_annotation"
        ]
        assert len(marks) == int(row["profiler_steps"]), row["file"]
        if marks:
            assert trace.step_source is StepSource.PROFILER_STEP
            assert abs(trace.step_ns / np.median(marks) - 1) <= ONE_PERCENT, row["file"]
        else:
            assert trace.step_source is not StepSource.PROFILER_STEP


def test_steps_of_a_trace_without_marks_come_from_its_thirty_optimizer_steps(traces):
    trace = traces["param_2080ti_resnet.json.gz"]
    assert trace.step_source is StepSource.OPTIMIZER
    assert trace.steps.complete.sum() == 29
    assert abs(trace.step_ns / 176.637e6 - 1) <= ONE_PERCENT


def test_busy_time_agrees_with_the_second_groups_details(traces, traces_dir):
    with (traces_dir / "details_more.csv").open(newline="") as stream:
        for row in csv.DictReader(stream):
            kernels = traces[row["file"]].kernels
            real = np.isin(kernels.kind, KERNELS)
            assert busy_ns(kernels, rows=real) / 1e6 == pytest.approx(float(row["gpu_busy_ms_kernels"]), abs=0.001)
            whole = float(row["gpu_busy_ms_kernels_memcpy_memset"])
            assert busy_ns(kernels) / 1e6 == pytest.approx(whole, abs=0.001)
            assert len(traces[row["file"]].memory) == int(row["memory_events"])
            assert int((kernels.kind == KernelKind.MEMCPY).sum()) == int(row["memcpy"])
            assert int((kernels.kind == KernelKind.MEMSET).sum()) == int(row["memset"])


def test_gpus_agree_with_the_index(traces, index):
    for row in index:
        device = traces[row["file"]].device
        assert (device.name if device else "not recorded") == row["gpu"], row["file"]
        if device and row["sms"]:
            assert device.sm_count == float(row["sms"])


def test_shapes_are_known_for_as_many_ops_as_the_index_says(traces, index):
    for row in index:
        trace = traces[row["file"]]
        known = int((trace.ops.input_shapes.codes >= 0).sum())
        assert abs(known - int(row["input_dims"])) <= 0.01 * int(row["input_dims"]) + 30, row["file"]


@pytest.mark.parametrize(
    "name", ["kineto_v100_resnet50_num_workers_0", "ns_resolution_trace__rank-0", "param_2080ti_resnet"]
)
def test_backward_work_of_a_training_trace_knows_its_forward_op(traces, name):
    trace = traces[f"{name}.json.gz"]
    op = trace.kernels.op
    backward = (op >= 0) & (trace.kernels.kind == KernelKind.COMPUTE)
    backward[backward] = trace.ops.phase[op[backward]] == Phase.BACKWARD
    linked = trace.ops.forward_op[op[backward]] >= 0
    time = trace.kernels.duration_ns[backward]
    assert time[linked].sum() > 0.85 * time.sum()  # the rest accumulates gradients, which no forward op owns
    assert (trace.ops.phase[trace.ops.forward_op[op[backward]][linked]] == Phase.FORWARD).all()


def test_every_kernel_of_the_marked_steps_is_in_one(traces):
    trace = traces["kineto_v100_resnet50_num_workers_4.json.gz"]
    counts = np.bincount(step_of_kernels(trace) + 1)
    assert counts[0] == 0 and len(counts) == 7 and counts[1:].max() <= 1.01 * counts[1:].min()


def test_modules_and_lines_are_known_where_python_was_recorded(traces):
    trace = traces["tracelens_h100_bert-small.json.gz"]
    modules = {trace.ops.module[op] for op in trace.kernels.op.tolist()}
    assert "BertLMHeadModel_0.BertModel_0.BertEncoder_0.BertLayer_1.BertIntermediate_1.Linear_10" in modules
    assert all("/" not in line for line in trace.ops.source.values)


def test_saving_is_identity_and_small(traces, traces_dir):
    for name, trace in traces.items():
        data = to_bytes(trace)
        assert differences(from_bytes(data), trace) == [], name
        assert len(data) < max((traces_dir / name).stat().st_size, 4096)


@pytest.mark.parametrize("name", ["nccl_parser_config__nccl_data", "trace_diff__test__test"])
def test_order_and_packing_of_a_recorded_file_do_not_matter(traces, traces_dir, name):
    document = orjson.loads(gzip.decompress((traces_dir / f"{name}.json.gz").read_bytes()))
    document["traceEvents"].reverse()
    backwards = orjson.dumps(document, option=orjson.OPT_INDENT_2)
    assert differences(read_bytes(backwards), traces[f"{name}.json.gz"]) == []


def test_a_recorded_file_cut_off_gives_what_comes_before(traces, traces_dir):
    name = "kineto_v100_resnet50_num_workers_4.json.gz"
    with gzip.open(traces_dir / name) as stream:
        text = stream.read()
    trace = read_bytes(text[: len(text) * 9 // 10])
    assert 0 < len(trace.kernels) < len(traces[name].kernels)
    assert any("cut off" in warning.seen for warning in trace.warnings)
