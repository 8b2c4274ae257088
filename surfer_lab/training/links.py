"""How fast do this machine's processes talk? An all-reduce sweep with torch.distributed, fitted to latency + bandwidth.

NCCL among the GPUs where there are two or more, else gloo among processes of the CPU. Every size is run several times
in turn, so that a slow moment does not fall on one size alone, and its median kept. The link is kept for this user:
`--link NAME` names it from then on.
"""

from __future__ import annotations

import datetime
import multiprocessing
import os
import socket
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

import orjson

from surfer_lab.errors import GpuError
from surfer_lab.hardware.machines import AllReduceSample, Link, fitted_link, save_measured_link
from surfer_lab.units import BYTES_PER_MIB

__all__ = ["LinkRun", "all_reduce_medians", "calibrate_links", "run_ranks"]

SIZES: Final = tuple(4096 * 4**power for power in range(8))  # 4 KiB to 64 MiB
ROUNDS: Final = 7
_WARM_UP_ROUNDS: Final = 2
_LOOPBACK: Final = "127.0.0.1"
_LONGEST_S: Final = 600.0
_FLOAT_BYTES: Final = 4


@dataclass(frozen=True, kw_only=True)
class LinkRun:
    """What was measured, and the link that it shows. `saved_to` None: not kept."""

    link: Link
    samples: tuple[AllReduceSample, ...]
    backend: str
    saved_to: Path | None

    @property
    def worst_error(self) -> float:
        """The largest relative distance of a sample from the fit."""
        link = self.link
        errors = []
        for sample in self.samples:
            n = sample.rank_count
            hops = 2 * (n - 1) * link.hop_latency_ns * 1e-9
            fitted = hops + 2 * (n - 1) / n * sample.size_bytes / link.bus_bytes_per_s(n)
            errors.append(abs(fitted / sample.duration_s - 1.0))
        return max(errors)


def calibrate_links(
    *, rank_count: int | None = None, name: str | None = None, save: bool = True, folder: Path | None = None
) -> LinkRun:
    """Measure, fit and keep. GpuError where the processes cannot talk."""
    import torch

    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    ranks = rank_count or (gpus if gpus >= 2 else 2)
    backend = "nccl" if gpus >= ranks else "gloo"
    medians = run_ranks(_sweep, ranks, backend=backend, words={"sizes": list(SIZES), "rounds": ROUNDS})
    samples = tuple(
        AllReduceSample(rank_count=ranks, size_bytes=int(size), duration_s=float(seconds)) for size, seconds in medians
    )
    what = f"{backend} among {ranks} {'GPUs' if backend == 'nccl' else 'processes'}"
    link = fitted_link(name or what, samples, source=f"measured here, {datetime.date.today().isoformat()}: {what}")
    return LinkRun(
        link=link, samples=samples, backend=backend, saved_to=save_measured_link(link, folder) if save else None
    )


def run_ranks(work: Callable[..., Any], ranks: int, *, backend: str, words: dict[str, Any]) -> Any:
    """Run `work(rank, ranks, backend, **words)` in so many processes that talk; what rank 0 gives back, JSON-ready.

    `work` must be importable by name: each process begins anew. GpuError where one fails or all hang.
    """
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        port = _free_port()
        running = [
            context.Process(target=_ranked, args=(work, rank, ranks, backend, port, str(answer), words), daemon=True)
            for rank in range(ranks)
        ]
        for process in running:
            process.start()
        until = time.monotonic() + _LONGEST_S
        for process in running:
            process.join(max(0.0, until - time.monotonic()))
        alive = [process for process in running if process.is_alive()]
        for process in alive:
            process.terminate()
        if alive or any(process.exitcode for process in running) or not answer.exists():
            raise GpuError(
                f"{ranks} processes did not come to an end together over {backend}",
                remedy="see what they printed; a firewall on the loopback interface stops gloo",
            )
        return orjson.loads(answer.read_bytes())


def _ranked(
    work: Callable[..., Any], rank: int, ranks: int, backend: str, port: int, answer: str, words: dict[str, Any]
) -> None:
    """One process: joins the others, works, leaves."""
    import torch
    import torch.distributed as dist

    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.set_num_threads(1)
    dist.init_process_group(
        backend, init_method=f"tcp://{_LOOPBACK}:{port}", rank=rank, world_size=ranks,
        timeout=datetime.timedelta(seconds=_LONGEST_S),
    )  # fmt: skip
    try:
        found = work(rank, ranks, backend, **words)
        dist.barrier()
        if rank == 0:
            Path(answer).write_bytes(orjson.dumps(found))
    finally:
        dist.destroy_process_group()


def _free_port() -> int:
    with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as listening:
        listening.bind((_LOOPBACK, 0))
        return int(listening.getsockname()[1])


def _sweep(rank: int, ranks: int, backend: str, *, sizes: list[int], rounds: int) -> list[tuple[int, float]]:
    """Medians by size; the slowest rank's time counts, as it does in training."""
    return all_reduce_medians(backend, rank, sizes, rounds)


def all_reduce_medians(backend: str, rank: int, sizes: list[int], rounds: int) -> list[tuple[int, float]]:
    """(bytes, median seconds) of all-reduces, sizes in turn; called in every rank of a group."""
    times: dict[int, list[float]] = {size: [] for size in sizes}
    for number in range(_WARM_UP_ROUNDS + rounds):
        for size in sizes:
            seconds = one_all_reduce(backend, rank, size)
            if number >= _WARM_UP_ROUNDS:
                times[size].append(seconds)
    return [(size, median(found)) for size, found in times.items()]


def one_all_reduce(backend: str, rank: int, size: int) -> float:
    """Seconds of one all-reduce of so many bytes; more calls where one is too short to time."""
    import torch
    import torch.distributed as dist

    device = torch.device("cuda", rank) if backend == "nccl" else torch.device("cpu")
    tensor = torch.zeros(max(1, size // _FLOAT_BYTES), device=device)
    calls = max(1, min(20, BYTES_PER_MIB // max(1, size)))
    dist.barrier()
    _wait(device)
    begun = time.perf_counter()
    for _ in range(calls):
        dist.all_reduce(tensor)
    _wait(device)
    return (time.perf_counter() - begun) / calls


def _wait(device: Any) -> None:
    import torch

    if device.type == "cuda":
        torch.cuda.synchronize(device)
