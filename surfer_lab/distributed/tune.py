"""How does a user tune a training run? `tune(factory, ...)`: workers started, tuned, trained, and what was found.

A factory makes what is trained, in every worker: a Problem, or (model, data set) or (model, data set, loss), or (body,
head, data set, loss) whose head may be merged. It is a function, or "module:function" or "file.py:function".
"""

from __future__ import annotations

import importlib
import runpy
import sys
from collections.abc import Callable
from typing import Any

from surfer_lab.distributed.cluster import Cluster
from surfer_lab.distributed.problem import Problem, ProblemFactory
from surfer_lab.errors import OptionError
from surfer_lab.planner.convergence.decisions import Decision
from surfer_lab.planner.convergence.optimizer import Optimizer
from surfer_lab.planner.convergence.run_record import PhaseStatus
from surfer_lab.planner.convergence.setting import Setting
from surfer_lab.planner.convergence.tune_options import TuneOptions
from surfer_lab.planner.convergence.tuned_run import Goal, SearchOptions, TunedRun

__all__ = ["named_factory", "problem_factory", "tune"]


class _Made:
    """The factory's answer as a Problem; a class, so that Ray can send it to workers."""

    def __init__(self, factory: Callable[[], Any]) -> None:
        self._factory = factory

    def __call__(self) -> Problem:
        return _problem(self._factory())


def problem_factory(factory: Callable[[], Any]) -> ProblemFactory:
    """A factory of a Problem, from one of any of the forms."""
    return _Made(factory)


def _problem(made: Any) -> Problem:
    if hasattr(made, "gradient") and hasattr(made, "initial_weights"):
        return made  # type: ignore[no-any-return] # checked by its methods
    from surfer_lab.distributed.torch_problem import HeadedTorchProblem, TorchProblem

    match made:
        case (body, head, data, loss) if hasattr(head, "parameters"):
            return HeadedTorchProblem(body, head, data, loss)
        case (model, data, loss) if callable(loss):
            return TorchProblem(model, data, loss)
        case (model, data) if hasattr(model, "parameters"):
            return TorchProblem(model, data)
    raise OptionError(
        f"the factory returned {type(made).__name__}",
        remedy="(model, data set), (model, data set, loss), (body, head, data set, loss), or a Problem",
    )


def named_factory(name: str) -> ProblemFactory:
    """The factory that "module:function" or "file.py:function" names."""
    where, colon, attribute = name.rpartition(":")
    if not colon or not where or not attribute:
        raise OptionError(
            f"{name!r} is not MODULE:FACTORY",
            remedy="surfer_lab.distributed.example_problems:digits_problem, or your own",
        )
    if where.endswith(".py"):
        try:
            found = runpy.run_path(where).get(attribute)
        except OSError as error:
            raise OptionError(f"{where} cannot be read ({error.strerror})", remedy="a file that is there") from error
    else:
        sys.path.insert(0, "")  # a module beside the user, as python -m finds it
        try:
            found = getattr(importlib.import_module(where), attribute, None)
        except ModuleNotFoundError as error:
            raise OptionError(f"there is no module {error.name}", remedy="its name, or file.py:function") from error
        finally:
            sys.path.remove("")
    if not callable(found):
        raise OptionError(f"{where} has no function {attribute}", remedy="a function that makes what is trained")
    return problem_factory(found)


def tune(
    factory: ProblemFactory | Callable[[], Any],
    options: TuneOptions,
    *,
    search: SearchOptions | None = None,
    logged: Callable[[Decision], None] | None = None,
    told: Callable[[str, Setting, PhaseStatus], None] | None = None,
    changed: Callable[[TunedRun], None] | None = None,
) -> TunedRun:
    """Start workers, tune and train until the target loss; an interrupt gives the best so far.

    `logged` hears every decision, `told` the status of a running phase, `changed` the run so far after every phase.
    """
    made = factory if isinstance(factory, _Made) else problem_factory(factory)
    with Cluster(
        made,
        workers=options.workers,
        address=options.address,
        folder=options.folder,
        checkpoint_s=options.checkpoint_s,
        merge_head=options.merge_head,
        gpus_per_worker=options.gpus_per_worker,
    ) as cluster:
        resumed = cluster.resumed() if options.resume else None
        goal = Goal(
            batch_size=options.batch_size,
            target_loss=options.target_loss,
            window=options.window,
            max_seconds=options.max_seconds,
            seed=options.seed,
            usd_per_hour=None if options.usd_per_worker_hour is None else options.workers * options.usd_per_worker_hour,
        )
        optimizer = Optimizer(cluster, goal, search or SearchOptions(), logged=logged, told=told, changed=changed)
        return optimizer.run(resumed)
