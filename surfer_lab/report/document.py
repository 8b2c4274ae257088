"""What is the report that somebody can send around? One HTML page of one or several predictions, to decide from.

The answer first, controls that work from a file with no network, what limits the step and what would help, how sure it
is; then everything in full. Figures are Bokeh, whose script stands in the page once; without scripts they are SVG and
every number is in a table.
"""

from __future__ import annotations

from collections.abc import Sequence

from surfer_lab.report.bokeh_page import bokeh_scripts, figure_place
from surfer_lab.report.html_controls import controls
from surfer_lab.report.html_details import (
    accuracy_notes,
    cost_figure,
    made_with,
    partition,
    scroll,
    sureness,
    tables_of_figures,
)
from surfer_lab.report.html_gpus import gpu_controls, gpu_table
from surfer_lab.report.html_operations import operation_controls, operation_tables
from surfer_lab.report.html_scaling import scaling_section
from surfer_lab.report.html_what_ifs import alternative_section, curve_figure, curve_table, memory_section
from surfer_lab.report.markup import Child, Markup, name_markup, tag
from surfer_lab.report.packed import packed_view
from surfer_lab.report.page import whole_page
from surfer_lab.report.range_svg import range_figure_svg
from surfer_lab.report.style import page_script
from surfer_lab.report.summary import best_table, choice_cards, fact_list, headline, warning_list
from surfer_lab.view.model import RangeFigure, ViewModel
from surfer_lab.view.stored import stored

__all__ = ["html_document"]


def html_document(views: Sequence[ViewModel], *, title: str = "", made_on: str = "", notes: Sequence[str] = ()) -> str:
    """A whole document; light or dark as the reader's system.

    `made_on` is a date in words, "" for none; `notes` are told at the top (what could not be read).
    """
    first = views[0]
    several = len(views) > 1
    named = title if several and title else f"{first.title} – {first.name}"
    body = tag(
        "main",
        _contents(views, named, made_on) if several else None,
        warning_list(notes),
        *(_report(view, made_on, level=2 if several else 1, place=place) for place, view in enumerate(views)),
    )
    return whole_page(named, body, scripts=[*bokeh_scripts(), page_script()])


def _contents(views: Sequence[ViewModel], title: str, made_on: str) -> Markup:
    """One line a prediction, to go to it; of several predictions the page's summary."""
    rows = [
        tag("li", tag("a", name_markup(view.name), href=f"#prediction-{place}"), ": ", view.sentences[0].text)
        for place, view in enumerate(views)
        if view.sentences
    ]
    return tag(
        "header",
        tag("p", tag("b", "Surfer Lab"), f" · {made_on}" if made_on else None, class_="s-brand"),
        tag("h1", name_markup(title)),
        tag("p", f"{len(views)} predictions:"),
        tag("ol", *rows),
        class_="surfer s-contents",
        data_ready="",
        data_shown="",
    )


def _report(view: ViewModel, made_on: str, *, level: int, place: int) -> Markup:
    packed = stored(view)
    parts = {
        "controls": controls(view, packed.grid),
        "gpu-controls": gpu_controls(view),
        "operation-controls": operation_controls(view),
    }
    heading = f"h{level + 1}"

    def section(title: str, *inside: Child) -> Child:
        return tag("section", tag(heading, title), *inside) if any(inside) else None

    def appendix(title: str, *inside: Child) -> Child:
        return tag("details", tag("summary", title), *inside) if any(inside) else None

    return tag(
        "article",
        *headline(view, level=f"h{level}", made_on=made_on if level == 1 else ""),
        choice_cards(view),
        best_table(view),
        fact_list(view, on_page=True),
        warning_list(view.warnings),
        section("Try it: another GPU, batch size, precision or price", tag("div", data_part="controls")),
        section("Step time by GPU", *_step_figure(view)),
        section("Cost against time", *cost_figure(view, place=figure_place)),
        section("Batch sizes", *curve_figure(view, packed.grid, place=figure_place)),
        section("Where a step's time goes", *partition(view)),
        section("In another precision, or compiled", *alternative_section(view)),
        section("On several GPUs", *scaling_section(view)),
        section("How sure is this?", sureness(view), accuracy_notes(view)),
        section("Prices", _prices(view)),
        section("Made with", *made_with(view)),
        tag(heading, "Appendix"),
        appendix("All GPUs", *gpu_table(view)),
        appendix("The costliest operations", *operation_tables(view)),
        appendix("Batch sizes", curve_table(view)),
        appendix("Memory, part by part", *memory_section(view)),
        appendix("Figures as tables", *tables_of_figures(view)),
        packed_view(packed, parts),
        class_="surfer",
        id=f"prediction-{place}",
    )


def _step_figure(view: ViewModel) -> list[Child]:
    """Step times of the short list, each with its range."""
    figure = next((figure for figure in view.figures if isinstance(figure, RangeFigure)), None)
    if figure is None or not figure.bars:
        return []
    return [
        tag("p", figure.description, class_="s-note"),
        *figure_place("step_range", figure.title, scroll(figure.title, range_figure_svg(figure))),
    ]


def _prices(view: ViewModel) -> Child:
    """What the money rests on: the note, and each GPU of the short list with the offers behind its price."""
    if not view.price_note:
        return None
    short = set(view.shortlist)
    rows = [
        tag(
            "li",
            name_markup(row.gpu),
            f": {row.usd_per_hour.text} an hour, {row.price_note}",
            f" ({row.price_source})" if row.price_source else None,
        )
        for row in view.rows
        if row.gpu in short and row.usd_per_hour.value is not None
    ]
    return tag("div", tag("p", view.price_note), tag("details", tag("summary", "Price by price"), tag("ul", *rows)))
