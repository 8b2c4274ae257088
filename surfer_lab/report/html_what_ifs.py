"""How do the what-ifs look as HTML? Alternatives, the batch curve, memory's parts, GPUs without an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from surfer_lab.report.curve_svg import curve_svg
from surfer_lab.report.html_details import Place, drawn_as_it_is, scroll
from surfer_lab.report.markup import Child, Markup, tag
from surfer_lab.view.detail_model import GridView
from surfer_lab.view.model import AlternativeRow, CurveFigure, Quantity, Verdict, ViewModel

__all__ = ["alternative_section", "curve_figure", "curve_table", "memory_section", "without_answer"]

_FOLLOWS: Final = "On the GPU chosen above, in its precision and compile mode, with what fits into its memory."


def without_answer(view: ViewModel) -> Child:
    """Which GPUs cannot be asked, and why."""
    if not view.blocked:
        return None
    reasons = dict.fromkeys(row.why for row in view.blocked)
    lines = (
        tag("li", tag("b", ", ".join(row.gpu for row in view.blocked if row.why == why)), f": {why}.")
        for why in reasons
    )
    return tag("div", tag("p", "No answer for:"), tag("ul", *lines), class_="s-note")


def alternative_section(view: ViewModel) -> list[Child]:
    """The table of alternatives; nothing where none was asked."""
    if not view.alternatives:
        return []
    heads = (("What if", True), ("Step", False), ("Range", False), ("Against as run", False), ("Memory", False))
    return [
        scroll(
            "What if",
            tag(
                "table",
                tag("caption", view.alternatives_note),
                _heads(heads),
                tag("tbody", *map(_alternative, view.alternatives)),
                class_="s-alternatives",
            ),
        ),
    ]


def _alternative(row: AlternativeRow) -> Markup:
    name = tag("th", row.label, scope="row", class_="s-left")
    if row.blocker:
        return tag("tr", name, tag("td", row.blocker, colspan="4", class_="s-left s-narrow s-muted"))
    return tag(
        "tr",
        name,
        tag("td", row.step.text, class_="s-strong"),
        tag("td", row.step.range_text),
        tag("td", row.faster.text),
        tag("td", row.memory.text, _verdict(row.verdict)),
        class_="s-here" if row.is_shown else None,
        aria_current="true" if row.is_shown else None,
    )


def _verdict(verdict: Verdict) -> Child:
    said = {Verdict.DOES_NOT_FIT: "s-bad", Verdict.TIGHT: "s-warn"}.get(verdict)
    return tag("span", verdict.value, class_=f"s-sub {said}") if said else None


def curve_figure(view: ViewModel, grid: GridView | None, *, place: Place = drawn_as_it_is) -> list[Child]:
    """Throughput by batch size: of the GPU shown first, of the one chosen where the grid has several batches."""
    figure = next((figure for figure in view.figures if isinstance(figure, CurveFigure)), None)
    follows = grid is not None and len(grid.batch_sizes) > 1
    if figure is None and not follows:
        return []
    title = figure.title if figure is not None else "Throughput by batch size"
    said = figure.description if figure is not None and not follows else _FOLLOWS
    return [
        tag("p", said, class_="s-note"),
        *place("batch_curve", title, scroll(title, curve_svg(figure) if figure is not None else _empty_curve())),
    ]


def curve_table(view: ViewModel) -> Child:
    """The curve of the GPU shown first as a table."""
    figure = next((figure for figure in view.figures if isinstance(figure, CurveFigure)), None)
    return scroll(f"{figure.title}, table", _curve_table(figure)) if figure is not None else None


def _empty_curve() -> Markup:
    return tag("svg", class_="s-scatter s-curve", role="img", viewBox="0 0 680 300", aria_label="Throughput by batch")


def _curve_table(figure: CurveFigure) -> Markup:
    rows = (
        tag(
            "tr",
            tag("th", f"{point.batch_size:,}", scope="row"),
            tag("td", point.samples_per_s.text.removesuffix(" samples/s"), class_="s-strong"),
            tag("td", point.step.text, tag("span", point.step.range_text, class_="s-sub")),
            tag("td", point.memory.text, _verdict(point.verdict)),
            tag("td", point.mark, class_="s-left"),
            class_="s-here" if point.mark else None,
        )
        for point in figure.points
    )
    heads = (("Batch", False), ("Samples/s", False), ("Step", False), ("Memory", False), ("Mark", True))
    return tag(
        "table",
        tag("caption", figure.title),
        _heads(heads),
        tag("tbody", *rows),
        class_="s-batches",
    )


def memory_section(view: ViewModel) -> list[Child]:
    """What the step needs on the GPU shown first, and its parts; nothing where no tensor is known."""
    memory = view.memory
    if memory is None:
        return []
    sums = (("Allocated", memory.allocated), ("Reserved", memory.reserved), ("On the device", memory.device))
    rows = [_memory_row(row.label, row.amount, row.source) for row in memory.parts]
    total = [_memory_row(label, amount, "", class_="s-here") for label, amount in sums]
    heads = (("Part", True), ("Likely", False), ("Range", False), ("From", True))
    device = memory.device
    span = f" ({device.range_text})" if device.range_text else ""
    return [
        tag(
            "p",
            f"On {memory.gpu}: {device.text}{span} on the device at the peak ({memory.when}): "
            f"allocated {memory.allocated.text}, reserved {memory.reserved.text}",
            f"; {memory.measured}" if memory.measured else None,
            ".",
        ),
        scroll(
            "Memory by part",
            tag(
                "table",
                tag("caption", f"Memory on {memory.gpu}, part by part"),
                _heads(heads),
                tag("tbody", *rows, *total),
                class_="s-memory",
            ),
        ),
    ]


def _memory_row(label: str, amount: Quantity, source: str, class_: str | None = None) -> Markup:
    return tag(
        "tr",
        tag("th", label, scope="row", class_="s-left s-wrap"),
        tag("td", amount.text, class_="s-strong"),
        tag("td", amount.range_text),
        tag("td", source, class_="s-left s-narrow"),
        class_=class_,
    )


def _heads(heads: Sequence[tuple[str, bool]]) -> Markup:
    return tag(
        "thead", tag("tr", *(tag("th", text, scope="col", class_="s-left" if left else None) for text, left in heads))
    )
