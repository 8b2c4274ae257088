"""How does the table of GPUs look in HTML? Every GPU a row; the short list first, the rest when the script is asked."""

from __future__ import annotations

from surfer_lab.report.html_what_ifs import without_answer
from surfer_lab.report.markup import Child, Markup, name_markup, tag
from surfer_lab.report.svg import range_svg
from surfer_lab.view.model import GpuRow, Quantity, RangeBar, Verdict, ViewModel

__all__ = ["gpu_table"]


def gpu_table(view: ViewModel) -> list[Child]:
    """Heading, controls (hidden without the script), table, and what the money rests on."""
    if not view.rows:
        return []
    short = set(view.shortlist)
    everywhere = len(short) == len(view.rows)
    reference = view.here.step.value if view.here is not None and view.here.is_gpu else None
    unit = view.rows[0].step.unit
    shown_longest = max((row.step.high or row.step.value or 0.0) for row in view.rows if row.gpu in short or everywhere)
    reference_here = _in_unit(view, reference, unit)
    here_at = reference_here / shown_longest if reference_here and reference_here <= shown_longest else None
    with_batch = any(row.samples_per_s is not None for row in view.rows)
    with_epoch = any(row.epoch is not None for row in view.rows)
    with_cell = any(row.cell is not None for row in view.rows)
    with_largest = any(row.largest_batch is not None for row in view.rows)
    columns = [
        _head("GPU", left=True, is_text=True),
        _head("Step"),
        tag(
            "th", "Range", tag("span", f"0 to {shown_longest:.3g} {unit}", class_="s-sub"), scope="col", class_="s-left"
        ),
        _head("Samples/s") if with_batch else None,
        _head("$/hour"),
        _head("$ per", sub="1,000 steps"),
        _head("Epoch") if with_epoch else None,
        _head("This cell") if with_cell else None,
        _head("Memory"),
        _head("Largest", sub="batch") if with_largest else None,
        _head("Bound by", left=True, is_text=True, class_="s-wide"),
    ]
    body = [
        _gpu_row(
            row,
            row.gpu in short,
            shown_longest,
            with_batch=with_batch,
            with_epoch=with_epoch,
            with_cell=with_cell,
            with_largest=with_largest,
            shows_busy=view.shows_busy,
        )
        for row in view.rows
    ]
    controls = tag(
        "div",
        tag(
            "label", "Filter ", tag("input", type="search", class_="s-filter", placeholder="name, maker, architecture")
        ),
        None if everywhere else tag("label", tag("input", type="checkbox", class_="s-all"), " show all"),
        tag("span", class_="s-count s-note", aria_live="polite"),
        class_="s-controls",
        hidden=True,
    )
    table = tag(
        "table",
        tag("caption", "Predicted time of one step on each GPU, with its range; money by the prices named below."),
        tag("thead", tag("tr", *columns)),
        tag("tbody", *body),
        class_="s-gpus",
        # where in the range column the recorded step lies: a line through all rows
        style=f"--s-here: {100 * here_at:.1f}%" if here_at is not None else None,
    )
    return [
        tag("h2", "GPUs"),
        controls,
        tag("div", table, class_="s-scroll", role="region", tabindex="0", aria_label="GPUs"),
        without_answer(view),
        tag("p", view.price_note, class_="s-note") if view.price_note else None,
    ]


def _head(text: str, *, left: bool = False, is_text: bool = False, sub: str = "", class_: str = "") -> Markup:
    return tag(
        "th",
        tag("button", text, type="button"),
        tag("span", sub, class_="s-sub") if sub else None,
        scope="col",
        class_=" ".join(filter(None, ("s-left" if left else "", class_))) or None,
        data_text="" if is_text else None,
    )


def _cell(quantity: Quantity | None, *, text: str = "", sub: str = "", class_: str | None = None) -> Markup:
    text = text or (quantity.text if quantity is not None else "–")
    value = quantity.value if quantity is not None else None
    return tag(
        "td",
        text,
        tag("span", sub, class_="s-sub") if sub else None,
        class_=class_,
        data_sort="" if value is None else f"{value:g}",
    )


def _in_unit(view: ViewModel, value: float | None, unit: str) -> float | None:
    """The recorded step in the unit of the rows."""
    if value is None or view.here is None:
        return None
    to_ms = {"µs": 1e-3, "ms": 1.0, "s": 1e3}
    return value * to_ms[view.here.step.unit] / to_ms[unit]


def _gpu_row(
    row: GpuRow,
    is_short: bool,
    longest: float,
    *,
    with_batch: bool,
    with_epoch: bool,
    with_cell: bool,
    with_largest: bool,
    shows_busy: bool,
) -> Markup:
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
    verdict = {Verdict.DOES_NOT_FIT: ("does not fit", "s-bad"), Verdict.TIGHT: ("tight", "s-warn")}.get(row.verdict)
    said = [f"needs {row.needed.text}"] if row.needed is not None else []
    said += [verdict[0]] if verdict else []
    memory = tag("span", ", ".join(said), class_=f"s-sub {verdict[1] if verdict else ''}".rstrip()) if said else None
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
        _cell(
            step, sub=row.faster.text if row.faster.value is not None and not row.is_origin else "", class_="s-strong"
        ),
        tag(
            "td",
            range_svg(bar, longest),
            tag("span", step.range_text, class_="s-sub"),
            tag("span", f"GPU busy {row.busy.text}", class_="s-sub") if shows_busy else None,
            class_="s-graph s-left",
        ),
        _cell(row.samples_per_s, text=row.samples_per_s.text.removesuffix(" samples/s") if row.samples_per_s else "")
        if with_batch
        else None,
        tag(
            "td",
            row.usd_per_hour.text,
            title=row.price_note or None,
            data_sort="" if row.usd_per_hour.value is None else f"{row.usd_per_hour.value:g}",
        ),
        _cell(row.usd_per_1000_steps, sub=row.usd_per_1000_steps.range_text, class_="s-money"),
        _cell(
            row.epoch, sub=row.usd_per_epoch.text if row.usd_per_epoch and row.usd_per_epoch.value is not None else ""
        )
        if with_epoch
        else None,
        _cell(row.cell, sub=row.usd_per_cell.text if row.usd_per_cell and row.usd_per_cell.value is not None else "")
        if with_cell
        else None,
        tag("td", row.memory.text, memory, title=row.memory_note or None, data_sort=f"{row.memory.value or 0:g}"),
        tag(
            "td",
            f"{row.largest_batch:,}" if row.largest_batch is not None else "–",
            data_sort="" if row.largest_batch is None else str(row.largest_batch),
        )
        if with_largest
        else None,
        tag("td", row.bound, class_="s-left s-wide s-narrow", data_sort=row.bound),
        class_="s-here" if row.is_origin else None,
        data_short="" if is_short else None,
        data_find=f"{row.vendor} {row.architecture}".lower(),
    )
