"""Memory of a step counted by hand, to the byte: which storages are alive at the peak, and what comes on top."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.errors import PredictionError
from surfer_lab.planner.graph_memory import (
    MemoryPart,
    fit_on,
    live_rows,
    measured_above_start_bytes,
    memory_on,
    step_memory,
)
from surfer_lab.planner.memory import Fit
from surfer_lab.trace.model import Trace
from surfer_lab.trace.tables import Phase, TensorRole
from tests.planner.captured import Captured, memory_events
from tests.planner.predictions import gpu, trace

P, ST, G = TensorRole.PARAMETER, TensorRole.OPTIMIZER_STATE, TensorRole.GRADIENT
ACT, IN = TensorRole.ACTIVATION, TensorRole.INPUT
BACK, STEP = Phase.BACKWARD, Phase.OPTIMIZER
MIB = 1 << 20


def floats(*shape: int) -> int:
    return 4 * int(np.prod(shape))


def parts(trace: Trace) -> dict[str, int]:
    """Nonzero parts of the tensors at the peak."""
    counted = step_memory(trace).tensors
    return {part.name: amount for part, amount in counted.items() if amount}


def mlp(*, states: int = 0) -> Captured:
    """Linear(4, 8), ReLU, Linear(8, 2), mean squared error; batch 16; `states` buffers a parameter."""
    graph = Captured()
    sizes = {"w1": floats(8, 4), "b1": floats(8), "w2": floats(2, 8), "b2": floats(2)}
    for name, size in sizes.items():
        graph.before(name, size, P)
        for number in range(states):
            graph.before(f"{name} state {number}", size, ST)
    graph.before("x", floats(16, 4), IN)
    graph.before("target", floats(16, 2), IN)
    graph.op("aten::addmm", makes={"h": floats(16, 8)})
    graph.op("aten::relu", makes={"a": (floats(16, 8), ACT)}, frees=["h"])
    graph.op("aten::addmm", makes={"y": (floats(16, 2), ACT)})
    graph.op("aten::mse_loss", makes={"loss": 4})
    graph.op("aten::ones_like", phase=BACK, makes={"one": 4})
    graph.op("aten::mse_loss_backward", phase=BACK, makes={"dy": floats(16, 2)}, frees=["one", "y"])
    graph.op("aten::mm", phase=BACK, makes={"da": floats(16, 8)})
    graph.op("aten::mm", phase=BACK, makes={"dw2": (sizes["w2"], G)})
    graph.op("aten::sum", phase=BACK, makes={"db2": (sizes["b2"], G)}, frees=["dy"])
    graph.op("aten::threshold_backward", phase=BACK, makes={"dh": floats(16, 8)}, frees=["da", "a"])
    graph.op("aten::mm", phase=BACK, makes={"dw1": (sizes["w1"], G)})
    graph.op("aten::sum", phase=BACK, makes={"db1": (sizes["b1"], G)}, frees=["dh"])
    graph.op("aten::_foreach_add_", phase=STEP)
    return graph


MLP_AT_PEAK = {
    # while threshold_backward runs: 8 x 4 + 8 + 2 x 8 + 2 parameters; x, target; gradients of the second layer;
    # a kept for it; da, dh and the loss
    "PARAMETERS": 4 * 58,
    "INPUTS": 256 + 128,
    "GRADIENTS": 64 + 8,
    "ACTIVATIONS": 512,
    "TEMPORARIES": 512 + 512 + 4,
}


@pytest.mark.parametrize(("optimizer", "states"), [("SGD", 0), ("momentum", 1), ("AdamW", 2)])
def test_an_mlp_is_counted_to_the_byte(optimizer: str, states: int) -> None:
    trace = mlp(states=states).trace()
    state = {"OPTIMIZER_STATE": states * 4 * 58} if states else {}
    assert parts(trace) == MLP_AT_PEAK | state
    step = step_memory(trace)
    assert trace.ops.name[step.peak_op] == "aten::threshold_backward"
    assert step.peak_phase is BACK
    assert step.tensor_bytes == sum(MLP_AT_PEAK.values()) + states * 4 * 58


def test_every_storage_of_the_mlp_takes_a_block_of_512_bytes() -> None:
    step = step_memory(mlp().trace())
    # at the peak 4 parameters, 2 inputs, 2 gradients, a, da, dh and the loss: twelve blocks
    assert step.allocated.likely == 12 * 512
    assert step.start_bytes == 6 * 512
    assert step.above_start.likely == 6 * 512
    # forward and backward threads have one buffer each; all else comes out of one segment of 2 MiB
    assert step.reserved_bytes == 2 * MIB


def test_adamw_over_lists_peaks_in_the_optimizer_when_parameters_outweigh_activations() -> None:
    # 1 MB of parameters as one list, AdamW: gradients, both moments, and the denominator's list beside them
    size = 1_000_000
    graph = Captured()
    for name, role in (("w", P), ("first moment", ST), ("second moment", ST)):
        graph.before(name, size, role)
    graph.op("aten::mm", makes={"y": (1_000, ACT)})
    graph.op("aten::mm", phase=BACK, makes={"dw": (size, G)}, frees=["y"])
    graph.op("aten::_foreach_sqrt", phase=STEP, makes={"root": size})
    graph.op("aten::_foreach_addcdiv_", phase=STEP, frees=["root"])
    trace = graph.trace()
    assert parts(trace) == {
        "PARAMETERS": size, "GRADIENTS": size, "OPTIMIZER_STATE": 2 * size, "TEMPORARIES": size,
    }  # fmt: skip
    assert step_memory(trace).peak_phase is STEP


def residual_block() -> Captured:
    """Two 3 x 3 convolutions of 64 channels on 8 x 8, normalised, activated in place, added to the input; batch 4."""
    graph = Captured()
    image, weight, channel = floats(4, 64, 8, 8), floats(64, 64, 3, 3), floats(64)
    shape, filters = (4, 64, 8, 8), (64, 64, 3, 3)
    for number in (1, 2):
        graph.before(f"w{number}", weight, P)
        graph.before(f"gain{number}", channel, P)
        graph.before(f"shift{number}", channel, P)
        graph.before(f"mean{number}", channel, TensorRole.BUFFER)
        graph.before(f"variance{number}", channel, TensorRole.BUFFER)
    graph.before("x", image, IN)
    for number in (1, 2):
        graph.op(
            "aten::convolution",
            makes={f"c{number}": (image, ACT)},
            inputs=(shape, filters, None),
            dtypes=("float32", "float32", None),
            outputs=(shape,),
        )
        graph.op(
            "aten::native_batch_norm",
            makes={f"n{number}": (image, ACT), f"m{number}": (channel, ACT), f"v{number}": (channel, ACT)},
        )
        if number == 1:
            graph.op("aten::relu_")
    graph.op("aten::add_")  # into n2
    graph.op("aten::relu_")
    graph.op("aten::sum", makes={"loss": 4})
    graph.op("aten::expand", phase=BACK, makes={"dout": image})
    graph.op("aten::threshold_backward", phase=BACK, makes={"dadd": image}, frees=["dout", "n2"])
    for number in (2, 1):
        graph.op(
            "aten::native_batch_norm_backward",
            phase=BACK,
            makes={f"dn{number}": image, f"dgain{number}": (channel, G), f"dshift{number}": (channel, G)},
            frees=[f"c{number}", f"m{number}", f"v{number}", *(["dr1"] if number == 1 else [])],
        )
        graph.op(
            "aten::convolution_backward",
            phase=BACK,
            makes={f"dx{number}": image, f"dw{number}": (weight, G)},
            frees=[f"dn{number}", *(["n1"] if number == 1 else [])],
            inputs=(shape, shape, filters),
            dtypes=("float32",) * 3,
        )
        if number == 2:
            graph.op("aten::threshold_backward", phase=BACK, makes={"dr1": image}, frees=["dx2"])
    return graph


def test_a_residual_block_is_counted_to_the_byte() -> None:
    image, weight, channel = 65_536, 147_456, 256
    trace = residual_block().trace()
    step = step_memory(trace)
    assert trace.ops.name[step.peak_op] == "aten::convolution_backward"
    # the second of the two backward convolutions: all gradients are there, n1 (activated in place) is read for the last
    # time; dadd waits for the shortcut, dn1 is read, dx1 is made; the loss
    assert parts(trace) == {
        "PARAMETERS": 2 * (weight + 2 * channel),
        "BUFFERS": 4 * channel,
        "INPUTS": image,
        "GRADIENTS": 2 * (weight + 2 * channel),
        "ACTIVATIONS": image,
        "TEMPORARIES": 3 * image + 4,
    }
    # Winograd, 36 values x 4 bytes: 64 x 64 filters and 4 images x 4 tiles x 128 channels
    assert step.workspace.likely == 36 * 4 * (64 * 64 + 4 * 4 * 128)


def attention_block(*, checkpointed: bool) -> Captured:
    """One head of 8 over 16 tokens, batch 2, scores kept as math attention does; recomputed when checkpointed."""
    graph = Captured()
    tokens, scores, weight = floats(2, 16, 8), floats(2, 16, 16), floats(8, 8)
    for name in ("wq", "wk", "wv", "wo"):
        graph.before(name, weight, P)
    graph.before("x", tokens, IN)
    kept = TensorRole.TEMPORARY if checkpointed else ACT

    def forward(phase: Phase, role: TensorRole, suffix: str = "") -> None:
        for name in "qkv":
            graph.op("aten::mm", phase=phase, makes={name + suffix: (tokens, role)})
        graph.op("aten::bmm", phase=phase, makes={"s" + suffix: scores})
        graph.op("aten::_softmax", phase=phase, makes={"p" + suffix: (scores, role)}, frees=["s" + suffix])
        graph.op("aten::bmm", phase=phase, makes={"o" + suffix: (tokens, role)})

    forward(Phase.FORWARD, kept)
    graph.op("aten::mm", makes={"y": tokens}, frees=["q", "k", "v", "p", "o"] if checkpointed else [])
    graph.op("aten::sum", makes={"loss": 4}, frees=["y"])
    graph.op("aten::expand", phase=BACK, makes={"dy": tokens})
    again = ""
    if checkpointed:
        again = " again"
        forward(BACK, ACT, again)
    graph.op("aten::mm", phase=BACK, makes={"do": tokens})
    graph.op("aten::mm", phase=BACK, makes={"dwo": (weight, G)}, frees=["dy", "o" + again])
    graph.op("aten::bmm", phase=BACK, makes={"dv": tokens})
    graph.op("aten::bmm", phase=BACK, makes={"dp": scores}, frees=["do", "v" + again])
    graph.op("aten::_softmax_backward_data", phase=BACK, makes={"ds": scores}, frees=["dp", "p" + again])
    graph.op("aten::bmm", phase=BACK, makes={"dq": tokens})
    graph.op("aten::bmm", phase=BACK, makes={"dk": tokens}, frees=["ds", "q" + again, "k" + again])
    return graph


def test_an_attention_block_is_counted_to_the_byte() -> None:
    tokens, scores, weight = 1024, 2048, 256
    trace = attention_block(checkpointed=False).trace()
    # while the scores' gradient is made from do and v; softmax's backward after it needs as much
    assert parts(trace) == {
        "PARAMETERS": 4 * weight,
        "INPUTS": tokens,
        "GRADIENTS": weight,
        "ACTIVATIONS": 3 * tokens + scores,  # q, k, v, p
        "TEMPORARIES": 2 * tokens + scores + 4,  # do, dv, dp, loss
    }


def test_checkpointing_keeps_nothing_between_the_passes_and_peaks_in_the_recomputed_block() -> None:
    plain, recomputed = attention_block(checkpointed=False).trace(), attention_block(checkpointed=True).trace()
    after_forward = 7  # the loss' op
    kept = [
        int(trace.tensors.size_bytes[live_rows(trace.tensors, after_forward) & (trace.tensors.role == ACT)].sum())
        for trace in (plain, recomputed)
    ]
    assert kept == [3 * 1024 + 2048 + 1024, 0]
    assert parts(recomputed) == parts(plain)  # one block: at its own backward all of it is there again


def test_autocast_copies_of_weights_are_temporaries_beside_fp32_parameters_and_gradients() -> None:
    # Linear(1024, 1024) under fp16 autocast, batch 8: weights cast to 2 MiB, kept until the backward pass is over
    weight, half, rows = floats(1024, 1024), 2 * 1024 * 1024, 2 * 8 * 1024
    graph = Captured()
    graph.before("w", weight, P)
    graph.before("x", rows, IN)
    graph.op("aten::_to_copy", makes={"w16": (half, ACT)})
    graph.op("aten::mm", makes={"y": rows})
    graph.op("aten::sum", makes={"loss": 4}, frees=["y"])
    graph.op("aten::expand", phase=BACK, makes={"dy": rows})
    graph.op("aten::mm", phase=BACK, makes={"dw16": half}, frees=["dy"])
    graph.op("aten::_to_copy", phase=BACK, makes={"dw": (weight, G)}, frees=["dw16", "w16"])
    assert parts(graph.trace()) == {
        "PARAMETERS": weight, "INPUTS": rows, "GRADIENTS": weight, "ACTIVATIONS": half, "TEMPORARIES": half + 4,
    }  # fmt: skip


def test_inference_frees_as_it_goes() -> None:
    graph = Captured()
    graph.before("w", 1000, P)
    graph.before("x", 100, IN)
    graph.op("aten::addmm", makes={"h": 600})
    graph.op("aten::addmm", makes={"y": 300}, frees=["h"])
    graph.op("aten::addmm", makes={"z": 500}, frees=["y"])
    step = step_memory(graph.trace())
    assert step.tensor_bytes == 1000 + 100 + 600 + 300
    assert not step.is_training


# -- on a card ---------------------------------------------------------------------------------------------------------


def test_the_rows_sum_to_what_the_card_shows() -> None:
    for graph in (mlp(states=2), residual_block(), attention_block(checkpointed=True)):
        estimate = memory_on(step_memory(graph.trace()), gpu("Card"))
        for end in ("low", "likely", "high"):
            rows = [getattr(row.bytes, end) for row in estimate.rows]
            assert sum(rows) == getattr(estimate.device, end)
        assert estimate.allocated.likely <= estimate.reserved.likely <= estimate.device.likely
        assert all(row.source for row in estimate.rows)


def test_fits_is_judged_on_the_high_end() -> None:
    graph = Captured()
    graph.before("w", 8_000_000_000, P)
    graph.op("aten::add", makes={"h": 1_000_000_000})
    step = step_memory(graph.trace())
    needed = memory_on(step, gpu("Card"))
    assert fit_on(needed, gpu("Card", memory_gb=needed.device.high / 1e9 / 0.98)) is Fit.FITS
    assert fit_on(needed, gpu("Card", memory_gb=needed.device.likely / 1e9 / 0.98)) is Fit.TIGHT
    assert fit_on(needed, gpu("Card", memory_gb=needed.device.likely / 1e9)) is Fit.DOES_NOT_FIT


def test_a_larger_matrix_buffer_is_the_only_thing_another_generation_changes_besides_its_context() -> None:
    step = step_memory(mlp().trace())
    older, newer = (
        memory_on(step, dataclasses.replace(gpu("Card"), compute_capability=capability))
        for capability in ("7.0", "9.0")
    )
    differing = {
        one.part for one, other in zip(older.rows, newer.rows, strict=True) if one.bytes.likely != other.bytes.likely
    }
    assert differing == {MemoryPart.LIBRARIES, MemoryPart.CACHED, MemoryPart.CONTEXT}


def test_without_the_replay_the_peak_is_the_same_and_what_is_cached_an_allowance() -> None:
    trace = residual_block().trace()
    quick, full = step_memory(trace, replay_allocator=False), step_memory(trace)
    assert quick.tensors == full.tensors
    assert quick.reserved_bytes is None
    estimate = memory_on(quick, gpu("Card"))
    assert estimate.reserved.likely > estimate.allocated.likely


def test_gradients_set_to_none_between_steps_do_not_pile_up() -> None:
    # each step leaves 30 MiB of gradients, freed before the next step's first op
    graph = Captured()
    graph.before("w", 30 * MIB, P)
    graph.op("aten::mm", makes={"y": (1000, ACT)})
    graph.op("aten::mm", phase=BACK, makes={"dw": (30 * MIB, G)}, frees=["y"])
    step = step_memory(graph.trace())
    assert step.reserved_bytes == 2 * 30 * MIB + 2 * MIB
    assert step.allocated.likely == 2 * 30 * MIB + 1024


def test_gradients_replaced_within_the_step_are_there_twice_only_while_both_live() -> None:
    graph = Captured()
    graph.before("w", 30 * MIB, P)
    graph.before("old", 30 * MIB, G)
    graph.op("aten::zeros", frees=["old"])
    graph.op("aten::mm", phase=BACK, makes={"new": (30 * MIB, G)})
    step = step_memory(graph.trace())
    assert step.allocated.likely == step.reserved_bytes == 60 * MIB


def test_a_trace_without_tensors_is_refused() -> None:
    with pytest.raises(PredictionError, match="holds no tensors"):
        step_memory(trace())


# -- against recorded events -------------------------------------------------------------------------------------------


def test_the_measured_peak_is_the_highest_level_above_the_start() -> None:
    recorded = dataclasses.replace(trace(), memory=memory_events([100, 50, -120, 200, -230]))
    assert measured_above_start_bytes(recorded) == 230
    assert measured_above_start_bytes(trace()) is None
    assert measured_above_start_bytes(dataclasses.replace(trace(), memory=memory_events([100], device=-1))) is None


# -- properties --------------------------------------------------------------------------------------------------------


@st.composite
def graphs(draw: st.DrawFn) -> Captured:
    graph = Captured()
    for number in range(draw(st.integers(0, 3))):
        graph.before(f"before{number}", draw(st.integers(1, 5000)), draw(st.sampled_from([P, IN, ST, G])))
    count = draw(st.integers(1, 12))
    for row in range(count):
        made = {f"t{row}.{part}": draw(st.integers(1, 3 * MIB)) for part in range(draw(st.integers(0, 2)))}
        alive = [name for name, tensor in graph.tensors.items() if tensor.freed < 0]
        freed = draw(st.lists(st.sampled_from(alive), unique=True, max_size=2)) if alive else []
        graph.op("aten::add", makes=made, frees=freed)
    return graph


@given(graphs())
def test_the_peak_is_the_largest_sum_of_blocks_alive_at_any_op(graph: Captured) -> None:
    trace = graph.trace()
    if not len(trace.tensors):
        return
    sums = [
        sum(
            -(-tensor.size // 512) * 512
            for tensor in graph.tensors.values()
            if tensor.made <= op and (tensor.freed < 0 or tensor.freed >= op)
        )
        for op in range(-1, len(trace.ops))
    ]
    step = step_memory(trace)
    assert step.allocated.low == max(sums)
    assert sums[step.peak_op + 1] == max(sums)
    assert step.reserved_bytes is not None
    assert step.reserved_bytes >= step.allocated.likely >= step.allocated.low


@given(graphs(), st.integers(1, 10 * MIB))
def test_one_more_tensor_never_needs_less(graph: Captured, size: int) -> None:
    if not graph.tensors:
        return
    before = step_memory(graph.trace(), replay_allocator=False).allocated
    graph.before("more", size, P)
    after = step_memory(graph.trace(), replay_allocator=False).allocated
    assert after.low >= before.low + size
