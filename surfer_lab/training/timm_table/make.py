"""Make the captures that a benchmark table needs: each network built once a variant, each step captured once.

Resumable: what the store knows is not made again. Networks are independent, so several processes may share the work.
A switch that changes nothing in a network (no attention, nothing to re-parameterise) is not captured a second time.
"""

from __future__ import annotations

import gc
import multiprocessing
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Final

from surfer_lab.errors import SurferError
from surfer_lab.planner.batch import PRIME_BATCH, BatchScaling
from surfer_lab.trace.model import Trace
from surfer_lab.training.timm_table.benchmark_step import capture_inference, capture_training, warm_up
from surfer_lab.training.timm_table.network import Network, build_network
from surfer_lab.training.timm_table.rows import CaptureKey
from surfer_lab.training.timm_table.store import CaptureStore

__all__ = ["Made", "make_captures", "make_network"]

# what torch and timm raise for a network that does not run this way; anything else is a defect of ours
_CAPTURE_ERRORS: Final = (
    RuntimeError, NotImplementedError, TypeError, ValueError, AttributeError, LookupError, AssertionError, SurferError,
)  # fmt: skip
_PRIMES: Final = (PRIME_BATCH, 1013, 1019)  # the next where one divides a size of the network
_NETWORKS_A_PROCESS: Final = 40  # torch keeps what it learned of shapes: a fresh process bounds the memory
Progress = Callable[[str, int, int], None]  # architecture done, how many, of how many


@dataclass(frozen=True, kw_only=True)
class Made:
    """What was made of one architecture."""

    arch: str
    captured: int
    failed: int


def make_captures(
    keys: Iterable[CaptureKey], store: CaptureStore, *, workers: int = 2, progress: Progress | None = None
) -> list[Made]:
    """Capture what the store does not know yet, in so many processes; 0: in this one."""
    wanted = sorted(key for key in keys if not store.knows(key))
    groups = [list(group) for _, group in groupby(wanted, key=lambda key: key.arch)]
    made: list[Made] = []

    def note(one: Made) -> None:
        made.append(one)
        if progress is not None:
            progress(one.arch, len(made), len(groups))

    if workers < 1 or len(groups) < 2:
        for group in groups:
            note(make_network(group, store.folder))
        return made
    context = multiprocessing.get_context("spawn")
    at_once = workers * _NETWORKS_A_PROCESS
    for first in range(0, len(groups), at_once):
        with ProcessPoolExecutor(workers, mp_context=context, initializer=_one_thread) as pool:
            tasks = [pool.submit(make_network, group, store.folder) for group in groups[first : first + at_once]]
            for done in as_completed(tasks):
                note(done.result())
    return made


def make_network(keys: Sequence[CaptureKey], folder: Path) -> Made:
    """All captures asked for of one architecture."""
    maker = _Maker(CaptureStore(folder), keys[0].arch)
    failed = 0
    # the plain variant first: others may turn out to be the same
    for key in sorted(keys, key=lambda key: (not key.fused_attention, key.reparameterised, key.mode, key)):
        try:
            maker.store.put(key, maker.trace(key))
        except _CAPTURE_ERRORS as error:
            maker.store.put_failure(key, _told(error))
            failed += 1
    gc.collect()
    return Made(arch=keys[0].arch, captured=len(keys) - failed, failed=failed)


def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)


class _Maker:
    """Builds an architecture's variants when they are needed and keeps the last one."""

    def __init__(self, store: CaptureStore, arch: str) -> None:
        self.store = store
        self._arch = arch
        self._built: tuple[tuple[bool, bool, int | None], Network] | None = None

    def trace(self, key: CaptureKey) -> Trace:
        network = self._network(key, img_size=None)
        same = self._same_as(key, network)
        known = self.store.trace(same) if same is not None else None
        if known is not None:
            return known
        try:
            return _captured(network, key)
        except (AssertionError, RuntimeError, ValueError):
            # tables for one image size: built anew for this one
            return _captured(self._network(key, img_size=key.img_size), key)

    def _network(self, key: CaptureKey, *, img_size: int | None) -> Network:
        variant = (key.fused_attention, key.reparameterised, img_size)
        if self._built is None or self._built[0] != variant:
            self._built = None
            network = build_network(
                self._arch, fused_attention=variant[0], reparameterised=variant[1], img_size=variant[2]
            )
            self.store.put_family(self._arch, network.family)
            with suppress(*_CAPTURE_ERRORS):  # the capture itself will tell
                warm_up(network.module, key.img_size)
            self._built = (variant, network)
        return self._built[1]

    def _same_as(self, key: CaptureKey, network: Network) -> CaptureKey | None:
        """The plainer key that gives the same capture, None where there is none."""
        if key.reparameterised and not network.was_reparameterised:
            return replace(key, reparameterised=False)
        if not key.fused_attention and not network.could_fuse_attention:
            return replace(key, fused_attention=True)
        return None


def _captured(network: Network, key: CaptureKey) -> Trace:
    capture = capture_training if key.mode == "train" else capture_inference
    for prime in _PRIMES:
        trace = capture(network.module, key.img_size, key.layout, prime)
        try:
            BatchScaling.of_prime(trace, prime)
        except SurferError:
            if prime == _PRIMES[-1]:
                raise
            continue
        break
    return trace


def _told(error: BaseException) -> str:
    if isinstance(error, SurferError):
        return str(error)[:300]
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else 'no message'}"[:300]
