"""How is it worded what a host must have to feed GPUs? One row a number of GPUs, on the machine they are usually in."""

from __future__ import annotations

from surfer_lab.planner.characterise.characterisation import OnGpu
from surfer_lab.planner.characterise.host_need import HostNeed
from surfer_lab.units import BYTES_PER_GB
from surfer_lab.view.character_model import CharacterTable
from surfer_lab.view.model import TableTwin
from surfer_lab.view.wording import UNKNOWN, bytes_quantity, duration_text, significant

__all__ = ["host_table"]


def host_table(one: OnGpu) -> CharacterTable:
    """Cores, loading and host memory by number of GPUs."""
    known = any(need.loader_cores is not None for need in one.hosts)
    columns = [
        "GPUs", "Samples/s", "Cores that launch", "Cores that load" if known else "A sample may take a core",
        "Input, GB/s", "Host memory", "The machine has",
    ]  # fmt: skip
    return CharacterTable(
        key="host",
        title=f"Host: what feeds {one.gpu.name}",
        table=TableTwin(columns=columns, rows=[_row(need, known=known) for need in one.hosts]),
        notes=_notes(one, known=known),
    )


def _row(need: HostNeed, *, known: bool) -> list[str]:
    loading = UNKNOWN
    if known and need.loader_cores is not None:
        loading = significant(need.loader_cores)
    elif need.sample_budget_ns is not None:
        loading = f"up to {duration_text(need.sample_budget_ns)}"
    has = [] if need.core_count is None else [f"{need.core_count:,} cores"]
    has += [] if need.host_memory_bytes is None else [bytes_quantity(need.host_memory_bytes).text]
    rate = need.input_bytes_per_s
    return [
        str(need.gpu_count),
        UNKNOWN if need.samples_per_s is None else significant(need.samples_per_s),
        significant(need.launch_cores, 2),
        loading,
        UNKNOWN if rate is None else significant(rate / BYTES_PER_GB),
        bytes_quantity(need.host_bytes).text,
        ", ".join(has) or UNKNOWN,
    ]


def _notes(one: OnGpu, *, known: bool) -> list[str]:
    step = one.host_step
    how = "as its threads were busy in the recording" if step.is_recorded else "by the modelled cost of each launch"
    notes = [f"Launching takes {duration_text(step.launch_ns)} of a core a step, {how}; a process a GPU."]
    if step.input_wait_ns is not None:
        notes.append(f"The recorded loop waited {duration_text(step.input_wait_ns)} a step for its loader.")
    elif known:
        notes.append("Cores that load: samples/s by the time given for one sample on one core.")
    else:
        notes.append(
            "What loading a sample takes is in no step: the column says how long it may take one core, all cores but "
            "one a GPU loading; --input-ms says how long it does take."
        )
    if any(need.host_bytes is not None for need in one.hosts):
        notes.append(
            "Host memory, assumed: two batches ahead for each loading core (DataLoader's default), one pinned batch "
            "and the parameters once for each process."
        )
    return notes
