"""How is it worded what traces of a run on several GPUs say of its communication?"""

from __future__ import annotations

from collections.abc import Iterable

from surfer_lab.planner.characterise.characterisation import RecordedRun
from surfer_lab.units import BYTES_PER_GB
from surfer_lab.view.character_model import CharacterSentence, CharacterTable
from surfer_lab.view.model import TableTwin
from surfer_lab.view.wording import UNKNOWN, bytes_quantity, duration_text, name_text, percent_text, significant

__all__ = ["recorded_sentences", "recorded_tables"]


def recorded_sentences(run: RecordedRun | None) -> Iterable[CharacterSentence]:
    """The run in a sentence or two."""
    if run is None:
        return
    shares = [rank.exposed_fraction for rank in run.ranks]
    hidden = [rank.hidden_fraction for rank in run.ranks]
    sizes = [row.group_size for rank in run.ranks for row in rank.rows if row.group_size]
    among = f" among {max(sizes):,} GPUs" if sizes else ""
    talk = sum(rank.communication_ns for rank in run.ranks) / len(run.ranks)
    whole = sum(rank.step_ns for rank in run.ranks) / len(run.ranks)
    yield CharacterSentence(
        label="As recorded",
        text=f"{duration_text(talk)} of a step of {duration_text(whole)} in collectives{among}, {_span(hidden)} of it "
        f"behind compute; only collectives run for {_span(shares)} of the step.",
    )
    slow = next((row for row in run.compared if row.is_straggler), None)
    if slow is not None:
        most = max(row.waiting_ns for row in run.compared)
        yield CharacterSentence(
            label="Straggler",
            text=f"{name_text(run.names[slow.rank])} waits least for the others: of these {len(run.compared)} ranks "
            f"it comes last most often. The one that waits most waits {duration_text(most)} in "
            f"{slow.compared_count:,} collectives.",
        )


def _span(values: list[float]) -> str:
    low, high = min(values), max(values)
    return (
        percent_text(low) if percent_text(low) == percent_text(high) else f"{percent_text(low)} to {percent_text(high)}"
    )


def recorded_tables(run: RecordedRun) -> list[CharacterTable]:
    """Ranks beside one another, and the collectives of each."""
    waits = {row.rank: row for row in run.compared}
    rows = []
    for at, (name, rank) in enumerate(zip(run.names, run.ranks, strict=True)):
        wait = waits.get(at)
        rows.append(
            [
                name_text(name), str(rank.step_count), duration_text(rank.step_ns), duration_text(rank.compute_ns),
                duration_text(rank.communication_ns), duration_text(rank.exposed_ns),
                percent_text(rank.hidden_fraction),
                UNKNOWN if wait is None else duration_text(wait.waiting_ns / rank.step_count),
                "" if wait is None else "straggler" if wait.is_straggler else "waits",
            ]
        )  # fmt: skip
    notes = [
        "Of one step on average. Exposed: only collectives run. Waiting: in collectives, beyond the rank that came "
        "last.",
    ]
    if run.note:
        notes.append(f"Ranks are not compared: {name_text(run.note, longest=300)}.")
    elif run.compared:
        notes.append("Ranks that are not among these traces may be later still.")
    ranks = CharacterTable(
        key="recorded_ranks",
        title="Communication as recorded, by rank",
        table=TableTwin(
            columns=["Rank", "Steps", "Step", "Compute", "Collectives", "Exposed", "Hidden", "Waiting", ""], rows=rows
        ),
        notes=notes,
    )
    return [ranks, _collectives(run)]


def _collectives(run: RecordedRun) -> CharacterTable:
    rows = []
    for name, rank in zip(run.names, run.ranks, strict=True):
        for row in rank.rows:
            bus = row.bus_bytes_per_s
            rows.append(
                [
                    name_text(name), name_text(row.name or "not named"), f"{row.count:,}",
                    UNKNOWN if row.group_size is None else str(row.group_size),
                    bytes_quantity(row.size_bytes).text, duration_text(row.total_ns), duration_text(row.waiting_ns),
                    UNKNOWN if bus is None else significant(bus / BYTES_PER_GB),
                ]
            )  # fmt: skip
    return CharacterTable(
        key="recorded_collectives",
        title="Collectives as recorded",
        table=TableTwin(
            columns=["Rank", "Collective", "Number", "GPUs", "Bytes", "Time", "Beyond the quickest alike", "Bus GB/s"],
            rows=rows,
        ),
        notes=["Of all steps recorded. Bus GB/s: of the quickest of the largest size, as nccl-tests count it."],
    )
