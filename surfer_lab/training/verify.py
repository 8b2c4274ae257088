"""Was a prediction right? Its file beside a measured step: compared, kept for the user's ranges, written to share.

    the file of `surfer predict --json` or `.report("x.json")`  +  a measured time  ->  error, inside the range or not

The time is given, or taken from a profiler's trace of the GPU, or measured here: then the step is run that the file's
own command names (`surfer predict-model MODULE:FACTORY ...`), on a CUDA or ROCm GPU. Where nothing of that can be, the
error says what to do instead. The case that is written has the layout of the measured models, e2e/index.csv.
"""

from __future__ import annotations

import csv
import datetime
import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from surfer_lab.errors import OptionError, PredictionError, UnknownGpuError
from surfer_lab.hardware.catalog import Catalog, load_catalog
from surfer_lab.hardware.verifications import Verification, add_verification, load_verifications, verified_factor
from surfer_lab.units import NS_PER_MS

__all__ = ["SavedPrediction", "Verified", "measured_here", "measured_in_trace", "saved_prediction", "verify"]

COLUMNS: Final = (
    "gpu", "model", "mode", "seq", "batch", "option", "num_gpus", "e2e_ms", "fw_ms", "bw_ms", "num_layer", "n_ops",
    "trace_path", "has_e2e", "predicted_ms", "low_ms", "high_ms", "command",
)  # fmt: skip
LEVEL: Final = 0.8
WARM_UP_STEPS: Final = 5
TIMED_STEPS: Final = 20


@dataclass(frozen=True, kw_only=True)
class SavedPrediction:
    """One GPU's row of a saved prediction; ms of a step."""

    gpu: str
    model: str
    batch: int | None
    command: str
    predicted_ms: float
    low_ms: float
    high_ms: float


@dataclass(frozen=True, kw_only=True)
class Verified:
    """What came out."""

    said: SavedPrediction
    measured_ms: float
    how: str
    verified_count: int  # of this user, with this one
    factor: float | None  # of a step's range from now on; None: too few yet
    kept_in: Path
    written_to: Path | None

    @property
    def error(self) -> float:
        """Predicted over measured, less one."""
        return self.said.predicted_ms / self.measured_ms - 1.0

    @property
    def is_inside(self) -> bool:
        """Whether the measured time lies in the range that was shown."""
        return self.said.low_ms <= self.measured_ms <= self.said.high_ms


def saved_prediction(path: Path, gpu: str | None = None, *, catalog: Catalog | None = None) -> SavedPrediction:
    """The row of a GPU in a prediction's JSON; of its only one where none is named. SurferError says what is wrong."""
    try:
        view: Any = json.loads(path.read_text(encoding="utf-8"))
        rows = {str(row["gpu"]): row for row in view["rows"]}
    except OSError as error:
        raise OptionError(f"{path} cannot be read ({error.strerror})", remedy="the file of a prediction") from error
    except (ValueError, KeyError, TypeError) as error:
        raise OptionError(
            f"{path} is not a saved prediction", remedy="surfer predict TRACE --json > FILE, or .report('x.json')"
        ) from error
    if gpu is not None and gpu not in rows:
        gpu = (catalog or load_catalog()).find(gpu).name
    if gpu is None and len(rows) == 1:
        gpu = next(iter(rows))
    if gpu not in rows:
        names = sorted(rows)
        if gpu is None:
            raise OptionError(f"{path} predicts {len(names)} GPUs", remedy=f"name one: --on {names[0]!r}")
        raise UnknownGpuError(f"{gpu} is not predicted in {path}", candidates=names, remedy="--on, one of these")
    step = rows[gpu]["step"]
    if step.get("unit") not in _MS_OF or step.get("value") is None:
        raise PredictionError(f"{path} predicts no time on {gpu}", remedy="another GPU of it: --on")
    scale = _MS_OF[step["unit"]]
    batch = view.get("batch_size")
    return SavedPrediction(
        gpu=gpu, model=str(view.get("name", "")), batch=batch if isinstance(batch, int) else None,
        command=str(view.get("command", "")), predicted_ms=scale * step["value"],
        low_ms=scale * step.get("low", step["value"]), high_ms=scale * step.get("high", step["value"]),
    )  # fmt: skip


_MS_OF: Final = {"ns": 1e-6, "µs": 1e-3, "us": 1e-3, "ms": 1.0, "s": 1e3, "min": 6e4, "h": 3.6e6}


