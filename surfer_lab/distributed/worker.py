"""What does one worker do? Pull weights, compute its share, sum with its group, push; until the server says stop.

The first member of a group speaks to the server; the others hear the weights from it. A worker times its own parts:
that is what the planner gets to know of an unequal cluster.
"""

from __future__ import annotations

import time
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from surfer_lab.distributed.collective import Collective, CollectiveError, Gloo, Solo, free_port
from surfer_lab.distributed.conditions import UNTHROTTLED, Conditions
from surfer_lab.distributed.messages import GroupOrder, Pull, Push, ShareRecord
from surfer_lab.distributed.problem import HeadedProblem, Problem, ProblemFactory
from surfer_lab.planner.convergence.run_record import MemberTimes

__all__ = ["Worker"]

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]


class _StepLostError(Exception):
    """The merged server let go of a step whose group lost a member."""


class Worker:
    """The actor's class."""

    def __init__(self, index: int, *, threads: int = 1, backend: str = "gloo") -> None:
        self._index = index
        self._threads = threads
        self._backend = backend
        self._problem: Problem | None = None
        self._conditions = UNTHROTTLED
        self._random = np.random.default_rng(index)

    def prepare(self, factory: ProblemFactory | None, conditions: Conditions) -> int:
        """Build the problem (None: keep the one that is there); how many samples it has."""
        if factory is not None:
            self._problem = factory()
            self._limit_threads()
        self._conditions = conditions
        return self._known.sample_count

    def _limit_threads(self) -> None:
        import sys

        if "torch" in sys.modules:  # a problem without torch does not load it here
            import torch

            torch.set_num_threads(self._threads)

    @property
    def _known(self) -> Problem:
        if self._problem is None:
            raise RuntimeError("prepare comes first")
        return self._problem

    def initial_weights(self) -> F32:
        """The problem's."""
        return self._known.initial_weights()

    def body_size(self) -> int | None:
        """Parameters before the head; None where the problem has no head."""
        problem = self._known
        return problem.body_size if isinstance(problem, HeadedProblem) else None

    def place(self) -> tuple[str, int, str]:
        """(address, process id, node) of this worker."""
        import os

        import ray

        context = ray.get_runtime_context()
        return _address(), os.getpid(), str(context.get_node_id())

    def meeting(self) -> str:
        """host:port where this worker's group may meet."""
        return f"{_address()}:{free_port()}"

    def time_shares(self, sizes: tuple[int, ...], repeats: int = 3) -> list[float]:
        """Median seconds of a gradient of so many samples, after one that warms up."""
        weights = self._known.initial_weights()
        self._gradient(weights, self._drawn(sizes[0]))
        found = []
        for size in sizes:
            taken = []
            for _ in range(repeats):
                begun = time.perf_counter()
                self._gradient(weights, self._drawn(size))
                taken.append(time.perf_counter() - begun)
            found.append(float(np.median(taken)))
        return found

    def run(self, order: GroupOrder, server: Any, head: Any = None) -> ShareRecord:
        """Take part until the phase is over or another member dies."""
        self._random = np.random.default_rng([order.seed, order.group, order.rank])
        steps: list[tuple[float, float]] = []
        collective: Collective = Solo()
        fault = ""
        try:
            if order.size > 1:
                collective = Gloo(rank=order.rank, size=order.size, meeting=order.meeting, backend=self._backend)
            if order.rank == 0:
                self._lead(order, server, head, collective, steps)
            else:
                self._follow(order, head, collective, steps)
        except CollectiveError as error:
            fault = f"group {order.group} lost a member ({error})"
        except _StepLostError:
            fault = f"group {order.group} lost a member"
        finally:
            collective.close()
        times = np.array(steps, dtype=np.float64).reshape(-1, 2)
        return ShareRecord(
            times=MemberTimes(
                worker=self._index,
                samples=order.shares[order.rank],
                compute_s=times[:, 0],
                all_reduce_s=times[:, 1],
            ),
            fault=fault,
        )

    def _lead(
        self, order: GroupOrder, server: Any, head: Any, collective: Collective, steps: list[tuple[float, float]]
    ) -> None:
        import ray

        pull: Pull = ray.get(server.exchange.remote(Push(phase=order.phase, group=order.group)))
        exchange_s, step = 0.0, 0
        while pull.weights is not None:
            if order.size > 1:
                collective.broadcast(np.concatenate([np.ones(1, np.float32), pull.weights]))
            loss, gradient, slowest_s, reduce_s = self._step(order, head, collective, pull.weights, step, steps)
            step += 1
            begun = time.perf_counter()
            if self._conditions.exchange_s > 0.0:
                time.sleep(self._conditions.exchange_s)
            push = Push(
                phase=order.phase,
                group=order.group,
                version=pull.version,
                gradient=gradient,
                loss=loss,
                samples=order.batch_size,
                compute_s=slowest_s,
                all_reduce_s=reduce_s,
                exchange_s=exchange_s,
            )
            answer: Pull = ray.get(server.exchange.remote(push))
            exchange_s = time.perf_counter() - begun - answer.wait_s - answer.service_s
            over_size = len(pull.weights) + 1
            pull = answer
        if order.size > 1:
            collective.broadcast(np.zeros(over_size if step else self._weights_size(order), np.float32))

    def _weights_size(self, order: GroupOrder) -> int:
        problem = self._known
        if order.is_head_merged:
            return cast(HeadedProblem, problem).body_size + 1
        return len(problem.initial_weights()) + 1

    def _follow(self, order: GroupOrder, head: Any, collective: Collective, steps: list[tuple[float, float]]) -> None:
        nothing = np.zeros(self._weights_size(order), np.float32)
        step = 0
        while True:
            heard = collective.broadcast(nothing)
            if heard[0] == 0.0:
                return
            self._step(order, head, collective, heard[1:], step, steps)
            step += 1

    def _step(
        self,
        order: GroupOrder,
        head: Any,
        collective: Collective,
        weights: F32,
        step: int,
        steps: list[tuple[float, float]],
    ) -> tuple[float, F32, float, float]:
        """(the group's mean loss, its mean gradient, compute time of its slowest member, all-reduce time)."""
        samples = self._drawn(order.shares[order.rank])
        begun = time.perf_counter()
        if order.is_head_merged:
            loss, gradient = self._merged(order, head, weights, samples, step)
        else:
            part = order.shares[order.rank] / order.batch_size
            loss, gradient = self._gradient(weights, samples) if len(samples) else (0.0, np.zeros_like(weights))
            loss, gradient = loss * part, gradient * np.float32(part)
        own_s = time.perf_counter() - begun
        if order.size == 1:
            steps.append((own_s, 0.0))
            return loss, gradient, own_s, 0.0
        # members tell their compute times with the gradients: what is waited for the slowest is not the links' time
        told = np.zeros(order.size, np.float32)
        told[order.rank] = own_s
        summed = collective.all_reduce(np.concatenate([[np.float32(loss)], told, gradient]).astype(np.float32))
        floor_s = self._conditions.all_reduce_s(order.size)
        if floor_s > 0.0:
            time.sleep(floor_s)
        slowest_s = float(summed[1 : 1 + order.size].max())
        reduce_s = max(0.0, time.perf_counter() - begun - slowest_s)
        steps.append((own_s, reduce_s))
        loss = float(summed[0])
        if order.is_head_merged:
            loss /= order.size  # every member was told the whole group's
        return loss, summed[1 + order.size :], slowest_s, reduce_s

    def _drawn(self, count: int) -> I64:
        return self._random.integers(self._known.sample_count, size=count)

    def _gradient(self, weights: F32, samples: I64) -> tuple[float, F32]:
        begun = time.perf_counter()
        loss, gradient = self._known.gradient(weights, samples)
        self._throttle(begun, len(samples))
        return loss, gradient

    def _throttle(self, begun: float, samples: int) -> None:
        missing = self._conditions.compute_s(samples, self._random) - (time.perf_counter() - begun)
        if missing > 0.0:
            time.sleep(missing)

    def _merged(self, order: GroupOrder, head: Any, weights: F32, samples: I64, step: int) -> tuple[float, F32]:
        import ray

        problem = cast(HeadedProblem, self._known)
        begun = time.perf_counter()
        features = problem.body_forward(weights, samples)
        answer = ray.get(head.serve.remote(order.phase, order.group, step, order.rank, order.size, features, samples))
        if answer is None:
            raise _StepLostError
        loss, by_features = answer
        gradient = problem.body_backward(by_features)
        self._throttle(begun, len(samples))
        return loss, gradient


def _address() -> str:
    import ray

    return str(ray.util.get_node_ip_address())  # type: ignore[no-untyped-call] # Ray's own has none
