"""Which workload is meant by a word, and at which batch is it characterised? Captured from shapes, then characterised.

Batches of the reference workloads are those of the published runs that they stand for (NVIDIA's examples on one V100 of
16 or 32 GB, MLPerf's where there is none), so that what is told of them can be held against what was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from surfer_lab.errors import OptionError
from surfer_lab.planner.characterise.characterisation import COUNTS, Characterisation
from surfer_lab.report.character_study import CharacterStudy
from surfer_lab.report.characterised import USUAL_GPUS, CharacterOptions, characterise_step
from surfer_lab.workloads.any_batch import capture_step
from surfer_lab.workloads.named_step import ModelStep, model_step, named_step
from surfer_lab.workloads.registry import build, names

__all__ = ["REFERENCE_BATCHES", "characterise_workload", "characterize", "workload_step"]

REFERENCE_BATCHES: Final = {
    "resnet50": 128, "inception_v3": 64, "transformer": 64, "transformer_big": 102, "gnmt": 128, "dcgan": 128,
    "ssd300": 32, "ssd300_resnet34": 32, "mask_rcnn": 4, "ncf": 131_072, "bert_base": 32, "bert_large": 4,
    "dlrm": 8192, "dlrm_kaggle": 8192, "gpt2": 4, "gpt2_medium": 2, "gpt2_large": 1, "caffenet": 256, "lenet": 64,
}  # fmt: skip


def workload_step(word: str) -> ModelStep:
    """The step of a reference workload, or of MODULE:FACTORY. OptionError with near names."""
    if ":" in word:
        return named_step(word)
    if word not in names():
        build(word)  # says what is near

    def factory() -> object:
        return build(word, device="cpu")

    return model_step(factory, name=word)


def characterise_workload(
    word: str, options: CharacterOptions, between: Callable[[str], object] | None = None
) -> Characterisation:
    """The page of a reference workload or factory. SurferError: what cannot be captured."""
    step = workload_step(word)
    if between is not None:
        between(f"{step.name}: capturing from shapes")
    asked = options.batch_size or REFERENCE_BATCHES.get(word)
    if asked is None and ":" not in word:
        raise OptionError(f"{word} has no usual batch", remedy="name it: --batch-size 1")
    return characterise_step(capture_step(step, asked), step.name, options, between)


def characterize(
    *workloads: str,
    on: str | Sequence[str] = USUAL_GPUS,
    batch_size: int | None = None,
    counts: Sequence[int] = COUNTS,
    input_ms: float | None = None,
    progress: Callable[[str], object] | None = None,
) -> CharacterStudy:
    """Tell what kind of work workloads are: `characterize("resnet50", "ncf", "my_module:factory")`.

    `on` are GPUs by name; `input_ms` is what loading one sample takes one core; `progress` is called with what comes
    next. The words are those of `surfer characterize`, which takes traces too. SurferError: what was seen, what to do.
    """
    if not workloads:
        raise OptionError("no workload is named", remedy=f"one or several of {', '.join(REFERENCE_BATCHES)}")
    names_of = tuple(one.strip() for one in on.split(",")) if isinstance(on, str) else tuple(on)
    options = CharacterOptions(on=names_of, batch_size=batch_size, counts=tuple(counts), input_ms=input_ms)
    for word in workloads:
        workload_step(word)  # before anything long
    pages = [characterise_workload(word, options, progress) for word in workloads]
    return CharacterStudy(pages, command=f"surfer characterize {' '.join(workloads)}")
