"""How does a ViewModel look as HTML? One self-contained text: a page for a file, or a block for a cell's output.

No network (the page forbids it to itself), no library: own style, a few kB of own script, figures as SVG. Without the
script every number is still there; with it tables sort and filter and operations follow the GPU chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Final

from surfer_lab.report.markup import Child, Markup, embedded_json, join, tag, verbatim
from surfer_lab.report.svg import partition_svg, range_svg, scatter_svg, share_svg
from surfer_lab.view.model import (
    Choice,
    GpuRow,
    GroupRow,
    OperationRow,
    PartitionFigure,
    Quantity,
    RangeBar,
    Role,
    ScatterFigure,
    TableTwin,
    Verdict,
    ViewModel,
)

__all__ = ["html_block", "html_page"]

_FEW_WARNINGS: Final = 3
_NO_NETWORK: Final = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
# where a host says that its own theme is dark; elsewhere a cell stays light
_DARK_HOSTS: Final = '[data-jp-theme-light="false"] .surfer, body.vscode-dark .surfer'


@cache
def _asset(name: str) -> str:
    return files("surfer_lab.report").joinpath("assets", name).read_text(encoding="utf-8").strip()


def html_page(view: ViewModel, *, made_on: str = "") -> str:
    """A whole document for a file; light or dark as the reader's system. `made_on` is a date in words, "" for none."""
    style = verbatim(
        f"{_asset('page.css')}\n@media (prefers-color-scheme: dark) {{ .surfer {{ {_asset('dark.css')} }} "
        "body { background: #161c24; } }\nbody { margin: 0; } .surfer { margin: 0 auto; padding: 1.6rem 1.1rem 3rem; }"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", http_equiv="Content-Security-Policy", content=_NO_NETWORK),
        tag("title", f"{view.title} – {view.name}"),
        tag("style", style),
    )
    body = tag("main", *_body(view, made_on=made_on, is_page=True), class_="surfer")
    return "<!DOCTYPE html>\n" + tag("html", head, tag("body", body, _script()), lang="en") + "\n"


def html_block(view: ViewModel) -> str:
    """The same as a block inside a notebook; follows the notebook's theme."""
    style = verbatim(
        f"{_asset('page.css')}\n.surfer {{ --s-page: var(--jp-layout-color0, #ffffff); }}\n"
        f"{_DARK_HOSTS} {{ {_asset('dark.css')} --s-page: var(--jp-layout-color0, #161c24); }}"
    )
    return tag("style", style) + tag("div", *_body(view, made_on="", is_page=False), class_="surfer") + _script()


def _script() -> Markup:
    return tag("script", verbatim(_asset("page.js")))


def _body(view: ViewModel, *, made_on: str, is_page: bool) -> list[Child]:
    said = {sentence.role: sentence for sentence in view.sentences}
    lead = said.get(Role.STEP)
    facts = [sentence for sentence in view.sentences if sentence.role not in {Role.STEP, Role.FASTEST, Role.CHEAPEST}]
    heading = "h1" if is_page else "h2"
    return [
        tag(
            "p", tag("b", "Surfer Lab"), " · ", _name(view.name), f" · {made_on}" if made_on else None, class_="s-brand"
        ),
        tag(heading, view.title),
        tag("p", lead.text, class_="s-lead") if lead else None,
        tag("div", *map(_choice, view.choices), class_="s-choices"),
        tag("dl", *(join([tag("dt", fact.label), tag("dd", fact.text)]) for fact in facts), class_="s-facts")
        if facts
        else None,
        _warnings(view.warnings) if view.warnings else None,
        *_partition(view),
        *_gpus(view),
        *_operations(view),
        *_details(view, is_page=is_page),
    ]


def _name(text: str) -> Markup:
    return tag("bdi", text, class_="s-name")


def _choice(choice: Choice) -> Markup:
    return tag(
        "div",
        tag(
            "div",
            choice.label,
            tag("span", " · ", _name(choice.gpu), class_="s-gpu-name") if choice.gpu else None,
            class_="s-role",
        ),
        tag("div", choice.headline, class_="s-big"),
        *(tag("div", _name(line), class_="s-line") for line in choice.lines),
        class_="s-choice",
    )


