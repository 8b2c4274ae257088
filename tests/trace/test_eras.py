"""Is the same step read alike, whichever release of torch wrote it?"""

from __future__ import annotations

import numpy as np
import pytest

from surfer_lab.trace import busy_ns, read_bytes, step_of_kernels
from surfer_lab.trace.tables import HostCallKind, KernelKind, Phase, SpanKind, StepSource
from tests.trace.written import ERAS, STEP_KERNELS, Era, Written

US = 1_000


@pytest.fixture(params=ERAS.values(), ids=list(ERAS))
def era(request: pytest.FixtureRequest) -> Era:
    return request.param


def test_every_era_gives_the_same_kernels_at_the_same_nanosecond(era):
    trace = read_bytes(Written(era).steps(3).text())
    kernels = trace.kernels
    assert len(kernels) == 3 * STEP_KERNELS
    assert kernels.start_ns[:STEP_KERNELS].tolist() == [140 * US, 345 * US, 430 * US, 730 * US]
    assert kernels.duration_ns[:STEP_KERNELS].tolist() == [200 * US, 20 * US, 250 * US, 50 * US]
    assert kernels.kind[:STEP_KERNELS].tolist() == [
        KernelKind.COMPUTE,
        KernelKind.MEMCPY,
        KernelKind.COMPUTE,
        KernelKind.COMPUTE,
    ]
    assert set(kernels.device.tolist()) == {0} and set(kernels.stream.tolist()) == {7}
    assert kernels.grid[0].tolist() == [50, 2, 1] and kernels.block[0].tolist() == [256, 1, 1]
    assert kernels.smem_bytes[0] == 512
    assert kernels.regs_per_thread[0] == (38 if era.kernel_has_grid else -1)
    assert kernels.size_bytes[1] == 4096
    assert busy_ns(kernels) == 3 * (200 + 20 + 250 + 50) * US


def test_every_era_links_kernels_to_launches_ops_and_steps(era):
    trace = read_bytes(Written(era).steps(3).text())
    kernels = trace.kernels
    assert (kernels.host_call >= 0).all()
    ops = [trace.ops.name[op] for op in kernels.op[:STEP_KERNELS].tolist()]
    assert ops == ["aten::convolution", "aten::copy_", "aten::convolution_backward", "aten::add_"]
    assert step_of_kernels(trace).tolist() == [0] * STEP_KERNELS + [1] * STEP_KERNELS + [2] * STEP_KERNELS
    assert trace.host_calls.name[int(kernels.host_call[0])] == era.launch
    assert trace.host_calls.stream[kernels.host_call].tolist() == [7] * len(kernels)


def test_every_era_tells_phases_and_the_forward_op_of_a_backward_op(era):
    trace = read_bytes(Written(era).steps(2).text())
    phases = [Phase(int(trace.ops.phase[op])).name for op in trace.kernels.op[:STEP_KERNELS]]
    assert phases == ["FORWARD", "FORWARD", "BACKWARD", "OPTIMIZER"]
    backward = int(trace.kernels.op[2])
    forward = int(trace.ops.forward_op[backward])
    assert trace.ops.name[forward] == "aten::convolution"
    assert trace.ops.input_shapes[forward] == ((32, 3, 8, 8), (16, 3, 3, 3), None, None)
    assert trace.ops.input_dtypes[forward] == ("float32", "float32", None, None)
    second = int(trace.ops.forward_op[int(trace.kernels.op[2 + STEP_KERNELS])])
    assert trace.ops.start_ns[second] == 1_115 * US


def test_every_era_tells_the_users_line_without_its_folder(era):
    trace = read_bytes(Written(era).steps(1).text())
    forward, backward = int(trace.kernels.op[0]), int(trace.kernels.op[2])
    assert trace.ops.source[forward] == "train.py:41 > model.py:9"
    assert trace.ops.source[backward] == "train.py:41 > model.py:9"
    if era.python:
        assert trace.ops.module[forward] == trace.ops.module[backward] == "Net_0.Conv2d_0"
        assert (trace.spans.kind == SpanKind.MODULE).sum() == 2


