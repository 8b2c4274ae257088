"""Who computes the fully connected part, where it is merged? One server, always at its newest weights.

Omnivore's merged server: the head has most of the parameters and little of the work, so features travel instead of its
gradients, and its updates are never stale. Members of a group hand in their shares; the last one's arrival computes the
whole group's batch at once, groups one after the other.
"""

from __future__ import annotations

import asyncio
import time

import numpy as np
from numpy.typing import NDArray

from surfer_lab.distributed.problem import HeadedProblem, ProblemFactory
from surfer_lab.errors import OptionError
from surfer_lab.planner.convergence.setting import Setting

__all__ = ["HeadServer"]

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]


class _Batch:
    """A group's shares until all are there, then the answers by rank."""

    def __init__(self, size: int) -> None:
        self.shares: list[tuple[F32, I64] | None] = [None] * size
        self.answers: list[F32] = []
        self.loss = 0.0
        self.is_answered = asyncio.Event()


class HeadServer:
    """The actor's class."""

    def __init__(self, factory: ProblemFactory) -> None:
        problem = factory()
        if not isinstance(problem, HeadedProblem):
            raise OptionError(
                f"{type(problem).__name__} has no separate head to merge",
                remedy="a HeadedTorchProblem(body, head, ...)",
            )
        self._problem = problem
        self._lock = asyncio.Lock()
        self._waiting: dict[tuple[int, int, int], _Batch] = {}
        self._phase = -1
        self.served_s: list[float] = []

    async def begin(self, phase: int, setting: Setting, weights: F32, velocity: F32) -> None:
        """Start a phase from these weights of the head; whoever still waits in an earlier one is let go."""
        await self.release()
        self._phase, self._setting = phase, setting
        self._weights, self._velocity = np.array(weights), np.array(velocity)
        self.served_s = []

    async def release(self, group: int | None = None) -> None:
        """Let go those who wait for a member that died: their step is lost, and they say so."""
        for key in [key for key in self._waiting if group is None or key[1] == group]:
            self._waiting.pop(key).is_answered.set()

    async def serve(
        self, phase: int, group: int, attempt: int, rank: int, size: int, features: F32, samples: I64
    ) -> tuple[float, F32] | None:
        """(the group's mean loss, gradient by these features) once all members are there; None if the step is lost."""
        if phase != self._phase:
            return None
        batch = self._waiting.setdefault((phase, group, attempt), _Batch(size))
        batch.shares[rank] = (features, samples)
        if all(share is not None for share in batch.shares):
            async with self._lock:
                self._answer(batch)
            self._waiting.pop((phase, group, attempt), None)
            batch.is_answered.set()
        else:
            await batch.is_answered.wait()
        return (batch.loss, batch.answers[rank]) if batch.answers else None

    def _answer(self, batch: _Batch) -> None:
        begun = time.perf_counter()
        shares = [share for share in batch.shares if share is not None]
        features = np.concatenate([share[0] for share in shares])
        samples = np.concatenate([share[1] for share in shares])
        batch.loss, gradient, by_features = self._problem.head_gradient(self._weights, features, samples)
        self._velocity *= np.float32(self._setting.momentum)
        self._velocity -= np.float32(self._setting.learning_rate) * gradient
        self._weights += self._velocity
        ends = np.cumsum([len(share[1]) for share in shares])
        batch.answers = list(np.split(by_features, ends[:-1]))
        self.served_s.append(time.perf_counter() - begun)

    async def state(self) -> tuple[F32, F32, list[float]]:
        """Weights, velocity, and how long each batch took."""
        return self._weights.copy(), self._velocity.copy(), self.served_s
