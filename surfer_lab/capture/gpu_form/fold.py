"""What is a fold: several ops of a CPU that stand for one op of a GPU, and its op in the backward pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from surfer_lab.capture.oplog import LoggedOp
from surfer_lab.trace.tables import ArgShapes, Shape

__all__ = ["BackwardOp", "Fold", "Matcher", "as_one", "nodes_of", "number_at", "numel", "same_call_run", "shape_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackwardOp:
    """The op of the backward pass that a folded call has. `keeps` names ops of it that stay (gradients summed)."""

    name: str
    input_shapes: ArgShapes
    input_dtypes: tuple[str | None, ...]
    output_shapes: ArgShapes
    output_dtypes: tuple[str | None, ...]
    arguments: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ("aten::add", "aten::add_")


@dataclass(slots=True, kw_only=True)
class Fold:
    """`count` ops from one on become `ops`; storages made in between and kept by nobody else vanish.

    `saved`: the storage that stands for what the GPU's op keeps for its backward pass, with its size and dtype.
    """

    count: int
    ops: tuple[LoggedOp, ...]
    backward: BackwardOp | None = None
    saved: tuple[int, int, str] | None = None
    nodes: tuple[int, int] | None = None
    is_list: bool = False  # many equal ops over a list: nothing is inside


# given the ops and a position: the fold that starts there, or None
Matcher: TypeAlias = "Callable[[Sequence[LoggedOp], int], Fold | None]"


def same_call_run(ops: Sequence[LoggedOp], index: int) -> Sequence[LoggedOp]:
    """The ops from `index` on that came from the same call into torch (or the same line of a loop)."""
    end = index + 1
    first = ops[index]
    while end < len(ops) and ops[end].site.same_call(first.site) and ops[end].phase is first.phase:
        end += 1
    return ops[index:end]


def nodes_of(run: Sequence[LoggedOp]) -> tuple[int, int] | None:
    """Autograd nodes that the run made, without those of views before it; None where no gradient is wanted."""
    making = [op for op in run if op.end_node > op.first_node]
    return (making[0].end_node - 1, making[-1].end_node) if making else None


def as_one(run: Sequence[LoggedOp], name: str, **changes: object) -> LoggedOp:
    """One op in the run's place: reads what the run reads from outside, gives what its last op gives."""
    made = {storage for op in run for storage in op.output_storages}
    inputs = dict.fromkeys(storage for op in run for storage in op.input_storages if storage not in made)
    first, last = run[0], run[-1]
    return replace(
        first, name=name, end_ns=first.start_ns + sum(op.end_ns - op.start_ns for op in run),
        input_storages=tuple(inputs), output_storages=last.output_storages, first_node=first.first_node,
        end_node=last.end_node, **changes,  # type: ignore[arg-type] # fields of LoggedOp, by name
    )  # fmt: skip


def shape_of(entry: object) -> Shape:
    """A recorded entry that is known to be one tensor's; () for none."""
    return entry if isinstance(entry, tuple) else ()


def numel(shape: Shape) -> int:
    """Elements of a tensor."""
    count = 1
    for size in shape:
        count *= size
    return count


def number_at(arguments: tuple[str, ...], position: int, *, default: float) -> float:
    """A printed argument as a number."""
    try:
        return float(arguments[position])
    except (IndexError, ValueError):
        return default
