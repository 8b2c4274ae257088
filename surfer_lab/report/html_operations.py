"""How do the costliest operations look in HTML? On the GPU shown first; the script puts another one's numbers in."""

from __future__ import annotations

from collections.abc import Sequence

from surfer_lab.report.html_controls import gpu_select
from surfer_lab.report.markup import Child, Markup, name_markup, tag
from surfer_lab.report.svg import share_bar
from surfer_lab.view.model import GroupRow, OperationRow, ViewModel

__all__ = ["operation_controls", "operation_tables"]


def operation_tables(view: ViewModel) -> list[Child]:
    """A place for the choice of the GPU, the table, how it was predicted, and the shares by phase and kind."""
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
            tag("bdi", names[focus], class_="s-there"),
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
    return [
        tag("div", data_part="operation-controls"),
        tag("div", table, class_="s-scroll", role="region", tabindex="0", aria_label="Operations"),
        tag(
            "p",
            "How the GPU time on ",
            tag("bdi", names[focus], class_="s-there"),
            " was predicted: ",
            tag("span", view.rows[focus].methods_text, class_="s-coverage"),
            ".",
            class_="s-note",
        ),
        tag("p", view.coverage.text, class_="s-note") if view.coverage is not None else None,
        tag("div", _groups("By phase", view.phases), _groups("By kind of work", view.families), class_="s-two"),
    ]


def operation_controls(view: ViewModel) -> Markup:
    """On which GPU the operations are shown; put in place by the script."""
    return tag("div", tag("label", "On ", gpu_select(view, "GPU of this table")), class_="s-controls")


def _operation_row(view: ViewModel, row: OperationRow, focus: int, *, measured: bool) -> Markup:
    where = " · ".join(filter(None, (row.source, row.module, row.note)))
    return tag(
        "tr",
        tag(
            "th",
            name_markup(row.name),
            tag("span", name_markup(where), class_="s-sub") if where else None,
            scope="row",
            class_="s-left s-wrap",
        ),
        tag("td", row.phase, class_="s-left"),
        tag("td", row.launches_text, class_="s-wide"),
        tag("td", row.here.text) if measured else None,
        tag("td", share_bar(row.share), row.share_text, class_="s-left"),
        tag(
            "td",
            tag("span", row.on_text[focus], class_="s-v-time"),
            tag("span", row.on_range[focus], class_="s-sub s-v-time-range"),
            class_="s-strong",
        ),
        tag("td", row.on_share_text[focus], class_="s-wide s-v-share") if measured else None,
        tag("td", view.limit_labels[row.on_limit[focus]], class_="s-left s-v-limit"),
        tag("td", view.method_labels[row.on_method[focus]], class_="s-left s-v-method"),
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
                    tag("th", name_markup(row.label), scope="row", class_="s-left"),
                    tag("td", share_bar(row.share), row.text),
                )
                for row in rows
            ),
        ),
    )