def _warnings(warnings: Sequence[str]) -> Markup:
    rows = tag("ul", *(tag("li", _name(warning)) for warning in warnings))
    count = "1 thing to know" if len(warnings) == 1 else f"{len(warnings)} things to know"
    if len(warnings) > _FEW_WARNINGS:
        return tag("div", tag("details", tag("summary", tag("b", count)), rows), class_="s-warnings")
    return tag("div", tag("b", count), rows, class_="s-warnings")


def _partition(view: ViewModel) -> list[Child]:
    figures = [figure for figure in view.figures if isinstance(figure, PartitionFigure)]
    drawn: list[Child] = []
    for figure in figures:
        longest = max((sum(part.value_ms for part in bar.parts) for bar in figure.bars), default=0.0)
        drawn.append(tag("h2", figure.title))
        for bar in figure.bars:
            legend = [
                tag("span", tag("span", class_=f"s-key s-{part.key.replace('_', '-')}"), f"{part.label} {part.text}")
                for part in bar.parts
                if part.value_ms > 0
            ]
            head = tag("div", _name(bar.label), tag("b", bar.total_text), class_="s-head")
            drawn.append(
                tag(
                    "div",
                    head,
                    partition_svg(bar, longest),
                    tag("div", *legend, class_="s-legend"),
                    class_="s-partition",
                )
            )
    return drawn


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


