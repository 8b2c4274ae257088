"""Do recorded traces come out as they ran, and as the same program was measured elsewhere?

Four questions of a folder of profiler traces with its tables: is the recorded span of each trace reproduced from its
launches, durations, order and waits alone (the kernels' start times withheld)? Is the step the one that the file's own
marks give, and are all kernels there? Is the published ratio of a ResNet-50 step on V100 and A100 predicted? Is a model
that was recorded on two GPUs predicted from each on the other?
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from surfer_lab.engine import predict
from surfer_lab.engine.recorded_timeline import recorded_timeline
from surfer_lab.engine.replay import replay
from surfer_lab.errors import OptionError, SurferError
from surfer_lab.hardware.catalog import Catalog, load_catalog
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.trace import read
from surfer_lab.trace.model import Trace
from surfer_lab.trace.tables import HostCallKind, KernelKind, StepSource
from surfer_lab.training.evaluate.cases import Case, Cell, Evaluation, Table
from surfer_lab.units import NS_PER_MS

__all__ = ["evaluate_traces"]

REPLAY: Final = "replay without the kernels' starts"
MARKS: Final = "median of the file's marks"
WAVE: Final = "wave scaling, sustained rates"
# Traces in which no GPU is named: what the replay does not depend on, and predictions need (the folder's README)
_GPU_OF_FILE: Final[Mapping[str, str]] = {"amd_trace__": "MI250 (per GCD)"}
_USUAL_GPU: Final = "A100 SXM4 40GB"
_RESNET_FILES: Final = "kineto_v100_resnet50_num_workers_*.json.gz"
# images/s of one GPU, training ResNet-50 v1.5: FP32 on a V100 16 GB, TF32 on an A100 80 GB
_RESNET_README: Final = "PyTorch/Classification/ConvNets/resnet50v1.5/README.md"
_RESNET_COLUMNS: Final = {
    "V100 SXM2 16GB": ("DGX-1 16GB (8x V100 16GB)", "Throughput - FP32"),
    "A100 SXM4 80GB": ("DGX A100 (8x A100 80GB)", "Throughput - TF32"),
}
Progress = Callable[[str, int, int], None]


def evaluate_traces(
    data: Path, *, sample: int | None = None, progress: Progress | None = None, catalog: Catalog | None = None
) -> Evaluation:
    """All traces of `traces/`, or the first `sample` of them by name; the two questions about several GPUs always."""
    folder = data / "traces"
    if not folder.is_dir():
        raise OptionError(f"{data} holds no traces folder", remedy="name the folder that holds the measured data")
    known = catalog or load_catalog()
    paths = sorted(folder.glob("*.json.gz"))[:sample]
    index = _listed_kernels(folder / "index.csv")
    cases: list[Case] = []
    rows: list[tuple[Cell, ...]] = []
    for number, path in enumerate(paths):
        found, row = _own_gpu(path, index, known)
        cases += found
        rows.append(row)
        if progress is not None:
            progress(path.name, number + 1, len(paths))
    elsewhere = [*_resnet_ratio(data, known), *_pairs(folder, known)]
    return Evaluation(
        name="traces",
        cases=(*cases, *elsewhere),
        tables=(_own_table(rows), _elsewhere_table(elsewhere)),
        facts={
            "traces": len(paths),
            "traces that cannot be predicted": sum(1 for case in cases if case.reason),
            "largest |error| of a replayed span, %": _worst(case for case in cases if case.method == REPLAY),
        },
    )


# -- on the GPU it ran on ----------------------------------------------------------------------------------------------


def _listed_kernels(path: Path) -> Mapping[str, int]:
    """Kernels by file, as the folder's own index counts them."""
    if not path.is_file():
        return {}
    table = pd.read_csv(path)
    return {str(name): int(count) for name, count in zip(table["file"], table["n_kernels"].tolist(), strict=True)}


