"""Which three workloads are planned, measured and tuned? Noisy quadratics under three kinds of links and servers.

A quadratic of condition 20 (3 where compute is the bound, so that asynchrony has a price there), whose gradients are
noisy: its arithmetic is nothing beside the times that are made. Four workers, two of them three times slower than the
others. What is written here is done to the workers and the server, and nowhere told to the planner, which measures
what it uses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from surfer_lab.distributed.conditions import Conditions
from surfer_lab.distributed.problem import ProblemFactory, Quadratic
from surfer_lab.planner.convergence.setting import Setting
from surfer_lab.planner.convergence.tuned_run import Goal

__all__ = ["WORKERS", "WORKLOADS", "Workload"]

WORKERS: Final = 4
_SLOWER: Final = 3.0
# a synchronous setting that the momentum rule carries to more groups without diverging, found in a simulation
_QUADRATIC_BASE: Final = Setting(groups=1, momentum=0.6, learning_rate=0.16)


def _quadratic(_seed: int) -> ProblemFactory:
    return partial(Quadratic, condition=20.0, noise=0.03)


def _well_conditioned(_seed: int) -> ProblemFactory:
    """Condition 3: a synchronous run wants little momentum, so that much asynchrony costs it iterations."""
    return partial(Quadratic, condition=3.0, noise=0.03)


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A problem, a goal, and how devices, links and server are slowed down."""

    name: str
    s_per_sample: float  # of a fast worker
    hop_s: float
    reduce_s: float
    exchange_s: float
    serving_s: float = 0.0
    problem: Callable[[int], ProblemFactory] = _quadratic
    base: Setting = _QUADRATIC_BASE
    untuned_rate: float = 0.1  # the best decade of a synchronous run with momentum 0.9: given to untuned runs
    easier_loss: float = 0.01  # probes stop there, beyond what the start of asynchronous groups costs once
    runs: int = 1  # to the target, for each number of groups and seed of the effort: short ones scatter more
    batch_size: int = 16
    target_loss: float = 3e-4
    window: int = 8
    variation: float = 0.0
    max_seconds: float = 60.0

    @property
    def conditions(self) -> tuple[Conditions, ...]:
        """Of each worker: fast and slow ones in turn."""
        return tuple(
            Conditions(
                s_per_sample=self.s_per_sample * (_SLOWER if index % 2 else 1.0),
                hop_s=self.hop_s,
                reduce_s=self.reduce_s,
                exchange_s=self.exchange_s,
                variation=self.variation,
            )
            for index in range(WORKERS)
        )

    def goal(self, seed: int) -> Goal:
        """What is to be reached, with a run's seed."""
        return Goal(
            batch_size=self.batch_size,
            target_loss=self.target_loss,
            window=self.window,
            max_seconds=self.max_seconds,
            seed=seed,
        )

    def in_times(self, factor: float) -> Workload:
        """The same problem and goal, where all that takes time takes so many times as long."""
        return replace(
            self,
            s_per_sample=factor * self.s_per_sample,
            hop_s=factor * self.hop_s,
            reduce_s=factor * self.reduce_s,
            exchange_s=factor * self.exchange_s,
            serving_s=factor * self.serving_s,
        )

    @property
    def words(self) -> str:
        """The conditions in a line."""
        return (
            f"{1e3 * self.s_per_sample:.3g} ms a sample (three times that on half of the workers), "
            f"{1e3 * self.hop_s:.3g} ms a hop, {1e3 * self.reduce_s:.3g} ms for all gradients over a link, "
            f"{1e3 * self.exchange_s:.3g} ms to the server, which takes {1e3 * self.serving_s:.3g} ms an update"
        )


WORKLOADS: Final[dict[str, Workload]] = {
    one.name: one
    for one in (
        Workload(
            name="compute bound", s_per_sample=0.040, hop_s=0.0005, reduce_s=0.001, exchange_s=0.002, max_seconds=45.0,
            problem=_well_conditioned, base=Setting(groups=1, momentum=0.3, learning_rate=0.57),
            easier_loss=0.003, runs=3,
        ),
        Workload(
            name="mixed", s_per_sample=0.003, hop_s=0.050, reduce_s=0.001, exchange_s=0.003, serving_s=0.150,
            max_seconds=45.0,
        ),
        Workload(
            name="communication bound", s_per_sample=0.008, hop_s=0.010, reduce_s=0.300, exchange_s=0.020,
            variation=0.3,
        ),
    )
}  # fmt: skip
