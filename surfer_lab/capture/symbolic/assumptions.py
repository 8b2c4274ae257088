"""What is assumed where a program asks for values that a capture without data does not have?

A number read from a tensor is 1 (of a loss: it is only shown), a truth is False (no early stop) unless it follows from
finite numbers (`finite`: no NaN found), what a GradScaler reads is 0 (no overflow: the step is taken). A selection by a
mask takes every element. Each is stated with its place; a loop that waits for data to change is ended by an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily

from surfer_lab.capture.symbolic.finite import FiniteTruths
from surfer_lab.capture.symbolic.known_values import KnownValues
from surfer_lab.capture.where import CallSite, Place
from surfer_lab.errors import CaptureError
from surfer_lab.trace.model import TraceWarning

__all__ = ["RUN_IT", "Assumptions"]

RUN_IT: Final = "run it: %%predict without --no-run, or record()"
# A training step reads a handful of numbers on one line; more come from a loop that waits for a value
_MAX_READS_PER_LINE: Final = 20_000


class Assumptions:
    """Answers data-dependent ops, and remembers which were answered where."""

    def __init__(self, known: KnownValues) -> None:
        self._known = known
        self.truths = FiniteTruths()
        self._stated: dict[str, str] = {}  # what -> first place
        self._reads: dict[str | None, int] = {}
        self._rules: dict[str, Callable[..., Any]] = {
            "aten::_local_scalar_dense": self._scalar,
            "aten::equal": self._equal,
            "aten::allclose": self._close,
            "aten::nonzero": self._nonzero,
            "aten::index": self._index,
            "aten::masked_select": self._masked_select,
            "aten::_unique2": self._unique,
            "aten::unique_dim": self._unique_dim,
            "aten::unique_consecutive": self._unique,
            "aten::repeat_interleave": self._repeat_interleave,
            "aten::bincount": self._bincount,
            "aten::_grouped_mm": self._grouped_mm,
        }

    def warnings(self) -> tuple[TraceWarning, ...]:
        """One for each kind of assumption."""
        return tuple(
            TraceWarning(seen=f"without data, {what}{f' ({place})' if place else ''}", consequence=f"if not, {RUN_IT}")
            for what, place in self._stated.items()
        )

    def rule(self, name: str) -> Callable[..., Any] | None:
        """How to answer an op of this name; it may return NotImplemented: shapes do not depend on data after all."""
        return self._rules.get(name)

    def state(self, what: str, site: CallSite) -> None:
        """Remember an assumption."""
        self._stated.setdefault(what, site.source or "")

    def _count_read(self, site: CallSite) -> None:
        reads = self._reads[site.source] = self._reads.get(site.source, 0) + 1
        if reads > _MAX_READS_PER_LINE:
            raise CaptureError(
                f"{site.source or 'the program'} waits for values that a capture without data lacks", remedy=RUN_IT
            )

    def _scalar(self, site: CallSite, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        tensor = args[0]
        known = getattr(tensor, "constant", None)
        if known is not None:
            return known.item()
        self._count_read(site)
        dtype = tensor.dtype
        if site.place is Place.GRAD_SCALER:
            return 0.0
        if site.place is Place.OPTIMIZER:
            return 1.0 if dtype.is_floating_point else 1
        if dtype is torch.bool:
            truth = self.truths.of(tensor)
            if truth is not None:
                self.state("numbers are taken as finite where that is checked", site)
                return truth
            self.state("conditions on tensors are taken as false", site)
            return False
        if dtype.is_complex:
            return 1 + 0j
        self.state("numbers read from tensors are taken as 1", site)
        return 1.0 if dtype.is_floating_point else 1

    def _equal(self, site: CallSite, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        self.state("tensors that are compared are taken as equal", site)
        return bool(args[0].shape == args[1].shape)

    def _close(self, site: CallSite, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        self.state("tensors that are compared are taken as equal", site)
        torch.broadcast_shapes(args[0].shape, args[1].shape)  # type: ignore[no-untyped-call] # torch's has no types
        return True

    def _all_chosen(self, site: CallSite) -> None:
        self.state("a selection by values takes every element", site)

    def _nonzero(self, site: CallSite, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        self._all_chosen(site)
        tensor = args[0]
        return torch.empty((tensor.numel(), tensor.dim()), dtype=torch.int64, device=tensor.device)

    def _index(self, site: CallSite, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        tensor, indices = args
        if not any(index is not None and index.dtype in (torch.bool, torch.uint8) for index in indices):
            return NotImplemented
        spread: list[Any] = []
        for index in indices:
            if index is None or index.dtype not in (torch.bool, torch.uint8):
                spread.append(index)
            else:  # a mask stands for as many indices as it has dimensions
                chosen = self._chosen(site, index)
                spread += [index.new_empty(chosen, dtype=torch.int64) for _ in range(index.dim())]
        return func(tensor, spread)

    def _chosen(self, site: CallSite, mask: torch.Tensor) -> int:
        """How many elements a mask takes: all, unless its values are known."""
        known = self._known.of(mask)
        if known is not None:
            with unset_fake_temporarily():
                return int(known.count_nonzero())
        self._all_chosen(site)
        return mask.numel()

    def _masked_select(self, site: CallSite, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        tensor, mask = args
        if mask.shape == tensor.shape:
            return tensor.new_empty(self._chosen(site, mask))
        self._all_chosen(site)
        shape: torch.Size = torch.broadcast_shapes(tensor.shape, mask.shape)  # type: ignore[no-untyped-call] # torch's has no types
        return tensor.new_empty(shape.numel())

    def _unique(self, site: CallSite, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        self._all_chosen(site)
        tensor = args[0]
        flat = tensor.new_empty(tensor.numel())
        return (
            flat,
            tensor.new_empty(tensor.shape, dtype=torch.int64),
            tensor.new_empty(tensor.numel(), dtype=torch.int64),
        )

    def _unique_dim(self, site: CallSite, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        self._all_chosen(site)
        tensor, dim = args[0], args[1]
        size = tensor.shape[dim]
        return tensor.clone(), tensor.new_empty(size, dtype=torch.int64), tensor.new_empty(size, dtype=torch.int64)

    def _repeat_interleave(self, site: CallSite, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if func._overloadname != "Tensor" or kwargs.get("output_size") is not None:
            return NotImplemented
        self.state("repeats given by a tensor are taken as one each", site)
        return args[0].new_empty(args[0].numel(), dtype=torch.int64)

    def _grouped_mm(self, site: CallSite, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """No assumption: torch 2.13 computes it in float32 on a CPU, but knows shapes for bfloat16 alone."""
        left, right = args[0], args[1]
        if left.dim() == right.dim() == 2:  # both split along what is contracted: one product a group
            offsets = args[2] if len(args) > 2 else kwargs.get("offs")
            groups = offsets.shape[0] if offsets is not None else 1
            return left.new_empty(groups, left.shape[0], right.shape[1])
        if left.dim() == right.dim() == 3:
            return left.new_empty(left.shape[0], left.shape[1], right.shape[2])
        return left.new_empty(left.shape[-2], right.shape[-1])

    def _bincount(self, site: CallSite, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        self.state("bincount is taken to find as many bins as values", site)
        least = args[2] if len(args) > 2 else kwargs.get("minlength", 0)
        return args[0].new_empty(max(args[0].numel(), least), dtype=torch.int64)