def _own_gpu(path: Path, index: Mapping[str, int], catalog: Catalog) -> tuple[list[Case], tuple[Cell, ...]]:
    try:
        trace = read(path)
        origin = _origin(path, trace, catalog)
        own = predict(trace, [origin], origin=origin).steps
    except SurferError as error:
        case = Case(model=path.name, method=REPLAY, reason=str(error))
        return [case], (path.name, *(None,) * 8)
    recorded, replayed = _spans(trace)
    base = Case(gpu=origin.name, origin_gpu=origin.name, model=path.name, method=REPLAY)
    span = replace(base, predicted_ms=replayed / NS_PER_MS, measured_ms=recorded / NS_PER_MS)
    cases = [span]
    marks_ms = _marks_ms(path, trace)
    step_ms = float(own.step_ns[0]) / NS_PER_MS
    if marks_ms is not None:
        cases.append(replace(base, method=MARKS, predicted_ms=step_ms, measured_ms=marks_ms))
    kernels = int(np.isin(trace.kernels.kind, (KernelKind.COMPUTE, KernelKind.COMMUNICATION)).sum())
    listed = index.get(path.name)
    parts = (own.gpu_busy_ns, own.launch_bound_ns, own.input_wait_ns, own.synchronization_ns, own.communication_ns)
    shares = [round(100.0 * float(part[0] / own.step_ns[0]), 1) if own.step_ns[0] > 0 else None for part in parts]
    return cases, (path.name, kernels, listed, _percent(span.error), step_ms, *shares)


def _origin(path: Path, trace: Trace, catalog: Catalog) -> Gpu:
    for prefix, name in _GPU_OF_FILE.items():
        if path.name.startswith(prefix):
            return catalog.find(name)
    if trace.device is None or trace.device.name is None:
        return catalog.find(_USUAL_GPU)
    return catalog.find_device(trace.device)


def _spans(trace: Trace) -> tuple[float, float]:
    """First kernel's start to last kernel's end, ns: as recorded, and replayed."""
    kernels = trace.kernels
    recorded = float((kernels.start_ns + kernels.duration_ns).max() - kernels.start_ns.min())
    durations = kernels.duration_ns.astype(np.float64)
    run = replay(recorded_timeline(_without_starts(trace)), durations, durations[:, None])
    return recorded, float(run.end_ns[:, 1].max() - run.start_ns[:, 1].min())


def _without_starts(trace: Trace) -> Trace:
    """Start times replaced by the order; a kernel without a launch of its own is placed by the one before it."""
    kernels, calls = trace.kernels, trace.host_calls
    launched = kernels.host_call >= 0
    own = launched.copy()
    own[launched] = calls.kind[kernels.host_call[launched]] != HostCallKind.GRAPH_LAUNCH
    if not own.all():
        return trace
    return replace(trace, kernels=replace(kernels, start_ns=np.arange(len(kernels), dtype=np.int64)))


def _marks_ms(path: Path, trace: Trace) -> float | None:
    """The median of the file's own ProfilerStep marks, read without the importer; None where it has none."""
    if trace.step_source is not StepSource.PROFILER_STEP:
        return None
    import gzip
    import json

    with gzip.open(path) as stream:
        events = json.load(stream)
    events = events["traceEvents"] if isinstance(events, dict) else events
    durations = {
        str(event["name"]): float(event["dur"]) for event in events
        if isinstance(event, dict) and str(event.get("name", "")).startswith("ProfilerStep#") and "dur" in event
        and "gpu" not in str(event.get("cat", "")).lower()
    }  # fmt: skip
    return float(np.median(list(durations.values()))) / 1000.0 if durations else None  # recorded in microseconds


def _own_table(rows: list[tuple[Cell, ...]]) -> Table:
    return Table(
        title="traces: on the GPU that they ran on",
        columns=(
            "file", "kernels", "listed", "span error %", "step ms", "busy %", "launch %", "input %", "sync %", "comm %",
        ),
        rows=tuple((*row, *(None,) * (10 - len(row))) for row in rows),
        notes=(
            "listed: kernels by the folder's index",
            "span: first kernel's start to the last one's end, replayed with the starts withheld",
        ),
    )  # fmt: skip


# -- elsewhere ---------------------------------------------------------------------------------------------------------


