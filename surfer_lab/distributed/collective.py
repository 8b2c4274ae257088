"""How do a group's members act as one? torch.distributed: weights are broadcast, gradients summed by all-reduce.

gloo between CPUs; NCCL where every member has a GPU of its own. A group of one needs neither, nor torch.
"""

from __future__ import annotations

import socket
from datetime import timedelta
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Collective", "CollectiveError", "Gloo", "Solo", "free_port"]

F32 = NDArray[np.float32]

_LONGEST_WAIT: Final = timedelta(minutes=10)  # for the others; one that died is noticed at once


class CollectiveError(Exception):
    """Another member is gone; the step is lost."""


class Collective(Protocol):
    """What a member needs of the others."""

    def broadcast(self, array: F32) -> F32:
        """The first member's array, at all of them."""
        ...

    def all_reduce(self, array: F32) -> F32:
        """The sum of all members' arrays."""
        ...

    def close(self) -> None:
        """Leave."""
        ...


class Solo:
    """A group of one."""

    def broadcast(self, array: F32) -> F32:
        """Itself."""
        return array

    def all_reduce(self, array: F32) -> F32:
        """Itself."""
        return array

    def close(self) -> None:
        """Nothing to leave."""


class Gloo:
    """Members of a group that meet at host:port; the first one keeps the meeting place."""

    def __init__(self, *, rank: int, size: int, meeting: str, backend: str = "gloo") -> None:
        import torch.distributed as dist

        host, port = meeting.rsplit(":", 1)
        store = dist.TCPStore(  # type: ignore[attr-defined] # torch does not list it as exported
            host, int(port), world_size=size, is_master=rank == 0, timeout=timedelta(seconds=60), wait_for_workers=False
        )
        dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=_LONGEST_WAIT)
        self._device = f"cuda:{0}" if backend == "nccl" else "cpu"

    def broadcast(self, array: F32) -> F32:
        """The first member's array, at all of them."""
        import torch
        import torch.distributed as dist

        tensor = torch.from_numpy(np.array(array, dtype=np.float32)).to(self._device)
        try:
            dist.broadcast(tensor, src=0)
        except RuntimeError as error:
            raise CollectiveError(str(error).splitlines()[0]) from error
        return np.asarray(tensor.cpu().numpy())

    def all_reduce(self, array: F32) -> F32:
        """The sum of all members' arrays."""
        import torch
        import torch.distributed as dist

        tensor = torch.from_numpy(np.array(array, dtype=np.float32)).to(self._device)
        try:
            dist.all_reduce(tensor)
        except RuntimeError as error:
            raise CollectiveError(str(error).splitlines()[0]) from error
        return np.asarray(tensor.cpu().numpy())

    def close(self) -> None:
        """Leave; others that are still there get an error in their next call."""
        import torch.distributed as dist

        if dist.is_initialized():
            dist.destroy_process_group()


def free_port() -> int:
    """A port that nobody listens on just now."""
    with socket.socket() as one:
        one.bind(("", 0))
        return int(one.getsockname()[1])
