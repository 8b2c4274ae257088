"""Do throughput shares use unequal workers fully? One of two is throttled; the shares are found by measuring."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np

from surfer_lab.distributed.cluster import Cluster
from surfer_lab.distributed.conditions import Conditions
from surfer_lab.distributed.problem import Quadratic
from surfer_lab.planner.convergence.measured_times import worker_rates
from surfer_lab.planner.convergence.run_record import PhaseRecord, PhaseRequest
from surfer_lab.planner.convergence.setting import Setting
from surfer_lab.training.evaluate.cases import Case, Table

__all__ = ["share_table", "shares_experiment"]

_BATCH: Final = 64
_S_PER_SAMPLE: Final = (0.004, 0.010)
_STEPS: Final = 12
_SYNCHRONOUS: Final = Setting(groups=1, momentum=0.0, learning_rate=0.01)
_ALONE: Final = Setting(groups=2, momentum=0.0, learning_rate=0.01)


def shares_experiment(cluster: Cluster) -> Case:
    """Samples a second with equal shares, with throughput shares, and of both workers by themselves, added up."""
    cluster.use(
        partial(Quadratic, noise=0.1), workers=2, conditions=[Conditions(s_per_sample=one) for one in _S_PER_SAMPLE]
    )
    alone = _ran(cluster, _ALONE, 2 * _STEPS)
    summed = sum(_BATCH / float(member.compute_s[1:].mean()) for member in alone.members)
    equal = _ran(cluster, _SYNCHRONOUS, _STEPS)
    cluster.samples_per_s, cluster.overhead_s = worker_rates([equal], 2)
    divided = _ran(cluster, _SYNCHRONOUS, _STEPS)
    shares = {member.worker: member.samples for member in divided.members}
    return Case(
        model="quadratic",
        method="batch shares",
        columns={
            "summed_samples_per_s": summed,
            "equal_samples_per_s": _BATCH / equal.seconds_per_update,
            "divided_samples_per_s": _BATCH / divided.seconds_per_update,
            "shares": " and ".join(str(shares[worker]) for worker in sorted(shares)),
        },
    )  # fmt: skip


def _ran(cluster: Cluster, setting: Setting, updates: int) -> PhaseRecord:
    return cluster.run(PhaseRequest(setting=setting, batch_size=_BATCH, max_updates=updates))


def share_table(case: Case) -> Table:
    """The three throughputs, and what part of the sum is reached."""
    summed, equal, divided = (
        float(str(case.columns[f"{kind}_samples_per_s"])) for kind in ("summed", "equal", "divided")
    )
    rows = (
        ("both by themselves, added up", round(summed, 1), 100.0),
        ("synchronous, equal shares", round(equal, 1), round(100.0 * equal / summed, 1)),
        (f"synchronous, shares of {case.columns['shares']}", round(divided, 1), round(100.0 * divided / summed, 1)),
    )
    return Table(
        title="two workers of unequal speed",
        columns=("how", "samples/s", "of the sum %"),
        rows=rows,
        notes=(f"batch {_BATCH}; one worker throttled to {np.divide(*_S_PER_SAMPLE):.0%} of the other",),
    )
