"""What stands below the answer in HTML? Where the step goes, cost against time, how sure it is, how it was made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from surfer_lab.report.markup import Child, Markup, name_markup, tag
from surfer_lab.report.svg import partition_svg, scatter_svg
from surfer_lab.view.model import PartitionFigure, ScatterFigure, TableTwin, ViewModel

__all__ = [
    "Place", "accuracy_notes", "cost_figure", "drawn_as_it_is", "made_with", "partition", "scroll", "sureness",
    "tables_of_figures",
]  # fmt: skip


def partition(view: ViewModel) -> list[Child]:
    """Where a step's wall time goes, a bar a place."""
    drawn: list[Child] = []
    for figure in (figure for figure in view.figures if isinstance(figure, PartitionFigure)):
        longest = max((sum(part.value_ms for part in bar.parts) for bar in figure.bars), default=0.0)
        for bar in figure.bars:
            legend = [
                tag("span", tag("span", class_=f"s-key s-{part.key.replace('_', '-')}"), f"{part.label} {part.text}")
                for part in bar.parts
                if part.value_ms > 0
            ]
            head = tag("div", name_markup(bar.label), tag("b", bar.total_text), class_="s-head")
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


Place = Callable[[str, str, Child], Iterable[Child]]


def drawn_as_it_is(_figure: str, _label: str, drawing: Child) -> list[Child]:
    """A figure that nothing draws anew."""
    return [drawing]


def cost_figure(view: ViewModel, *, place: Place = drawn_as_it_is) -> list[Child]:
    """Cost against time; nothing where too few GPUs have a price. `place` puts the drawing on its page."""
    scatter = next((figure for figure in view.figures if isinstance(figure, ScatterFigure)), None)
    if scatter is None:
        return []
    return [
        tag("p", scatter.description, class_="s-note"),
        *place("cost_time", scatter.title, scroll(scatter.title, scatter_svg(scatter))),
    ]


def sureness(view: ViewModel) -> Markup:
    """What a range means, and what was assumed."""
    assumed = tag("ul", *(tag("li", name_markup(line)) for line in view.assumptions)) if view.assumptions else None
    return tag("div", tag("p", view.range_note), assumed)


def accuracy_notes(view: ViewModel) -> Child:
    """How such predictions did on measured cases."""
    if not view.accuracy:
        return None
    return tag(
        "div",
        tag("p", "How such predictions did on measured cases:"),
        tag("ul", *(tag("li", line) for line in view.accuracy)),
    )


def tables_of_figures(view: ViewModel) -> list[Child]:
    """Each figure's numbers."""
    return [_twin(figure.title, figure.table) for figure in view.figures]


def made_with(view: ViewModel) -> list[Child]:
    """Versions, and the command that makes it again."""
    facts = [f"{key} {value}" for key, value in view.environment.items()]
    made_by = [f"Surfer Lab {view.version}" if view.version else "Surfer Lab", *facts]
    return [
        tag("p", name_markup(", ".join(made_by)), "."),
        tag("p", "To make it again: ", tag("code", view.command)) if view.command else None,
    ]


def scroll(label: str, *inside: Child) -> Markup:
    """A region that scrolls by itself where it is wider than the page, by keyboard too."""
    return tag("div", *inside, class_="s-scroll", role="region", tabindex="0", aria_label=label)


def _twin(title: str, table: TableTwin) -> Markup:
    heads = (
        tag("th", column, scope="col", class_=None if index else "s-left") for index, column in enumerate(table.columns)
    )
    return scroll(
        title,
        tag(
            "table",
            tag("caption", title),
            tag("thead", tag("tr", *heads)),
            tag("tbody", *(_twin_row(row) for row in table.rows)),
        ),
    )


def _twin_row(row: Sequence[str]) -> Markup:
    return tag(
        "tr", tag("th", name_markup(row[0]), scope="row", class_="s-left"), *(tag("td", value) for value in row[1:])
    )
