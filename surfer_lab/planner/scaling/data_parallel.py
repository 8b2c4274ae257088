"""When does a data-parallel step end? Backward compute and bucketed all-reduces side by side (PyTorch DDP).

A bucket is sent when its last gradient is ready and the bucket before it is through; the optimizer waits for all.
Gradients are copied into the bucket and back out (each read and written once): DDP's default, without
gradient_as_bucket_view. With gradients accumulated over k micro-steps, only the last one sends.
"""

from __future__ import annotations

from surfer_lab.planner.scaling.buckets import buckets_of
from surfer_lab.planner.scaling.collectives import Collective, Group, collective_ns, wire_bytes
from surfer_lab.planner.scaling.events import COMMUNICATION, COMPUTE, Piece, Schedule, simulate
from surfer_lab.planner.scaling.profile import GradientTimeline
from surfer_lab.planner.scaling.tuning import Tuning
from surfer_lab.units import NS_PER_S

__all__ = ["data_parallel", "with_sharded_tables"]


def data_parallel(profile: GradientTimeline, group: Group, tuning: Tuning) -> Schedule:
    """One step on every rank of the group, one rank standing for all."""
    return _overlapped(profile, group, tuning, with_tables=True)


def with_sharded_tables(profile: GradientTimeline, group: Group, tuning: Tuning) -> Schedule:
    """Embedding tables spread over the ranks, the rest data-parallel, as recommenders are trained.

    Each rank looks its tables up for all samples: one all-to-all of what was looked up before the rest of the forward
    pass, and one of its gradients after the backward pass of the rest.
    """
    return _overlapped(profile, group, tuning, with_tables=False)


def _overlapped(profile: GradientTimeline, group: Group, tuning: Tuning, *, with_tables: bool) -> Schedule:
    slow = tuning.slowdown(group.size)
    tables = profile.gradient_of_table
    kept = [
        (int(size * tuning.gradient_scale), float(ready))
        for number, (size, ready) in enumerate(zip(profile.gradient_bytes, profile.gradient_ready_ns, strict=True))
        if with_tables or tables is None or not tables[number]
    ]
    pieces: list[Piece] = []

    def compute(name: str, work_ns: float, after: tuple[int, ...] = ()) -> int:
        pieces.append(Piece(name=name, stream=COMPUTE, work_ns=max(0.0, work_ns), after=after))
        return len(pieces) - 1

    def send(name: str, kind: Collective, size: int, after: tuple[int, ...]) -> int:
        pieces.append(
            Piece(
                name=name, stream=COMMUNICATION, work_ns=collective_ns(kind, size, group), after=after,
                is_communication=True, wire_bytes=wire_bytes(kind, size, group.size),
            )
        )  # fmt: skip
        return len(pieces) - 1

    for number in range(tuning.accumulation - 1):
        compute(f"micro-step {number + 1}", profile.backward_end_ns * slow)
    exchanged: tuple[int, ...] = ()
    if not with_tables and group.size > 1:
        exchanged = (send("looked up", Collective.ALL_TO_ALL, profile.table_output_bytes, ()),)
    copy_ns = 2.0 * NS_PER_S / profile.copy_bytes_per_s if group.size > 1 else 0.0
    extra = _beside_tables(profile, group.size) if not with_tables else (0.0, 0.0)
    if extra[0]:
        compute("the network that one rank runs for all", extra[0] * slow)
    reached, waits = 0.0, []
    for number, bucket in enumerate(buckets_of([size for size, _ in kept], tuning.bucket_mib)):
        ready = kept[bucket.gradients[-1]][1]
        done = compute(f"until bucket {number + 1}", (ready - reached) * slow + bucket.size_bytes * copy_ns, exchanged)
        reached, exchanged = max(reached, ready), ()
        waits.append(send(f"bucket {number + 1}", Collective.ALL_REDUCE, bucket.size_bytes, (done,)))
    rest = compute("backward", (profile.backward_end_ns - reached) * slow, exchanged)
    if not with_tables and group.size > 1:
        sent = send("their gradients", Collective.ALL_TO_ALL, profile.table_output_bytes, (rest,))
        waits.append(compute("the network that one rank runs for all", extra[1] * slow, (sent,)) if extra[1] else sent)
    copied = sum(size for size, _ in kept) * copy_ns
    compute("optimizer", profile.optimizer_ns * slow + copied, tuple(waits))
    return simulate(pieces, contention=tuning.contention(profile.sm_count, group))


def _beside_tables(profile: GradientTimeline, ranks: int) -> tuple[float, float]:
    """What the slower of the rank with that network and those with the tables takes beyond a step's own; ns.

    That rank runs the network for all samples and holds no table; the others share its part of the tables.
    """
    forward, backward = (
        max(ranks * dense, lookup * ranks / (ranks - 1)) - (dense + lookup) if ranks > 1 and dense else 0.0
        for dense, lookup in zip(profile.dense_ns, profile.lookup_ns, strict=True)
    )
    return max(0.0, forward), max(0.0, backward)
