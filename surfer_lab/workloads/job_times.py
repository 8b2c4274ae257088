"""How long does each job take on so many GPUs of each machine? As its file says, or predicted from a step on one GPU.

A predicted job is captured (a model from shapes) or read (a trace) once, predicted on every machine's GPU, and put on
several GPUs as `surfer predict --counts` does. Weak scaling keeps each GPU's batch, so n GPUs take 1/n of the steps;
strong scaling keeps the batch of all together. Loading data, checkpoints and evaluation are not in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from surfer_lab.errors import OptionError, PredictionError, SurferError
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.hardware.machines import Machine
from surfer_lab.hardware.naming import compact
from surfer_lab.planner.options import predict_options
from surfer_lab.planner.scaling.curve import FixedBatch, ScalingPoint
from surfer_lab.planner.schedule import Job, JobSpec, Mode
from surfer_lab.report.prediction import Prediction, predict
from surfer_lab.report.scaled import named_machine, scaled
from surfer_lab.units import BYTES_PER_GB, NS_PER_S

__all__ = ["timed_jobs"]

Told = Callable[[str], None]


def timed_jobs(
    specs: Sequence[JobSpec],
    machines: Sequence[tuple[Machine, int]],
    *,
    folder: Path | None = None,
    told: Told | None = None,
) -> tuple[tuple[Job, ...], tuple[str, ...]]:
    """(jobs with their modes on so many GPUs of each machine, notes). Traces are looked for from `folder` on.

    SurferError naming the job: a model or trace that cannot be predicted, times that are not said for a machine.
    """
    notes: list[str] = []
    jobs = []
    for spec in specs:
        if told is not None and spec.is_predicted:
            told(spec.name)
        try:
            modes = _predicted(spec, machines, notes, folder) if spec.is_predicted else _given(spec, machines)
        except SurferError as error:
            raise PredictionError(f"job {spec.name!r}: {error.seen}", remedy=error.remedy) from error
        jobs.append(
            Job(
                name=spec.name, modes=modes, release_s=spec.release_s, deadline_s=spec.deadline_s, weight=spec.weight,
                after=spec.after,
            )
        )  # fmt: skip
    if any(spec.is_predicted for spec in specs):
        notes.append(
            "Predicted times are those of the steps: loading data, checkpoints and evaluation are not in them. With "
            "weak scaling the samples stay the same, though a larger batch may need more of them."
        )
    return tuple(jobs), tuple(dict.fromkeys(notes))


def _given(spec: JobSpec, machines: Sequence[tuple[Machine, int]]) -> tuple[Mode, ...]:
    """Modes of the times that the file has."""
    by_machine = _by_machine(spec, machines)
    modes = []
    for machine, most in machines:
        for count, seconds in sorted(by_machine.get(machine.name, {}).items()):
            if count <= most and (not spec.counts or count in spec.counts):
                modes.append(Mode.exact(machine.name, count, seconds, _memory(spec, count)))
    if not modes:
        counts = ", ".join(str(count) for hours in by_machine.values() for count in sorted(hours))
        most = max(most for _, most in machines)
        raise OptionError(
            f"its times are for {counts or 'no'} GPUs of these machines, which have {most}",
            remedy="hours for a number of GPUs that is there, or a larger --count",
        )
    return tuple(modes)


def _by_machine(spec: JobSpec, machines: Sequence[tuple[Machine, int]]) -> Mapping[str, Mapping[int, float]]:
    """Seconds by machine's name and count; OptionError where the same times are said to hold for different GPUs."""
    everywhere = spec.hours_on.get("")
    if everywhere is not None:
        gpus = list(dict.fromkeys(machine.gpu for machine, _ in machines))
        if len(gpus) > 1:
            raise OptionError(
                f"its hours are said once, for {' and '.join(gpus)} alike",
                remedy=f'hours_on = {{"{machines[0][0].name}" = {{1 = 5.0}}, "{machines[1][0].name}" = {{1 = 9.0}}}}',
            )
        return {machine.name: everywhere for machine, _ in machines}
    known = {machine.name: {compact(text) for text in (machine.name, *machine.aliases)} for machine, _ in machines}
    found: dict[str, Mapping[int, float]] = {}
    for name, hours in spec.hours_on.items():
        matching = [machine for machine, spellings in known.items() if compact(name) in spellings]
        if matching:
            found[matching[0]] = hours
        else:
            named_machine(name)  # a machine that is not used here is fine, a name that is none is not
    return found


