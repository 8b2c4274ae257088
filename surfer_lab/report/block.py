"""How does a prediction look below its cell? One self-contained block of HTML that follows its notebook.

No network, no library: own style, a few kB of own script, figures as SVG. Without the script (a notebook that is not
trusted, a host that blocks it) the sentence, the choices and the short list are there. With it the controls appear, the
other GPUs too, and tables and figures follow what is chosen.
"""

from __future__ import annotations

from collections.abc import Mapping

from surfer_lab.report.html_controls import controls
from surfer_lab.report.html_details import (
    accuracy_notes,
    cost_figure,
    made_with,
    partition,
    sureness,
    tables_of_figures,
)
from surfer_lab.report.html_gpus import gpu_controls, gpu_rows, gpu_table
from surfer_lab.report.html_operations import operation_controls, operation_tables
from surfer_lab.report.html_scaling import scaling_section
from surfer_lab.report.html_what_ifs import alternative_section, curve_figure, curve_table, memory_section
from surfer_lab.report.markup import Child, Markup, join, tag
from surfer_lab.report.packed import packed_view
from surfer_lab.report.style import block_opener, block_script, block_style
from surfer_lab.report.summary import choice_cards, fact_list, headline, warning_list
from surfer_lab.view.model import ViewModel
from surfer_lab.view.stored import stored
from surfer_lab.view.stored_model import StoredView

__all__ = ["html_block"]


def html_block(view: ViewModel, packed: StoredView | None = None) -> str:
    """The view as a block; `packed` is its stored form, where the caller has it already."""
    packed = stored(view) if packed is None else packed
    folded = {
        "batch-sizes": curve_table(view),
        "memory": join(memory_section(view)),
        "figure-tables": join(tables_of_figures(view)),
    }
    parts = {
        "controls": controls(view, packed.grid),
        "gpu-controls": gpu_controls(view),
        "gpus": gpu_rows(view),
        "operation-controls": operation_controls(view),
        **{name: join([part]) for name, part in folded.items() if part},
    }
    body = [
        *headline(view, level="h2"),
        choice_cards(view),
        fact_list(view),
        warning_list(view.warnings),
        tag("div", data_part="controls"),
        *gpu_table(view, only_short=True),
        _figure("Cost against time", cost_figure(view)),
        _folded("Where the time goes", [*partition(view), *operation_tables(view)]),
        _folded("In another precision, or compiled", alternative_section(view)),
        _folded("On several GPUs", scaling_section(view)),
        _folded("Batch sizes", [*curve_figure(view, packed.grid), _later("batch-sizes", parts)]),
        _folded("Memory", [_later("memory", parts)]),
        _folded("How sure is this?", [sureness(view), accuracy_notes(view)]),
        _folded("Figures as tables", [_later("figure-tables", parts)]),
        _folded("Made with", made_with(view)),
        packed_view(packed, parts, block_script()),
    ]
    return block_style() + tag("div", *body, class_="surfer") + block_opener()


def _later(name: str, parts: Mapping[str, Markup]) -> Child:
    """Where the script puts what is seldom looked at, so that a notebook need not hold it in full."""
    return tag("div", data_part=name) if name in parts else None


def _figure(title: str, drawn: list[Child]) -> Child:
    return tag("div", tag("h3", title), *drawn) if drawn else None


def _folded(title: str, inside: list[Child]) -> Child:
    return tag("details", tag("summary", title), *inside) if any(inside) else None
