"""What do probes say about a cluster's times? Throughput of each worker, spread, links and servers, from phase records.

Workers' times by share give rates and their overhead where probes gave different shares (one group and many groups
do), else the rates alone. All-reduce times at two or more group sizes give latency and transfer apart; at one size all
of it counts as latency, which only matters for sizes in between.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from surfer_lab.errors import OptionError
from surfer_lab.planner.convergence.cluster_times import ClusterTimes
from surfer_lab.planner.convergence.run_record import PhaseRecord

__all__ = ["cluster_times", "worker_rates"]

F64 = NDArray[np.float64]

_LEAST_STEPS = 2  # of a worker in a phase, before its mean is believed
_SPREAD_SAMPLES = 400
_MANY = 12  # updates of a phase
_ROUNDS = 30  # of fitting rates and their common overhead in turn


def worker_rates(records: Sequence[PhaseRecord], workers: int) -> tuple[F64, F64]:
    """(samples a second, overhead in seconds) of each worker, (workers,) each, by all phases it took part in.

    seconds = overhead + share / rate, one overhead for all. A rate from few and scattered steps is drawn towards the
    workers' geometric mean, by how much of the difference between workers their scatter explains.
    """
    seen = _steps(records, workers)
    known = [worker for worker in range(workers) if seen[worker]]
    if not known:
        raise OptionError("no worker was timed", remedy="a probe of two or more rounds")
    sizes = {share for worker in known for share in seen[worker]}
    overhead, rates = 0.0, np.full(workers, np.nan)
    for _ in range(_ROUNDS if max(sizes) >= 1.5 * min(sizes) else 1):
        for worker in known:
            rates[worker] = _rate(seen[worker], overhead)
        left = [
            (float(times.mean()) - share / rates[worker], len(times))
            for worker in known
            for share, times in seen[worker].items()
        ]
        mean = sum(one * count for one, count in left) / sum(count for _, count in left)
        shortest = min(float(times.mean()) for worker in known for times in seen[worker].values())
        overhead = min(max(0.0, overhead + mean), 0.9 * shortest)
    rates[known] = _drawn_together(rates[known], [seen[worker] for worker in known])
    rates[np.isnan(rates)] = float(np.exp(np.nanmean(np.log(rates))))  # one whose share was 0 so far
    return rates, np.full(workers, overhead)


def _steps(records: Sequence[PhaseRecord], workers: int) -> list[dict[int, F64]]:
    """Seconds of each worker's steps by its share."""
    found: list[dict[int, list[F64]]] = [{} for _ in range(workers)]
    for record in records:
        for member in record.members:
            if member.worker < workers and member.samples > 0 and len(member.compute_s) >= _LEAST_STEPS:
                found[member.worker].setdefault(member.samples, []).append(member.compute_s)
    return [{share: np.concatenate(parts) for share, parts in one.items()} for one in found]


def _rate(steps: dict[int, F64], overhead: float) -> float:
    """Samples a second over all steps, the overhead of each taken off."""
    samples = sum(share * len(times) for share, times in steps.items())
    seconds = sum(float(times.sum()) - overhead * len(times) for times in steps.values())
    return samples / max(1e-9, seconds)


def _drawn_together(rates: F64, steps: Sequence[dict[int, F64]]) -> F64:
    log = np.log(rates)
    counts = np.array([sum(len(times) for times in one.values()) for one in steps])
    scatter = [times / times.mean() - 1.0 for one in steps for times in one.values() if times.mean() > 0]
    error = float(np.concatenate(scatter).var()) / counts
    between = max(0.0, float(log.var()) - float(error.mean()))
    trust = between / (between + error) if between > 0.0 else np.zeros(len(log))
    return np.asarray(np.exp(log.mean() + trust * (log - log.mean())))


def cluster_times(records: Sequence[PhaseRecord], workers: int) -> ClusterTimes:
    """The cluster as these phases saw it; the more different their numbers of groups, the better."""
    ran = [record for record in records if record.count]
    if not ran:
        raise OptionError("no probe ran", remedy="a probe of some updates")
    rates, overheads = worker_rates(ran, workers)
    hop_s, reduce_s = _links(ran)
    return ClusterTimes(
        batch_size=ran[-1].request.batch_size,
        samples_per_s=rates,
        overhead_s=overheads,
        hop_s=hop_s,
        reduce_s=reduce_s,
        exchange_s=_mean_of(ran, "exchange_s"),
        server_s=_mean_of(ran, "service_s"),
        spread=_spread(ran),
        error_fraction=_error_fraction(ran),
    )


def _mean_of(records: Sequence[PhaseRecord], column: str) -> float:
    """Over updates whose groups were back at least once."""
    found = []
    for record in records:
        values = record.column(column)[record.request.setting.groups :]
        if len(values):
            found.append(_usual(values))
    return float(np.median(found)) if found else 0.0


def _usual(values: F64) -> float:
    """The median of many; of few the lower quartile: what a busy machine adds comes and goes."""
    return float(np.percentile(values, 50.0 if len(values) >= _MANY else 25.0))


def _links(records: Sequence[PhaseRecord]) -> tuple[float, float]:
    """(latency of a hop, time to send all gradients once): t(k) = 2 (k-1) hop + 2 (k-1)/k reduce, neither negative."""
    sizes: dict[int, list[float]] = {}
    for record in records:
        members = {member.worker for member in record.members}
        size = max(1, round(len(members) / record.request.setting.groups))
        if size > 1 and record.count > 1:
            sizes.setdefault(size, []).append(_usual(record.column("all_reduce_s")[1:]))
    if not sizes:
        return 0.0, 0.0
    k = np.array(sorted(sizes), dtype=np.float64)
    time = np.maximum(1e-9, [float(np.mean(sizes[int(size)])) for size in k])  # links that take no time
    hops, sends = 2.0 * (k - 1.0), 2.0 * (k - 1.0) / k
    if len(k) == 1:
        return float(time[0] / hops[0]), 0.0
    hop, send = np.linalg.lstsq(np.stack([hops, sends], axis=1) / time[:, None], np.ones(len(k)), rcond=None)[0]
    if hop < 0.0:
        return 0.0, float((sends @ time) / (sends @ sends))
    if send < 0.0:
        return float((hops @ time) / (hops @ hops)), 0.0
    return float(hop), float(send)


def _spread(records: Sequence[PhaseRecord]) -> tuple[float, ...]:
    """Compute times over their worker's mean of the phase, thinned out evenly where there are many."""
    parts = [
        member.compute_s / member.compute_s.mean()
        for record in records
        for member in record.members
        if member.samples > 0 and len(member.compute_s) >= 4 and member.compute_s.mean() > 0
    ]
    if not parts:
        return (1.0,)
    every = np.sort(np.concatenate(parts))
    if len(every) > _SPREAD_SAMPLES:
        every = every[np.linspace(0, len(every) - 1, _SPREAD_SAMPLES).round().astype(int)]
    return tuple(float(value) for value in every / every.mean())


def _error_fraction(records: Sequence[PhaseRecord]) -> float:
    """Standard error of the mean round: what so few updates leave unknown, at least 3 %."""
    found = []
    for record in records:
        rounds = sum(record.column(name) for name in ("compute_s", "all_reduce_s", "exchange_s", "service_s"))
        if record.count > 3:
            found.append(float(np.std(rounds) / np.mean(rounds) / np.sqrt(record.count)))
    return max(0.03, float(np.mean(found))) if found else 0.10