def test_every_era_tells_steps_loader_and_optimizer(era):
    trace = read_bytes(Written(era).steps(3).text())
    assert trace.step_source is StepSource.PROFILER_STEP
    assert trace.steps.number.tolist() == [5, 6, 7]
    assert trace.step_ns == 1_000 * US
    kinds = [SpanKind(int(kind)).name for kind in trace.spans.kind if kind != SpanKind.MODULE]
    assert sorted(kinds) == sorted(["STEP", "INPUT", "OPTIMIZER"] * 3)


def test_every_era_names_its_gpu(era):
    trace = read_bytes(Written(era).steps(1).text())
    assert trace.device is not None
    assert (trace.device.name, trace.device.sm_count, trace.device.compute_capability) == (
        "Tesla V100-SXM2-16GB",
        80,
        "7.0",
    )


def test_every_era_tells_the_allocators_events(era):
    trace = read_bytes(Written(era).steps(2).text())
    assert trace.memory.delta_bytes.tolist() == [131_072, 131_072]
    assert [trace.ops.name[op] for op in trace.memory.op.tolist()] == ["aten::convolution"] * 2
    assert trace.peak_allocated_bytes == (None if era.name == "torch 1.8" else 1_000_006)


def test_a_copy_that_blocks_the_host_is_a_synchronisation():
    written = Written()
    written.op("aten::copy_", 0, 100)
    correlation = written.call("cudaMemcpyAsync", 10, 80)
    written.kernel("Memcpy DtoH (Device -> Pageable)", 30, 50, correlation=correlation, category="gpu_memcpy", bytes=64)
    correlation = written.call("cudaMemcpyAsync", 110, 10)
    written.kernel("Memcpy DtoH (Device -> Pinned)", 130, 50, correlation=correlation, category="gpu_memcpy", bytes=64)
    trace = read_bytes(written.text())
    assert trace.host_calls.kind.tolist() == [HostCallKind.SYNCHRONIZE, HostCallKind.LAUNCH]


def test_grids_that_amd_counts_in_threads_become_blocks():
    written = Written(ERAS["rocm 6.2"])
    written.op("aten::addmm", 0, 50)
    shape = {"grid": [73728, 1, 1], "block": [256, 1, 1], "shared memory": 0}
    correlation = written.call("hipExtModuleLaunchKernel", 5, 5, **shape)
    written.kernel("Cijk_Alik_Bljk_MT16x16x128", 20, 10, correlation=correlation, grid=[73728, 1, 1], block=[256, 1, 1])
    assert read_bytes(written.text()).kernels.grid.tolist() == [[288, 1, 1]]


def test_kernels_of_a_cuda_graph_share_its_launch_and_have_no_op():
    written = Written()
    written.op("CUDAGraph.replay", 0, 50)
    correlation = written.call("cudaGraphLaunch", 5, 5)
    for index in range(3):
        written.kernel("volta_sgemm_128x64_nn", 20 + 10 * index, 10, correlation=correlation, grid=[1, 1, 1])
    trace = read_bytes(written.text())
    assert trace.host_calls.kind.tolist() == [HostCallKind.GRAPH_LAUNCH]
    assert trace.kernels.host_call.tolist() == [0, 0, 0] and trace.kernels.op.tolist() == [-1, -1, -1]
    assert any("CUDA graphs" in warning.seen for warning in trace.warnings)


def test_kernels_whose_launch_lies_before_the_file_are_a_group_of_their_own():
    written = Written()
    written.kernel("volta_sgemm_128x64_nn", 20, 10, correlation=3)
    written.step(1, us=100)
    trace = read_bytes(written.text())
    assert (trace.kernels.host_call < 0).tolist() == [True] + [False] * STEP_KERNELS
    assert any("no launch in the file" in warning.seen for warning in trace.warnings)


def test_a_kernel_without_launch_gets_its_op_by_external_id_where_such_ids_proved_right():
    written = Written().step(1)
    late = written.op("aten::mul", 900, 50)
    written.kernel("vectorized_elementwise_kernel<4>", 960, 10, correlation=1, external_id=late)
    trace = read_bytes(written.text())
    assert trace.kernels.host_call[-1] == -1
    assert trace.ops.name[int(trace.kernels.op[-1])] == "aten::mul"


