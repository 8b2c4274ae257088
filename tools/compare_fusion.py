"""How many kernels does torch.compile make of small models, and how many does the compile what-if's rule?

Compiles each model for the CPU and counts the nodes of TorchInductor's schedule that are no library call, forward and
backward; beside them the fused groups of the captured step, without those of the loss, which is outside of the compiled
model. `python -m tools.compare_fusion`. Takes a minute; needs a C++ compiler.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from surfer_lab.capture import record
from surfer_lab.engine.whatif.fusion import groups_of
from surfer_lab.trace.rewrite import Draft
from surfer_lab.trace.tables import Phase

LOSS_OPS = ("pow", "mean", "ones_like", "div", "mul")


class Block(nn.Module):
    """A transformer block, norms first."""

    def __init__(self, width: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.attention, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        parts = self.attention(self.norms[0](x)).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(query, key, value)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(nn.functional.gelu(self.up(self.norms[1](x))))  # type: ignore[no-any-return]


def models() -> dict[str, tuple[nn.Module, torch.Tensor]]:
    """Model and input by name."""
    convolutional = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8),
        nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4),
    )  # fmt: skip
    perceptron = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))
    return {
        "perceptron": (perceptron, torch.randn(16, 64)),
        "convolutional net": (convolutional, torch.randn(4, 3, 16, 16)),
        "transformer block": (Block(), torch.randn(4, 16, 32)),
    }


def by_the_rule(model: nn.Module, x: torch.Tensor) -> tuple[int, int]:
    """Fused kernels going forward and backward."""
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    with record() as recording:
        for _ in range(2):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
    draft = Draft(recording.trace)
    counts = {Phase.FORWARD: 0, Phase.BACKWARD: 0}
    for group in groups_of(draft.rows, draft.storages):
        names = [member.row.name.removeprefix("aten::") for member in group.members]
        phase = group.members[0].row.phase
        if group.is_open and phase in counts and not all(name in LOSS_OPS for name in names):
            counts[phase] += 1
    return counts[Phase.FORWARD], counts[Phase.BACKWARD]


def by_inductor(model: nn.Module, x: torch.Tensor) -> list[int]:
    """Nodes of each schedule that are no library call: forward, then backward."""
    from torch._inductor import config, scheduler

    counts: list[int] = []
    entry = "_codegen" if hasattr(scheduler.Scheduler, "_codegen") else "codegen"
    plain = getattr(scheduler.Scheduler, entry)

    def counting(self: Any, *args: Any, **kwargs: Any) -> Any:
        kernels = [node for node in self.nodes if not node.is_extern() and not node.is_template()]
        counts.append(sum(type(node).__name__ != "NopKernelSchedulerNode" for node in kernels))
        return plain(self, *args, **kwargs)

    setattr(scheduler.Scheduler, entry, counting)
    try:
        torch._dynamo.reset()
        with config.patch(force_disable_caches=True):
            torch.compile(model)(x).square().mean().backward()
    finally:
        setattr(scheduler.Scheduler, entry, plain)
    return counts


def main() -> None:
    """Print one line a model."""
    print(f"{'model':20} {'rule: forward, backward':28} TorchInductor {torch.__version__}")
    for name, (model, x) in models().items():
        print(f"{name:20} {by_the_rule(model, x)!s:28} {by_inductor(model, x)}")


if __name__ == "__main__":
    main()
