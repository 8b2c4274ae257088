"""workloads: the reference models of the three papers, written here, with training step, inference and inputs.

    from surfer_lab import workloads
    work = workloads.build("resnet50", device="meta")
    loss = work.step(work.example_inputs(64))

Every workload's name is also a factory of this package (`surfer_lab.workloads:resnet50`), found when asked for:
importing the package does not import torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from surfer_lab.workloads.registry import build, factory, names, tiny_sizes

if TYPE_CHECKING:
    from surfer_lab.workloads.workload import WorkloadFactory

__all__ = ["build", "factory", "names", "tiny_sizes"]


def __getattr__(name: str) -> WorkloadFactory:
    from surfer_lab.errors import OptionError

    if name.startswith("_"):
        raise AttributeError(name)
    try:
        return factory(name)
    except OptionError as unknown:
        raise AttributeError(str(unknown)) from None


def __dir__() -> list[str]:
    return sorted({*globals(), *names()})