def _gpus(view: ViewModel) -> list[Child]:
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
        tag("p", view.price_note, class_="s-note") if view.price_note else None,
    ]


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
    memory = tag("span", verdict[0], class_=f"s-sub {verdict[1]}") if verdict else None
    return tag(
        "tr",
        tag(
            "th",
            _name(row.gpu),
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
        tag("td", row.bound, class_="s-left s-wide s-narrow", data_sort=row.bound),
        class_="s-here" if row.is_origin else None,
        data_short="" if is_short else None,
        data_find=f"{row.vendor} {row.architecture}".lower(),
    )


def _operations(view: ViewModel) -> list[Child]:
    if not view.operations:
        return []
    names = [row.gpu for row in view.rows]
    focus = names.index(view.focus) if view.focus in names else 0
    measured = any(row.here.value is not None for row in view.operations)
    columns = [
        tag("th", "Operation", scope="col", class_="s-left"),
        tag("th", "Phase", scope="col", class_="s-left"),
        tag("th", "Launches", scope="col", class_="s-wide"),
        tag("th", "Here", tag("span", "a step", class_="s-sub"), scope="col") if measured else None,
        tag("th", "Share here" if measured else "Share", scope="col", class_="s-left"),
        tag(
            "th",
            "On ",
            tag("bdi", names[focus], class_="s-there-name"),
            tag("span", "with range", class_="s-sub"),
            scope="col",
        ),
        tag("th", "Share there", scope="col", class_="s-wide") if measured else None,
        tag("th", "Limited by", scope="col", class_="s-left"),
        tag("th", "Predicted by", scope="col", class_="s-left"),
    ]
    table = tag(
        "table",
        tag("caption", "The costliest operations of one step: GPU time here and on the GPU chosen."),
        tag("thead", tag("tr", *columns)),
        tag("tbody", *(_operation_row(view, row, focus, measured=measured) for row in view.operations)),
        class_="s-operations",
    )
    options = [tag("option", name, value=str(index), selected=index == focus) for index, name in enumerate(names)]
    data = {
        "gpus": names,
        "limits": view.limit_labels,
        "methods": view.method_labels,
        "coverage": [row.methods_text for row in view.rows],
        "operations": [
            {
                "text": row.on_text,
                "range": row.on_range,
                "share": row.on_share_text,
                "limit": row.on_limit,
                "method": row.on_method,
            }
            for row in view.operations
        ],
    }
    return [
        tag("h2", "Where the GPU time goes"),
        tag(
            "div",
            tag("label", "On ", tag("select", *options, class_="s-on", aria_label="GPU of this table")),
            class_="s-controls",
            hidden=True,
        ),
        tag("div", table, class_="s-scroll", role="region", tabindex="0", aria_label="Operations"),
        tag(
            "p",
            "How the GPU time on ",
            tag("bdi", names[focus], class_="s-there-name"),
            " was predicted: ",
            tag("span", view.rows[focus].methods_text, class_="s-coverage"),
            ".",
            class_="s-note",
        ),
        tag("div", _groups("By phase", view.phases), _groups("By kind of work", view.families), class_="s-two"),
        tag("script", embedded_json(data), type="application/json", class_="s-data"),
    ]


def _operation_row(view: ViewModel, row: OperationRow, focus: int, *, measured: bool) -> Markup:
    where = " · ".join(filter(None, (row.source, row.module, row.note)))
    return tag(
        "tr",
        tag(
            "th",
            _name(row.name),
            tag("span", _name(where), class_="s-sub") if where else None,
            scope="row",
            class_="s-left s-wrap",
        ),
        tag("td", row.phase, class_="s-left"),
        tag("td", row.launches_text, class_="s-wide"),
        tag("td", row.here.text) if measured else None,
        tag("td", share_svg(row.share), row.share_text, class_="s-left"),
        tag(
            "td",
            tag("span", row.on_text[focus], class_="s-there-time"),
            tag("span", row.on_range[focus], class_="s-sub s-there-range"),
            class_="s-strong",
        ),
        tag("td", row.on_share_text[focus], class_="s-wide s-there-share") if measured else None,
        tag("td", view.limit_labels[row.on_limit[focus]], class_="s-left s-there-limit"),
        tag("td", view.method_labels[row.on_method[focus]], class_="s-left s-there-method"),
    )


def _groups(title: str, rows: Sequence[GroupRow]) -> Markup:
    return tag(
        "table",
        tag("caption", f"{title}, share of GPU time"),
        tag(
            "tbody",
            *(
                tag(
                    "tr",
                    tag("th", _name(row.label), scope="row", class_="s-left"),
                    tag("td", share_svg(row.share), row.text),
                )
                for row in rows
            ),
        ),
    )


def _details(view: ViewModel, *, is_page: bool) -> list[Child]:
    scatter = next((figure for figure in view.figures if isinstance(figure, ScatterFigure)), None)
    facts = [f"{key} {value}" for key, value in view.environment.items()]
    made_by = [f"Surfer Lab {view.version}" if view.version else "Surfer Lab", *facts]
    twins = [(figure.title, figure.table) for figure in view.figures]
    return [
        tag("h2", "More"),
        tag(
            "details",
            tag("summary", scatter.title),
            tag("p", scatter.description, class_="s-note"),
            tag("div", scatter_svg(scatter), class_="s-scroll", role="region", tabindex="0", aria_label=scatter.title),
            open=is_page,
        )
        if scatter is not None
        else None,
        tag(
            "details",
            tag("summary", "How sure is this?"),
            tag("p", view.range_note),
            tag("ul", *(tag("li", _name(line)) for line in view.assumptions)) if view.assumptions else None,
        ),
        tag("details", tag("summary", "Figures as tables"), *(_twin(title, table) for title, table in twins)),
        tag(
            "details",
            tag("summary", "Made with"),
            tag("p", _name(", ".join(made_by)), "."),
            tag("p", "To make it again: ", tag("code", view.command)) if view.command else None,
        ),
    ]


def _twin(title: str, table: TableTwin) -> Markup:
    return tag(
        "div",
        tag(
            "table",
            tag("caption", title),
            tag(
                "thead",
                tag(
                    "tr",
                    *(
                        tag("th", column, scope="col", class_=None if index else "s-left")
                        for index, column in enumerate(table.columns)
                    ),
                ),
            ),
            tag("tbody", *(_twin_row(row) for row in table.rows)),
        ),
        class_="s-scroll",
        role="region",
        tabindex="0",
        aria_label=title,
    )


def _twin_row(row: Sequence[str]) -> Markup:
    return tag("tr", tag("th", _name(row[0]), scope="row", class_="s-left"), *(tag("td", value) for value in row[1:]))
