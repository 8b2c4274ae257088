"""Kernels that a compiler fused: what they move and compute was worked out when they were put together.

The numbers stand in the arguments: FLOPs, bytes read, bytes written, launches, elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from surfer_lab.engine.lowering.call import Call, Rule, Unrecorded, rate_class_of
from surfer_lab.engine.lowering.families import Family
from surfer_lab.engine.lowering.grid import REDUCTION_THREADS, pointwise_blocks
from surfer_lab.engine.lowering.work import KernelWork

__all__ = ["FUSED_OPS", "FUSED_POINTWISE", "FUSED_REDUCTION", "fused_arguments"]

FUSED_POINTWISE: Final = "surfer::fused_pointwise"
FUSED_REDUCTION: Final = "surfer::fused_reduction"
_ARGUMENTS: Final = 5


def fused_arguments(
    *, flop: float, read_bytes: float, write_bytes: float, launch_count: int, elements: int
) -> tuple[str, ...]:
    """The arguments of a fused op, as they are printed."""
    return tuple(f"{number:.0f}" for number in (flop, read_bytes, write_bytes, launch_count, elements))


@dataclass(frozen=True, kw_only=True)
class Fused:
    """One kernel, or a few launched in a row."""

    family: Family

    def __call__(self, call: Call) -> tuple[KernelWork, ...]:
        numbers = [call.number(position) for position in range(_ARGUMENTS)]
        if any(number is None for number in numbers):
            raise Unrecorded(f"{call.name}: its work was not written down")
        flop, read, written, launches, elements = (float(number or 0.0) for number in numbers)
        return (
            KernelWork(
                family=self.family,
                flop=flop,
                read_bytes=read,
                write_bytes=written,
                rate_class=rate_class_of("float32", matrix=False),
                blocks=pointwise_blocks(max(1, int(elements))),
                threads=REDUCTION_THREADS if self.family is Family.FUSED_REDUCTION else 128,
                launch_count=max(1, int(launches)),
            ),
        )


FUSED_OPS: Final[dict[str, Rule]] = {
    FUSED_POINTWISE: Fused(family=Family.FUSED_POINTWISE),
    FUSED_REDUCTION: Fused(family=Family.FUSED_REDUCTION),
}
