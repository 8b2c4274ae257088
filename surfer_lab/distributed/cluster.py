"""How does training run over many workers? Compute groups on Ray: the driver places them and replaces the dead.

Workers run their loops by themselves; the driver only begins phases and looks after faults. A worker that dies takes
its group's unfinished step with it: the others of its group are let go, the dead one is started anew (by Ray, on
whichever node has room), the group meets again and goes on from the newest weights, while other groups never stopped.
When the driver dies, its workers end with it; `resumed` is the last checkpoint.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.distributed.checkpoint import load_checkpoint
from surfer_lab.distributed.conditions import UNTHROTTLED, Conditions
from surfer_lab.distributed.head_server import HeadServer
from surfer_lab.distributed.local_ray import connect, disconnect
from surfer_lab.distributed.messages import GroupOrder, ShareRecord
from surfer_lab.distributed.problem import ProblemFactory
from surfer_lab.distributed.server import ParameterServer
from surfer_lab.distributed.worker import Worker
from surfer_lab.errors import OptionError, SurferError
from surfer_lab.planner.convergence.devices import batch_shares, group_devices
from surfer_lab.planner.convergence.run_record import (
    MemberTimes,
    PhaseInterrupted,
    PhaseRecord,
    PhaseRequest,
    PhaseStatus,
    RunState,
)
from surfer_lab.planner.convergence.setting import Setting

__all__ = ["Cluster", "ClusterError"]

F64 = NDArray[np.float64]

_LOOK_EVERY_S: Final = 0.2
_LET_GO_S: Final = 5.0  # for the members of a group that lost one; gloo tells them at once


class ClusterError(SurferError):
    """The workers could not do what was asked: they die again and again, or the server is gone."""


@dataclass(eq=False)
class _Running:
    """A group at work: its members' calls."""

    order: GroupOrder
    members: tuple[int, ...]
    calls: dict[Any, int] = field(default_factory=dict)  # Ray's reference -> rank


