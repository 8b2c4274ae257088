"""A cluster that is simulated: events in order of time, a quadratic, a fake clock. Fits where Ray would run a phase."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

import numpy as np

from surfer_lab.planner.convergence.devices import batch_shares, group_devices
from surfer_lab.planner.convergence.run_record import (
    MemberTimes,
    PhaseInterrupted,
    PhaseRecord,
    PhaseRequest,
    PhaseStatus,
    RunState,
)


@dataclass(eq=False)
class SimulatedCluster:
    """Workers of these seconds a sample; link and server times as `ClusterTimes` has them."""

    s_per_sample: tuple[float, ...]
    hop_s: float = 0.0
    reduce_s: float = 0.0
    exchange_s: float = 0.001
    server_s: float = 0.0
    is_exponential: bool = False
    condition: float = 30.0
    dimensions: int = 8
    noise: float = 0.0
    setup_s: float = 0.05  # of each phase
    interrupt_after: int = 10**9  # phases
    first_run: int = 0  # runs differ by their number, and by where it starts
    samples_per_s: np.ndarray = field(init=False)
    overhead_s: np.ndarray = field(init=False)
    ran: list[PhaseRecord] = field(default_factory=list)
    kept: list[tuple[RunState, dict]] = field(default_factory=list)

    def __post_init__(self):
        self.worker_count = len(self.s_per_sample)
        self.samples_per_s, self.overhead_s = np.ones(self.worker_count), np.zeros(self.worker_count)
        self.curvature = np.geomspace(1.0 / self.condition, 1.0, self.dimensions)

    def run(self, request: PhaseRequest, state=None, *, told=None, keeps=False, facts=None) -> PhaseRecord:
        rng = np.random.default_rng([request.seed, self.first_run + len(self.ran)])
        start = state or RunState(
            weights=np.ones(self.dimensions, np.float32), velocity=np.zeros(self.dimensions, np.float32)
        )
        weights, velocity = start.weights.astype(float), start.velocity.astype(float)
        groups = request.setting.groups
        member_of = group_devices(self.samples_per_s, groups)
        members = [np.flatnonzero(member_of == group) for group in range(groups)]
        shares = [batch_shares(request.batch_size, self.samples_per_s[at], self.overhead_s[at]) for at in members]
        steps = {int(worker): [] for worker in range(self.worker_count)}

        def compute(group):
            taken = []
            for worker, share in zip(members[group], shares[group], strict=True):
                mean = self.s_per_sample[worker] * share
                time = float(rng.exponential(mean)) if self.is_exponential else mean
                steps[int(worker)].append(time)
                taken.append(time)
            return max(taken)

        def reduce(group):
            k = len(members[group])
            return 2 * (k - 1) * self.hop_s + 2 * (k - 1) / k * self.reduce_s

        events = []
        for group in range(groups):
            spent = compute(group)
            heapq.heappush(events, (spent + reduce(group) + self.exchange_s, group, 0, weights.copy(), spent))
        rows, free_s, version, reached, diverged = [], 0.0, 0, False, False
        iterates = [weights.astype(np.float32)]
        while events:
            at, group, read, view, spent = heapq.heappop(events)
            begun = max(at, free_s)
            free_s = begun + self.server_s
            loss = 0.5 * float((self.curvature * view**2).sum())
            gradient = self.curvature * (view - self.noise * rng.normal(size=self.dimensions))
            velocity = request.setting.momentum * velocity - request.setting.learning_rate * gradient
            weights = np.clip(weights + velocity, -1e15, 1e15)
            rows.append((free_s, loss, version - read, group, request.batch_size, spent, reduce(group),
                         self.exchange_s, begun - at, self.server_s))  # fmt: skip
            version += 1
            iterates.append(weights.astype(np.float32))
            window = [row[1] for row in rows[-request.window :]]
            diverged = not np.isfinite(loss) or loss > request.diverged_above
            reached = (
                not diverged
                and version >= request.window
                and request.target_loss is not None
                and float(np.mean(window)) <= request.target_loss
            )
            if (
                diverged
                or reached
                or (request.max_updates is not None and version >= request.max_updates)
                or (request.max_seconds is not None and free_s >= request.max_seconds)
            ):
                break
            spent = compute(group)
            heapq.heappush(
                events, (free_s + spent + reduce(group) + self.exchange_s, group, version, weights.copy(), spent)
            )
        record = PhaseRecord(
            request=request,
            updates=np.array(rows),
            members=tuple(
                MemberTimes(
                    worker=int(worker),
                    samples=int(share),
                    compute_s=np.array(steps[int(worker)]),
                    all_reduce_s=np.full(len(steps[int(worker)]), reduce(group)),
                )
                for group in range(groups)
                for worker, share in zip(members[group], shares[group], strict=True)
            ),
            state=RunState(
                weights=weights.astype(np.float32),
                velocity=velocity.astype(np.float32),
                updates=start.updates + version,
                seconds=start.seconds + rows[-1][0],
            ),
            is_reached=reached,
            is_diverged=diverged,
            wall_s=rows[-1][0] + self.setup_s,
            iterates=np.stack(iterates) if request.keeps_iterates else None,
        )
        self.ran.append(record)
        if keeps and not diverged:
            self.kept.append((record.state, facts))
        if told is not None:
            told(PhaseStatus(updates=version, seconds=rows[-1][0], loss=rows[-1][1], staleness=(1,), is_done=True))
        if len(self.ran) >= self.interrupt_after:
            raise PhaseInterrupted(record)
        return record
