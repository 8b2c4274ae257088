"""Coverage of the recorded traces: how much GPU time is known from shapes, from names, and not at all."""

from pathlib import Path

import numpy as np
import pytest

from surfer_lab.engine.lowering import Lowered, lower, lower_kernels
from surfer_lab.trace import read
from surfer_lab.trace.model import Trace

V100_RESNET = ("kineto_v100_resnet50_num_workers_0.json.gz", "kineto_v100_resnet50_num_workers_4.json.gz")
LARGE = (
    *V100_RESNET,
    "df_index_resolver__df_index_resolver.json.gz",
    "nccl_parser_config__nccl_data.json.gz",
    "negative_queue_length_values_check__rank0.json.gz",
    "ns_resolution_trace__rank-0.json.gz",
    "param_2080ti_resnet.json.gz",
    "timeline_analysis__sampled_rank-0.json.gz",
    "trace_diff__control__control.json.gz",
    "trace_diff__test__test.json.gz",
    "trace_filter__sampled_rank-1.json.gz",
    "tracelens_h100_bert-small.json.gz",
    "tracelens_mi300x_bert-small.json.gz",
)


def share(trace: Trace, lowered: Lowered, *sources: str) -> float:
    """Part of the kernels' time whose figures come from these sources."""
    time = trace.kernels.duration_ns.astype(np.float64)
    chosen = lowered.source.map(lambda source: source in sources, absent=False, dtype=bool)
    return float(time[chosen].sum() / time.sum())


@pytest.mark.parametrize("name", LARGE)
def test_hardly_any_gpu_time_is_without_a_family(traces_dir: Path, name: str) -> None:
    trace = read(traces_dir / name)
    lowered = lower_kernels(trace.kernels, trace.ops)
    assert len(lowered) == len(trace.kernels)
    assert share(trace, lowered, "fallback", "none") <= 0.001
    known = lowered.flop[np.isfinite(lowered.flop)]
    assert (known >= 0).all()
    assert (lowered.bytes[np.isfinite(lowered.bytes)] >= 0).all()


@pytest.mark.parametrize("name", V100_RESNET)
def test_the_v100_resnet50_steps_have_the_published_flops(traces_dir: Path, name: str) -> None:
    trace = read(traces_dir / name)
    lowered = lower_kernels(trace.kernels, trace.ops)
    assert share(trace, lowered, "shapes") >= 0.9
    is_product = lowered.gemm.any(axis=1)
    # six steps of 32 images: 4.09 GMAC forward, twice that backward, the stem's data gradient left out
    stem = 2 * 64 * 112 * 112 * 3 * 49
    expected = 6 * 32 * (3 * 2 * 4.09e9 - stem)
    assert lowered.flop[is_product].sum() == pytest.approx(expected, rel=2e-3)
    # nothing runs faster than the card could at its best: 15.7 TFLOP/s over Winograd's 4 (V100 data sheet)
    long = is_product & (trace.kernels.duration_ns > 50_000)
    done = lowered.flop[long] * lowered.flop_fraction[long] / trace.kernels.duration_ns[long]
    assert done.max() < 15.7e3
    # memory-bound kernels move at most what the card can: 900 GB/s
    moving = lowered.memory_bound & np.isfinite(lowered.bytes) & (trace.kernels.duration_ns > 50_000)
    assert np.median(lowered.bytes[moving] / trace.kernels.duration_ns[moving]) < 900


@pytest.mark.parametrize("name", ["nccl_parser_config__nccl_data.json.gz", "ns_resolution_trace__rank-0.json.gz"])
def test_each_convolution_without_shapes_has_one_gradient_of_each_kind(traces_dir: Path, name: str) -> None:
    # ResNet-50: 53 convolutions a step, one without a data gradient; a gradient may take two kernels
    trace = read(traces_dir / name)
    lowered = lower_kernels(trace.kernels, trace.ops)
    counts = {
        family: sum(1 for row in lowered.family if row == family) for family in ("data gradient", "weight gradient")
    }
    steps = sum(1 for op in trace.ops.name if op == "aten::convolution_backward") / 53
    assert 52 * steps <= counts["data gradient"] <= 54 * steps
    assert 53 * steps <= counts["weight gradient"] <= 62 * steps


@pytest.mark.parametrize(
    ("name", "peak_tflops"), [("tracelens_h100_bert-small.json.gz", 989), ("tracelens_mi300x_bert-small.json.gz", 1307)]
)
def test_bert_in_bfloat16_is_counted_to_the_last_flop(traces_dir: Path, name: str, peak_tflops: int) -> None:
    trace = read(traces_dir / name)
    lowered = lower_kernels(trace.kernels, trace.ops)
    is_product = lowered.gemm.any(axis=1)
    assert set(lowered.rate_class.take(is_product)) == {"bf16"}
    # 141 tokens, width 512: 17 square products, four layers up to 2,048 and down again, a vocabulary of 30,522, and
    # four attentions
    tokens, width = 141, 512
    products = 2 * tokens * width * (17 * width + 8 * 2048 + 30522) + 4 * 4 * tokens * tokens * width
    assert lowered.flop[is_product].sum() == products
    assert (lowered.flop[is_product] / trace.kernels.duration_ns[is_product]).max() < peak_tflops * 1e3


@pytest.mark.parametrize("name", V100_RESNET)
def test_the_ops_alone_give_the_work_of_the_kernels(traces_dir: Path, name: str) -> None:
    trace = read(traces_dir / name)
    by_kernel, by_op = lower_kernels(trace.kernels, trace.ops), lower(trace.ops)
    products = [float(lowered.flop[lowered.gemm.any(axis=1)].sum()) for lowered in (by_kernel, by_op)]
    assert products[1] == pytest.approx(products[0], rel=1e-9)
    # old profilers leave lists of tensors empty: the loader's and the loss's `cat`
    unknown = {trace.ops.name[int(op)] for op, source in zip(by_op.op, by_op.source, strict=True) if source != "shapes"}
    assert unknown <= {"aten::cat"}
