"""What is a reference workload? A model with its training step, its inference and inputs of any batch size.

Relies on torch alone. A workload is built on any device: on "meta" no weight is materialised, under FakeTensorMode
nothing is computed, on the CPU it really runs. It fixes no precision: autocast and a GradScaler are handed to `step`.
Padding, data loading and what else depends on data is left out, and `left_out` says so for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from surfer_lab.errors import OptionError
from surfer_lab.workloads.published import PublishedCount

__all__ = [
    "AS_GIVEN", "Batch", "Device", "Output", "StepPrecision", "Workload", "WorkloadFactory", "one_model_step",
    "positive",
]  # fmt: skip

Batch: TypeAlias = dict[str, Tensor]  # tensors by name; the first dimension is the batch where it says "N" in `inputs`
Output: TypeAlias = Tensor | tuple[Tensor, ...]
Device: TypeAlias = torch.device | str


@dataclass(frozen=True, kw_only=True)
class StepPrecision:
    """How a step computes: `autocast` makes the context of the forward pass, `scaler` scales the loss (fp16).

    >>> bf16 = StepPrecision(autocast=lambda: torch.autocast("cpu", torch.bfloat16))
    """

    autocast: Callable[[], AbstractContextManager[object]] = nullcontext
    scaler: torch.amp.GradScaler | None = None

    def backward(self, loss: Tensor) -> None:
        """Gradients of the loss, scaled where there is a scaler."""
        (loss if self.scaler is None else self.scaler.scale(loss)).backward()  # type: ignore[no-untyped-call]

    def update(self, *optimizers: Optimizer) -> None:
        """One step of each optimizer; with a scaler, skipped by it where a gradient is not finite."""
        if self.scaler is None:
            for optimizer in optimizers:
                optimizer.step()
            return
        for optimizer in optimizers:
            self.scaler.step(optimizer)
        self.scaler.update()


AS_GIVEN: Final = StepPrecision()


class WorkloadFactory(Protocol):
    """Builds a workload; every size has its published value as default. Unknown sizes are a TypeError of Python's."""

    def __call__(self, *, device: Device = "cpu", **sizes: object) -> Workload: ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Workload:
    """One reference workload. Shapes of `inputs` are in the factory's docstring, N is the batch.

    `training(batch, precision)` is one step, optimizers included, and returns the loss, detached.
    `inference(batch)` is the forward pass that serves, without loss; `infer` runs it without gradients.
    """

    name: str
    title: str  # "ResNet-50 v1.5, 224 x 224"
    paper: str
    device: torch.device
    models: Mapping[str, nn.Module]  # one, named "model", or several
    optimizers: Mapping[str, Optimizer]
    inputs: Callable[[int, torch.device], Batch]
    training: Callable[[Batch, StepPrecision], Tensor]
    inference: Callable[[Batch], Output]
    default_batch_size: int
    studied_batch_sizes: tuple[int, ...]  # what the papers ran, per GPU
    sample_unit: str  # "images"
    tokens_per_sample: int | None = None
    left_out: tuple[str, ...] = ()
    published: tuple[PublishedCount, ...] = ()  # for the default sizes; a scaled-down build keeps them for reference
    sizes: Mapping[str, object] = field(default_factory=dict)  # as built

    @property
    def model(self) -> nn.Module:
        """The model of a workload that has one; the first of several."""
        return next(iter(self.models.values()))

    def example_inputs(self, batch_size: int | None = None, device: Device | None = None) -> Batch:
        """A batch of random tensors with the shapes and dtypes of real ones, on the workload's device by default."""
        size = self.default_batch_size if batch_size is None else positive("batch_size", batch_size)
        return self.inputs(size, self.device if device is None else torch.device(device))

    def step(self, batch: Batch, precision: StepPrecision = AS_GIVEN) -> Tensor:
        """One training iteration: zero the gradients, forward, loss, backward, update. Returns the loss, detached."""
        return self.training(batch, precision)

    def infer(self, batch: Batch) -> Output:
        """The forward pass of serving: evaluation mode, no gradients."""
        with torch.no_grad(), _evaluation(self.models):
            return self.inference(batch)


@contextmanager
def _evaluation(models: Mapping[str, nn.Module]) -> Iterator[None]:
    were_training = {name: model.training for name, model in models.items()}
    for model in models.values():
        model.eval()
    try:
        yield
    finally:
        for name, model in models.items():
            model.train(were_training[name])


def one_model_step(
    optimizer: Optimizer, loss_of: Callable[[Batch], Tensor], *, max_gradient_norm: float | None = None
) -> Callable[[Batch, StepPrecision], Tensor]:
    """The usual training step: one loss, one optimizer; with a norm given, gradients are clipped to it first."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]

    def step(batch: Batch, precision: StepPrecision) -> Tensor:
        optimizer.zero_grad(set_to_none=True)
        with precision.autocast():
            loss = loss_of(batch)
        precision.backward(loss)
        if max_gradient_norm is not None:
            if precision.scaler is not None:
                precision.scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(parameters, max_gradient_norm)
        precision.update(optimizer)
        return loss.detach()

    return step


def positive(name: str, value: int) -> int:
    """The size, refused (OptionError) unless it is a whole number above 0."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise OptionError(f"{name} is {value!r}", remedy="a whole number of 1 or more")
    return value
