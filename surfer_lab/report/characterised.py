"""How is a step characterised from what a user has: a capture, a trace, several ranks' traces? And how do they compare?

Catalogue, machines and the tables of kernels and of reference workloads meet here. Traces of several ranks are of one
run: the first whose GPU is known is the one whose compute is predicted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from surfer_lab import __version__
from surfer_lab.errors import OptionError, PredictionError, SurferError, UnknownGpuError
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.hardware.kernel_benchmarks import kernels_of
from surfer_lab.hardware.machines import load_machines
from surfer_lab.planner.captured_step import CapturedStep
from surfer_lab.planner.characterise.characterisation import (
    COUNTS,
    Characterisation,
    RecordedRun,
    characterise,
    recorded_run,
)
from surfer_lab.planner.characterise.characteristics import (
    REFERENCE_GPU,
    kernel_characteristics,
    workload_characteristics,
)
from surfer_lab.planner.characterise.similarity import PointGroup, Similarity, similarity
from surfer_lab.planner.options import PredictOptions
from surfer_lab.report.prediction import named_origin
from surfer_lab.report.reference_workloads import reference_characteristics
from surfer_lab.trace.model import Trace
from surfer_lab.trace.reader import read
from surfer_lab.units import NS_PER_MS
from surfer_lab.view.character_comparison import character_view
from surfer_lab.view.character_model import CharacterView

__all__ = ["USUAL_GPUS", "CharacterOptions", "alike", "characterise_step", "characterise_traces", "view_of_pages"]

USUAL_GPUS: Final = ("A100 SXM4 80GB", REFERENCE_GPU)  # the study's card, and the one that followed it
Between = Callable[[str], object]


@dataclass(frozen=True, kw_only=True)
class CharacterOptions:
    """What was asked, checked: GPUs by name, the recorded GPU, samples of a step, numbers of GPUs, ms of a sample."""

    on: tuple[str, ...] = USUAL_GPUS
    origin: str | None = None
    batch_size: int | None = None
    counts: tuple[int, ...] = COUNTS
    input_ms: float | None = None
    gpus: tuple[Gpu, ...] = field(init=False)

    def __post_init__(self) -> None:
        if any(count < 1 for count in self.counts) or not self.counts:
            raise OptionError(f"--counts {self.counts!r}", remedy="--counts 1,2,4,8")
        if self.input_ms is not None and not 0 <= self.input_ms < float("inf"):
            raise OptionError(f"--input-ms {self.input_ms!r}", remedy="milliseconds of one core for one sample: 5")
        object.__setattr__(self, "gpus", load_catalog().select(self.on))


def characterise_step(
    step: CapturedStep, name: str, options: CharacterOptions, between: Between | None = None
) -> Characterisation:
    """A step captured without a GPU."""
    return _characterised(step.trace, name, options, notes=step.notes, between=between)


def characterise_traces(
    paths: Sequence[Path], options: CharacterOptions, *, name: str, between: Between | None = None
) -> Characterisation:
    """A trace, or the traces of the ranks of one run. TraceError: a file that is none.

    Where the GPU of the recording is not known, only its communication is told; PredictionError where there is none.
    """
    traces = []
    for path in paths:
        if between is not None:
            between(f"{name}: reading {path.name}")
        traces.append(read(path))
    run = recorded_run(traces, [path.name for path in paths])
    chosen, refused = _with_known_gpu(traces, options)
    if chosen is None:
        if run is None:
            raise refused or PredictionError("no trace is given", remedy="surfer characterize TRACE")
        note = f"its compute is not predicted: {refused.seen}; {refused.remedy}" if refused is not None else ""
        return Characterisation(name=name, batch_size=options.batch_size, on=(), recorded=run, notes=(note,))
    return _characterised(chosen, name, options, recorded=run, between=between)


def _with_known_gpu(traces: Sequence[Trace], options: CharacterOptions) -> tuple[Trace | None, SurferError | None]:
    refused: SurferError | None = None
    for trace in traces:
        try:
            named_origin(load_catalog(), trace, PredictOptions(origin=options.origin))
        except (PredictionError, UnknownGpuError) as error:
            refused = refused or error
        else:
            return trace, None
    return None, refused


def _characterised(
    trace: Trace,
    name: str,
    options: CharacterOptions,
    *,
    recorded: RecordedRun | None = None,
    notes: Sequence[str] = (),
    between: Between | None = None,
) -> Characterisation:
    return characterise(
        trace,
        options.gpus,
        load_machines(),
        name=name,
        origin=named_origin(load_catalog(), trace, PredictOptions(origin=options.origin)),
        batch_size=options.batch_size,
        counts=options.counts,
        core_ns_per_sample=None if options.input_ms is None else options.input_ms * NS_PER_MS,
        recorded=recorded,
        notes=notes,
        between=between,
    )


def alike(pages: Sequence[Characterisation]) -> tuple[Similarity | None, tuple[str, ...]]:
    """Where pages lie among reference workloads and DeepBench's kernels, and what is not there; None: nothing is."""
    known, left_out = [], []
    for page in pages:
        found = workload_characteristics(page, PointGroup.OWN)
        if found is None:
            left_out.append(page.name)
        else:
            known.append(found)
    if not known:
        return None, ()
    rows = [
        *known,
        *reference_characteristics({page.name for page in pages}),
        *(kernel_characteristics(kernel) for kernel in kernels_of(REFERENCE_GPU)),
    ]
    notes: tuple[str, ...] = ()
    if left_out:
        notes = (
            f"Not on the map: {', '.join(left_out)}: it wants shapes, gradients and memory, all of {REFERENCE_GPU}.",
        )
    return similarity(rows), notes


def view_of_pages(pages: Sequence[Characterisation], *, command: str = "") -> CharacterView:
    """What is shown of them."""
    found, notes = alike(pages)
    return character_view(pages, found, notes=notes, version=__version__, command=command)
