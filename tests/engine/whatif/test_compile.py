"""What fuses, what it then moves, and what launching it costs: hand-worked graphs and properties."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.engine import EngineOptions, predict
from surfer_lab.engine.lowering import lower
from surfer_lab.engine.whatif import CompileMode, Precision, with_compile, with_precision
from surfer_lab.engine.whatif.fusion import groups_of
from surfer_lab.errors import PredictionError
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.trace.invariants import violations
from surfer_lab.trace.model import Trace
from surfer_lab.trace.rewrite import Draft
from surfer_lab.trace.tables import Phase, TensorRole
from tests.engine.hand_made import ELEMENTWISE, HandMade
from tests.planner.captured import Captured
from tests.trace.graphs import Graph, perceptron

CATALOG = load_catalog()
CARDS = [CATALOG.find("V100 SXM2 16GB"), CATALOG.find("H100 SXM5")]
MIB = 1 << 20


def moved(trace: Trace) -> tuple[float, float, int]:
    """Bytes read, bytes written, launches."""
    work = lower(trace.ops)
    return float(work.read_bytes.sum()), float(work.write_bytes.sum()), int(work.launch_count.sum())


def fused_names(trace: Trace) -> list[list[str]]:
    draft = Draft(trace)
    return [[member.row.name.removeprefix("aten::") for member in group.members]
            for group in groups_of(draft.rows, draft.storages)]  # fmt: skip


def compiled(trace: Trace) -> Trace:
    return with_compile(trace, CompileMode.DEFAULT).trace


def chain(*names: str, size: int = MIB // 4) -> Graph:
    graph = Graph()
    graph.before("t0", (size,))
    for number, name in enumerate(names):
        last = number == len(names) - 1
        graph.op(name, [f"t{number}"], {f"t{number + 1}": (size,)}, kept=[f"t{number + 1}"] if last else ())
    return graph


def test_a_convolutions_bias_is_added_in_the_kernel_that_follows() -> None:
    graph = Graph()
    graph.before("x", (4, 8, 16, 16))
    graph.before("weight", (8, 8, 1, 1))
    graph.before("bias", (8,))
    graph.op("convolution", ["x", "weight", "bias"], {"y": (4, 8, 16, 16)})
    graph.op("relu", ["y"], {"z": (4, 8, 16, 16)}, kept=["z"])
    step = compiled(graph.trace())
    assert not list(violations(step))
    assert list(step.ops.name) == ["aten::convolution", "surfer::fused_pointwise"]
    tensor, filters, bias = 4 * 4 * 8 * 16 * 16, 4 * 8 * 8, 4 * 8
    assert moved(step) == (tensor + filters + tensor + bias, 2 * tensor, 2)


def test_a_chain_of_three_reads_once_and_writes_once() -> None:
    plain = chain("relu", "sigmoid", "tanh").trace()  # 1 MiB a tensor
    assert moved(plain) == (3 * MIB, 3 * MIB, 3)
    step = compiled(plain)
    assert moved(step) == (MIB, MIB, 1)
    assert not list(violations(step))


def test_what_is_needed_outside_is_still_written() -> None:
    graph = chain("relu", "sigmoid", "tanh")
    graph.storages["t1"].is_kept = True  # saved for the backward pass, say
    assert moved(compiled(graph.trace())) == (MIB, 2 * MIB, 1)


def test_two_readers_of_one_tensor_read_it_once() -> None:
    graph = Graph()
    graph.before("x", (MIB // 4,))
    graph.op("relu", ["x"], {"a": (MIB // 4,)}, kept=["a"])
    graph.op("tanh", ["x"], {"b": (MIB // 4,)}, kept=["b"])
    assert moved(compiled(graph.trace())) == (MIB, 2 * MIB, 1)


def test_a_product_is_a_fence_for_what_depends_on_it() -> None:
    graph = Graph()
    graph.before("x", (512, 512))
    graph.before("w", (512, 512), TensorRole.PARAMETER)
    graph.op("relu", ["x"], {"a": (512, 512)})
    graph.op("mm", ["a", "w"], {"p": (512, 512)})
    graph.op("add", ["a", "p"], {"y": (512, 512)}, kept=["y"])
    assert fused_names(graph.trace()) == [["relu"], ["mm"], ["add"]]


def test_what_does_not_depend_on_a_product_fuses_across_it() -> None:
    graph = Graph()
    graph.before("x", (512, 512))
    graph.before("w", (512, 512), TensorRole.PARAMETER)
    graph.op("relu", ["x"], {"a": (512, 512)})
    graph.op("mm", ["x", "w"], {"p": (512, 512)}, kept=["p"])
    graph.op("tanh", ["a"], {"y": (512, 512)}, kept=["y"])
    assert ["relu", "tanh"] in fused_names(graph.trace())


def test_sizes_that_differ_do_not_fuse() -> None:
    graph = Graph()
    graph.before("x", (512, 512))
    graph.op("relu", ["x"], {"a": (512, 512)}, kept=["a"])
    graph.op("max_pool2d", ["a"], {"b": (256, 256)})
    graph.op("tanh", ["b"], {"y": (256, 256)}, kept=["y"])
    assert all(len(names) == 1 for names in fused_names(graph.trace()))


def test_a_cast_fuses_into_its_neighbour() -> None:
    step = with_precision(perceptron(), Precision.AMP_FP16).trace
    before = moved(step)
    after = moved(compiled(step))
    assert after[2] < before[2]
    assert any("_to_copy" in names and len(names) > 1 for names in fused_names(step))


def test_the_optimizer_stays_as_it_is() -> None:
    step = compiled(perceptron())
    left = [
        name for name, phase in zip(step.ops.name, step.ops.phase.tolist(), strict=True) if phase == Phase.OPTIMIZER
    ]
    assert left == ["aten::add_"] * 4


def test_kernels_are_as_many_as_inductor_schedules_for_a_perceptron() -> None:
    # torch 2.13's TorchInductor (nodes of its schedule that are no library call): forward 2 of relu; backward three
    # sums over rows and two of relu's gradients. The loss, compiled here and not there, adds its own.
    names = fused_names(perceptron())
    backward = [one for one in names if one[0] in ("sum", "threshold_backward")]
    assert backward == [["sum"], ["threshold_backward"], ["sum"]]


def test_compiling_twice_changes_nothing_more() -> None:
    once = compiled(perceptron())
    assert compiled(once) is once
    step = perceptron()
    assert with_compile(step, CompileMode.OFF).trace is step


OPS = st.lists(st.sampled_from(["relu", "tanh", "add", "mul", "sum", "mm", "_softmax"]), min_size=1, max_size=12)


@given(names=OPS, back=st.lists(st.integers(1, 4), min_size=12, max_size=12))
def test_fused_work_never_moves_more_and_never_launches_more(names: list[str], back: list[int]) -> None:
    graph = Graph()
    graph.before("x", (64, 64))
    graph.before("w", (64, 64), TensorRole.PARAMETER)
    square = ["x"]
    for number, name in enumerate(names):
        left, right = square[-1], square[-min(back[number], len(square))]
        reads = {"add": [left, right], "mul": [left, right], "mm": [left, "w"]}.get(name, [left])
        shape = () if name == "sum" else (64, 64)
        graph.op(name, reads, {f"t{number}": shape}, kept=[f"t{number}"] if number % 3 == 0 else ())
        if shape:
            square.append(f"t{number}")
    plain = graph.trace()
    before, after = moved(plain), moved(compiled(plain))
    assert all(less <= more for less, more in zip(after, before, strict=True))
    assert sum(len(group) for group in fused_names(plain)) == len(names)
    assert not list(violations(compiled(plain)))


def test_a_small_step_is_launch_bound_and_each_mode_launches_faster() -> None:
    graph = Graph()
    graph.before("t0", (4, 16))
    graph.before("w", (16, 16), TensorRole.PARAMETER)
    for layer in range(30):
        graph.op("mm", [f"t{layer}", "w"], {f"p{layer}": (4, 16)})
        graph.op("relu", [f"p{layer}"], {f"r{layer}": (4, 16)})
        graph.op("tanh", [f"r{layer}"], {f"t{layer + 1}": (4, 16)})
    small = graph.trace()
    steps = [
        predict(small, CARDS, options=EngineOptions(compile=mode)).steps
        for mode in (CompileMode.OFF, CompileMode.DEFAULT, CompileMode.REDUCE_OVERHEAD)
    ]
    eager, default, graphs = (step.step_ns for step in steps)
    assert (steps[0].launch_bound_ns > 0.5 * eager).all()
    assert (default < eager).all()
    assert (graphs < default).all()


def test_large_steps_take_the_same_time_whatever_launching_costs() -> None:
    large = perceptron(batch=8192, width=4096)
    default, graphs = (
        predict(large, CARDS, options=EngineOptions(compile=mode)).steps.step_ns
        for mode in (CompileMode.DEFAULT, CompileMode.REDUCE_OVERHEAD)
    )
    assert graphs == pytest.approx(default, rel=0.01)


def test_a_recording_without_shapes_is_refused_and_says_what_to_do() -> None:
    made = HandMade()
    made.launch(0.0, 100.0)
    made.step(0.0, 200.0)
    with pytest.raises(PredictionError, match="record_shapes=True"):
        with_compile(made.trace(), CompileMode.DEFAULT)


def test_a_capture_without_uses_is_refused() -> None:
    capture = Captured()
    capture.op("aten::relu", inputs=((4, 4),), outputs=((4, 4),))
    with pytest.raises(PredictionError, match="what a compiler would fuse is not known"):
        with_compile(capture.trace(), CompileMode.DEFAULT)


def test_a_recorded_chain_gets_shorter_with_a_wide_range_and_the_rest_stays() -> None:
    made = HandMade()
    for number, (name, shape) in enumerate((("aten::relu", 4096),) * 3 + (("aten::mm", 512),)):
        shapes = ((shape, shape),) if name == "aten::relu" else ((shape, shape), (shape, shape))
        row = made.op(name, shapes, at_us=10.0 * number)
        made.launch(10.0 * number, 150.0, op=row, name=ELEMENTWISE if name == "aten::relu" else "volta_sgemm_128x64_nn")
    made.step(0.0, 700.0)
    recorded = made.trace()
    phases = np.full(len(recorded.ops), Phase.FORWARD, dtype=np.int8)
    recorded = replace(recorded, ops=replace(recorded.ops, phase=phases))
    plain = predict(recorded, CARDS[:1], origin=CARDS[0])
    after = predict(recorded, CARDS[:1], origin=CARDS[0], options=EngineOptions(compile=CompileMode.DEFAULT))
    assert after.duration_ns[0, :3].sum() < 0.7 * plain.duration_ns[0, :3].sum()
    assert (after.high_ns[0, :3] <= plain.high_ns[0, :3]).all()
    assert after.duration_ns[0, 3] == plain.duration_ns[0, 3]