def verify(
    said: SavedPrediction, measured_ms: float, *, how: str, out: Path | None = None, folder: Path | None = None
) -> Verified:
    """Compare, keep for this user, and append the case to `out`/e2e/index.csv where that is named."""
    if not 0 < measured_ms < float("inf"):
        raise OptionError(f"a step of {measured_ms} ms was not measured", remedy="--measured-ms, a number above 0")
    kept_in = add_verification(
        Verification(
            gpu=said.gpu, model=said.model, predicted_ms=said.predicted_ms, measured_ms=measured_ms,
            measured_on=datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat(),
        ),
        folder,
    )  # fmt: skip
    every = load_verifications(folder)
    return Verified(
        said=said, measured_ms=measured_ms, how=how, verified_count=len(every), factor=verified_factor(every, LEVEL),
        kept_in=kept_in, written_to=None if out is None else _append(out, said, measured_ms),
    )  # fmt: skip


def _append(out: Path, said: SavedPrediction, measured_ms: float) -> Path:
    path = out / "e2e" / "index.csv"
    is_new = not path.is_file()
    row = {
        "gpu": said.gpu, "model": said.model, "mode": "inf" if "--inference" in said.command else "train", "seq": 0,
        "batch": said.batch or 0, "option": "", "num_gpus": 1, "e2e_ms": f"{measured_ms:.6f}", "trace_path": "",
        "has_e2e": 1, "predicted_ms": f"{said.predicted_ms:.6f}", "low_ms": f"{said.low_ms:.6f}",
        "high_ms": f"{said.high_ms:.6f}", "command": said.command,
    }  # fmt: skip
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, COLUMNS, restval="")
            if is_new:
                writer.writeheader()
            writer.writerow(row)
    except OSError as error:
        raise OptionError(f"{path} cannot be written ({error.strerror})", remedy="another folder: --out") from error
    return path


# -- measured times ----------------------------------------------------------------------------------------------------


def measured_in_trace(path: Path, gpu: str) -> float:
    """The median step of a profiler's trace, ms; PredictionError where it was recorded on another GPU."""
    from surfer_lab.trace import read
    from surfer_lab.trace.model import TraceOrigin

    trace = read(path)
    if trace.origin is not TraceOrigin.PROFILER:
        raise PredictionError(f"{path} ran on no GPU", remedy=f"record the step on a {gpu}")
    if trace.device is not None and trace.device.name is not None:
        recorded_on = load_catalog().find_device(trace.device).name
        if recorded_on != gpu:
            raise PredictionError(f"{path} was recorded on {recorded_on}, predicted is {gpu}", remedy="--on, that GPU")
    unprofiled_ns = trace.cell.unprofiled_step_ns if trace.cell is not None else None
    return float(unprofiled_ns or trace.step_ns) / NS_PER_MS


Timer = Callable[[Callable[[], object]], float]  # runs a step so often that its time is settled; ms of one


def measured_here(said: SavedPrediction, timer: Timer | None = None, here: str | None = None) -> float:
    """Run the step that the prediction's command names, on this machine's GPU, ms.

    `here` and `timer` stand for the GPU's name and its clock. Refused, with what to do: no GPU, another GPU, or a
    prediction of a recording, whose program is not known.
    """
    words = shlex.split(said.command)
    if words[:2] != ["surfer", "predict-model"] or len(words) < 3:
        raise PredictionError(
            "the saved prediction is of a recording: the program that ran is not in it",
            remedy="measure the step there: --measured-ms MS, or --trace TRACE of a run on that GPU",
        )
    device = here if here is not None else _gpu_here()
    if device is None:
        raise PredictionError(
            f"there is no GPU here to run the step on; predicted is {said.gpu}",
            remedy=f"run this on a machine with a {said.gpu}, or give its time: --measured-ms MS, or --trace TRACE",
        )
    if device != said.gpu:
        raise PredictionError(f"this machine has {device}, predicted is {said.gpu}", remedy=f"--on {device!r}")
    from surfer_lab.workloads.named_step import named_step

    step = named_step(words[2], inference="--inference" in words)
    with _default_device("cuda" if here is None else "cpu"):
        built = step.build(said.batch)
        return (timer or _cuda_ms)(lambda: step.run(built, said.batch))


def _default_device(device: str) -> Any:
    import torch

    return torch.device(device)  # a context: what is made within, is made there


def _gpu_here() -> str | None:
    import torch

    if not torch.cuda.is_available():
        return None
    facts = torch.cuda.get_device_properties(torch.cuda.current_device())
    return (
        load_catalog().find(str(facts.name), sm_count=facts.multi_processor_count, memory_bytes=facts.total_memory).name
    )


def _cuda_ms(run: Callable[[], object]) -> float:
    import torch

    for _ in range(WARM_UP_STEPS):
        run()
    times = []
    for _ in range(TIMED_STEPS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]  # torch's
        start.record()
        run()
        end.record()
        end.synchronize()
        times.append(float(start.elapsed_time(end)))
    return float(median(times))
