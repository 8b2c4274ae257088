"""Which gradients does DistributedDataParallel send together, and in which order?

From its second iteration on, torch groups gradients in the order in which they become ready: a bucket is closed as soon
as it holds its cap. The first cap is 1 MiB (so that communication begins early), the others 25 MiB; a cap of the
user's own (bucket_cap_mb) holds for the first too (torch/nn/parallel/distributed.py and csrc/distributed/c10d/reducer).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from surfer_lab.errors import OptionError
from surfer_lab.units import BYTES_PER_MIB

__all__ = ["DEFAULT_BUCKET_MIB", "FIRST_BUCKET_BYTES", "Bucket", "buckets_of"]

DEFAULT_BUCKET_MIB: Final = 25.0
FIRST_BUCKET_BYTES: Final = BYTES_PER_MIB


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """Gradients by their numbers in order of readiness, and their bytes."""

    gradients: tuple[int, ...]
    size_bytes: int


def buckets_of(gradient_bytes: Sequence[int], bucket_mib: float | None = None) -> tuple[Bucket, ...]:
    """Buckets of gradients given in the order in which they become ready; OptionError for a cap of 0 or less.

    >>> [bucket.gradients for bucket in buckets_of([600_000, 600_000, 30_000_000, 5])]
    [(0, 1), (2,), (3,)]
    """
    if bucket_mib is not None and not 0 < bucket_mib < float("inf"):
        raise OptionError(f"a bucket of {bucket_mib!r} MiB", remedy="25, or another number above 0")
    cap = int((DEFAULT_BUCKET_MIB if bucket_mib is None else bucket_mib) * BYTES_PER_MIB)
    limit = FIRST_BUCKET_BYTES if bucket_mib is None else cap
    made: list[Bucket] = []
    current: list[int] = []
    size = 0
    for number, one in enumerate(gradient_bytes):
        current.append(number)
        size += one
        if size >= limit:
            made.append(Bucket(gradients=tuple(current), size_bytes=size))
            current, size, limit = [], 0, cap
    if current:
        made.append(Bucket(gradients=tuple(current), size_bytes=size))
    return tuple(made)
