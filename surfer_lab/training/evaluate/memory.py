"""Is a step's peak memory what a person counts, and what a GPU's allocator recorded?

Small steps against counts by hand, to the byte; a ResNet-50 step of batch 32 against the allocator events of two V100
traces, above what lived when they began.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from surfer_lab.planner.graph_memory import measured_above_start_bytes, step_memory
from surfer_lab.trace import read
from surfer_lab.training.evaluate.cases import Case, Cell, Evaluation, Table

__all__ = ["evaluate_memory"]

COUNTED: Final = "storages of the captured graph"
_TRACES: Final = "kineto_v100_resnet50_num_workers_*.json.gz"
_TRACES_BATCH: Final = 32
Progress = Callable[[str, int, int], None]


def evaluate_memory(data: Path | None = None, *, progress: Progress | None = None) -> Evaluation:
    """All hand counts; the recorded peaks where `data` holds the traces."""
    by_hand = list(_hand_cases(progress))
    recorded = list(_recorded_cases(data)) if data is not None else []
    return Evaluation(
        name="memory",
        cases=(*by_hand, *recorded),
        tables=(_hand_table(by_hand), *((_recorded_table(recorded),) if recorded else ())),
        facts={
            "hand counts": len(by_hand),
            "hand counts exact": sum(1 for case in by_hand if not case.reason),
            "recorded peaks": len(recorded),
        },
    )


def _hand_cases(progress: Progress | None) -> Iterator[Case]:
    from surfer_lab.training.evaluate.hand_counts import hand_counts

    for number, case in enumerate(hand_counts()):
        parts = sorted({*case.by_hand, *case.counted}, key=lambda part: part.name)
        wrong = [part.name.lower() for part in parts if case.by_hand.get(part) != case.counted.get(part)]
        yield Case(
            model=case.name, method=COUNTED, reason=f"differs in {', '.join(wrong)}" if wrong else "",
            columns={
                "predicted_bytes": sum(case.counted.values()), "measured_bytes": sum(case.by_hand.values()),
                **{f"{part.name.lower()}_bytes": case.counted.get(part, 0) for part in parts},
            },
        )  # fmt: skip
        if progress is not None:
            progress(case.name, number + 1, number + 1)


def _recorded_cases(data: Path) -> Iterator[Case]:
    paths = sorted((data / "traces").glob(_TRACES))
    if not paths:
        return
    step = _resnet50_as_recorded()
    above = step.above_start
    for path in paths:
        measured = measured_above_start_bytes(read(path))
        yield Case(
            gpu="V100", model="resnet50", mode="train", batch=_TRACES_BATCH, precision="fp32", method=COUNTED,
            reason="" if measured is not None else "the trace holds no allocator events",
            columns={
                "file": path.name, "predicted_bytes": above.likely, "low_bytes": above.low, "high_bytes": above.high,
                "measured_bytes": measured,
                **{f"{part.name.lower()}_bytes": amount for part, amount in step.tensors.items() if amount},
                "workspace_bytes": step.workspace.likely,
            },
        )  # fmt: skip


def _resnet50_as_recorded() -> Any:
    """The step of the traces' own program: gradients set to zero, images copied to the GPU in each step."""
    import torch.nn.functional as F

    from surfer_lab import workloads
    from surfer_lab.capture.symbolic import trace_symbolic

    def build() -> Any:
        work = workloads.build("resnet50")
        return work, work.example_inputs(_TRACES_BATCH)

    def step(made: Any) -> None:
        work, batch = made
        images, labels = batch["image"].clone(), batch["label"].clone()
        loss = F.cross_entropy(work.model(images), labels)
        work.optimizers["sgd"].zero_grad(set_to_none=False)
        loss.backward()  # type: ignore[no-untyped-call] # torch's
        work.optimizers["sgd"].step()

    return step_memory(trace_symbolic(step, build=build))


def _hand_table(cases: list[Case]) -> Table:
    return Table(
        title="memory: bytes alive at the peak, by hand and counted",
        columns=("step", "by hand", "counted", "exact"),
        rows=tuple(
            (
                case.model, case.columns["measured_bytes"], case.columns["predicted_bytes"],
                "to the byte" if not case.reason else case.reason,
            )
            for case in cases
        ),
    )  # fmt: skip


def _recorded_table(cases: list[Case]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for case in cases:
        predicted, measured = case.columns["predicted_bytes"], case.columns["measured_bytes"]
        known = isinstance(predicted, int) and isinstance(measured, int) and measured > 0
        error = round(100.0 * (float(predicted) / float(measured) - 1.0), 1) if known else None  # type: ignore[arg-type] # ints
        rows.append(
            (case.columns["file"], predicted, case.columns["low_bytes"], case.columns["high_bytes"], measured, error)
        )  # fmt: skip
    return Table(
        title="memory: a ResNet-50 step's peak above its start, beside a V100's allocator",
        columns=("trace", "predicted bytes", "low", "high", "recorded bytes", "error %"),
        rows=tuple(rows),
    )
