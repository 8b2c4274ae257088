"""What do measurements of one's own do? `surfer collect`, `surfer verify`, and `surfer calibrate --from-steps`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from surfer_lab.cli.commands import app
from surfer_lab.cli.files import trace_file
from surfer_lab.cli.installed import needs_torch
from surfer_lab.cli.terminal import counted, print_line, read_progress, speaks_plainly
from surfer_lab.errors import OptionError, PredictionError
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.trace.model import Trace, TraceOrigin
from surfer_lab.units import NS_PER_MS
from surfer_lab.view.wording import percent_text, significant

__all__ = ["app", "calibrate_from_steps", "collect", "verify"]


@app.command()
@speaks_plainly
def collect(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the tables go, or are gone on with.")],
) -> None:
    """Measure operations on this machine's GPU.

    Micro-benchmarks and sustained rates in the layout of the measured data (DIR/kernels, DIR/facts), within 8 minutes;
    started anew, it goes on. `surfer train --data DIR` and `surfer evaluate kernels --data DIR` read them.
    """
    needs_torch("it is what measures")
    from surfer_lab.training.collect import collect as measure

    with counted("collect") as progress:
        found = measure(out, progress=progress)
    print_line(f"{found.gpu}: {found.measured:,} operations measured, {found.kept_before:,} were there before.")
    if found.skipped:
        print_line(f"{found.skipped:,} did not run on this GPU (out of memory, most often).")
    if found.left:
        print_line(f"{found.left:,} are left: surfer collect --out {out} goes on.")
    print_line(f"Written: {found.folder}")


@app.command()
@speaks_plainly
def verify(
    prediction: Annotated[
        Path,
        typer.Argument(metavar="PREDICTION", help="What surfer predict --json printed, in a file.", show_default=False),
    ],
    on: Annotated[str | None, typer.Option("--on", metavar="GPU", help="The GPU, where several are predicted.")] = None,
    measured_ms: Annotated[
        float | None, typer.Option("--measured-ms", metavar="MS", help="What a step took on that GPU.")
    ] = None,
    trace: Annotated[
        Path | None, typer.Option("--trace", metavar="TRACE", help="A profiler's trace of the step on that GPU.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Add the case to DIR/e2e/index.csv, to share.")
    ] = None,
) -> None:
    """Hold a prediction against a measured step.

    On the GPU that was predicted, the step of a predicted model is run and timed; elsewhere give its time or a trace.
    From four verified predictions on, ranges of steps are those of your own errors.
    """
    from surfer_lab.training.verify import measured_here, measured_in_trace, saved_prediction
    from surfer_lab.training.verify import verify as hold_against

    said = saved_prediction(prediction, on)
    if measured_ms is not None and trace is not None:
        raise OptionError("both --measured-ms and --trace are given", remedy="one of them")
    if measured_ms is not None:
        how = "as given"
    elif trace is not None:
        measured_ms, how = measured_in_trace(trace_file(trace), said.gpu), f"in {trace.name}"
    else:
        needs_torch("it is what measures")
        measured_ms, how = measured_here(said), "on this machine"
    found = hold_against(said, measured_ms, how=how, out=out)
    inside = "inside" if found.is_inside else "outside"
    longer = "too long" if found.error > 0 else "too short"
    print_line(
        f"{said.model} on {said.gpu}: predicted {significant(said.predicted_ms)} ms "
        f"({significant(said.low_ms)} to {significant(said.high_ms)}), measured {significant(measured_ms)} ms ({how}): "
        f"{percent_text(abs(found.error))} {longer}, {inside} its range."
    )
    if found.factor is not None:
        print_line(f"Ranges of steps are now x{found.factor:.2f}, by {found.verified_count} verified predictions.")
    else:
        print_line(f"Verified: {found.verified_count}. From four on, ranges of steps are those of your own errors.")
    print_line(f"Kept in {found.kept_in}")
    if found.written_to is not None:
        print_line(f"Added to {found.written_to}")


def calibrate_from_steps(files: Sequence[str], on: str | None) -> None:
    """Fit the two constants of a GPU to measured steps, keep and show them."""
    from surfer_lab.training.step_constants import (
        captured_step,
        fit_step_constants,
        recorded_step,
        save_constants,
    )

    gpu = load_catalog().find(on) if on is not None else None
    steps = []
    for word in files:
        path, measured_ms = _file_and_time(word)
        with read_progress(f"reading {path.name}") as progress:
            trace = _read(path, progress)
        if measured_ms is not None:
            steps.append(captured_step(trace, measured_ms * NS_PER_MS, name=path.name))
            continue
        if trace.origin is not TraceOrigin.PROFILER:
            raise OptionError(f"{path.name} ran on no GPU", remedy=f"say what its step took: {path.name}=MS")
        gpu = _same(gpu, trace, path)
        steps.append(recorded_step(trace, name=path.name))
    if gpu is None:
        raise OptionError("which GPU the steps were measured on is not said", remedy='--on "RTX 4090"')
    found = fit_step_constants(steps, gpu)
    kept_in = save_constants(found, gpu)
    print_line(
        f"{gpu.name}: arithmetic takes {found.arithmetic:.2f}, memory {found.memory:.2f} times as long as thought."
    )
    for name, before, after in zip(found.steps, found.errors_before, found.errors_after, strict=True):
        print_line(f"  {name}: error {before:+.1%} before, {after:+.1%} now")
    print_line(f"Kept in {kept_in}; predictions for this GPU use them from now on.")


def _file_and_time(word: str) -> tuple[Path, float | None]:
    name, equals, time = word.rpartition("=")
    if not equals:
        return trace_file(Path(word)), None
    try:
        measured_ms = float(time)
    except ValueError:
        measured_ms = 0.0
    if not 0 < measured_ms < float("inf"):
        raise OptionError(f"{word!r} is no FILE=MS", remedy="step.surfertrace=35.2")
    return trace_file(Path(name)), measured_ms


def _read(path: Path, progress: Callable[[int, int], None]) -> Trace:
    from surfer_lab.trace import read

    return read(path, progress=progress)


def _same(gpu: Gpu | None, trace: Trace, path: Path) -> Gpu:
    if trace.device is None or trace.device.name is None:
        if gpu is None:
            raise PredictionError(f"{path.name} does not say which GPU it was recorded on", remedy="name it: --on")
        return gpu
    found = load_catalog().find_device(trace.device)
    if gpu is not None and found != gpu:
        raise OptionError(f"{path.name} was recorded on {found.name}, not on {gpu.name}", remedy="one GPU at a time")
    return found
