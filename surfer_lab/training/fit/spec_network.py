"""The first paper's learned part, a baseline: a plain perceptron from an operation's sizes and a GPU's specs to a time.

After Yu et al., USENIX ATC'21: inputs are the operation's dimensions, and of the GPU its memory, bandwidth, SMs and
peak rate; the output is the time itself. Theirs had eight layers of 1,024; three of 128 are fitted here, in seconds,
to the logarithm of the time. Always the same weights: one thread, one seed.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Gpu

__all__ = ["SpecNetwork", "fit_spec_network"]

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

_HIDDEN: Final = 128
_STEPS: Final = 1_500
_ROWS: Final = 1_024
_LEARNING_RATE: Final = 3e-3


class SpecNetwork:
    """Fitted weights; `times_ms` answers shapes (rows, dims) on the GPU of each row."""

    def __init__(self, net: torch.nn.Module, mean: torch.Tensor, scale: torch.Tensor) -> None:
        self._net, self._mean, self._scale = net, mean, scale

    def times_ms(self, shapes: F64, gpus: tuple[Gpu, ...], gpu: I64) -> F64:
        """Times in ms, (rows,)."""
        with torch.no_grad():
            out = self._net((_inputs(shapes, gpus, gpu) - self._mean) / self._scale)
        times: F64 = np.exp(out[:, 0].double().numpy())
        return times


def _inputs(shapes: F64, gpus: tuple[Gpu, ...], gpu: I64) -> torch.Tensor:
    rows = [
        (one.memory_bytes, one.bandwidth_bytes_per_s, one.sm_count, one.peak_flop_per_s[RateClass.FP32]) for one in gpus
    ]
    specs = np.array(rows, dtype=np.float64)
    columns = np.concatenate([np.log(np.maximum(shapes, 1.0)), np.log(specs)[gpu]], axis=1)
    return torch.from_numpy(columns.astype(np.float32))


def fit_spec_network(shapes: F64, gpus: tuple[Gpu, ...], gpu: I64, measured_ms: F64) -> SpecNetwork:
    """The network that meets measured times, by the mean |log error|."""
    threads = torch.get_num_threads()
    with torch.random.fork_rng(devices=[]):
        torch.set_num_threads(1)
        try:
            torch.manual_seed(0)
            inputs = _inputs(shapes, gpus, gpu)
            mean, scale = inputs.mean(dim=0), inputs.std(dim=0) + 1e-6
            inputs, target = (inputs - mean) / scale, torch.from_numpy(np.log(measured_ms).astype(np.float32))
            net = torch.nn.Sequential(
                torch.nn.Linear(inputs.shape[1], _HIDDEN), torch.nn.ReLU(),
                torch.nn.Linear(_HIDDEN, _HIDDEN), torch.nn.ReLU(),
                torch.nn.Linear(_HIDDEN, _HIDDEN), torch.nn.ReLU(), torch.nn.Linear(_HIDDEN, 1),
            )  # fmt: skip
            optimizer = torch.optim.Adam(net.parameters(), lr=_LEARNING_RATE)
            schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, _LEARNING_RATE, total_steps=_STEPS)
            for rows in torch.randint(len(target), (_STEPS, _ROWS)):
                loss = torch.nn.functional.l1_loss(net(inputs[rows])[:, 0], target[rows])
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call] # torch leaves it without types
                optimizer.step()
                schedule.step()
        finally:
            torch.set_num_threads(threads)
    return SpecNetwork(net, mean, scale)
