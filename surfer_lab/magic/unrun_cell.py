"""What would a cell cost that is not run? Executed on shapes, in a namespace of its own, at its batch and at another.

The other batch tells how the step scales: whole numbers that equal the batch (in the cell and in variables), tensors
that lead with it and data loaders of it are replaced, and the two captures must agree in the model's own sizes and in
their operations. Where a size of the model equals the batch, only what is called a batch is replaced.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import CodeType
from typing import Any, Final

import torch
from IPython.core.interactiveshell import InteractiveShell
from torch.utils.data import DataLoader

from surfer_lab.capture import observe_symbolic
from surfer_lab.capture.dispatch import modes_set_aside
from surfer_lab.errors import CaptureError
from surfer_lab.magic.run_cell import parsed_cell, show_without_frames
from surfer_lab.planner.batch import BatchScaling
from surfer_lab.planner.captured_step import CapturedStep
from surfer_lab.trace.model import Trace
from surfer_lab.workloads.any_batch import scaling_of

__all__ = ["UnrunCell"]

_BATCH_WORDS: Final = ("batch", "bs")
_DEEPEST: Final = 4  # containers in containers in which tensors are looked for


class UnrunCell:
    """A cell to be captured. SyntaxError as in a plain cell; CaptureError where it asks IPython for something."""

    def __init__(self, shell: InteractiveShell, cell: str, *, label: Callable[[str], str | None]) -> None:
        self._shell, self._label = shell, label
        try:
            _, self._filename, self._tree = parsed_cell(shell, cell)
            with suppress(CaptureError):  # told when the cell is captured
                self._compiled(self._tree)  # `return` outside a function, and what else the compiler alone sees
        except SyntaxError:
            show_without_frames(shell)
            raise

    def captured(self, batch_size: int | None) -> CapturedStep:
        """The cell's step; `batch_size` where the user told it."""
        self._refuse_ipython()
        first = self._observe(self._tree, None)
        own = batch_size or first.batch_size
        if own is None:
            note = "other batch sizes are not predicted: no dimension was found to be the batch (name it: --batch-size)"
            return CapturedStep(trace=first, notes=(note,))
        why: tuple[str, ...] = ()
        for only_named in (False, True) if own > 1 else (True,):
            scaling, reason = self._scaling(first, own, only_named=only_named)
            if scaling is not None:
                return CapturedStep(trace=first, scaling=scaling)
            why = why or reason
        return CapturedStep(trace=first, notes=why)

    def _scaling(
        self, first: Trace, batch_size: int, *, only_named: bool
    ) -> tuple[BatchScaling | None, tuple[str, ...]]:
        def at(other: int) -> Trace:
            swap = _Swap(batch_size, other, only_named=only_named)
            return self._observe(swap.of(self._tree), swap)

        return scaling_of(first, batch_size, at)

    def _observe(self, tree: ast.Module, swap: _Swap | None) -> Trace:
        code = self._compiled(tree)

        def execute(names: dict[str, Any]) -> None:
            names["__name__"] = "__main__"
            if swap is not None:
                swap.in_names(names)
            exec(code, names)

        return observe_symbolic(execute, self._shell.user_ns, label=self._label).trace

    def _compiled(self, tree: ast.Module) -> CodeType:
        try:
            code: CodeType = compile(tree, self._filename, "exec", dont_inherit=True, flags=self._shell.compile.flags)
        except SyntaxError as error:
            if "await" not in error.msg and "async" not in error.msg:
                raise
            raise CaptureError(
                f"line {error.lineno} awaits outside a function, which no cell under %%predict can",
                remedy="await it in a cell of its own, before",
            ) from error
        return code

    def _refuse_ipython(self) -> None:
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "get_ipython":
                raise CaptureError(
                    f"line {node.lineno} is a magic or a shell command, which --no-run would really run",
                    remedy="put it into a cell of its own",
                )


class _Swap:
    """Replaces one batch size by another."""

    def __init__(self, batch_size: int, other: int, *, only_named: bool) -> None:
        self._batch_size, self._other, self._only_named = batch_size, other, only_named
        self._done: set[int] = set()

    def of(self, tree: ast.Module) -> ast.Module:
        """The cell with the number replaced, positions kept."""
        numbers = _Numbers(self._is_batch, self._other, only_named=self._only_named)
        swapped: ast.Module = numbers.visit(copy.deepcopy(tree))
        return swapped

    def in_names(self, names: dict[str, Any]) -> None:
        """Variables, tensors and loaders of earlier cells, once a namespace."""
        if id(names) in self._done:
            return
        self._done.add(id(names))
        for name, value in list(names.items()):
            if name.startswith("_"):
                continue
            if self._is_batch(value):
                if not self._only_named or _is_called_batch(name):
                    names[name] = self._other
            else:
                names[name] = self._swapped(value, 0)

    def _is_batch(self, value: object) -> bool:
        return type(value) is int and value == self._batch_size

    def _swapped(self, value: Any, depth: int) -> Any:
        if isinstance(value, torch.Tensor):
            leads = value.dim() > 0 and value.shape[0] == self._batch_size
            if not leads or value.requires_grad or isinstance(value, torch.nn.Parameter):
                return value
            with modes_set_aside():  # no op of the cell: it would stand in one of the two captures only
                return value.new_empty((self._other, *value.shape[1:]))
        if isinstance(value, DataLoader):
            return _OtherBatches(value, lambda batch: self._swapped(batch, 0))
        if depth < _DEEPEST and type(value) in (list, tuple):
            return type(value)(self._swapped(item, depth + 1) for item in value)
        if depth < _DEEPEST and type(value) is dict:
            return {key: self._swapped(item, depth + 1) for key, item in value.items()}
        return value


class _OtherBatches:
    """A data loader's batches, resized."""

    def __init__(self, loader: DataLoader[Any], resize: Callable[[Any], Any]) -> None:
        self._loader, self._resize = loader, resize

    def __iter__(self) -> Iterator[Any]:
        return (self._resize(batch) for batch in self._loader)

    def __len__(self) -> int:
        return len(self._loader)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class _Numbers(ast.NodeTransformer):
    """Replaces whole numbers; with `only_named`, those that are assigned or passed under a name of a batch."""

    def __init__(self, is_batch: Callable[[object], bool], other: int, *, only_named: bool) -> None:
        self._is_batch, self._other, self._only_named = is_batch, other, only_named

    def visit_Constant(self, node: ast.Constant) -> ast.AST:  # ast's own protocol
        if self._only_named or not self._is_batch(node.value):
            return node
        return self._replaced(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        node.value = self._if_named(names, node.value)
        return self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        node.value = self._if_named([node.arg or ""], node.value)
        return self.generic_visit(node)

    def _if_named(self, names: list[str], value: ast.expr) -> ast.expr:
        if isinstance(value, ast.Constant) and self._is_batch(value.value) and any(map(_is_called_batch, names)):
            return self._replaced(value)
        return value

    def _replaced(self, node: ast.Constant) -> ast.Constant:
        return ast.copy_location(ast.Constant(self._other), node)


def _is_called_batch(name: str) -> bool:
    parts = name.lower().split("_")
    return any(part.startswith(_BATCH_WORDS[0]) or part in _BATCH_WORDS for part in parts)
