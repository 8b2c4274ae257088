"""What would the model that `module:factory` names cost? Captured from shapes, predicted, in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from surfer_lab.planner.options import PredictOptions, predict_options
from surfer_lab.report.prediction import Prediction, check_names, predict_as_asked
from surfer_lab.workloads.any_batch import capture_step
from surfer_lab.workloads.named_step import named_step

__all__ = ["predict_factory", "predict_model"]


def predict_factory(factory: str, options: PredictOptions, *, inference: bool = False, command: str = "") -> Prediction:
    """Predict the step of "module:factory" by checked options (SurferError: what was seen, what to do)."""
    check_names(options)  # before a long capture
    step = named_step(factory, inference=inference)
    captured = capture_step(step, options.batch_size)
    return predict_as_asked(
        captured.trace,
        options,
        name=step.name,
        command=command,
        scaling=captured.scaling,
        notes=captured.notes,
    )


def predict_model(
    factory: str,
    *,
    on: str | Sequence[str] = (),
    batch_size: int | None = None,
    batch_sizes: Sequence[int] = (),
    precision: str = "as-run",
    compile: str = "off",  # noqa: A002 # the word of the vocabulary
    inference: bool = False,
    host_factor: float = 1.0,
    prices: Mapping[str, float] | None = None,
    spot: bool = False,
    dataset_size: int | None = None,
    name: str | None = None,
) -> Prediction:
    """Predict a model from shapes alone: `predict_model("surfer_lab.workloads:resnet50", batch_size=64)`.

    The words are those of `surfer predict-model`; the forms of a factory are in `surfer_lab.workloads.named_step`.
    """
    options = predict_options(
        {
            "on": (on if isinstance(on, str) else ",".join(on)) or None,
            "batch_size": None if batch_size is None else str(batch_size),
            "batch_sizes": ",".join(map(str, batch_sizes)) or None,
            "precision": precision,
            "compile": compile,
            "host_factor": str(host_factor),
            "prices": ",".join(f"{gpu}={usd}" for gpu, usd in (prices or {}).items()) or None,
            "spot": "" if spot else None,
            "dataset_size": None if dataset_size is None else str(dataset_size),
            "name": name,
        }
    )
    return predict_factory(factory, options, inference=inference)
