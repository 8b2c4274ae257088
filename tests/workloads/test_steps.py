"""Every workload steps: really on the CPU at tiny size, on meta at full size, under fake tensors."""

from __future__ import annotations

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from surfer_lab import workloads
from surfer_lab.errors import OptionError
from surfer_lab.workloads.workload import StepPrecision

ALL = workloads.names()
# a GAN's two losses pull apart, and NCF's rate is meant for a batch of a million
LEARNS_IN_A_FEW_STEPS = [name for name in ALL if name not in {"dcgan", "ncf"}]
ONE_OF_EACH = (
    "resnet50", "inception_v3", "transformer", "gnmt", "dcgan", "ssd300", "mask_rcnn", "ncf", "bert_base", "dlrm",
    "gpt2", "caffenet", "lenet", "llama_7b",
)  # fmt: skip


@pytest.mark.parametrize("name", ALL)
def test_a_real_step_at_tiny_size_has_a_finite_loss_and_moves_every_trained_parameter(name: str) -> None:
    work = workloads.build(name, tiny=True)
    trained = {
        id(parameter): (parameter, parameter.detach().clone())
        for optimizer in work.optimizers.values()
        for group in optimizer.param_groups
        for parameter in group["params"]
    }
    loss = work.step(work.example_inputs(2))
    assert loss.ndim == 0
    assert not loss.requires_grad
    assert torch.isfinite(loss)
    assert all(parameter.grad is not None for parameter, _ in trained.values())
    assert sum(not torch.equal(now, before) for now, before in trained.values()) > 0.7 * len(trained)


@pytest.mark.parametrize("name", LEARNS_IN_A_FEW_STEPS)
def test_the_loss_falls_over_a_few_steps_on_one_batch(name: str) -> None:
    work = workloads.build(name, tiny=True)
    batch = work.example_inputs(4)
    losses = [work.step(batch).item() for _ in range(8)]
    assert sum(losses[-2:]) / 2 < losses[0]


# of the Llamas the smallest and the largest
@pytest.mark.parametrize("name", [name for name in ALL if name not in {"llama_13b", "llama3_70b"}])
def test_a_step_at_full_size_on_meta_materialises_nothing(name: str) -> None:
    work = workloads.build(name, device="meta")
    loss = work.step(work.example_inputs())
    assert loss.device.type == "meta"
    assert loss.shape == ()
    parameters = [parameter for model in work.models.values() for parameter in model.parameters()]
    assert {parameter.device.type for parameter in parameters} == {"meta"}


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_two_steps_under_fake_tensors_compute_nothing(name: str) -> None:
    with FakeTensorMode():
        work = workloads.build(name, tiny=True)
        batch = work.example_inputs(2)
        work.step(batch)
        loss = work.step(batch)
    assert isinstance(loss, FakeTensor)


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_inference_keeps_no_gradients_and_leaves_the_mode_as_it_was(name: str) -> None:
    work = workloads.build(name, tiny=True)
    output = work.infer(work.example_inputs(2))
    tensors = output if isinstance(output, tuple) else (output,)
    assert all(torch.isfinite(tensor).all() and not tensor.requires_grad for tensor in tensors)
    assert all(model.training for model in work.models.values())


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_autocast_is_taken_from_outside(name: str) -> None:
    work = workloads.build(name, tiny=True)
    loss = work.step(
        work.example_inputs(2), StepPrecision(autocast=lambda: torch.autocast("cpu", dtype=torch.bfloat16))
    )
    assert torch.isfinite(loss)


@pytest.mark.parametrize("name", ["resnet50", "dcgan", "dlrm", "gnmt"])
def test_a_scaler_gives_the_same_step_as_none(name: str) -> None:
    weights = []
    for scaler in (None, torch.amp.GradScaler("cpu", init_scale=1024.0)):
        torch.manual_seed(1)
        work = workloads.build(name, tiny=True)
        torch.manual_seed(2)
        work.step(work.example_inputs(4), StepPrecision(scaler=scaler))
        weights.append(torch.cat([p.detach().flatten() for m in work.models.values() for p in m.parameters()]))
    assert torch.allclose(weights[0], weights[1], atol=1e-5)


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_inputs_hold_the_batch_size_asked_for(name: str) -> None:
    work = workloads.build(name, device="meta")
    small, large = work.example_inputs(3), work.example_inputs(5)
    assert list(small) == list(large)
    for key in small:
        changed = [(a, b) for a, b in zip(small[key].shape, large[key].shape, strict=True) if a != b]
        assert changed == [(3, 5)]


def test_a_batch_of_none_is_refused() -> None:
    work = workloads.build("lenet")
    with pytest.raises(OptionError, match="batch_size is 0"):
        work.example_inputs(0)
