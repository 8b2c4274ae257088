"""How many parameters and multiply-accumulates does a workload have, and are they the published ones?

Counted on "meta", where nothing is computed: parameters once each however often they are shared, multiply-accumulates
of the matrix products and convolutions of `infer` on one sample (torch's FlopCounterMode, which counts two FLOPs each;
element-wise work is in no published count).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from torch.utils.flop_counter import FlopCounterMode

from surfer_lab.workloads.published import PublishedCount, Quantity
from surfer_lab.workloads.registry import build, names
from surfer_lab.workloads.workload import Workload

__all__ = ["CountRow", "compare_with_published", "forward_mac_count", "parameter_count"]


@dataclass(frozen=True, kw_only=True)
class CountRow:
    """One published count beside ours."""

    workload: str
    published: PublishedCount
    counted: int

    @property
    def agrees(self) -> bool:
        """Within the rounding of the print."""
        return self.published.agrees(self.counted)


def parameter_count(workload: Workload, *, without: Iterable[str] = ()) -> int:
    """Parameters of all models, shared ones once (where first met); those below the paths in `without` left out."""
    left_out = tuple(without)
    counted = {
        id(parameter): parameter.numel()
        for name, model in workload.models.items()
        for path, parameter in model.named_parameters()
        if not any(_is_below(f"{name}.{path}", outer) or _is_below(path, outer) for outer in left_out)
    }
    return sum(counted.values())


def forward_mac_count(workload: Workload, *, batch_size: int = 1, without: Iterable[str] = ()) -> int:
    """Multiply-accumulates of `infer` on a batch; what the modules named in `without` do is left out."""
    left_out = tuple(without)
    batch = workload.example_inputs(batch_size)
    counter = FlopCounterMode(display=False)
    with counter:
        workload.infer(batch)
    by_module = counter.get_flop_counts()
    flop = sum(by_module["Global"].values())
    for name, model in workload.models.items():
        for path in left_out:
            inner = path.removeprefix(f"{name}.")
            flop -= sum(by_module.get(f"{type(model).__name__}.{inner}", {}).values())
    return flop // 2


def compare_with_published(workloads: Iterable[str] | None = None) -> Iterator[CountRow]:
    """A row for every published count of the named workloads (all of them by default), in their order."""
    for name in names() if workloads is None else workloads:
        for published in build(name, device="meta").published:
            workload = build(name, device="meta", **published.sizes)
            count = parameter_count if published.quantity is Quantity.PARAMETERS else forward_mac_count
            yield CountRow(workload=name, published=published, counted=count(workload, without=published.without))


def _is_below(path: str, outer: str) -> bool:
    return path == outer or path.startswith(outer + ".")
