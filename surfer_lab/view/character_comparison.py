"""How are several workloads compared? A table of their characteristics, and the plane that shows which are alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from surfer_lab.planner.characterise.characterisation import GAIN_COUNT, Characterisation, OnGpu
from surfer_lab.planner.characterise.characteristics import REFERENCE_GPU, UNITS
from surfer_lab.planner.characterise.similarity import PointGroup, Similarity
from surfer_lab.planner.characterise.topologies import Wiring
from surfer_lab.units import BYTES_PER_GB
from surfer_lab.view.character_model import CharacterTable, CharacterView, MapAxis, MapFigure, MapPoint
from surfer_lab.view.character_view import TERA, character_page
from surfer_lab.view.model import TableTwin
from surfer_lab.view.wording import UNKNOWN, duration_text, name_text, percent_text, rounded, significant

__all__ = ["character_view"]

_GROUP_KEYS: Final = {PointGroup.REFERENCE: "reference", PointGroup.OWN: "own", PointGroup.KERNEL: "kernel"}
_MADE_OF: Final = 3  # characteristics named on an axis
_MATTERS: Final = 0.2  # a loading below it is not named


def character_view(
    pages: Sequence[Characterisation],
    alike: Similarity | None = None,
    *,
    notes: Sequence[str] = (),
    version: str = "",
    command: str = "",
) -> CharacterView:
    """All pages, and the comparison where there is more than one or a plane."""
    names = ", ".join(name_text(page.name) for page in pages)
    return CharacterView(
        title=f"Characterisation: {names}",
        pages=[character_page(page) for page in pages],
        comparison=_comparison(pages) if len(pages) > 1 else None,
        alike=None if alike is None else _map(alike, notes),
        version=version,
        command=name_text(command, longest=400),
    )


def _comparison(pages: Sequence[Characterisation]) -> CharacterTable | None:
    """One row a workload, on the first GPU that all have."""
    shared = [one.gpu.name for one in pages[0].on if all(page.on_gpu(one.gpu.name) is not None for page in pages)]
    if not shared:
        return None
    gpu = REFERENCE_GPU if REFERENCE_GPU in shared else shared[0]
    columns = [
        "Workload", "Batch", "Step", "Busy", "FLOPs by byte", "TFLOP/s", "Bound by", "AMP", "Compiled", "NVLink",
        f"{GAIN_COUNT} on NVLink", "on PCIe", "GB/s sent",
    ]  # fmt: skip
    rows = [_row(page, one) for page in pages if (one := page.on_gpu(gpu)) is not None]
    return CharacterTable(
        key="comparison", title=f"Side by side on {gpu}", table=TableTwin(columns=columns, rows=rows),
        notes=[
            "AMP, compiled: throughput against the step as run. NVLink: throughput over PCIe through the CPU, "
            f"{GAIN_COUNT} GPUs; then the efficiency of {GAIN_COUNT} on each, and what each sends on NVLink."
        ],
    )  # fmt: skip


def _row(page: Characterisation, one: OnGpu) -> list[str]:
    whole, gains = one.position.whole, one.gains
    by_wiring = {curve.topology.wiring: curve.at(GAIN_COUNT) for curve in one.curves}
    fast = next((by_wiring[wiring] for wiring in (Wiring.MESH, Wiring.SWITCH) if by_wiring.get(wiring)), None)
    slow = by_wiring.get(Wiring.PCIE_CPU)
    rate, intensity = whole.flop_per_s, whole.intensity
    return [
        name_text(page.name),
        UNKNOWN if page.batch_size is None else f"{page.batch_size:,}",
        duration_text(one.step_ns),
        percent_text(one.busy_fraction),
        UNKNOWN if intensity is None else significant(intensity),
        UNKNOWN if rate is None else significant(rate / TERA),
        one.diagnosis.bound.value,
        *(UNKNOWN if gain is None else f"{gain:.2f}x" for gain in (gains.amp, gains.compiled, one.link_gain())),
        UNKNOWN if fast is None else percent_text(fast.efficiency),
        UNKNOWN if slow is None else percent_text(slow.efficiency),
        UNKNOWN if fast is None else significant(fast.bus_bytes_per_s / BYTES_PER_GB),
    ]


def _map(alike: Similarity, notes: Sequence[str]) -> MapFigure:
    points = [
        MapPoint(
            label=name_text(point.name), group=_GROUP_KEYS[point.group], x=rounded(point.x, 4), y=rounded(point.y, 4),
            nearest="" if point.nearest is None else name_text(point.nearest),
        )
        for point in alike.points
    ]  # fmt: skip
    workloads = [point for point in alike.points if point.group is not PointGroup.KERNEL]
    rows = [
        [
            name_text(point.name), point.group.value, f"{point.x:.2f}", f"{point.y:.2f}",
            UNKNOWN if point.nearest is None else name_text(point.nearest),
            UNKNOWN if point.distance is None else f"{point.distance:.2f}",
        ]
        for point in workloads
    ]  # fmt: skip
    kernels = [point for point in alike.points if point.group is PointGroup.KERNEL]
    for kind in dict.fromkeys(point.name.split()[0] for point in kernels):
        own = [point for point in kernels if point.name.startswith(kind)]
        rows.append(
            [
                f"{len(own)} kernels: {kind}s" if kind != "recurrent" else f"{len(own)} kernels: recurrent layers",
                PointGroup.KERNEL.value, f"{_middle([point.x for point in own]):.2f}",
                f"{_middle([point.y for point in own]):.2f}", UNKNOWN, UNKNOWN,
            ]
        )  # fmt: skip
    axes = [
        MapAxis(
            label=f"{'First' if number == 0 else 'Second'} component ({percent_text(share)} of the differences)",
            explained=rounded(share, 4),
            made_of=_made_of(alike, number),
        )
        for number, share in enumerate(alike.explained_fractions)
    ]
    loadings = TableTwin(
        columns=["Characteristic", "What it is", "First", "Second"],
        rows=[[name, UNITS.get(name, ""), f"{one:+.2f}", f"{two:+.2f}"] for name, (one, two) in alike.loadings.items()],
    )
    return MapFigure(
        title="Which workloads are alike",
        description=f"Principal components of {len(alike.loadings)} characteristics on {REFERENCE_GPU}, standardised; "
        "what lies near is alike.",
        axes=axes,
        points=points,
        table=TableTwin(columns=["Workload", "Group", "First", "Second", "Most like", "Distance"], rows=rows),
        loadings=loadings,
        notes=[
            "Distance: in all characteristics, in standard deviations. Kernels: the middle of each kind.",
            *(name_text(note, longest=300) for note in notes),
        ],
    )


def _middle(values: Sequence[float]) -> float:
    ordered = sorted(values)
    return ordered[len(ordered) // 2]


def _made_of(alike: Similarity, axis: int) -> str:
    """The characteristics that make an axis most, with their direction."""
    ordered = sorted(alike.loadings.items(), key=lambda item: -abs(item[1][axis]))
    return ", ".join(
        f"{'more' if parts[axis] > 0 else 'less'} {name}"
        for name, parts in ordered[:_MADE_OF]
        if abs(parts[axis]) >= _MATTERS
    )
