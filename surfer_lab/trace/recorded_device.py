"""Which GPU made the recording, by the file's own list of devices?

The list is of all GPUs of the machine; the one whose id the kernels carry counts. AMD's kernels may carry an id that is
in no list (2 where one GPU with id 0 is listed); then a list of equal devices still tells the model.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from surfer_lab.trace.model import RecordedDevice

__all__ = ["main_device", "recorded_device"]


def main_device(device: NDArray[np.integer[Any]], duration_ns: NDArray[np.int64]) -> int:
    """The device with the most GPU time, the first by number where they tie."""
    devices = np.unique(device).tolist()
    return min(devices, key=lambda number: (-int(duration_ns[device == number].sum()), number), default=-1)


def recorded_device(listed: object, device: int) -> RecordedDevice | None:
    """The record of `device` in a "deviceProperties" list; None where the file names none.

    >>> recorded_device([{"id": 0, "name": "Tesla T4", "numSms": 40, "computeMajor": 7, "computeMinor": 5}], 0)
    RecordedDevice(name='Tesla T4', sm_count=40, memory_bytes=None, compute_capability='7.5', count=1)
    """
    rows = [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []
    same = [row for row in rows if row.get("id") == device]
    chosen = same[0] if same else rows[0] if rows and len({_name(row) for row in rows}) == 1 else None
    if chosen is None or _name(chosen) is None:
        return None
    major, minor = _count(chosen.get("computeMajor")), _count(chosen.get("computeMinor"))
    return RecordedDevice(
        name=_name(chosen),
        sm_count=_count(chosen.get("numSms")),
        memory_bytes=_count(chosen.get("totalGlobalMem")),
        compute_capability=f"{major}.{minor or 0}" if major else None,
        count=sum(_name(row) == _name(chosen) for row in rows),
    )


def _name(row: dict[str, Any]) -> str | None:
    name = row.get("name")
    if not isinstance(name, str) or not name:
        return None
    return name[:128].encode("utf-8", "replace").decode()  # half of a surrogate pair could not be saved


def _count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value < 1 << 60 else None
