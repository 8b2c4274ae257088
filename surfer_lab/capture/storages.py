"""Which storages does a step touch, and from which op to which do they live?

A storage is counted once however many views it has. When it is freed is told by a weak reference to it (a storage's
Python object lives as long as the storage, torch >= 2.1), so that nothing is kept alive by being watched.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import torch

from surfer_lab.trace.tables import TensorRole

__all__ = ["UNKNOWN_STORAGE", "StorageLife", "StorageWatch", "storage_key"]

UNKNOWN_STORAGE: Final = -1  # sparse, opaque or freed: nothing to watch


@dataclass(slots=True)
class StorageLife:
    """One storage. Op numbers count the ops logged; -1 as in TensorTable."""

    size_bytes: int
    dtype: str
    role: TensorRole
    allocated_by: int
    last_used_by: int = -1
    freed_after: int = -1
    freed_before_first_op: bool = False


def storage_key(tensor: torch.Tensor) -> int | None:
    """What is equal for all views of one storage while it lives; None where a tensor has none."""
    try:
        return int(tensor.untyped_storage()._cdata)
    except (NotImplementedError, RuntimeError):
        return None


class _Watcher(weakref.ref):  # type: ignore[type-arg] # UntypedStorage
    """A weak reference that knows its storage's key and row."""

    __slots__ = ("key", "row")
    key: int
    row: int


class StorageWatch:
    """The storages of one recording; `op_count` says how many ops were logged so far."""

    def __init__(self, op_count: Callable[[], int]) -> None:
        self.lives: list[StorageLife] = []
        self._op_count = op_count
        self._rows: dict[int, int] = {}  # by key, while alive
        self._watchers: dict[int, _Watcher] = {}
        self._stood_for: dict[int, int] = {}  # key of a stand-in -> row of the storage it stands for
        self._stand_ins: dict[int, _Watcher] = {}
        self._names: dict[torch.dtype, str] = {}

    def end(self) -> None:
        """Stop watching: what lives now outlives the step."""
        self._watchers.clear()
        self._rows.clear()
        self._stood_for.clear()
        self._stand_ins.clear()

    def row_of(self, tensor: torch.Tensor, *, allocated_by: int) -> int:
        """The storage's row; one seen for the first time was allocated by the op given (-1: before the step)."""
        try:
            storage = tensor.untyped_storage()
            key = storage._cdata
        except (NotImplementedError, RuntimeError):
            return UNKNOWN_STORAGE
        row = self._stood_for.get(key)
        if row is not None:
            life = self.lives[row]
            if 0 <= life.freed_after < self._op_count():
                life.freed_after = self._op_count()  # what it stands for went, but would be kept for this
            return row
        row = self._rows.get(key)
        if row is None:
            row = self._add(storage, key, tensor, allocated_by)
        return row

    def known_row(self, tensor: torch.Tensor) -> int:
        """The row of a storage seen before, else UNKNOWN_STORAGE."""
        key = storage_key(tensor)
        if key is None:
            return UNKNOWN_STORAGE
        return self._stood_for.get(key, self._rows.get(key, UNKNOWN_STORAGE))

    def give_role(self, tensors: Iterable[torch.Tensor], role: TensorRole) -> None:
        """Name what the tensors are; those not seen yet were there before the step."""
        for tensor in tensors:
            row = self.row_of(tensor, allocated_by=-1)
            if row != UNKNOWN_STORAGE:
                self.lives[row].role = role

    def stand_in(self, tensor: torch.Tensor, original: torch.Tensor) -> None:
        """From now on `tensor` (without data) counts as `original`, as long as it lives."""
        try:
            storage = tensor.untyped_storage()
        except (NotImplementedError, RuntimeError):
            return
        key, meant = storage._cdata, storage_key(original)
        if meant is None or meant == key:
            return
        row = self.row_of(original, allocated_by=-1)
        watcher = _Watcher(storage, self._stand_in_freed)
        watcher.key = key
        self._stand_ins[key] = watcher
        self._stood_for[key] = row

    def take_over(self, tensor: torch.Tensor, stand_in: torch.Tensor) -> None:
        """`tensor` is what `stand_in` was logged for: it has its row, and lives as long as itself."""
        key, own = storage_key(stand_in), storage_key(tensor)
        if key is None or own is None or key == own or key not in self._rows:
            return
        seen_alone = self._rows.pop(own, None)
        if seen_alone is not None:
            self.lives[seen_alone].size_bytes = 0
        row = self._rows.pop(key)
        del self._watchers[key]
        self._watch(tensor.untyped_storage(), own, row)
        self.stand_in(stand_in, tensor)

    def leave_out(self, tensor: torch.Tensor) -> None:
        """Count no bytes for a tensor that the program does not have."""
        row = self.row_of(tensor, allocated_by=-1)
        if row != UNKNOWN_STORAGE:
            self.lives[row].size_bytes = 0

    def _stand_in_freed(self, watcher: weakref.ref[torch.UntypedStorage]) -> None:
        """Its address may be used again."""
        if isinstance(watcher, _Watcher) and self._stand_ins.get(watcher.key) is watcher:
            del self._stand_ins[watcher.key], self._stood_for[watcher.key]

    def _add(self, storage: torch.UntypedStorage, key: int, tensor: torch.Tensor, allocated_by: int) -> int:
        row = len(self.lives)
        dtype = self._names.get(tensor.dtype)
        if dtype is None:
            dtype = self._names[tensor.dtype] = str(tensor.dtype).removeprefix("torch.")
        self.lives.append(StorageLife(storage.nbytes(), dtype, TensorRole.TEMPORARY, allocated_by))
        self._watch(storage, key, row)
        return row

    def _watch(self, storage: torch.UntypedStorage, key: int, row: int) -> None:
        self._rows[key] = row
        watcher = _Watcher(storage, self._freed)
        watcher.key, watcher.row = key, row
        self._watchers[key] = watcher

    def _freed(self, watcher: weakref.ref[torch.UntypedStorage]) -> None:
        if not isinstance(watcher, _Watcher) or self._watchers.get(watcher.key) is not watcher:
            return
        life = self.lives[watcher.row]
        life.freed_after = self._op_count() - 1
        life.freed_before_first_op = life.freed_after < 0
        del self._watchers[watcher.key], self._rows[watcher.key]