def _resnet_ratio(data: Path, catalog: Catalog) -> Iterator[Case]:
    """GPU-busy time of a ResNet-50 step on A100 with TF32, from a V100's; measured: that over the published ratio."""
    published = _published_images_per_s(data)
    if len(published) < len(_RESNET_COLUMNS):
        return
    (_, slow), (target_name, fast) = published.items()
    ratio = fast / slow
    for path in sorted((data / "traces").glob(_RESNET_FILES)):
        trace = read(path)
        origin, target = _origin(path, trace, catalog), catalog.find(target_name)
        said = predict(trace, [target], origin=origin)
        if said.measured is None:
            continue
        own_ms = float(said.measured.gpu_busy_ns[0]) / NS_PER_MS
        busy_ms = float(said.steps.gpu_busy_ns[0]) / NS_PER_MS
        middle, low, high = (float(times[0].sum()) for times in (said.duration_ns, said.low_ns, said.high_ns))
        yield Case(
            gpu=target.name, model="resnet50", mode="train", batch=32, precision="tf32", origin_gpu=origin.name,
            method=WAVE, predicted_ms=busy_ms, low_ms=busy_ms * low / middle, high_ms=busy_ms * high / middle,
            measured_ms=own_ms / ratio,
            columns={"file": path.name, "ratio": own_ms / busy_ms, "published_ratio": ratio},
        )  # fmt: skip


def _published_images_per_s(data: Path) -> dict[str, float]:
    path = data / "scaling" / "deeplearningexamples.csv"
    if not path.is_file():
        return {}
    table = pd.read_csv(path, dtype=str)
    table = table[table["path"] == _RESNET_README]
    single = set(table[(table["column"] == "GPUs") & (table["value"] == "1")]["line"])
    table = table[table["line"].isin(single)]
    found = {}
    for name, (hardware, column) in _RESNET_COLUMNS.items():
        values = table[(table["hardware"] == hardware) & (table["column"] == column)]["value"]
        if len(values):
            found[name] = float(str(values.iloc[0]).split()[0])
    return found


def _pairs(folder: Path, catalog: Catalog) -> Iterator[Case]:
    """GPU-busy time of one model on two GPUs, each predicted from the other's trace."""
    path = folder / "pairs.csv"
    if not path.is_file():
        return
    pairs = pd.read_csv(path)
    for model, group in pairs.groupby("model", sort=False):
        rows = list(group.itertuples())
        for origin_row in rows:
            for target_row in rows:
                if origin_row is not target_row:
                    yield _pair(folder, str(model), origin_row, target_row, catalog)


def _pair(folder: Path, model: str, origin_row: Any, target_row: Any, catalog: Catalog) -> Case:
    measured_ms = float(target_row.gpu_busy_ms)
    case = Case(
        model=model, mode="infer", batch=1, precision=str(origin_row.dtype), method=WAVE, measured_ms=measured_ms,
        gpu=str(target_row.gpu), origin_gpu=str(origin_row.gpu), columns={"file": str(origin_row.file)},
    )  # fmt: skip
    try:
        trace = read(folder / str(origin_row.file))
        target = catalog.find_device(read(folder / str(target_row.file)).device)  # type: ignore[arg-type]
        origin = _origin(folder / str(origin_row.file), trace, catalog)
        said = predict(trace, [target], origin=origin)
    except SurferError as error:
        return replace(case, reason=str(error))
    kernels = said.trace.kernels.kind[said.items.kernel] == KernelKind.COMPUTE  # the table counts no copies
    low, middle, high = (
        float(times[0, kernels].sum()) / NS_PER_MS for times in (said.low_ns, said.duration_ns, said.high_ns)
    )
    return replace(
        case, gpu=target.name, origin_gpu=origin.name, predicted_ms=middle, low_ms=low, high_ms=high
    )  # fmt: skip


def _elsewhere_table(cases: list[Case]) -> Table:
    return Table(
        title="traces: GPU-busy time on another GPU",
        columns=("model", "from", "on", "predicted ms", "low", "high", "measured ms", "error %"),
        rows=tuple(
            (
                case.model, case.origin_gpu, case.gpu, case.predicted_ms, case.low_ms, case.high_ms, case.measured_ms,
                _percent(case.error),
            )
            for case in cases
        ),
        notes=("resnet50: measured is the V100's busy time over the published ratio of throughputs",),
    )  # fmt: skip


def _percent(error: float) -> float | None:
    return round(100.0 * error, 2) if np.isfinite(error) else None


def _worst(cases: Iterator[Case]) -> float | None:
    errors = [abs(case.error) for case in cases if case.is_predicted]
    return round(100.0 * max(errors), 2) if errors else None
