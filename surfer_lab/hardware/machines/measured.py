"""Which link do measured all-reduces show? Latency and bandwidth fitted to (GPUs, bytes, seconds).

    t = start + 2 (n-1) hop + 2 (n-1)/n S / B

Relies on nccl-tests' all_reduce_perf output or on a sweep of one's own. Errors of timings are errors of ratios: each
sample is weighed by its time, so that small and large messages count alike. `start` and `hop` are one number to a sweep
of a single n: it is put on the hop, with the start at 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.errors import GpuError
from surfer_lab.hardware.machines.link import Link, LinkKind
from surfer_lab.units import NS_PER_S, NS_PER_US

__all__ = ["AllReduceSample", "fitted_link", "nccl_tests_samples"]

F64 = NDArray[np.float64]

_RANK: Final = re.compile(r"#\s+Rank\s+(\d+)\b")
# size, count, type, redop, root, then time, algbw, busbw of the out-of-place run
_ROW: Final = re.compile(r"^\s*(\d+)\s+\d+\s+\w+\s+\w+\s+-?\d+\s+([\d.]+)\s+[\d.]+\s+[\d.]+", re.MULTILINE)
_REWEIGHINGS: Final = 20


@dataclass(frozen=True, kw_only=True)
class AllReduceSample:
    """One measured all-reduce: bytes of one rank's tensor, seconds until it is done."""

    rank_count: int
    size_bytes: int
    duration_s: float


def nccl_tests_samples(text: str, *, rank_count: int | None = None) -> tuple[AllReduceSample, ...]:
    """Samples of an all_reduce_perf table; GpuError where it is none.

    >>> nccl_tests_samples('''
    ... #  Rank  0 Group  0 Pid 1 on host device  0 [0x07] NVIDIA A100
    ... #  Rank  1 Group  0 Pid 1 on host device  1 [0x0b] NVIDIA A100
    ...   1048576   262144   float   sum   -1   20.5   51.15   51.15   0''')
    (AllReduceSample(rank_count=2, size_bytes=1048576, duration_s=2.05e-05),)
    """
    ranks = rank_count or len(set(_RANK.findall(text)))
    rows = [(int(size), float(us)) for size, us in _ROW.findall(text)]
    if ranks < 2 or not rows:
        raise GpuError(
            f"no all-reduce table of nccl-tests is found ({ranks} ranks, {len(rows)} rows)",
            remedy="the whole output of all_reduce_perf -b 8 -e 1G -f 2",
        )
    return tuple(
        AllReduceSample(rank_count=ranks, size_bytes=size, duration_s=us * NS_PER_US / NS_PER_S)
        for size, us in rows
        if size > 0 and us > 0
    )


def fitted_link(name: str, samples: Sequence[AllReduceSample], *, source: str, group_count: int | None = None) -> Link:
    """The link that fits best; GpuError with fewer than two sizes. Its rate is the bus rate seen, its fraction 1."""
    if len({sample.size_bytes for sample in samples}) < 2:
        raise GpuError(
            f"{len(samples)} measured all-reduces tell no latency", remedy="at least two sizes, 1 kB and 64 MB"
        )
    ranks = np.array([sample.rank_count for sample in samples], dtype=np.float64)
    size = np.array([sample.size_bytes for sample in samples], dtype=np.float64)
    time = np.array([sample.duration_s for sample in samples])
    hop, per_byte = _fit(2.0 * (ranks - 1.0), 2.0 * (ranks - 1.0) / ranks * size, time)
    return Link(
        name=name,
        kind=LinkKind.MEASURED,
        rated_bytes_per_s=1.0 / per_byte,
        achieved_fraction=1.0,
        fraction_is_measured=True,
        hop_latency_ns=hop * NS_PER_S,
        start_latency_ns=0.0,
        group_count=group_count or int(ranks.max()),
        source=source,
    )


def _fit(hops: F64, sent: F64, time: F64) -> tuple[float, float]:
    """Seconds a hop and a byte: least relative absolute deviations, by reweighing: one slow sample does no harm."""
    columns = np.stack((hops, sent), axis=1) / time[:, None]
    weight = np.ones(len(time))
    hop, per_byte = 0.0, float((time / sent).min())
    for _ in range(_REWEIGHINGS):
        solved = np.linalg.lstsq(columns * weight[:, None], weight, rcond=None)[0]
        hop, per_byte = max(0.0, float(solved[0])), float(solved[1])
        if per_byte <= 0:
            per_byte = float(np.min(time / sent))
        weight = 1.0 / np.sqrt(np.maximum(1e-3, np.abs(columns @ np.array([hop, per_byte]) - 1.0)))
    return hop, per_byte
