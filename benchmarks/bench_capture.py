"""How fast is a step captured from shapes, and what does recording add to a loop? On one thread, in processor time.

Processor time, since the loop and the capture both compute on one core: other work on the machine does not count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final

import torch
from torch import nn

from benchmarks.figure import Figure
from surfer_lab import workloads
from surfer_lab.capture import record, trace_symbolic
from surfer_lab.capture.symbolic.mode import ShapesMode

__all__ = ["figures"]

OPS_PER_S: Final = 8_000  # the target
STEPS: Final = 200
TURNS: Final = 3


def processor_s(work: Callable[[], object]) -> float:
    """Shortest processor time of `TURNS` runs, seconds."""
    times_s = []
    for _ in range(TURNS):
        began = time.process_time()
        work()
        times_s.append(time.process_time() - began)
    return min(times_s)


def captured_gpt2() -> tuple[float, int]:
    """Seconds for GPT-2's training step, build and both steps included, and how many ops were dispatched in them."""
    counts: list[int] = []
    plain = ShapesMode.__torch_dispatch__

    def counting(*args: object, **kwargs: object) -> object:
        counts.append(1)
        return plain(*args, **kwargs)  # type: ignore[arg-type] # passed on as they came

    def capture() -> None:
        trace_symbolic(
            lambda made: made[0].step(made[1]),
            build=lambda: (workload := workloads.build("gpt2"), workload.example_inputs(8)),
        )

    capture()  # imports torch's shape rules
    ShapesMode.__torch_dispatch__ = counting  # type: ignore[method-assign] # for the count alone
    try:
        capture()
    finally:
        ShapesMode.__torch_dispatch__ = plain  # type: ignore[method-assign] # mypy lets no method be set; put back
    return processor_s(capture), len(counts)


def small_loop() -> Callable[[], None]:
    """A small CNN's training loop."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.1), nn.Linear(32, 10),
    )  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters())
    images, labels = torch.randn(32, 3, 16, 16), torch.zeros(32, dtype=torch.int64)

    def loop() -> None:
        for _ in range(STEPS):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images), labels).backward()  # type: ignore[no-untyped-call] # torch's backward has no types
            optimizer.step()

    return loop


def figures() -> Iterator[Figure]:
    """Capture of shapes; recording of a run."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        capture_s, op_count = captured_gpt2()
        yield Figure(
            name=f"GPT-2 training step from shapes, {op_count:,} ops dispatched", measured=capture_s, unit="s",
            target=op_count / OPS_PER_S,
        )  # fmt: skip
        loop = small_loop()
        loop()
        yield Figure(
            name=f"small CNN, {STEPS} steps under record()", measured=processor_s(lambda: record(loop)), unit="s",
            target=1.3, target_is_ratio=True, allowance=2.0, peer_name="the loop, plain", peer=processor_s(loop),
        )  # fmt: skip
    finally:
        torch.set_num_threads(threads)
