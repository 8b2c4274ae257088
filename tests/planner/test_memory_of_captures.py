"""Steps that really ran, or ran on fake tensors, counted by hand and held against a recorded GPU's allocator events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.checkpoint import checkpoint

from surfer_lab import workloads
from surfer_lab.capture import record
from surfer_lab.planner.batch import PRIME_BATCH, BatchScaling
from surfer_lab.planner.graph_memory import measured_above_start_bytes, memory_on, step_memory
from surfer_lab.trace.model import Trace
from surfer_lab.trace.reader import read
from surfer_lab.workloads.models.resnet import BasicBlock
from tests.planner.predictions import gpu


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def captured(step: Callable[[], None]) -> Trace:
    """The second of three steps: the steady state."""
    with record() as recording:
        for _ in range(3):
            step()
    return recording.trace


def parts(trace: Trace) -> dict[str, int]:
    return {part.name: amount for part, amount in step_memory(trace).tensors.items() if amount}


def training_step(
    model: nn.Module, x: torch.Tensor, optimizer: torch.optim.Optimizer, *, autocast: bool = False
) -> Callable[[], None]:
    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            loss = model(x).sum()
        loss.backward()
        optimizer.step()

    return step


OPTIMIZERS: dict[str, Callable[[nn.Module], torch.optim.Optimizer]] = {
    "SGD": lambda model: torch.optim.SGD(model.parameters(), lr=0.1),
    "momentum": lambda model: torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9),
    "AdamW": lambda model: torch.optim.AdamW(model.parameters(), lr=0.1),
}


@pytest.mark.parametrize(("optimizer", "states"), [("SGD", 0), ("momentum", 1), ("AdamW", 2)])
def test_an_mlp_is_counted_to_the_byte(optimizer: str, states: int) -> None:
    # Linear(40, 80), ReLU, Linear(80, 20), batch 1600: activations outweigh 4,900 parameters
    model = nn.Sequential(nn.Linear(40, 80), nn.ReLU(), nn.Linear(80, 20))
    trace = captured(training_step(model, torch.randn(1600, 40), OPTIMIZERS[optimizer](model)))
    hidden, parameters = 4 * 1600 * 80, 4 * (40 * 80 + 80 + 80 * 20 + 20)
    assert trace.ops.name[step_memory(trace).peak_op] == "aten::threshold_backward"
    assert parts(trace) == {
        "PARAMETERS": parameters,
        "INPUTS": 4 * 1600 * 40,
        "GRADIENTS": 4 * (80 * 20 + 20),  # of the second layer
        **({"OPTIMIZER_STATE": states * parameters} if states else {}),
        "ACTIVATIONS": hidden + 4,  # the activated layer; the one that backward() starts from
        "TEMPORARIES": 2 * hidden + 4,  # its gradient before and after the activation; the loss
    }


def test_adamw_peaks_in_its_own_step_when_parameters_outweigh_activations() -> None:
    model = nn.Linear(100, 100, bias=False)
    trace = captured(training_step(model, torch.randn(1, 100), OPTIMIZERS["AdamW"](model)))
    assert trace.ops.name[step_memory(trace).peak_op] == "aten::_foreach_sqrt"
    assert parts(trace) == {
        "PARAMETERS": 40_000,
        "INPUTS": 400,
        "GRADIENTS": 40_000,
        "OPTIMIZER_STATE": 80_000,
        "TEMPORARIES": 40_000 + 4,  # the denominator; the loss
    }


def test_a_residual_block_is_counted_to_the_byte() -> None:
    # 64 channels on 8 x 8, batch 4: an image tensor is 65,536 bytes, a filter 147,456, a vector of channels 256
    image, weight, channel = 65_536, 147_456, 256
    block = BasicBlock(64, 64, 1, nn.BatchNorm2d)
    trace = captured(training_step(block, torch.randn(4, 64, 8, 8), OPTIMIZERS["SGD"](block)))
    step = step_memory(trace)
    assert trace.ops.name[step.peak_op] == "aten::convolution_backward"
    assert parts(trace) == {
        "PARAMETERS": 2 * (weight + 2 * channel),
        "BUFFERS": 2 * (2 * channel + 8),  # running mean, variance and the count of batches
        "INPUTS": image,
        "GRADIENTS": weight + 2 * channel,
        "ACTIVATIONS": 2 * image + 2 * channel + 4,  # first convolution, its activation, its statistics
        "TEMPORARIES": 2 * image + 4,  # gradients at the second convolution's output and input
    }
    assert step.workspace.likely == 36 * 4 * (64 * 64 + 4 * 4 * 128)


class Attention(nn.Module):
    """One head of 8 over 16 tokens; scores in memory; all but the output recomputed when checkpointed."""

    def __init__(self, *, checkpointed: bool) -> None:
        super().__init__()
        self.checkpointed = checkpointed
        self.q, self.k, self.v, self.o = (nn.Linear(8, 8, bias=False) for _ in range(4))

    def attend(self, x: torch.Tensor) -> torch.Tensor:
        p = torch.softmax(torch.bmm(self.q(x), self.k(x).transpose(1, 2)), -1)
        return torch.bmm(p, self.v(x))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.o(checkpoint(self.attend, x, use_reentrant=False) if self.checkpointed else self.attend(x))


@pytest.mark.parametrize("checkpointed", [False, True])
def test_an_attention_block_is_counted_to_the_byte(checkpointed: bool) -> None:
    tokens, scores, weight = 1024, 2048, 256  # bytes of (2, 16, 8), (2, 16, 16), (8, 8)
    model = Attention(checkpointed=checkpointed)
    trace = captured(training_step(model, torch.randn(2, 16, 8), OPTIMIZERS["SGD"](model)))
    saved = 3 * tokens + scores  # q, k, v, p: kept from the forward pass, or made again in the backward pass
    assert parts(trace) == {
        "PARAMETERS": 4 * weight,
        "INPUTS": tokens,
        "GRADIENTS": weight,
        "ACTIVATIONS": (0 if checkpointed else saved) + 4,
        "TEMPORARIES": (saved if checkpointed else 0) + 2 * tokens + scores + 4,  # do, dv, dp; the loss
    }


def test_autocast_casts_weights_and_keeps_fp32_parameters_and_gradients() -> None:
    model = nn.Linear(64, 64, bias=False)
    trace = captured(training_step(model, torch.randn(8, 64), OPTIMIZERS["SGD"](model), autocast=True))
    # at the end of the backward pass: the weights' gradient in bf16 beside the one in fp32; the loss in bf16
    assert parts(trace) == {
        "PARAMETERS": 16_384, "INPUTS": 2048, "GRADIENTS": 16_384, "ACTIVATIONS": 2, "TEMPORARIES": 8_192 + 2,
    }  # fmt: skip


def test_inference_needs_the_weights_and_two_layers_at_a_time() -> None:
    model = nn.Sequential(nn.Linear(40, 80), nn.ReLU(), nn.Linear(80, 20)).eval()
    x = torch.randn(1600, 40)
    with torch.no_grad():
        trace = captured(lambda: model(x))
    hidden = 4 * 1600 * 80
    assert parts(trace) == {
        "PARAMETERS": 4 * (40 * 80 + 80 + 80 * 20 + 20), "INPUTS": 4 * 1600 * 40, "TEMPORARIES": 2 * hidden,
    }  # fmt: skip
    assert not step_memory(trace).is_training


def resnet50_as_recorded(batch_size: int) -> Trace:
    """ResNet-50 as in the V100 traces: SGD with momentum, gradients set to zero, images copied in each step."""
    with FakeTensorMode():
        work = workloads.build("resnet50")
        optimizer = work.optimizers["sgd"]
        batch = work.example_inputs(batch_size)

        def step() -> None:
            images, labels = batch["image"].clone(), batch["label"].clone()
            loss = F.cross_entropy(work.model(images), labels)
            optimizer.zero_grad(set_to_none=False)
            loss.backward()
            optimizer.step()

        return captured(step)


@pytest.mark.parametrize("recorded", ["kineto_v100_resnet50_num_workers_0", "kineto_v100_resnet50_num_workers_4"])
def test_resnet50_is_within_10_percent_of_the_v100s_allocator_events(traces_dir: Path, recorded: str) -> None:
    measured = measured_above_start_bytes(read(traces_dir / f"{recorded}.json.gz"))
    assert measured is not None
    assert measured == pytest.approx(2.79e9, rel=0.001)
    step = step_memory(resnet50_as_recorded(32))
    assert step.above_start.likely == pytest.approx(measured, rel=0.10)
    assert step.above_start.low <= measured <= step.above_start.high
    # the peak is where the trace has it: the weight gradient of the last 3 x 3 convolution, with Winograd's scratch
    assert step.workspace.likely == 56_623_104


def test_resnet50s_memory_at_another_batch_is_that_of_a_capture_there() -> None:
    scaling = BatchScaling.of_prime(resnet50_as_recorded(PRIME_BATCH), PRIME_BATCH)
    reshaped, direct = step_memory(scaling.at(32)), step_memory(resnet50_as_recorded(32))
    assert reshaped.tensors == direct.tensors
    assert reshaped.workspace == direct.workspace
    assert memory_on(reshaped, gpu("Card")).device == memory_on(direct, gpu("Card")).device