def _memory(spec: JobSpec, count: int) -> int | None:
    gb = spec.memory_gb.get(count, spec.memory_gb.get(0))
    return None if gb is None else int(gb * BYTES_PER_GB)


def _predicted(
    spec: JobSpec, machines: Sequence[tuple[Machine, int]], notes: list[str], folder: Path | None
) -> tuple[Mode, ...]:
    """Modes of a step predicted on each machine's GPU, on the counts that can be."""
    prediction = _prediction(spec, list(dict.fromkeys(machine.gpu for machine, _ in machines)), folder)
    modes: list[Mode] = []
    refused: list[SurferError] = []
    for machine, most in machines:
        counts = [count for count in spec.counts or _counts(most, machine) if count <= most]
        gpu = load_catalog().find(machine.gpu)
        try:
            curve = scaled(
                prediction, gpu, counts=counts, machine=machine, strategy=spec.strategy or None, fixed=spec.fixed
            )
        except SurferError as error:
            refused.append(error)
            continue
        left_out = [f"not predicted: {error.seen}" for error in curve.refused]
        notes += [f"{spec.name} on {machine.name} {note}" for note in left_out]
        notes += [note for note in curve.notes if note not in left_out]
        modes += [_mode(spec, machine, point) for point in curve.points]
    if not modes:
        raise refused[0]
    return tuple(modes)


def _prediction(spec: JobSpec, gpus: Sequence[str], folder: Path | None) -> Prediction:
    if spec.trace is not None:
        path = Path(spec.trace) if folder is None else folder / spec.trace
        if not path.is_file():
            raise OptionError(f"there is no trace {path}", remedy="a path from the jobs file's folder on")
        return predict(
            path, on=list(gpus), origin=spec.origin, batch_size=spec.batch_size, precision=spec.precision or "as-run",
            compile=spec.compile or "off",
        )  # fmt: skip
    from surfer_lab.workloads.prediction import predict_factory  # imports torch, which times that are given do without

    options = predict_options(
        {
            "on": ",".join(gpus),
            "batch_size": None if spec.batch_size is None else str(spec.batch_size),
            "precision": spec.precision,
            "compile": spec.compile,
        }
    )
    return predict_factory(spec.model or "", options)


def _counts(most: int, machine: Machine) -> list[int]:
    """Doublings of a GPU, all of them, and beyond a node whole ones only.

    >>> from surfer_lab.hardware.machines import load_machines
    >>> _counts(24, load_machines().find("DGX A100"))
    [1, 2, 4, 8, 16, 24]
    """
    doubled = [2**power for power in range(most.bit_length())]
    return sorted(
        {count for count in (*doubled, most) if count <= machine.gpus_per_node or not count % machine.gpus_per_node}
    )


def _mode(spec: JobSpec, machine: Machine, point: ScalingPoint) -> Mode:
    """The whole job at one point: as many steps as its samples need."""
    grown = point.gpu_count if spec.fixed is FixedBatch.PER_GPU else 1
    steps = spec.steps
    if steps is None:
        if not point.batch_size:
            raise OptionError("its samples are given, but no batch", remedy="batch_size = 64, or steps for samples")
        steps = (spec.samples or 0.0) / (point.batch_size / grown)
    given = _memory(spec, point.gpu_count)
    times = {
        name: steps / grown * step_ns / NS_PER_S
        for name, step_ns in (("duration_s", point.step_ns), ("low_s", point.low_ns), ("high_s", point.high_ns))
    }
    return Mode(
        machine=machine.name,
        gpu_count=point.gpu_count,
        memory_bytes=point.memory_bytes if given is None else given,
        **times,
    )
