"""What stands in for CUDA's streams, events and generators on a machine without one? Objects that work on the host.

They outlive the cell: a variable that holds one stays usable.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Any, Final

import torch

from surfer_lab.units import NS_PER_MS

__all__ = ["EMPTY_ANSWERS", "HostDevice", "HostEvent", "HostGenerator", "HostStream", "HostStreamContext"]


class HostEvent:
    """`torch.cuda.Event`: host time when it was recorded."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._recorded_ns: int | None = None

    def record(self, stream: object = None) -> None:
        """Note the time."""
        self._recorded_ns = time.perf_counter_ns()

    def elapsed_time(self, end_event: HostEvent) -> float:
        """Milliseconds from this event to the other, as torch.cuda.Event."""
        if self._recorded_ns is None or end_event._recorded_ns is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        return (end_event._recorded_ns - self._recorded_ns) / NS_PER_MS

    def query(self) -> bool:
        """Host work is done when the call returns."""
        return True

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def wait(self, stream: object = None) -> None:
        """Nothing to wait for."""


class HostStream:
    """`torch.cuda.Stream`: the order in which the host runs, as the default stream's numbers have it."""

    cuda_stream = stream_id = 0

    def __init__(self, device: object = None, priority: int = 0, **kwargs: Any) -> None:
        self.device = torch.device("cpu")
        self.device_index = 0
        self.priority = priority

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """Least and greatest, as CUDA's GPUs have them."""
        return 0, -1

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def query(self) -> bool:
        """Nothing is pending."""
        return True

    def wait_stream(self, stream: object) -> None:
        """Nothing to wait for."""

    def wait_event(self, event: object) -> None:
        """Nothing to wait for."""

    def record_event(self, event: HostEvent | None = None) -> HostEvent:
        """An event recorded now."""
        event = HostEvent() if event is None else event
        event.record()
        return event

    def __enter__(self) -> HostStream:
        return self

    def __exit__(self, *error: object) -> None:
        return None


class HostStreamContext:
    """`torch.cuda.stream(s)`."""

    def __init__(self, stream: object = None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> None:
        return None


class HostDevice:
    """`torch.cuda.device(index)`."""

    def __init__(self, device: object = None) -> None:
        self.idx = -1

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> None:
        return None


class _NothingCounted(OrderedDict[str, int]):
    """Statistics of an allocator that allocated nothing: 0 by any name."""

    def __missing__(self, name: str) -> int:
        return 0


class _GeneratorType(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, torch._C.Generator)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, torch._C.Generator)


class HostGenerator(metaclass=_GeneratorType):
    """`torch.Generator` whose CUDA generators are the CPU's; the objects it makes are torch's own."""

    def __new__(cls, device: Any = "cpu") -> Any:
        """A generator of torch."""
        wanted = torch.device(device) if not isinstance(device, int) else torch.device("cuda", device)
        return torch._C.Generator("cpu" if wanted.type == "cuda" else wanted)


# What torch.cuda's functions answer where no GPU is: nothing was allocated, nothing is to be waited for
EMPTY_ANSWERS: Final[dict[str, Any]] = {
    **dict.fromkeys(
        (
            "synchronize", "empty_cache", "ipc_collect", "init", "set_device", "set_per_process_memory_fraction",
            "reset_peak_memory_stats", "reset_accumulated_memory_stats", "reset_max_memory_allocated",
            "reset_max_memory_cached", "set_stream",
        )
    ),
    **dict.fromkeys(
        (
            "memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved", "memory_cached",
            "max_memory_cached", "current_device", "utilization", "memory_usage",
        ),
        0,
    ),
    "memory_summary": "no CUDA GPU: nothing is allocated on one",
    "memory_stats": _NothingCounted(),
    "memory_snapshot": [],
    "can_device_access_peer": False,
    "get_device_name": "no CUDA GPU (redirected to the CPU)",
}  # fmt: skip
