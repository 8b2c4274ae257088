"""timm's networks from their names: quick rules change nothing, switches do what they say, any batch is exact."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

if find_spec("timm") is None:  # importing it would need torchvision
    pytest.skip("timm is not installed: it is in the evaluate extra", allow_module_level=True)

import torch

from surfer_lab.planner.batch import BatchScaling
from surfer_lab.trace.storage import to_bytes
from surfer_lab.training.timm_table import quick_shapes
from surfer_lab.training.timm_table.benchmark_step import capture_inference, capture_training
from surfer_lab.training.timm_table.make import make_captures
from surfer_lab.training.timm_table.network import build_network
from surfer_lab.training.timm_table.precision import in_precision
from surfer_lab.training.timm_table.rows import CaptureKey
from surfer_lab.training.timm_table.store import CaptureStore

NETWORKS = ("resnet18", "levit_128s", "convnext_atto", "vit_tiny_patch16_224")


def test_no_stand_in_is_left_behind() -> None:
    build_network("resnet18")
    left = [name for name in sys.modules if name.split(".")[0] == "torchvision"]
    assert not [name for name in left if type(sys.modules[name]).__name__ == "_Placeholder"]


def test_a_recurrent_layer_on_meta_is_one_op_over_all_positions() -> None:
    """There torch multiplies state and input at each position; on a CPU all positions' input at once."""
    layer = torch.nn.LSTM(4, 5, batch_first=True, bidirectional=True, device="meta")
    trace = capture_inference(torch.nn.Sequential(torch.nn.Flatten(1, 2), layer), 4, "NCHW", batch_size=7)
    found = [row for row in range(len(trace.ops)) if trace.ops.name[row] == "aten::_cudnn_rnn"]
    assert [trace.ops.input_shapes[row][0] for row in found] == [(7, 12, 4)]
    assert [trace.ops.output_shapes[row][0] for row in found] == [(7, 12, 10)]


@pytest.mark.parametrize("arch", NETWORKS)
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_quick_rules_give_the_capture_that_torch_gives(arch: str, layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    network = build_network(arch)
    for capture in (capture_inference, capture_training):
        found = []
        for rules in (quick_shapes._RULES, {}):  # one line for both: a capture tells where it was called
            monkeypatch.setattr(quick_shapes, "_RULES", rules)
            found.append(to_bytes(capture(network.module, 224, layout)))
        monkeypatch.undo()
        assert found[0] == found[1]


@pytest.mark.parametrize("arch", NETWORKS)
def test_a_capture_at_the_prime_batch_is_exact_at_others(arch: str) -> None:
    network = build_network(arch)
    reshaped = BatchScaling.of_prime(capture_training(network.module, 224, "NCHW")).at(48)
    direct = capture_training(network.module, 224, "NCHW", 48)
    for column in ("name", "input_shapes", "output_shapes", "input_dtypes"):
        assert getattr(reshaped.ops, column).same_as(getattr(direct.ops, column)), column
    assert reshaped.tensors.size_bytes.tolist() == direct.tensors.size_bytes.tolist()


def test_fused_attention_is_one_op_and_unfused_several() -> None:
    names = {}
    for is_fused in (True, False):
        network = build_network("vit_tiny_patch16_224", fused_attention=is_fused)
        names[is_fused] = set(capture_inference(network.module, 224, "NCHW").ops.name.values)
    assert any("attention" in name for name in names[True])
    assert not any("attention" in name for name in names[False])
    assert "aten::_softmax" in names[False]


def test_reparameterised_networks_run_fewer_ops_and_others_are_told_apart() -> None:
    plain = build_network("mobileone_s0")
    merged = build_network("mobileone_s0", reparameterised=True)
    assert merged.was_reparameterised
    assert not build_network("resnet18", reparameterised=True).was_reparameterised
    counts = [len(capture_inference(one.module, 224, "NCHW").ops) for one in (merged, plain)]
    assert counts[0] < counts[1]


def test_inference_rows_normalise_in_half_precision_and_training_rows_do_not() -> None:
    network = build_network("convnext_atto")
    for capture, is_training, dtype in (
        (capture_inference, False, "float16"), (capture_training, True, "float32"),
    ):  # fmt: skip
        step = in_precision(capture(network.module, 224, "NCHW"), "amp", is_training=is_training)
        norms = [
            dtypes[0]
            for name, dtypes in zip(step.ops.name, step.ops.input_dtypes, strict=True)
            if name == "aten::native_layer_norm" and dtypes
        ]
        assert norms and set(norms) == {dtype}


def test_what_is_known_is_not_made_again_and_a_failure_has_its_reason(tmp_path: Path) -> None:
    store = CaptureStore(tmp_path)
    keys = [
        CaptureKey(arch="resnet18", mode="infer", img_size=64, layout="NCHW"),
        CaptureKey(arch="no_such_network", mode="infer", img_size=64, layout="NCHW"),
    ]
    made = {one.arch: (one.captured, one.failed) for one in make_captures(keys, store, workers=0)}
    assert made == {"resnet18": (1, 0), "no_such_network": (0, 1)}
    assert store.trace(keys[0]) is not None and store.family("resnet18") == "resnet"
    assert "has no network of this name" in (store.failure(keys[1]) or "")
    assert make_captures(keys, store, workers=0) == []
