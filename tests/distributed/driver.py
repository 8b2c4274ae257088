"""Trains until it is killed: what the test of a dying driver starts. Prints a line for every status it hears."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from surfer_lab.distributed.cluster import Cluster
from surfer_lab.distributed.conditions import Conditions
from surfer_lab.distributed.problem import Quadratic
from surfer_lab.planner.convergence.run_record import PhaseRequest
from surfer_lab.planner.convergence.setting import Setting

INTERVAL_S = 0.5
PROBLEM = partial(Quadratic, noise=0.01, condition=100.0)
SETTING = Setting(groups=2, momentum=0.0, learning_rate=0.1)


def main() -> None:
    """Start a local Ray, train, tell."""
    cluster = Cluster(
        PROBLEM,
        workers=2,
        folder=Path(sys.argv[1]),
        checkpoint_s=INTERVAL_S,
        conditions=Conditions(s_per_sample=0.002),
    )
    print("pids", *(pid for _, pid, _ in cluster.places()), flush=True)
    request = PhaseRequest(setting=SETTING, batch_size=8, max_seconds=600.0)
    cluster.run(
        request,
        keeps=True,
        facts={"kind": "driver"},
        told=lambda status: print("status", status.seconds, status.updates, flush=True),
    )


if __name__ == "__main__":
    main()
