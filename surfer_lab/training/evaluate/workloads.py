"""Are the reference workloads the published models? Their counts beside the printed ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from surfer_lab.training.evaluate.cases import Case, Cell, Evaluation, Table
from surfer_lab.workloads import names
from surfer_lab.workloads.counts import compare_with_published

__all__ = ["evaluate_workloads"]

COUNTED: Final = "counted on meta tensors"
Progress = Callable[[str, int, int], None]


def evaluate_workloads(*, sample: int | None = None, progress: Progress | None = None) -> Evaluation:
    """Every published count of all workloads, or of the first `sample` of them."""
    chosen = names()[:sample]
    cases: list[Case] = []
    rows: list[tuple[Cell, ...]] = []
    for number, name in enumerate(chosen):
        for row in compare_with_published([name]):
            published = row.published
            difference = 100.0 * (row.counted / published.value - 1.0)
            quantity = published.quantity.name.lower()
            cells: tuple[Cell, ...] = (
                name, quantity, published.scope, row.counted, int(published.value), round(difference, 2),
                "yes" if row.agrees else "no", published.source,
            )  # fmt: skip
            rows.append(cells)
            cases.append(
                Case(
                    model=name, method=COUNTED,
                    reason="" if row.agrees else "outside the rounding of the print",
                    columns={
                        "quantity": quantity, "scope": published.scope, "counted": row.counted,
                        "published": published.value, "source": published.source,
                    },
                )
            )  # fmt: skip
        if progress is not None:
            progress(name, number + 1, len(chosen))
    table = Table(
        title="workloads: counts beside the published ones",
        columns=("workload", "quantity", "scope", "counted", "published", "difference %", "agrees", "source"),
        rows=tuple(rows),
        notes=("agrees: within the rounding of the print",),
    )
    counted = {case.model for case in cases}
    return Evaluation(
        name="workloads",
        cases=tuple(cases),
        tables=(table,),
        facts={
            "counts": len(cases),
            "counts that agree": sum(1 for case in cases if not case.reason),
            "workloads without a published count": ", ".join(name for name in chosen if name not in counted) or "none",
        },
    )