def test_external_ids_that_repeat_the_correlation_are_not_taken_for_ops():
    written = Written(ERAS["torch 1.12"]).step(1)
    written.kernel("vectorized_elementwise_kernel<4>", 960, 10, correlation=2)  # op 2 exists, and did not launch it
    trace = read_bytes(written.text())
    assert trace.kernels.op[-1] == -1


def test_waits_name_the_event_record_that_they_wait_for():
    written = Written()
    first = written.launched("producer", 0, 10, 50)
    record = written.call("cudaEventRecord", 10, 2)
    wait = written.call("cudaStreamWaitEvent", 15, 2)
    written.event("cuda_sync", "Stream Wait Event", 16, 1, pid=0, tid=9, stream=9, correlation=wait, wait_on_stream=7,
                  wait_on_cuda_event_record_corr_id=record, cuda_sync_kind="Stream Wait Event")  # fmt: skip
    sync = written.call("cudaDeviceSynchronize", 20, 50)
    written.event("cuda_sync", "Context Sync", 20, 50, pid=0, tid=-1, stream=(1 << 32) - 1, correlation=sync)
    calls = read_bytes(written.text()).host_calls
    assert first and calls.kind.tolist() == [
        HostCallKind.LAUNCH,
        HostCallKind.EVENT_RECORD,
        HostCallKind.STREAM_WAIT,
        HostCallKind.SYNCHRONIZE,
    ]
    assert calls.waits_for.tolist() == [-1, -1, 1, -1]
    assert calls.stream.tolist() == [7, 7, 9, -1]


def test_collectives_have_name_size_and_group_as_recorded_on_the_kernel():
    written = Written()
    recorded = {"Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000, "Group size": 8}
    written.launched("ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)", 0, 10, 50, dtype="Float", **recorded)
    kernels = read_bytes(written.text()).kernels
    assert kernels.kind.tolist() == [KernelKind.COMMUNICATION]
    assert (kernels.collective[0], kernels.size_bytes[0], kernels.group_size[0]) == ("allreduce", 4000, 8)


def test_collectives_of_old_files_take_their_size_from_the_annotation_around_the_launch():
    written = Written(ERAS["torch 1.12"])
    written.op("record_param_comms", 0, 40)
    written.annotation("nccl:all_reduce", 2, 30, **{"Input Dims": [[250]], "Input type": ["c10::Half"]})
    written.launched("ncclKernel_AllReduce_RING_LL_Sum_half(ncclWorkElem)", 5, 20, 50)
    trace = read_bytes(written.text(distributedInfo={"backend": "nccl", "rank": 0, "world_size": 4}))
    kernels = trace.kernels
    assert (kernels.collective[0], kernels.size_bytes[0], kernels.group_size[0]) == ("allreduce", 500, 4)
    assert trace.ops.phase.tolist() == [Phase.COMMUNICATION]


def test_several_gpus_of_one_process_are_all_kept():
    written = Written()
    for device in (0, 1):
        correlation = written.call("cudaLaunchKernel", 10 * device, 5)
        written.kernel("volta_sgemm_128x64_nn", 20 + device, 10, correlation=correlation, device=device)
    assert read_bytes(written.text()).kernels.device.tolist() == [0, 1]


def test_of_several_ranks_in_one_file_the_one_with_most_gpu_time_is_kept():
    merged = Written()
    for rank, duration in ((0, 10), (1, 30)):
        for index in range(4):
            merged._next_correlation = 500 + index  # ids repeat between processes
            correlation = merged.call("cudaLaunchKernel", 100 * index + rank, 5, pid=100 + rank, tid=1)
            merged.kernel(f"rank{rank}", 100 * index + 20 + rank, duration, correlation=correlation, device=rank)
    trace = read_bytes(merged.text())
    assert {*trace.kernels.name} == {"rank1"} and len(trace.kernels) == 4
    assert (trace.kernels.host_call == np.arange(4)).all()
    assert any("2 processes" in warning.seen for warning in trace.warnings)
