"""What does timm's benchmark run in one step? The step, captured on "meta" in float32 at a prime batch.

Training: gradients zeroed in place, forward, cross entropy, backward into gradients that are there, SGD with Nesterov
momentum. Inference: the forward pass without gradients. Both in their steady state: momentum is there, what networks
cache at their first call is cached. Which precision a row was measured in is not captured: it is rewritten afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import torch

from surfer_lab.capture.assemble import Stretch, trace_of
from surfer_lab.capture.calls import Descriptions
from surfer_lab.capture.oplog import OpLog
from surfer_lab.capture.where import StackReader
from surfer_lab.planner.batch import PRIME_BATCH
from surfer_lab.trace.model import Trace, TraceOrigin
from surfer_lab.trace.tables import StepSource, TensorRole
from surfer_lab.training.timm_table.quick_shapes import QuickMode

__all__ = ["capture_inference", "capture_training", "warm_up"]

_DESCRIPTIONS = Descriptions()


def warm_up(module: torch.nn.Module, img_size: int) -> None:
    """One unseen forward pass in evaluation mode: some networks keep tables that their first call makes."""
    module.eval()
    with torch.no_grad():
        module(_images(2, img_size, "NCHW"))


def capture_inference(
    module: torch.nn.Module, img_size: int, layout: str, batch_size: int = PRIME_BATCH
) -> Trace:  # fmt: skip
    """A forward pass in evaluation mode on images of this size; weights in the layout asked for."""
    module.eval()
    _lay_out(module, layout)
    images = _images(batch_size, img_size, layout)
    recording = _Recording(module)
    with torch.no_grad(), recording:
        module(images)
    return recording.trace(batch_size)


def capture_training(module: torch.nn.Module, img_size: int, layout: str, batch_size: int = PRIME_BATCH) -> Trace:
    """One training step in its steady state."""
    module.train()
    _lay_out(module, layout)
    images = _images(batch_size, img_size, layout)
    targets = torch.empty(batch_size, dtype=torch.long, device="meta")
    parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
    # as lists: a dozen ops where the benchmark launched per tensor, the same bytes
    optimizer = torch.optim.SGD(parameters, lr=1e-4, momentum=0.9, nesterov=True, foreach=True)
    for parameter in parameters:
        parameter.grad = torch.empty_like(parameter)
        optimizer.state[parameter]["momentum_buffer"] = torch.empty_like(parameter)
    recording = _Recording(module)
    recording.give_role([parameter.grad for parameter in parameters], TensorRole.GRADIENT)
    recording.give_role(
        [optimizer.state[parameter]["momentum_buffer"] for parameter in parameters], TensorRole.OPTIMIZER_STATE
    )  # fmt: skip
    try:
        with recording:
            optimizer.zero_grad(set_to_none=False)
            output = module(images)
            if isinstance(output, (tuple, list)):  # heads beside the main one: the benchmark takes the first
                output = output[0]
            torch.nn.functional.cross_entropy(output, targets).backward()  # type: ignore[no-untyped-call]
            with recording.optimizer_step():
                optimizer.step()
    finally:
        for parameter in parameters:
            parameter.grad = None
    return recording.trace(batch_size)


class _Recording:
    """Logs what is dispatched inside; `trace` afterwards."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._mode = QuickMode()
        self._log = OpLog(StackReader(), _DESCRIPTIONS, 0)
        self.give_role(list(module.parameters()), TensorRole.PARAMETER)
        self.give_role(list(module.buffers()), TensorRole.BUFFER)

    def give_role(self, tensors: list[torch.Tensor | None], role: TensorRole) -> None:
        self._log.storages.give_role([tensor for tensor in tensors if tensor is not None], role)

    def __enter__(self) -> None:
        self._mode.log = self._log
        self._mode.install()

    def __exit__(self, *_: object) -> None:
        self._mode.remove()
        self._log.end(0)

    @contextmanager
    def optimizer_step(self) -> Iterator[None]:
        """What is dispatched inside belongs to the optimizer."""
        self._log.optimizer_depth += 1
        try:
            yield
        finally:
            self._log.optimizer_depth -= 1

    def trace(self, batch_size: int) -> Trace:
        log = self._log
        stretch = Stretch(
            log=log, first_op=0, end_op=len(log.ops), start_ns=log.start_ns, end_ns=0, number=1,
            source=StepSource.OPTIMIZER if log.backward_passes else StepSource.MODULE_CALL,
        )  # fmt: skip
        return _reproducible(trace_of(stretch, origin=TraceOrigin.SYMBOLIC, cell=None), batch_size)


def _lay_out(module: torch.nn.Module, layout: str) -> None:
    memory_format = torch.channels_last if layout == "NHWC" else torch.contiguous_format
    module.to(memory_format=memory_format)  # type: ignore[call-overload] # torch's overloads leave it out


def _images(batch_size: int, img_size: int, layout: str) -> torch.Tensor:
    images = torch.empty(batch_size, 3, img_size, img_size, device="meta")
    return images.contiguous(memory_format=torch.channels_last) if layout == "NHWC" else images


def _reproducible(trace: Trace, batch_size: int) -> Trace:
    """Autograd numbers its nodes on and on through a process: here from the step's first."""
    sequence = trace.ops.sequence
    first = int(sequence[sequence >= 0].min(initial=np.iinfo(np.int64).max))
    renumbered = np.where(sequence >= 0, sequence - first, sequence)
    return replace(trace, ops=replace(trace.ops, sequence=renumbered), batch_size=batch_size)
