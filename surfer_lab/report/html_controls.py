"""What can a reader choose in a report, and what is said of the choice? Sliders, lists and one outcome.

Written by Python, put in place by the script: where scripts are blocked no dead control stands about.
"""

from __future__ import annotations

from surfer_lab.report.markup import Child, Markup, tag
from surfer_lab.view.detail_model import GridView
from surfer_lab.view.model import ViewModel

__all__ = ["controls", "gpu_select"]


def controls(view: ViewModel, grid: GridView | None) -> Markup:
    """The controls, and the numbers of what they choose (filled by the script)."""
    return tag(
        "section",
        tag(
            "div",
            tag("label", "GPU ", gpu_select(view)),
            *(_grid_controls(grid) if grid is not None else ()),
            tag(
                "label",
                "USD per hour ",
                tag("input", type="number", min="0", step="any", inputmode="decimal", class_="s-price"),
                tag(
                    "input", type="range", min="0", step="any", class_="s-price-slider",
                    aria_label="USD per hour, by slider",
                ),
            ),
            tag("button", "As predicted", type="button", class_="s-reset"),
            class_="s-controls",
        ),
        tag(
            "dl",
            _fact("Step", tag("b", class_="s-v-o-step"), "s-v-o-range", "s-v-o-faster"),
            _fact("Throughput", tag("b", class_="s-v-o-rate"), "s-v-o-rate-unit"),
            _fact("1,000 steps", tag("b", class_="s-v-o-cost"), "s-v-o-cost-range", "s-v-o-price"),
            _fact("Memory", tag("b", class_="s-v-o-memory"), "s-v-o-fits"),
            class_="s-outcome",
            aria_live="polite",
        ),
        tag("p", "Predicted by: ", tag("span", class_="s-v-o-method"), ".", class_="s-note"),
        class_="s-what-if",
        aria_label="What if",
    )  # fmt: skip


def _fact(label: str, value: Child, *more: str) -> Markup:
    return tag("div", tag("dt", label), tag("dd", value, *(tag("span", class_=f"s-sub {one}") for one in more)))


def gpu_select(view: ViewModel, label: str = "GPU") -> Markup:
    """The list of GPUs, fastest first; all such lists of a report choose the same GPU."""
    options = (tag("option", row.gpu, value=str(index)) for index, row in enumerate(view.rows))
    return tag("select", *options, class_="s-gpu", aria_label=label)


def _grid_controls(grid: GridView) -> list[Child]:
    _, precision, compiled = grid.own[:3]
    return [
        tag(
            "label",
            "Batch ",
            tag(
                "input", type="range", min="0", max=str(len(grid.batch_sizes) - 1), step="1", class_="s-batch",
                aria_label="Batch size",
            ),
            tag("output", class_="s-batch-text"),
        )
        if len(grid.batch_sizes) > 1
        else None,
        _axis("Precision", "s-precision", grid.precision_labels, precision),
        _axis("Compile", "s-compile", grid.compile_labels, compiled),
    ]  # fmt: skip


def _axis(label: str, class_: str, words: list[str], own: int) -> Markup:
    options = [tag("option", word, value=str(index)) for index, word in enumerate(words)]
    if own < 0:  # the prediction itself asks for what the grid does not hold
        options.insert(0, tag("option", "as predicted", value="-1"))
    return tag("label", f"{label} ", tag("select", *options, class_=class_, aria_label=label))
