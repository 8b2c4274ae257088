"""Who keeps the weights? The parameter server: groups push gradients and pull weights, each when it is ready.

An update is v = m v - a gradient; w = w + v, served one at a time in the order of arrival. The server also sees what
the theory speaks of: the staleness of every update, the loss over wall time, how long groups waited for it. It runs
as an asynchronous Ray actor, needs no torch, and writes the checkpoint.
"""

from __future__ import annotations

import asyncio
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surfer_lab.distributed.checkpoint import save_checkpoint
from surfer_lab.distributed.messages import Pull, Push
from surfer_lab.planner.convergence.run_record import UPDATE_COLUMNS, PhaseRequest, PhaseStatus, RunState

__all__ = ["ParameterServer"]

F32 = NDArray[np.float32]


class ParameterServer:
    """The actor's class; `serving_s` makes it slow on purpose, for experiments."""

    def __init__(self, *, folder: str = "", checkpoint_s: float = 10.0, serving_s: float = 0.0) -> None:
        self._folder = Path(folder) if folder else None
        self._checkpoint_s = checkpoint_s
        self._serving_s = serving_s
        self._lock = asyncio.Lock()
        self._phase = -1
        self._is_over = True
        self._keeps = False
        self._all_joined = asyncio.Event()

    async def configure(self, *, serving_s: float) -> None:
        """Another deliberate slowness."""
        self._serving_s = serving_s

    async def begin(
        self, phase: int, request: PhaseRequest, state: RunState, *, keeps: bool, facts: dict[str, Any] | None = None
    ) -> None:
        """Start a phase from this state; groups that ask from now on get weights once all of them have asked.

        `keeps`: the phase is training, and is checkpointed.
        """
        self._phase, self._request = phase, request
        self._weights = np.array(state.weights, dtype=np.float32)
        self._velocity = np.array(state.velocity, dtype=np.float32)
        self._before = state
        self._version = 0
        self._rows: list[tuple[float, ...]] = []
        self._staleness: dict[int, int] = {}
        self._joined: set[int] = set()
        self._all_joined = asyncio.Event()
        self._is_over = self._is_reached = self._is_diverged = self._is_interrupted = False
        self._started_s = self._saved_s = time.perf_counter()
        self._keeps, self._facts = keeps and self._folder is not None, facts or {}
        self._iterates = [self._weights.copy()] if request.keeps_iterates else None
        self._window_sum = 0.0

    async def exchange(self, push: Push) -> Pull:
        """Take a gradient, give weights."""
        if push.phase != self._phase or self._is_over:
            return Pull()
        if push.gradient is None:
            await self._meet(push.group)
            return Pull() if self._is_over else Pull(version=self._version, weights=self._weights.copy())
        arrived = time.perf_counter()
        async with self._lock:
            if self._has_ended() or push.phase != self._phase:
                return Pull()
            begun = time.perf_counter()
            if self._serving_s > 0.0:
                await asyncio.sleep(self._serving_s)
            self._update(push, wait_s=begun - arrived, begun=begun)
            done = time.perf_counter()
        if self._has_ended():
            return Pull()
        return Pull(version=self._version, weights=self._weights.copy(), wait_s=begun - arrived, service_s=done - begun)

    def _has_ended(self) -> bool:
        """Asked again after each wait: others ran meanwhile."""
        return self._is_over

    async def _meet(self, group: int) -> None:
        """All groups start together; one that was replaced later starts at once."""
        self._joined.add(group)
        if len(self._joined) == self._request.setting.groups and not self._all_joined.is_set():
            self._started_s = self._saved_s = time.perf_counter()
            self._all_joined.set()
        await self._all_joined.wait()

    def _update(self, push: Push, *, wait_s: float, begun: float) -> None:
        request = self._request
        gradient = push.gradient if push.gradient is not None else np.zeros_like(self._weights)
        with np.errstate(over="ignore", invalid="ignore"):  # diverging is an answer too
            self._velocity *= np.float32(request.setting.momentum)
            self._velocity -= np.float32(request.setting.learning_rate) * gradient
            self._weights += self._velocity
        staleness = self._version - push.version
        self._version += 1
        now = time.perf_counter()
        row = {
            "at_s": now - self._started_s,
            "loss": push.loss,
            "staleness": staleness,
            "group": push.group,
            "samples": push.samples,
            "compute_s": push.compute_s,
            "all_reduce_s": push.all_reduce_s,
            "exchange_s": push.exchange_s,
            "wait_s": wait_s,
            "service_s": now - begun,
        }
        self._rows.append(tuple(float(row[name]) for name in UPDATE_COLUMNS))
        self._staleness[staleness] = self._staleness.get(staleness, 0) + 1
        if self._iterates is not None:
            self._iterates.append(self._weights.copy())
        self._judge(push.loss, now)
        if self._keeps and (self._is_over or now - self._saved_s >= self._checkpoint_s):
            self._save(now)

    def _judge(self, loss: float, now: float) -> None:
        """Whether the phase is over, and why."""
        request = self._request
        self._is_diverged = not math.isfinite(loss) or loss > request.diverged_above
        enough = self._version >= request.window
        self._is_reached = (
            not self._is_diverged
            and enough
            and request.target_loss is not None
            and self._window_loss() <= request.target_loss
        )
        is_long = request.max_updates is not None and self._version >= request.max_updates
        is_late = request.max_seconds is not None and now - self._started_s >= request.max_seconds
        self._is_over = self._is_over or self._is_diverged or self._is_reached or is_long or is_late

    def _window_loss(self) -> float:
        last = self._rows[-self._request.window :]
        return sum(row[1] for row in last) / len(last) if last else math.nan

    def _state(self) -> RunState:
        return RunState(
            weights=self._weights.copy(),
            velocity=self._velocity.copy(),
            updates=self._before.updates + self._version,
            seconds=self._before.seconds + (self._rows[-1][0] if self._rows else 0.0),
        )

    def _save(self, now: float) -> None:
        if self._folder is not None and not self._is_diverged:
            save_checkpoint(self._folder, self._state(), self._facts)
            self._saved_s = now

    async def stop(self) -> None:
        """End the phase: groups stop after the step they are in."""
        self._is_interrupted = not self._is_over
        self._is_over = True
        self._all_joined.set()
        if self._keeps and self._rows:
            self._save(time.perf_counter())

    async def status(self) -> PhaseStatus:
        """How the phase does."""
        now = time.perf_counter()
        longest = max(self._staleness, default=-1)
        return PhaseStatus(
            updates=self._version,
            seconds=self._rows[-1][0] if self._rows else 0.0,
            loss=self._window_loss(),
            staleness=tuple(self._staleness.get(lag, 0) for lag in range(longest + 1)),
            is_done=self._is_over,
            checkpoint_s=now - self._saved_s if self._keeps else None,
        )

    async def result(self) -> dict[str, Any]:
        """What the phase left behind: fields of a PhaseRecord."""
        iterates = None if self._iterates is None else np.stack(self._iterates)
        return {
            "updates": np.array(self._rows, dtype=np.float64).reshape(-1, len(UPDATE_COLUMNS)),
            "state": self._state(),
            "is_reached": self._is_reached,
            "is_diverged": self._is_diverged,
            "is_interrupted": self._is_interrupted,
            "iterates": iterates,
        }
