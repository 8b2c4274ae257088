"""Which experiments are run, and what do they say together? Real workers, on a local Ray or at an address.

Each experiment's budget is printed with its table. Work and link times are made by throttling (sleeping), so that what
is measured depends little on what else the machine does; what remains of it is measured like everything else.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.distributed.cluster import Cluster
from surfer_lab.distributed.problem import Quadratic
from surfer_lab.errors import OptionError
from surfer_lab.planner.convergence.cluster_times import ClusterTimes
from surfer_lab.planner.convergence.statistical_efficiency import StatisticalModel
from surfer_lab.planner.convergence.time_to_loss import plan_training
from surfer_lab.planner.options import near_matches
from surfer_lab.training.evaluate.cases import Case, Cell, Evaluation, Table
from surfer_lab.training.evaluate.convergence.effort import FULL, QUICK, Effort
from surfer_lab.training.evaluate.convergence.figures import bars_svg, staleness_svg, write_svg
from surfer_lab.training.evaluate.convergence.momentum import momentum_experiment, momentum_table
from surfer_lab.training.evaluate.convergence.penalty import penalty_experiment, penalty_table
from surfer_lab.training.evaluate.convergence.prediction import prediction_experiment, prediction_table
from surfer_lab.training.evaluate.convergence.shares import share_table, shares_experiment
from surfer_lab.training.evaluate.convergence.tuning import tuning_experiment, tuning_tables
from surfer_lab.training.evaluate.convergence.workloads import WORKERS

__all__ = ["evaluate_convergence"]

F64 = NDArray[np.float64]
Progress = Callable[[str, int, int], None]

_DEVICES: Final = 10_000


def evaluate_convergence(
    *,
    quick: bool = False,
    only: tuple[str, ...] = (),
    figures: Path | None = None,
    address: str | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Run the experiments, or `only` some: scale, momentum, shares, penalty, prediction, tuning. Figures to a folder.

    `quick` runs fewer groups, seeds and workloads, in about four minutes instead of an hour. OptionError names an
    experiment that is not known.
    """
    unknown = [name for name in only if name not in _EXPERIMENTS]
    if unknown:
        nearest = near_matches(unknown[0], _EXPERIMENTS)
        raise OptionError(f"{unknown[0]!r} is no experiment", remedy=" or ".join(nearest) or ", ".join(_EXPERIMENTS))
    effort = QUICK if quick else FULL
    run = _Run(effort, progress)
    chosen = [name for name in _EXPERIMENTS if not only or name in only]
    workers = max(*effort.momentum_groups, WORKERS) if "momentum" in chosen else WORKERS
    if chosen != ["scale"]:
        run.connect(workers, address)
    try:
        for place, name in enumerate(chosen):
            run.place, run.count = place, len(chosen)
            begun = time.perf_counter()
            _EXPERIMENTS[name](run)
            run.facts[f"{name}: minutes"] = round((time.perf_counter() - begun) / 60.0, 1)
    finally:
        run.close()
    if figures is not None:
        run.draw(figures)
    return Evaluation(name="convergence", cases=tuple(run.cases), tables=tuple(run.tables), facts=run.facts)


class _Run:
    """What the experiments share: workers, and what was found so far."""

    def __init__(self, effort: Effort, progress: Progress | None) -> None:
        self.effort = effort
        self.cases: list[Case] = []
        self.tables: list[Table] = []
        self.facts: dict[str, Cell] = {"effort": effort.name}
        self.histograms: dict[tuple[str, str, int], F64] = {}
        self.place, self.count = 0, 1
        self._progress = progress
        self._cluster: Cluster | None = None

    def connect(self, workers: int, address: str | None) -> None:
        """Start workers; a first phase of all of them, so that none has anything left to load."""
        self.told("starting workers")
        self._cluster = Cluster(Quadratic, workers=workers, address=address)
        self.cluster.warm_up()

    @property
    def cluster(self) -> Cluster:
        """The workers."""
        if self._cluster is None:
            raise RuntimeError("connect comes first")
        return self._cluster

    def told(self, what: str) -> None:
        """To whoever watches."""
        if self._progress is not None:
            self._progress(what, self.place, self.count)

    def close(self) -> None:
        """End the workers."""
        if self._cluster is not None:
            self._cluster.close()

    def draw(self, folder: Path) -> None:
        """The figures of what was run."""
        if self.histograms:
            write_svg(folder, "convergence-staleness", staleness_svg(self.histograms))
        tuned = [case for case in self.cases if case.method == "tuned run"]
        if tuned:
            bars = [
                (
                    str(name),
                    [
                        (
                            str(how),
                            median(_seconds(case) for case in tuned if case.model == name and case.option == how),
                        )
                        for how in dict.fromkeys(case.option for case in tuned if case.model == name)
                    ],
                )
                for name in dict.fromkeys(case.model for case in tuned)
            ]
            label = "seconds to the target loss, tuning included; median over seeds"
            write_svg(folder, "convergence-tuning", bars_svg("Tuned and untuned runs", bars, x_label=label))


def _seconds(case: Case) -> float:
    return float(str(case.columns["seconds"]))


def _momentum(run: _Run) -> None:
    rows = []
    for case, row, histogram in momentum_experiment(run.cluster, run.effort):
        run.told(f"implicit momentum: {case.model}, g = {case.columns['groups']}")
        run.cases.append(case)
        rows.append(row)
        run.histograms[(str(row[0]), str(row[1]), int(str(row[2])))] = histogram
    run.tables.append(momentum_table(rows))


def _penalty(run: _Run) -> None:
    cases = []
    for case in penalty_experiment(run.cluster, run.effort):
        run.told(f"statistical penalty: seed {case.columns['seed']}, {case.option}")
        cases.append(case)
    run.cases += cases
    run.tables.append(penalty_table(cases))


def _shares(run: _Run) -> None:
    run.told("batch shares")
    case = shares_experiment(run.cluster)
    run.cases.append(case)
    run.tables.append(share_table(case))


def _prediction(run: _Run) -> None:
    cases = list(prediction_experiment(run.cluster, run.effort, run.told))
    run.cases += cases
    run.tables += prediction_table(cases)


def _tuning(run: _Run) -> None:
    cases = list(tuning_experiment(run.cluster, run.effort, run.told))
    run.cases += cases
    run.tables += tuning_tables(cases)
    run.facts.update({f"workload {one.name}": one.words for one in run.effort.run_workloads()})


def _scale(run: _Run) -> None:
    """How long the planner takes for ten thousand unequal devices."""
    random = np.random.default_rng(0)
    cluster = ClusterTimes(
        batch_size=65536,
        samples_per_s=random.uniform(50.0, 500.0, _DEVICES),
        overhead_s=random.uniform(0.0, 0.01, _DEVICES),
        hop_s=1e-4,
        reduce_s=0.01,
        exchange_s=0.01,
        server_s=0.001,
        spread=tuple(random.exponential(size=200)),
    )
    begun = time.perf_counter()
    plan = plan_training(cluster, StatisticalModel(total_momentum=0.9), learning_rate=0.1, iterations_at_one=1e4)
    run.facts["planning 10,000 devices: s"] = round(time.perf_counter() - begun, 2)
    run.facts["planning 10,000 devices: best groups"] = plan.best.setting.groups


_EXPERIMENTS: Final[dict[str, Callable[[_Run], None]]] = {
    "scale": _scale,
    "momentum": _momentum,
    "shares": _shares,
    "penalty": _penalty,
    "prediction": _prediction,
    "tuning": _tuning,
}
