"""What does an exported page need of Bokeh? Its script once, the figures' templates once, and a place for each figure.

The page's own script puts the data of the stored view into the templates' named sources.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

from surfer_lab.report.markup import Child, Markup, tag, verbatim
from surfer_lab.report.packed import packed_json

__all__ = ["bokeh_scripts", "figure_place"]

_SHOWN: Final = ("step_range", "cost_time", "batch_curve")


@cache
def bokeh_scripts() -> tuple[Markup, ...]:
    """BokehJS as the installed Bokeh brings it (1.3 MB), and the templates."""
    from surfer_lab.view.bokeh_figures import FIGURE_COLORS, figure_templates  # a second to import, for a page alone

    bokeh = files("bokeh").joinpath("server", "static", "js", "bokeh.min.js").read_text(encoding="utf-8")
    shown = {name: template for name, template in figure_templates().items() if name in _SHOWN}
    templates = {"figures": shown, "colors": FIGURE_COLORS}
    # a source map's address would be asked for by a browser's tools
    return (
        tag("script", verbatim(bokeh.split("\n//# sourceMappingURL")[0].replace("</script", "<\\/script"))),
        packed_json(templates, class_="s-figures"),
    )


def figure_place(figure: str, label: str, drawing: Child) -> list[Child]:
    """The figure as SVG, and where the script draws it anew with Bokeh."""
    return [
        tag("div", drawing, class_="s-static"),
        tag("div", role="img", aria_label=label, hidden=True, data_figure=figure, class_="s-figure"),
    ]
