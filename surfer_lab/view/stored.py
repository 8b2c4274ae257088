"""How does a view become what is stored, and what is stored a view again? `stored` and `restored`.

`restored(stored(view))` is the view, word for word: a stored number words itself as the fresh one did.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from surfer_lab.units import BYTES_PER_GB, NS_PER_MS
from surfer_lab.view.detail_model import Packed, Provenance
from surfer_lab.view.figures import figures_of
from surfer_lab.view.gpu_rows import Ends, GpuNumbers, PriceFacts, gpu_row
from surfer_lab.view.model import (
    VIEW_SCHEMA_VERSION,
    AlternativeRow,
    CurveFigure,
    OperationRow,
    Quantity,
    Verdict,
    ViewModel,
)
from surfer_lab.view.operation_rows import OperationTimes, worded_operations
from surfer_lab.view.packed import pack_floats, pack_logs, pack_whole, three_digits, unpack
from surfer_lab.view.stored_model import (
    STORED_SCHEMA_VERSION,
    PriceGround,
    StoredAlternative,
    StoredCurve,
    StoredOperation,
    StoredRows,
    StoredView,
)
from surfer_lab.view.what_ifs import CurveNumbers, curve_figure_of
from surfer_lab.view.wording import bytes_quantity, faster_quantity, rounded, time_quantity, time_unit, unit_named

__all__ = ["restored", "stored"]

F64 = NDArray[np.float64]
Text = TypeVar("Text")

_VERDICTS: Final = tuple(Verdict)
_METHOD_STEP: Final = 16  # of `operation_kind`
_NOBODY: Final = Provenance(id="")


def stored(view: ViewModel) -> StoredView:
    """The view as it is kept and sent."""
    rows, names = view.rows, [row.gpu for row in view.rows]
    prices: dict[PriceGround, int] = {}
    return StoredView(
        schema_version=STORED_SCHEMA_VERSION,
        provenance=view.provenance or _NOBODY,
        name=view.name,
        title=view.title,
        sentences=view.sentences,
        here=view.here,
        choices=view.choices,
        vendors=_table(row.vendor for row in rows),
        architectures=_table(row.architecture for row in rows),
        verdicts=[verdict.value for verdict in _VERDICTS],
        bounds=_table(row.bound for row in rows),
        rows=_rows(view, prices),
        prices=list(prices),
        shortlist=[names.index(name) for name in view.shortlist],
        shows_all=view.shows_all,
        focus=names.index(view.focus) if view.focus in names else -1,
        shows_busy=view.shows_busy,
        time_unit=rows[0].step.unit if rows else "ms",
        part_labels=view.part_labels,
        limit_labels=view.limit_labels,
        method_labels=view.method_labels,
        operations=[_operation(row) for row in view.operations],
        operation_ms=pack_logs(_by_gpu([row.on_ms for row in view.operations], len(rows))),
        operation_low_ms=pack_logs(_by_gpu([row.on_low_ms for row in view.operations], len(rows))),
        operation_high_ms=pack_logs(_by_gpu([row.on_high_ms for row in view.operations], len(rows))),
        operation_kind=pack_whole(
            _by_gpu(
                [
                    [method * _METHOD_STEP + limit for method, limit in zip(row.on_method, row.on_limit, strict=True)]
                    for row in view.operations
                ],
                len(rows),
            )
        ),
        families=view.families,
        phases=view.phases,
        warnings=view.warnings,
        assumptions=view.assumptions,
        range_note=view.range_note,
        price_note=view.price_note,
        environment=view.environment,
        command=view.command,
        version=view.version,
        accuracy=view.accuracy,
        batch_size=view.batch_size,
        dataset_size=view.dataset_size,
        alternatives=[_alternative(row) for row in view.alternatives],
        alternatives_note=view.alternatives_note,
        memory=view.memory,
        blocked=view.blocked,
        coverage=view.coverage,
        curve=next((_curve(figure) for figure in view.figures if isinstance(figure, CurveFigure)), None),
        grid=view.grid,
        modules=view.modules,
        roofline=view.roofline,
        timeline=view.timeline,
        scaling=view.scaling,
        scaling_links=view.scaling_links,
    )


def restored(kept: StoredView) -> ViewModel:
    """The view again. ValueError where packed columns are damaged."""
    unit = unit_named(kept.time_unit)
    rows = [
        gpu_row(numbers, unit=unit, batch_size=kept.batch_size, dataset_size=kept.dataset_size)
        for numbers in _all_numbers(kept)
    ]
    names = [row.gpu for row in rows]
    shortlist = [names[place] for place in kept.shortlist]
    curve = _curve_again(kept.curve) if kept.curve is not None else None
    return ViewModel(
        schema_version=VIEW_SCHEMA_VERSION,
        name=kept.name,
        title=kept.title,
        sentences=kept.sentences,
        here=kept.here,
        choices=kept.choices,
        rows=rows,
        shortlist=shortlist,
        shows_all=kept.shows_all,
        focus=names[kept.focus] if 0 <= kept.focus < len(names) else "",
        shows_busy=kept.shows_busy,
        operations=_operations_again(kept, len(rows)),
        families=kept.families,
        phases=kept.phases,
        figures=figures_of(rows, shortlist, kept.here, kept.choices, curve, unit),
        part_labels=kept.part_labels,
        limit_labels=kept.limit_labels,
        method_labels=kept.method_labels,
        warnings=kept.warnings,
        assumptions=kept.assumptions,
        range_note=kept.range_note,
        price_note=kept.price_note,
        environment=kept.environment,
        command=kept.command,
        version=kept.version,
        alternatives=_alternatives_again(kept),
        alternatives_note=kept.alternatives_note,
        memory=kept.memory,
        blocked=kept.blocked,
        coverage=kept.coverage,
        accuracy=kept.accuracy,
        batch_size=kept.batch_size,
        dataset_size=kept.dataset_size,
        provenance=None if kept.provenance == _NOBODY else kept.provenance,
        grid=kept.grid,
        modules=kept.modules,
        roofline=kept.roofline,
        timeline=kept.timeline,
        scaling=kept.scaling,
        scaling_links=kept.scaling_links,
    )


def _table(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _ms(quantity: Quantity, value: float | None) -> float:
    """A time of the quantity in ms."""
    return float("nan") if value is None else rounded(value * unit_named(quantity.unit).ns / NS_PER_MS)


def _columns(values: Sequence[float | None]) -> Packed | None:
    """One f32 column; None where nothing is known."""
    numbers = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    return pack_floats(numbers) if np.isfinite(numbers).any() else None


def _values(quantities: Sequence[Quantity | None], end: str = "value") -> list[float | None]:
    return [None if one is None else getattr(one, end) for one in quantities]


def _rows(view: ViewModel, prices: dict[PriceGround, int]) -> StoredRows:
    rows = view.rows
    vendors, architectures, bounds = (
        {text: place for place, text in enumerate(dict.fromkeys(getattr(row, name) for row in rows))}
        for name in ("vendor", "architecture", "bound")
    )

    def price(note: str, as_of: str, source: str) -> int:
        return prices.setdefault(PriceGround(note=note, as_of=as_of, source=source), len(prices))

    own = [price(row.price_note, row.price_as_of, row.price_source) for row in rows]
    spot = [
        -1 if row.spot_usd_per_hour is None else price(row.spot_note, row.spot_as_of, row.spot_source) for row in rows
    ]
    has_spot = any(row.spot_usd_per_hour is not None for row in rows)
    needed, cell = [row.needed for row in rows], [row.cell for row in rows]
    return StoredRows(
        gpu=[row.gpu for row in rows],
        vendor=pack_whole([vendors[row.vendor] for row in rows]),
        architecture=pack_whole([architectures[row.architecture] for row in rows]),
        release_year=pack_floats([np.nan if row.release_year is None else row.release_year for row in rows]),
        memory_gb=pack_floats([row.memory.value or 0.0 for row in rows]),
        verdict=pack_whole([_VERDICTS.index(row.verdict) for row in rows]),
        step_ms=pack_floats([_ms(row.step, row.step.value) for row in rows]),
        low_ms=pack_floats([_ms(row.step, row.step.low) for row in rows]),
        high_ms=pack_floats([_ms(row.step, row.step.high) for row in rows]),
        busy_ms=pack_floats([_ms(row.busy, row.busy.value) for row in rows]),
        parts_ms=pack_floats([row.parts_ms for row in rows]),
        bound=pack_whole([bounds[row.bound] for row in rows]),
        method_share=pack_floats([[row.methods.get(label, 0.0) for label in view.method_labels] for row in rows]),
        usd_per_hour=pack_floats(
            [np.nan if row.usd_per_hour.value is None else row.usd_per_hour.value for row in rows]
        ),
        sold_by=pack_whole([row.sold_by for row in rows]),
        price=pack_whole(own),
        spot_usd_per_hour=_columns(_values([row.spot_usd_per_hour for row in rows])),
        spot_price=pack_whole(spot) if has_spot else None,
        spot_sold_by=pack_whole([row.spot_sold_by for row in rows]) if has_spot else None,
        origin=next((place for place, row in enumerate(rows) if row.is_origin), -1),
        faster=_columns([row.faster.value for row in rows]),
        needed_gb=_columns(_values(needed, "value")),
        needed_low_gb=_columns(_values(needed, "low")),
        needed_high_gb=_columns(_values(needed, "high")),
        needed_is_measured=any(row.needed_is_measured for row in rows),
        largest_batch=_columns([row.largest_batch for row in rows]),
        cell_s=_columns(_values(cell, "value")),
        cell_low_s=_columns(_values(cell, "low")),
        cell_high_s=_columns(_values(cell, "high")),
    )


def _all_numbers(kept: StoredView) -> list[GpuNumbers]:
    rows, count = kept.rows, len(kept.rows.gpu)

    def column(packed: Packed | None) -> list[float | None]:
        if packed is None:
            return [None] * count
        values = unpack(packed)
        return [rounded(value) if np.isfinite(value) else None for value in values.tolist()]

    def whole(packed: Packed | None) -> list[int]:
        return [-1 if value is None else int(value) for value in column(packed)]

    def ends(*packed: Packed | None) -> list[Ends | None]:
        found = zip(*map(column, packed), strict=True)
        return [None if a is None or b is None or c is None else (a, b, c) for a, b, c in found]

    step = ends(rows.step_ms, rows.low_ms, rows.high_ms)
    needed, cell = (
        ends(rows.needed_gb, rows.needed_low_gb, rows.needed_high_gb),
        ends(rows.cell_s, rows.cell_low_s, rows.cell_high_s),
    )
    parts = unpack(rows.parts_ms).reshape(count, -1)
    shares = unpack(rows.method_share).reshape(count, -1)
    plain = _prices_again(kept, column(rows.usd_per_hour), whole(rows.sold_by), whole(rows.price))
    spot = _prices_again(kept, column(rows.spot_usd_per_hour), whole(rows.spot_sold_by), whole(rows.spot_price))
    vendor, architecture, bound, verdict = map(whole, (rows.vendor, rows.architecture, rows.bound, rows.verdict))
    year, memory, busy, faster, largest = map(
        column, (rows.release_year, rows.memory_gb, rows.busy_ms, rows.faster, rows.largest_batch)
    )
    return [
        GpuNumbers(
            gpu=name,
            vendor=kept.vendors[vendor[place]],
            architecture=kept.architectures[architecture[place]],
            release_year=_whole(year[place]),
            memory_gb=memory[place] or 0.0,
            verdict=_VERDICTS[verdict[place]],
            step_ms=step[place] or (0.0, 0.0, 0.0),
            busy_ms=busy[place] or 0.0,
            parts_ms=tuple(rounded(value) for value in parts[place].tolist()),
            bound=kept.bounds[bound[place]],
            method_share={
                label: rounded(share, 4)
                for label, share in zip(kept.method_labels, shares[place].tolist(), strict=True)
                if share > 0
            },
            is_origin=place == rows.origin,
            faster=faster[place],
            price=plain[place] or PriceFacts(usd_per_hour=None),
            spot=spot[place],
            needed_gb=needed[place],
            needed_is_measured=rows.needed_is_measured and needed[place] is not None,
            largest_batch=_whole(largest[place]),
            cell_s=cell[place],
        )
        for place, name in enumerate(rows.gpu)
    ]


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _prices_again(
    kept: StoredView, usd: Sequence[float | None], sold_by: Sequence[int], ground: Sequence[int]
) -> list[PriceFacts | None]:
    found: list[PriceFacts | None] = []
    for amount, several, place in zip(usd, sold_by, ground, strict=True):
        if place < 0:
            found.append(None)
            continue
        one = kept.prices[place]
        found.append(
            PriceFacts(usd_per_hour=amount, sold_by=max(1, several), note=one.note, as_of=one.as_of, source=one.source)
        )
    return found


def _by_gpu(columns: Sequence[Sequence[float]], gpus: int) -> F64:
    """(gpus, columns)."""
    return np.array(columns, dtype=np.float64).reshape(len(columns), gpus).T


def _operation(row: OperationRow) -> StoredOperation:
    return StoredOperation(
        name=row.name,
        phase=row.phase,
        launches=row.launches,
        share=row.share,
        here_ms=None if row.here.value is None else _ms(row.here, row.here.value),
        source=row.source,
        module=row.module,
        note=row.note,
    )


def _operations_again(kept: StoredView, gpus: int) -> list[OperationRow]:
    shape = (gpus, len(kept.operations))
    kinds = unpack(kept.operation_kind).reshape(shape).astype(np.int64)
    on_ms, low_ms, high_ms = (
        three_digits(np.nan_to_num(unpack(packed).reshape(shape)))
        for packed in (kept.operation_ms, kept.operation_low_ms, kept.operation_high_ms)
    )
    times = OperationTimes(
        on_ms=on_ms, low_ms=low_ms, high_ms=high_ms, limit=kinds % _METHOD_STEP, method=kinds // _METHOD_STEP
    )
    return worded_operations(kept.operations, times)


def _alternative(row: AlternativeRow) -> StoredAlternative:
    known = row.step.value is not None
    return StoredAlternative(
        precision=row.precision,
        compile=row.compile,
        label=row.label,
        step_ms=_ms(row.step, row.step.value) if known else None,
        low_ms=_ms(row.step, row.step.low) if row.step.low is not None else None,
        high_ms=_ms(row.step, row.step.high) if row.step.high is not None else None,
        faster=row.faster.value,
        memory_gb=row.memory.value,
        verdict=_VERDICTS.index(row.verdict),
        is_shown=row.is_shown,
        blocker=row.blocker,
    )


def _alternatives_again(kept: StoredView) -> list[AlternativeRow]:
    def ns(value: float | None) -> float | None:
        return None if value is None else value * NS_PER_MS

    unit = time_unit([one.step_ms * NS_PER_MS for one in kept.alternatives if one.step_ms is not None])
    return [
        AlternativeRow(
            precision=one.precision,
            compile=one.compile,
            label=one.label,
            step=time_quantity(ns(one.step_ms), low_ns=ns(one.low_ms), high_ns=ns(one.high_ms), unit=unit),
            faster=faster_quantity(one.faster),
            memory=bytes_quantity(None if one.memory_gb is None else one.memory_gb * BYTES_PER_GB),
            verdict=_VERDICTS[one.verdict],
            is_shown=one.is_shown,
            blocker=one.blocker,
        )
        for one in kept.alternatives
    ]


def _curve(figure: CurveFigure) -> StoredCurve:
    points = figure.points
    return StoredCurve(
        gpu=figure.gpu,
        batch_size=pack_floats([point.batch_size for point in points]),
        step_ms=pack_floats([_ms(point.step, point.step.value) for point in points]),
        low_ms=pack_floats([_ms(point.step, point.step.low) for point in points]),
        high_ms=pack_floats([_ms(point.step, point.step.high) for point in points]),
        memory_gb=pack_floats([np.nan if point.memory.value is None else point.memory.value for point in points]),
        verdict=pack_whole([_VERDICTS.index(point.verdict) for point in points]),
        marks={str(place): point.mark for place, point in enumerate(points) if point.mark},
        largest_fitting=figure.largest_fitting,
    )


def _curve_again(kept: StoredCurve) -> CurveFigure:
    def numbers(packed: Packed) -> list[float]:
        return [rounded(value) for value in unpack(packed).tolist()]

    memory = numbers(kept.memory_gb)
    return curve_figure_of(
        kept.gpu,
        [
            CurveNumbers(
                batch_size=int(batch),
                step_ms=(step, low, high),
                memory_gb=None if np.isnan(held) else held,
                verdict=_VERDICTS[int(verdict)],
                mark=kept.marks.get(str(place), ""),
            )
            for place, (batch, step, low, high, held, verdict) in enumerate(
                zip(
                    unpack(kept.batch_size).tolist(),
                    numbers(kept.step_ms),
                    numbers(kept.low_ms),
                    numbers(kept.high_ms),
                    memory,
                    unpack(kept.verdict).tolist(),
                    strict=True,
                )
            )
        ],
        kept.largest_fitting,
    )
