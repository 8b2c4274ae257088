"""Which drawings accompany a Markdown report? SVG files that any viewer shows, light or dark."""

from __future__ import annotations

from typing import Final

from surfer_lab.report.curve_svg import curve_svg
from surfer_lab.report.range_svg import range_figure_svg
from surfer_lab.report.svg import scatter_svg
from surfer_lab.view.model import CurveFigure, RangeFigure, ScatterFigure, ViewModel

__all__ = ["figure_files"]

_LIGHT: Final = (
    "--ink:#1b2430;--muted:#5a6675;--line:#dde3ea;--page:#ffffff;--accent:#0b6e99;--soft:#a9d3e6;--mark:#d9822b"
)
_DARK: Final = (
    "--ink:#e4e9ef;--muted:#9aa7b5;--line:#37424f;--page:#161c24;--accent:#59b8e0;--soft:#27566d;--mark:#e79a4b"
)
_STYLE: Final = (
    f"svg{{{_LIGHT};background:var(--page);font:12px system-ui,sans-serif}}"
    f"@media (prefers-color-scheme:dark){{svg{{{_DARK}}}}}"
    ".s-grid{stroke:var(--line)}.s-tick{fill:var(--muted)}.s-ink,.s-label{fill:var(--ink)}"
    ".s-front{fill:none;stroke:var(--accent);stroke-width:1.5}.s-beyond{stroke:var(--muted);stroke-dasharray:5 4}"
    ".s-band{fill:var(--soft);opacity:.35}.s-range{fill:var(--soft)}.s-dot{fill:var(--accent)}"
    ".s-point{fill:var(--page);stroke:var(--muted)}.s-point.s-on-front{fill:var(--accent);stroke:var(--accent)}"
    ".s-point.s-origin{fill:var(--mark);stroke:var(--mark)}.s-reference{stroke:var(--mark);stroke-width:2}"
)


def figure_files(view: ViewModel) -> dict[str, tuple[str, str]]:
    """Name of a file -> the figure's title and the file's text."""
    files: dict[str, tuple[str, str]] = {}
    for figure in view.figures:
        if isinstance(figure, RangeFigure):
            files["step_time.svg"] = figure.title, _standing_alone(range_figure_svg(figure))
        elif isinstance(figure, ScatterFigure):
            files["cost.svg"] = figure.title, _standing_alone(scatter_svg(figure))
        elif isinstance(figure, CurveFigure):
            files["batch_sizes.svg"] = figure.title, _standing_alone(curve_svg(figure))
    return files


def _standing_alone(drawn: str) -> str:
    opening, rest = drawn.split(">", 1)
    return f'{opening} xmlns="http://www.w3.org/2000/svg" width="680"><style>{_STYLE}</style>{rest}\n'
