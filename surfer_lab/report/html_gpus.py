"""How does the table of GPUs look in HTML? A row a GPU; the script finds each number by name and puts another in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from surfer_lab.report.html_what_ifs import without_answer
from surfer_lab.report.markup import Child, Markup, join, name_markup, tag
from surfer_lab.report.svg import LogScale, range_svg
from surfer_lab.view.model import GpuRow, Quantity, RangeBar, Verdict, ViewModel

__all__ = ["gpu_controls", "gpu_rows", "gpu_table"]


@dataclass(frozen=True, kw_only=True)
class _Columns:
    """Which columns this view has something to put into."""

    batch: bool
    epoch: bool
    cell: bool
    largest: bool
    busy: bool

    @property
    def rate_class(self) -> str | None:
        """Throughput says what the step says: it gives way first where there is more to show than room."""
        return "s-wide" if self.epoch or self.cell else None


def _columns_of(view: ViewModel) -> _Columns:
    return _Columns(
        batch=any(row.samples_per_s is not None for row in view.rows),
        epoch=any(row.epoch is not None for row in view.rows),
        cell=any(row.cell is not None for row in view.rows),
        largest=any(row.largest_batch is not None for row in view.rows),
        busy=view.shows_busy,
    )


def gpu_table(view: ViewModel, *, only_short: bool = False) -> list[Child]:
    """A place for the controls, the table, and what the money rests on.

    With `only_short` the rows beyond the short list are left to the script (`gpu_rows` are all of them).
    """
    if not view.rows:
        return []
    unit = view.rows[0].step.unit
    scale = _scale(view)
    reference = view.here.step.value if view.here is not None and view.here.is_gpu else None
    here = _in_unit(view, reference, unit) or 0.0
    here_at = scale.place(here) if scale.low < here < scale.high else None
    has = _columns_of(view)
    columns = [
        _head("GPU", left=True, is_text=True),
        _head("Step"),
        tag(
            "th",
            "Range",
            tag("span", scale_text(scale, unit), class_="s-sub s-scale"),
            scope="col",
            class_="s-left",
        ),
        _head("Samples/s", class_=has.rate_class or "") if has.batch else None,
        _head("$/hour", class_="s-mid"),
        _head("$ per", sub="1,000 steps"),
        _head("Epoch") if has.epoch else None,
        _head("This cell") if has.cell else None,
        _head("Memory"),
        _head("Largest", sub="batch", class_="s-wide") if has.largest else None,
        _head("Bound by", left=True, is_text=True, class_="s-wide"),
    ]
    table = tag(
        "table",
        tag("caption", "Predicted time of one step on each GPU, with its range; money by the prices named below."),
        tag("thead", tag("tr", *columns)),
        tag("tbody", gpu_rows(view, only_short=only_short)),
        class_="s-gpus",
        # where in the range column the recorded step lies: a line through all rows
        style=f"--s-here: {100 * here_at:.1f}%" if here_at is not None else None,
    )
    return [
        tag("div", data_part="gpu-controls"),
        tag("div", table, class_="s-scroll", role="region", tabindex="0", aria_label="GPUs"),
        without_answer(view),
        tag("p", view.price_note, class_="s-note") if view.price_note else None,
    ]


def gpu_controls(view: ViewModel) -> Markup:
    """Filter, and where there is more than the short list a box that shows it; put in place by the script."""
    everywhere = len(set(view.shortlist)) == len(view.rows)
    return tag(
        "div",
        tag(
            "label", "Filter ", tag("input", type="search", class_="s-filter", placeholder="name, maker, architecture")
        ),
        None if everywhere else tag("label", tag("input", type="checkbox", class_="s-all"), " show all"),
        tag("span", class_="s-count s-note", aria_live="polite"),
        class_="s-controls",
    )


def gpu_rows(view: ViewModel, *, only_short: bool = False) -> Markup:
    """A row a GPU, in order of step time."""
    has, short, scale = _columns_of(view), set(view.shortlist), _scale(view)
    return join(
        _gpu_row(row, index, has, is_short=row.gpu in short, scale=scale)
        for index, row in enumerate(view.rows)
        if row.gpu in short or not only_short
    )


def _scale(view: ViewModel) -> LogScale:
    """The scale of the range bars: that of the short list."""
    shown = [row.step for row in view.rows if row.gpu in set(view.shortlist)]
    return LogScale.around(end or 0.0 for step in shown for end in (step.low, step.value, step.high))


def scale_text(scale: LogScale, unit: str) -> str:
    """From where to where the bars reach."""
    return f"{scale.low:.3g} to {scale.high:.3g} {unit}, log"


def _head(text: str, *, left: bool = False, is_text: bool = False, sub: str = "", class_: str = "") -> Markup:
    return tag(
        "th",
        tag("button", text, type="button"),
        tag("span", sub, class_="s-sub") if sub else None,
        scope="col",
        class_=" ".join(filter(None, ("s-left" if left else "", class_))) or None,
        data_text="" if is_text else None,
    )


def _cell(
    name: str, quantity: Quantity | None, *, text: str = "", notes: Sequence[Child] = (), class_: str | None = None
) -> Markup:
    """A number with what stands below it; `name` is by which the script finds it, and sets its key for sorting."""
    shown = text or (quantity.text if quantity is not None else "–")
    return tag("td", tag("span", shown, class_=f"s-v-{name}"), *notes, class_=class_)


def _note(name: str, text: str) -> Markup:
    return tag("span", text, class_=f"s-sub s-v-{name}")


def _in_unit(view: ViewModel, value: float | None, unit: str) -> float | None:
    """The recorded step in the unit of the rows."""
    if value is None or view.here is None:
        return None
    to_ms = {"µs": 1e-3, "ms": 1.0, "s": 1e3}
    return value * to_ms[view.here.step.unit] / to_ms[unit]


def _gpu_row(row: GpuRow, index: int, has: _Columns, *, is_short: bool, scale: LogScale) -> Markup:
    step = row.step
    value = step.value or 0.0
    bar = RangeBar(
        label=row.gpu,
        value=value,
        low=step.low if step.low is not None else value,
        high=step.high if step.high is not None else value,
        text=step.text,
        note=step.range_text,
        is_origin=row.is_origin,
    )
    verdict = {Verdict.DOES_NOT_FIT: "s-bad", Verdict.TIGHT: "s-warn"}.get(row.verdict)
    said = [f"needs {row.needed.text}"] if row.needed is not None and row.needed.value is not None else []
    said += [row.verdict.value] if verdict else []
    return tag(
        "tr",
        tag(
            "th",
            name_markup(row.gpu),
            tag("span", "recorded here", class_="s-sub") if row.is_origin else None,
            scope="row",
            class_="s-left",
            data_sort=row.gpu.lower(),
        ),
        _cell("step", step, notes=[_note("faster", "" if row.is_origin else _known(row.faster))]),
        tag(
            "td",
            range_svg(bar, scale),
            _note("range", step.range_text),
            _note("busy", f"GPU busy {row.busy.text}") if has.busy else None,
            class_="s-graph s-left",
        ),
        _cell("rate", row.samples_per_s, text=_rate(row.samples_per_s), class_=has.rate_class) if has.batch else None,
        _cell("hour", row.usd_per_hour, notes=[_note("hour-note", "")], class_="s-mid"),
        _cell("cost", row.usd_per_1000_steps, notes=[_note("cost-range", row.usd_per_1000_steps.range_text)]),
        _cell("epoch", row.epoch, notes=[_note("epoch-cost", _known(row.usd_per_epoch))]) if has.epoch else None,
        _cell("cell", row.cell, notes=[_note("cell-cost", _known(row.usd_per_cell))]) if has.cell else None,
        tag(
            "td",
            row.memory.text,
            tag("span", ", ".join(said), class_=f"s-sub s-v-needed {verdict or ''}".rstrip()),
            data_sort=f"{row.memory.value or 0:g}",
        ),
        tag(
            "td",
            tag("span", f"{row.largest_batch:,}" if row.largest_batch is not None else "–", class_="s-v-largest"),
            class_="s-wide",
        )
        if has.largest
        else None,
        tag(
            "td", tag("span", row.bound, class_="s-v-bound"), class_="s-left s-wide s-narrow", data_sort=row.bound
        ),
        class_="s-here" if row.is_origin else None,
        data_row=str(index),
        data_short="" if is_short else None,
        data_find=f"{row.vendor} {row.architecture}".lower(),
    )  # fmt: skip


def _known(quantity: Quantity | None) -> str:
    return quantity.text if quantity is not None and quantity.value is not None else ""


def _rate(quantity: Quantity | None) -> str:
    return quantity.text.removesuffix(" samples/s") if quantity is not None else ""
