"""How did predictions of this kind do on measured cases? Sentences with their number of cases, for every report.

The figures are those of docs/accuracy.json, which `surfer evaluate` and `tools.write_accuracy` make from the measured
tables; a test holds them to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["FROM_ANOTHER_GPU", "FROM_SHAPES", "ModelErrors", "accuracy_lines"]


@dataclass(frozen=True, kw_only=True)
class ModelErrors:
    """Errors of whole steps of models, in percent of the measured time."""

    cases: int
    mean_percent: float
    median_percent: float
    worst_percent: float
    in_range_percent: float


FROM_SHAPES: Final = ModelErrors(
    cases=34, mean_percent=5.2, median_percent=3.7, worst_percent=24.3, in_range_percent=97.1
)
FROM_ANOTHER_GPU: Final = ModelErrors(
    cases=90, mean_percent=7.2, median_percent=4.4, worst_percent=28.8, in_range_percent=88.9
)
_NOT_COVERED: Final = (
    "Those are FP32 language models on five NVIDIA GPUs, Pascal to Ampere. On AMD and on newer GPUs, in other "
    "precisions and compiled there are fewer measured cases; ranges are wider where less is known."
)


def accuracy_lines(*, from_another_gpu: bool) -> list[str]:
    """For a step recorded on a GPU (`from_another_gpu`), or for one known by its operations' shapes."""
    errors = FROM_ANOTHER_GPU if from_another_gpu else FROM_SHAPES
    what = (
        "recordings on one GPU, predicted on another"
        if from_another_gpu
        else "steps predicted from their operations, without any GPU of the same die in what was fitted"
    )
    return [
        f"Whole models, {errors.cases} {what}: the time was off by {errors.mean_percent:.1f} % in the mean (median "
        f"{errors.median_percent:.1f} %, worst {errors.worst_percent:.1f} %); {errors.in_range_percent:.0f} % lay in "
        "their range, which is made to hold 80 %.",
        _NOT_COVERED,
    ]