class Cluster:
    """Workers, servers and their data: a context manager, and a `PhaseRunner`.

    `conditions` throttle workers on purpose (one for all, or one each); `samples_per_s` divide batches, by what was
    measured or predicted; without it all workers count alike until `time_workers` was asked.
    """

    most_replaced = 20  # workers in one phase: beyond, something kills every one of them

    def __init__(
        self,
        factory: ProblemFactory,
        *,
        workers: int,
        address: str | None = None,
        folder: Path | None = None,
        checkpoint_s: float = 10.0,
        merge_head: bool = False,
        backend: str = "gloo",
        gpus_per_worker: float = 0.0,
        cpus_per_worker: float = 1.0,
        conditions: Conditions | Sequence[Conditions] = UNTHROTTLED,
        serving_s: float = 0.0,
    ) -> None:
        if workers < 1:
            raise OptionError(f"{workers} workers", remedy="1 or more")
        self.worker_count = workers
        self.folder = folder
        self._factory = factory
        self._is_head_merged = merge_head
        self._resources = {"num_cpus": cpus_per_worker, "num_gpus": gpus_per_worker}
        self._backend = backend
        self._is_ours = connect(address, workers=workers)
        self._phase = int(time.time() * 1000) % 1_000_000_000  # not one that an earlier driver's workers still know
        self.samples_per_s: F64 = np.ones(workers)
        self.overhead_s: F64 = np.zeros(workers)
        self._server = self._start_server(checkpoint_s, serving_s)
        self._workers = [self._start_worker(index) for index in range(workers)]
        self._conditions = _one_each(conditions, workers)
        self.use(factory, conditions=conditions)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start_server(self, checkpoint_s: float, serving_s: float) -> Any:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        # on the driver's node: the checkpoint's folder is there
        here = NodeAffinitySchedulingStrategy(node_id=ray.get_runtime_context().get_node_id(), soft=False)
        actor = ray.remote(ParameterServer).options(num_cpus=0, max_concurrency=10_000, scheduling_strategy=here)
        folder = "" if self.folder is None else str(self.folder.resolve())
        return actor.remote(folder=folder, checkpoint_s=checkpoint_s, serving_s=serving_s)

    def _start_worker(self, index: int) -> Any:
        import ray

        options = {**self._resources, "scheduling_strategy": "SPREAD"}
        return ray.remote(Worker).options(**options).remote(index, backend=self._backend)

    def use(
        self,
        factory: ProblemFactory | None = None,
        *,
        conditions: Conditions | Sequence[Conditions] | None = None,
        serving_s: float | None = None,
        merge_head: bool | None = None,
        workers: int | None = None,
    ) -> None:
        """Another problem, other conditions, or only the first so many of the same workers."""
        import ray

        if workers is not None:
            if not 1 <= workers <= len(self._workers):
                raise OptionError(f"{workers} workers", remedy=f"1 to {len(self._workers)}, as many as were started")
            self.worker_count = workers
            self._conditions = _one_each(conditions or UNTHROTTLED, workers)
        if conditions is not None or workers is not None:
            self.samples_per_s, self.overhead_s = np.ones(self.worker_count), np.zeros(self.worker_count)
        if conditions is not None:
            self._conditions = _one_each(conditions, self.worker_count)
        if merge_head is not None:
            self._is_head_merged = merge_head
        if factory is not None:
            self._factory = factory
        if serving_s is not None:
            ray.get(self._server.configure.remote(serving_s=serving_s))
        # workers that were left out before may still have an older problem
        told = factory if workers is None else self._factory
        self._called(
            [
                worker.prepare.remote(told, conditions)
                for worker, conditions in zip(self._workers[: self.worker_count], self._conditions, strict=True)
            ]
        )
        if factory is None:
            return
        initial, body_size = self._called(
            [self._workers[0].initial_weights.remote(), self._workers[0].body_size.remote()]
        )
        self._initial = RunState(weights=np.array(initial), velocity=np.zeros_like(initial))
        self._body_size = body_size
        if self._is_head_merged and body_size is None:
            raise OptionError(
                "the problem has no separate head to merge", remedy="a HeadedTorchProblem(body, head, ...)"
            )
        self._head: Any = (
            ray.remote(HeadServer).options(num_cpus=0, max_concurrency=10_000).remote(self._factory)
            if self._is_head_merged
            else None
        )

    def _called(self, calls: Sequence[Any]) -> list[Any]:
        """Answers of calls; what a user's factory or model raised is shown as it is."""
        import ray

        try:
            return list(ray.get(list(calls)))
        except ray.exceptions.RayTaskError as error:
            cause = error.cause if isinstance(error.cause, Exception) else error
            raise cause from error
        except ray.exceptions.RayActorError as error:
            raise ClusterError(
                f"a worker ended while it was set up ({error})", remedy="its log, by `ray logs`"
            ) from error

    @property
    def initial(self) -> RunState:
        """The problem's first weights, at rest."""
        return self._initial

    def places(self) -> list[tuple[str, int, str]]:
        """(address, process id, node) of each worker."""
        return self._called([worker.place.remote() for worker in self._workers[: self.worker_count]])

    def time_workers(self, sizes: Sequence[int], *, repeats: int = 3) -> F64:
        """Seconds by worker and batch size, (workers, sizes): all at once, as they will run."""
        return np.array(
            self._called([one.time_shares.remote(tuple(sizes), repeats) for one in self._workers[: self.worker_count]])
        )

    def warm_up(self) -> None:
        """A phase of all workers together, and one of each alone: libraries are loaded, nothing is kept."""
        for groups in dict.fromkeys((1, self.worker_count)):
            setting = Setting(groups=groups, momentum=0.0, learning_rate=1e-6)
            self.run(PhaseRequest(setting=setting, batch_size=2 * self.worker_count, max_updates=2 * groups))

    def kill(self, worker: int) -> None:
        """End a worker's process at once, as a failing machine would."""
        import ray

        ray.kill(self._workers[worker])

    def run(
        self,
        request: PhaseRequest,
        state: RunState | None = None,
        *,
        told: Callable[[PhaseStatus], None] | None = None,
        keeps: bool = False,
        facts: dict[str, Any] | None = None,
    ) -> PhaseRecord:
        """Run one phase; `keeps` is training, checkpointed with these facts.

        An interrupt ends the phase, and is raised as PhaseInterrupted with what was done.
        """
        import ray

        groups = request.setting.groups
        if not 1 <= groups <= self.worker_count:
            raise OptionError(f"{groups} groups of {self.worker_count} workers", remedy=f"1 to {self.worker_count}")
        begun = time.perf_counter()
        start = self._initial if state is None else state
        self._phase += 1
        body = slice(0, self._body_size if self._is_head_merged else None)
        own = replace(start, weights=start.weights[body], velocity=start.velocity[body])
        ray.get(self._server.begin.remote(self._phase, request, own, keeps=keeps, facts=facts))
        if self._head is not None:
            rest = slice(self._body_size, None)
            ray.get(self._head.begin.remote(self._phase, request.setting, start.weights[rest], start.velocity[rest]))
        placed = self._placed(request, start)
        faults: list[str] = []
        members: list[MemberTimes] = []
        is_interrupted = False
        try:
            self._watch(placed, faults, members, told)
        except KeyboardInterrupt:
            is_interrupted = True
            ray.get(self._server.stop.remote())
            self._watch(placed, faults, members, None)
        result = self._result()
        record = PhaseRecord(
            request=request, members=tuple(members), faults=tuple(faults), wall_s=time.perf_counter() - begun, **result
        )
        if is_interrupted:
            raise PhaseInterrupted(record)
        return record

    def _result(self) -> dict[str, Any]:
        import ray

        result: dict[str, Any] = ray.get(self._server.result.remote())
        if self._head is not None:
            weights, velocity, _ = ray.get(self._head.state.remote())
            own: RunState = result["state"]
            result["state"] = replace(
                own,
                weights=np.concatenate([own.weights, weights]),
                velocity=np.concatenate([own.velocity, velocity]),
            )
        return result

    def _placed(self, request: PhaseRequest, state: RunState) -> list[_Running]:
        member_of = group_devices(self.samples_per_s, request.setting.groups)
        running = []
        for group in range(request.setting.groups):
            members = tuple(int(index) for index in np.flatnonzero(member_of == group))
            at = list(members)
            shares = batch_shares(request.batch_size, self.samples_per_s[at], self.overhead_s[at])
            order = GroupOrder(
                phase=self._phase,
                group=group,
                rank=0,
                shares=tuple(int(share) for share in shares),
                seed=request.seed + 1_000_003 * state.updates,
                meeting="",
                is_head_merged=self._is_head_merged,
            )
            running.append(_Running(order=order, members=members))
        for one, meeting in zip(running, self._meetings(running), strict=True):
            one.order = replace(one.order, meeting=meeting)
            self._set_off(one)
        return running

    def _meetings(self, running: Sequence[_Running]) -> list[str]:
        asked = [self._workers[one.members[0]].meeting.remote() for one in running if len(one.members) > 1]
        found = iter(self._called(asked))
        return [next(found) if len(one.members) > 1 else "" for one in running]

    def _set_off(self, one: _Running) -> None:
        one.calls = {
            self._workers[index].run.remote(replace(one.order, rank=rank), self._server, self._head): rank
            for rank, index in enumerate(one.members)
        }

    def _watch(
        self,
        placed: list[_Running],
        faults: list[str],
        members: list[MemberTimes],
        told: Callable[[PhaseStatus], None] | None,
    ) -> None:
        """Until every group is back; faults are mended on the way."""
        import ray

        while any(one.calls for one in placed):
            calls = [call for one in placed for call in one.calls]
            ready, _ = ray.wait(calls, num_returns=len(calls), timeout=_LOOK_EVERY_S)
            for one in placed:
                done = [call for call in ready if call in one.calls]
                is_faulty = False
                for call in done:
                    rank = one.calls.pop(call)
                    try:
                        record: ShareRecord = ray.get(call)
                    except ray.exceptions.RayActorError:
                        faults.append(f"worker {one.members[rank]} of group {one.order.group} died")
                        is_faulty = True
                        continue
                    except ray.exceptions.RayTaskError as error:
                        self._stop_all()
                        cause = error.cause if isinstance(error.cause, Exception) else error
                        raise cause from error
                    members.append(record.times)
                    is_faulty = is_faulty or bool(record.fault)
                if is_faulty:
                    self._mend(one, faults, members)
            if told is not None:
                told(self._status())

    def _status(self) -> PhaseStatus:
        import ray

        status: PhaseStatus = ray.get(self._server.status.remote())
        return status

    def _stop_all(self) -> None:
        import ray

        ray.get(self._server.stop.remote())

    def _mend(self, one: _Running, faults: list[str], members: list[MemberTimes]) -> None:
        """Let the others of the group go, start the dead anew, and send the group off again."""
        import ray

        if self._head is not None:
            ray.get(self._head.release.remote(one.order.group))
        _, stuck = ray.wait(list(one.calls), num_returns=len(one.calls), timeout=_LET_GO_S) if one.calls else ([], [])
        for call, rank in one.calls.items():
            index = one.members[rank]
            if call in stuck:
                faults.append(f"worker {index} of group {one.order.group} did not let go, and died")
                ray.kill(self._workers[index])
                continue
            try:
                members.append(ray.get(call).times)
            except ray.exceptions.RayActorError:
                faults.append(f"worker {index} of group {one.order.group} died")
        one.calls = {}
        if len(faults) > self.most_replaced:
            self._stop_all()
            raise ClusterError(f"workers died {len(faults)} times", remedy="less memory a worker, or more of it")
        for index in one.members:
            self._revive(index)
        if not self._status().is_done:
            one.order = replace(one.order, meeting=self._meetings([one])[0], seed=one.order.seed + 1)
            self._set_off(one)

    def revive_all(self) -> None:
        """A new worker in the place of each that no longer answers."""
        for index in range(self.worker_count):
            self._revive(index)

    def _revive(self, index: int) -> None:
        """A new worker in the place of one that no longer answers."""
        import ray

        try:
            ray.get(self._workers[index].place.remote(), timeout=_LET_GO_S)
        except (ray.exceptions.RayActorError, ray.exceptions.GetTimeoutError):
            with contextlib.suppress(ray.exceptions.RayError):
                ray.kill(self._workers[index])
            self._workers[index] = self._start_worker(index)
            self._called([self._workers[index].prepare.remote(self._factory, self._conditions[index])])

    def resumed(self) -> tuple[RunState, dict[str, Any]]:
        """State and facts of the folder's last checkpoint."""
        if self.folder is None:
            raise OptionError("a run without a folder has no checkpoint", remedy="the folder of the earlier run")
        return load_checkpoint(self.folder)

    def close(self) -> None:
        """End workers and servers, and the local Ray where this cluster started it."""
        import ray

        if not ray.is_initialized():
            return
        for actor in [*self._workers, self._server, *([self._head] if self._head is not None else [])]:
            with contextlib.suppress(ray.exceptions.RayError):
                ray.kill(actor)
        if self._is_ours:
            disconnect()


def _one_each(conditions: Conditions | Sequence[Conditions], workers: int) -> tuple[Conditions, ...]:
    if isinstance(conditions, Conditions):
        return (conditions,) * workers
    if len(conditions) != workers:
        raise OptionError(f"{len(conditions)} conditions of {workers} workers", remedy="one for all, or one each")
    return tuple(conditions)
