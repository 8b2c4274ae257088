"""Is the implicit momentum of real asynchronous runs 1 - 1/g? Fitted to iterates, beside the measured staleness.

Groups of one worker, explicit momentum 0, work times that are exponential (the theory's case) or constant (where groups
take turns). The fit does not look at staleness, and the staleness is counted by the server, not assumed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.distributed.cluster import Cluster
from surfer_lab.distributed.conditions import Conditions
from surfer_lab.distributed.example_problems import digits_problem
from surfer_lab.distributed.problem import Problem, ProblemFactory, Quadratic
from surfer_lab.planner.convergence.momentum import distance, geometric_staleness, implicit_momentum, mean_staleness
from surfer_lab.planner.convergence.momentum_estimate import estimated_momentum
from surfer_lab.planner.convergence.run_record import PhaseRequest
from surfer_lab.planner.convergence.setting import Setting
from surfer_lab.training.evaluate.cases import Case, Cell, Table
from surfer_lab.training.evaluate.convergence.effort import Effort

__all__ = ["momentum_experiment", "momentum_table"]

F64 = NDArray[np.float64]

_UPDATES: Final = 30  # of a run
_WORK_S: Final = {"quadratic": 0.010, "digits": 0.020}  # between two updates of all groups, on average
_LAGS: Final = 64
_LEARNING_RATE: Final = {"quadratic": 0.3, "digits": 0.1}
# with batches of 128, simulated, one estimate of the digits scattered by 0.06
_BATCH: Final = {"quadratic": 1, "digits": 512}


def momentum_experiment(cluster: Cluster, effort: Effort) -> Iterator[tuple[Case, tuple[Cell, ...], F64]]:
    """One case, row and staleness histogram for each problem, kind of work time and number of groups."""
    for name in effort.momentum_problems:
        factory: ProblemFactory = partial(Quadratic, noise=0.0) if name == "quadratic" else partial(digits_problem, 0)
        problem = factory()
        cluster.use(factory)
        for groups in effort.momentum_groups:
            for is_exponential in (True, False):
                yield _measured(cluster, effort, name, problem, groups, is_exponential)


def _measured(
    cluster: Cluster, effort: Effort, name: str, problem: Problem, groups: int, is_exponential: bool
) -> tuple[Case, tuple[Cell, ...], F64]:
    work = Conditions(s_per_sample=_WORK_S[name] * groups / _BATCH[name], is_exponential=is_exponential)
    cluster.use(workers=groups, conditions=work)
    runs = effort.momentum_runs if is_exponential else max(6, effort.momentum_runs // 6)
    histogram = np.zeros(_LAGS)
    iterates = []
    for seed in range(runs):
        request = PhaseRequest(
            setting=Setting(groups=groups, momentum=0.0, learning_rate=_LEARNING_RATE[name]),
            batch_size=_BATCH[name],
            max_updates=_UPDATES,
            seed=seed,
            keeps_iterates=True,
        )
        record = cluster.run(request)
        seen = record.staleness_histogram[:_LAGS]
        histogram[: len(seen)] += seen
        if record.iterates is not None:
            iterates.append(record.iterates.astype(np.float64))
    walked = np.stack(iterates)
    estimate = estimated_momentum(walked, _gradients(problem, walked))
    theory = implicit_momentum(groups)
    apart = distance(histogram, geometric_staleness(groups, lags=_LAGS))
    kind = "exponential" if is_exponential else "constant"
    row: tuple[Cell, ...] = (
        name, kind, groups, runs, round(theory, 3), round(estimate.momentum, 3),
        f"{estimate.low:.3f} to {estimate.high:.3f}", round(estimate.momentum - theory, 3),
        round(mean_staleness(histogram), 2), round(apart, 3),
    )  # fmt: skip
    case = Case(
        model=name,
        method="implicit momentum",
        columns={
            "work_times": kind, "groups": groups, "runs": runs, "theory": theory, "measured": estimate.momentum,
            "low": estimate.low, "high": estimate.high, "mean_staleness": mean_staleness(histogram),
            "distance_to_geometric": apart, "staleness": " ".join(f"{count:.0f}" for count in histogram),
        },
    )  # fmt: skip
    return case, row, histogram


COLUMNS: Final = (
    "problem", "work times", "g", "runs", "1 - 1/g", "measured", "80 % interval", "difference", "mean staleness",
    "from geometric",
)  # fmt: skip


def momentum_table(rows: list[tuple[Cell, ...]]) -> Table:
    """All rows."""
    return Table(
        title="implicit momentum of asynchronous groups",
        columns=COLUMNS,
        rows=tuple(rows),
        notes=(
            f"{_UPDATES} updates a run, explicit momentum 0; the fit sees iterates and gradients, not staleness",
            "from geometric: half the summed difference of the measured staleness from the geometric one, 0 to 1",
            "constant work times: groups take turns, the staleness is g - 1 and the theory's recursion does not apply",
        ),
    )


def _gradients(problem: Problem, iterates: F64) -> F64:
    """Of the loss over all samples, at every iterate: at the runs' mean instead, a network's momentum came out too high
    by 0.06, for a gradient's mean is not the mean's gradient.
    """
    if isinstance(problem, Quadratic):
        return np.asarray(iterates * problem.curvature)
    every = np.arange(problem.sample_count)
    points = iterates.reshape(-1, iterates.shape[-1]).astype(np.float32)
    found = [problem.gradient(weights, every)[1] for weights in points]
    return np.stack(found).astype(np.float64).reshape(iterates.shape)
