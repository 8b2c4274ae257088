"""Which storages does each op read and write, and as which argument or result? What a capture's ops depend on.

An op put together from several (`gpu_form`) knows its storages, not which argument each one is: position -1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from surfer_lab.capture.oplog import LoggedOp
from surfer_lab.trace.tables import ArgShapes, TensorUseTable

__all__ = ["tensor_uses"]

_UNKNOWN_POSITION: Final = -1
_PUT_TOGETHER: Final = "_rnn"  # in the name of ops whose storages are those of the steps they were put together from


def tensor_uses(ops: Sequence[LoggedOp], row_of_storage: Mapping[int, int]) -> TensorUseTable:
    """Uses in the ops' order; storages without a row (empty, or inside an op) are left out."""
    found: list[tuple[int, int, int, bool]] = []
    for row, op in enumerate(ops):
        is_known = _PUT_TOGETHER not in op.name
        for storages, shapes, is_write in (
            (op.input_storages, op.input_shapes, False),
            (op.output_storages, op.output_shapes, True),
        ):
            positions = _positions(shapes if is_known else (), len(storages))
            for storage, position in zip(storages, positions, strict=True):
                tensor = row_of_storage.get(storage)
                if tensor is not None:
                    found.append((row, tensor, position, is_write))
    return TensorUseTable(
        op=np.array([use[0] for use in found], dtype=np.int32),
        tensor=np.array([use[1] for use in found], dtype=np.int32),
        position=np.array([use[2] for use in found], dtype=np.int16),
        is_write=np.array([use[3] for use in found], dtype=np.bool_),
    )


def _positions(shapes: ArgShapes, count: int) -> list[int]:
    """Position of each tensor, lists spread out; all unknown where the op has another number of storages."""
    positions: list[int] = []
    for position, entry in enumerate(shapes):
        if entry is None:
            continue
        is_list = bool(entry) and isinstance(entry[0], tuple)
        positions.extend([position] * (len(entry) if is_list else 1))
    return positions if len(positions) == count else [_UNKNOWN_POSITION] * count
