"""Which small training steps has a person counted, byte for byte? Steps, and the bytes alive at their peak by part.

Each count is worked out from the shapes alone, as the comments say: 4 bytes a float32 element, 2 a bfloat16 one. A
scalar loss and the one that `backward()` starts from are 4 bytes each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from surfer_lab.capture.symbolic import trace_symbolic
from surfer_lab.planner.graph_memory import MemoryPart, step_memory
from surfer_lab.workloads.models.resnet import BasicBlock

__all__ = ["HandCount", "hand_counts"]

_P: Final = MemoryPart


@dataclass(frozen=True, kw_only=True)
class HandCount:
    """One step: bytes by part, by hand and from its captured graph; parts that hold nothing are left out."""

    name: str
    by_hand: Mapping[MemoryPart, int]
    counted: Mapping[MemoryPart, int]

    @property
    def agrees(self) -> bool:
        return dict(self.by_hand) == dict(self.counted)


def hand_counts() -> Iterator[HandCount]:
    """Every case, captured from shapes."""
    for name, build, step, by_hand in _cases():
        memory = step_memory(trace_symbolic(step, build=build))
        counted = {part: amount for part, amount in memory.tensors.items() if amount}
        yield HandCount(name=name, by_hand=by_hand, counted=counted)


def _step(made: Any) -> None:
    model, optimizer, x = made
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()


def _autocast_step(made: Any) -> None:
    model, optimizer, x = made
    optimizer.zero_grad()
    with torch.autocast("cpu", torch.bfloat16):
        loss = model(x).sum()
    loss.backward()
    optimizer.step()


def _inference(made: Any) -> None:
    model, _, x = made
    with torch.no_grad():
        for _ in range(3):
            model(x)


def _made(
    model: Callable[[], nn.Module], optimizer: Callable[[Any], torch.optim.Optimizer], *shape: int
) -> Callable[[], Any]:
    def build() -> Any:
        built = model()
        return built, optimizer(built.parameters()), torch.randn(*shape)

    return build


def _sgd(parameters: Any) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=0.1)


def _momentum(parameters: Any) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9)


def _adamw(parameters: Any) -> torch.optim.Optimizer:
    return torch.optim.AdamW(parameters, lr=0.1)


def _mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(40, 80), nn.ReLU(), nn.Linear(80, 20))


class _Attention(nn.Module):
    """One head of 8, scores in memory; all but the output made again when checkpointed."""

    def __init__(self, *, checkpointed: bool) -> None:
        super().__init__()
        self.checkpointed = checkpointed
        self.q, self.k, self.v, self.o = (nn.Linear(8, 8, bias=False) for _ in range(4))

    def attend(self, x: torch.Tensor) -> torch.Tensor:
        weights = torch.softmax(torch.bmm(self.q(x), self.k(x).transpose(1, 2)), -1)
        return torch.bmm(weights, self.v(x))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        attended: torch.Tensor = (
            checkpoint(self.attend, x, use_reentrant=False) if self.checkpointed else self.attend(x)
        )  # fmt: skip
        out: torch.Tensor = self.o(attended)
        return out


_Case = tuple[str, Callable[[], Any], Callable[[Any], None], Mapping[MemoryPart, int]]


def _cases() -> Iterator[_Case]:
    # Linear(40, 80), ReLU, Linear(80, 20) on 1,600 rows: at the ReLU's gradient there are the activated layer (saved),
    # its gradient before and after the activation, and the second layer's weight gradients
    hidden, weights = 4 * 1600 * 80, 4 * (40 * 80 + 80 + 80 * 20 + 20)
    for name, optimizer, states in (("SGD", _sgd, 0), ("SGD with momentum", _momentum, 1), ("AdamW", _adamw, 2)):
        yield f"MLP, {name}", _made(_mlp, optimizer, 1600, 40), _step, {
            _P.PARAMETERS: weights, _P.INPUTS: 4 * 1600 * 40, _P.GRADIENTS: 4 * (80 * 20 + 20),
            **({_P.OPTIMIZER_STATE: states * weights} if states else {}),
            _P.ACTIVATIONS: hidden + 4, _P.TEMPORARIES: 2 * hidden + 4,
        }  # fmt: skip
    # in inference: the hidden layer before and after its activation
    yield "MLP, inference", _made(lambda: _mlp().eval(), _sgd, 1600, 40), _inference, {
        _P.PARAMETERS: weights, _P.INPUTS: 4 * 1600 * 40, _P.TEMPORARIES: 2 * hidden,
    }  # fmt: skip
    # Linear(100, 100) on one row: AdamW's own step peaks, with the denominator of the update; the loss is gone by then
    yield "linear layer, AdamW", _made(lambda: nn.Linear(100, 100, bias=False), _adamw, 1, 100), _step, {
        _P.PARAMETERS: 40_000, _P.INPUTS: 400, _P.GRADIENTS: 40_000, _P.OPTIMIZER_STATE: 80_000,
        _P.TEMPORARIES: 40_000,
    }  # fmt: skip
    # 64 channels on 8 x 8, batch 4: an image tensor is 65,536 bytes, a filter 147,456, a vector of channels 256; at the
    # gradient of the second convolution: the first one's result, activation and statistics, and two gradients
    image, kernel, channel = 65_536, 147_456, 256
    yield "ResNet block, SGD", _made(lambda: BasicBlock(64, 64, 1, nn.BatchNorm2d), _sgd, 4, 64, 8, 8), _step, {
        _P.PARAMETERS: 2 * (kernel + 2 * channel), _P.BUFFERS: 2 * (2 * channel + 8), _P.INPUTS: image,
        _P.GRADIENTS: kernel + 2 * channel, _P.ACTIVATIONS: 2 * image + 2 * channel + 4,
        _P.TEMPORARIES: 2 * image + 4,
    }  # fmt: skip
    # (2, 16, 8) tokens of 1,024 bytes, (2, 16, 16) scores of 2,048, weights of 256: q, k, v and the softmax are kept
    # from the forward pass, or made again when checkpointed; beside them the gradients of output, values and scores
    tokens, scores, square = 1024, 2048, 256
    saved = 3 * tokens + scores
    for is_checkpointed in (False, True):
        name = "attention block, checkpointed" if is_checkpointed else "attention block"
        build = _made(partial(_Attention, checkpointed=is_checkpointed), _sgd, 2, 16, 8)
        yield name, build, _step, {
            _P.PARAMETERS: 4 * square, _P.INPUTS: tokens, _P.GRADIENTS: square,
            _P.ACTIVATIONS: (0 if is_checkpointed else saved) + 4,
            _P.TEMPORARIES: (saved if is_checkpointed else 0) + 2 * tokens + scores + 4,
        }  # fmt: skip
    # autocast to bfloat16, at the end of the backward pass: the weights' gradient in both dtypes, the loss in half
    yield "linear layer, autocast", _made(lambda: nn.Linear(64, 64, bias=False), _sgd, 8, 64), _autocast_step, {
        _P.PARAMETERS: 16_384, _P.INPUTS: 2048, _P.GRADIENTS: 16_384, _P.ACTIVATIONS: 2, _P.TEMPORARIES: 8_192 + 2,
    }  # fmt: skip
