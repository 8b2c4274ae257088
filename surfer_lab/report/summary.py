"""What does a reader see first? The sentence, the few GPUs to decide between, what limits the step and what would help.

Shared by the block below a cell and by the exported page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from surfer_lab.report.markup import Child, Markup, join, name_markup, tag
from surfer_lab.view.model import Choice, GpuRow, Role, Verdict, ViewModel

__all__ = ["best_table", "choice_cards", "fact_list", "headline", "warning_list"]

_BEST_COUNT: Final = 3
_FEW_WARNINGS: Final = 3
_IN_THE_LEAD: Final = {Role.STEP, Role.FASTEST, Role.CHEAPEST}
# the words of a page that is read by somebody who decides
_PAGE_LABELS: Final = {Role.BOUND: "What limits the step", Role.ADVICE: "What would help most"}


def headline(view: ViewModel, *, level: str, made_on: str = "") -> list[Child]:
    """Name, title and the sentence."""
    lead = next((sentence for sentence in view.sentences if sentence.role is Role.STEP), None)
    brand = [tag("b", "Surfer Lab"), " · ", name_markup(view.name), f" · {made_on}" if made_on else None]
    return [
        tag("p", *brand, class_="s-brand"),
        tag(level, view.title),
        tag("p", lead.text, class_="s-lead") if lead else None,
    ]


def choice_cards(view: ViewModel) -> Markup:
    """The few GPUs to decide between, as cards."""
    return tag("div", *map(_choice, view.choices), class_="s-choices")


def _choice(choice: Choice) -> Markup:
    return tag(
        "div",
        tag(
            "div",
            choice.label,
            tag("span", " · ", name_markup(choice.gpu), class_="s-gpu-name") if choice.gpu else None,
            class_="s-role",
        ),
        tag("div", choice.headline, class_="s-big"),
        *(tag("div", name_markup(line), class_="s-line") for line in choice.lines),
        class_="s-choice",
    )


def fact_list(view: ViewModel, *, on_page: bool = False) -> Child:
    """What limits the step, what would help, memory and the rest of the sentences."""
    facts = [sentence for sentence in view.sentences if sentence.role not in _IN_THE_LEAD]
    if not facts:
        return None
    labels = _PAGE_LABELS if on_page else {}
    return tag(
        "dl",
        *(join([tag("dt", labels.get(fact.role, fact.label)), tag("dd", fact.text)]) for fact in facts),
        class_="s-facts",
    )


def warning_list(warnings: Sequence[str]) -> Child:
    """What to know, folded where it is much."""
    if not warnings:
        return None
    rows = tag("ul", *(tag("li", name_markup(warning)) for warning in warnings))
    count = "1 thing to know" if len(warnings) == 1 else f"{len(warnings)} things to know"
    if len(warnings) > _FEW_WARNINGS:
        return tag("div", tag("details", tag("summary", tag("b", count)), rows), class_="s-warnings")
    return tag("div", tag("b", count), rows, class_="s-warnings")


def best_table(view: ViewModel) -> Child:
    """The three best by time, the three best by cost, and the GPU at hand; of those on which the step fits."""
    usable = [row for row in view.rows if row.verdict is not Verdict.DOES_NOT_FIT]
    priced = [row for row in usable if row.usd_per_1000_steps.value is not None]
    chosen = {choice.role: choice.gpu for choice in view.choices}
    groups = [
        ("Fastest", _led_by(chosen.get(Role.FASTEST), usable)),
        ("Cheapest", _led_by(chosen.get(Role.CHEAPEST), sorted(priced, key=_cost))),
        ("At hand", [row for row in view.rows if row.is_origin][:1]),
    ]
    bodies = [_group(label, rows) for label, rows in groups if rows]
    if not bodies:
        return None
    heads = ("GPU", "Step", "Against here", "$ per 1,000 steps", "$/hour", "Memory", "Bound")
    with_here = any(row.faster.value is not None for row in view.rows)
    shown = [head for head in heads if with_here or head != "Against here"]
    left = {"GPU", "Bound"}
    return tag(
        "div",
        tag(
            "table",
            tag("caption", "The best by time, by cost, and the GPU at hand, each with the range of its numbers."),
            tag(
                "thead", tag("tr", *(tag("th", head, scope="col", class_="s-left" if head in left else None)
                                     for head in shown)),
            ),
            *bodies,
            class_="s-best",
        ),
        class_="s-scroll", role="region", tabindex="0", aria_label="Best choices",
    )  # fmt: skip


def _led_by(gpu: str | None, rows: Sequence[GpuRow]) -> list[GpuRow]:
    """The first three, the one that the sentences name before all."""
    return sorted(rows, key=lambda row: row.gpu != gpu)[:_BEST_COUNT]


def _cost(row: GpuRow) -> float:
    return row.usd_per_1000_steps.value or 0.0


def _group(label: str, rows: Sequence[GpuRow]) -> Markup:
    return tag(
        "tbody",
        tag("tr", tag("th", label, scope="rowgroup", colspan="7", class_="s-left s-group")),
        *(_best_row(row) for row in rows),
    )


def _best_row(row: GpuRow) -> Markup:
    fits = "" if row.verdict is Verdict.UNKNOWN else row.verdict.value
    needed = row.needed.text.removesuffix(" GB") + " of " if row.needed and row.needed.value is not None else ""
    return tag(
        "tr",
        tag("th", name_markup(row.gpu), scope="row", class_="s-left"),
        tag("td", row.step.text, _sub(row.step.range_text), class_="s-strong", data_label="step"),
        tag("td", row.faster.text, data_label="against here") if row.faster.value is not None else None,
        tag(
            "td",
            row.usd_per_1000_steps.text,
            _sub(row.usd_per_1000_steps.range_text),
            class_="s-strong",
            data_label="$ per 1,000 steps",
        ),
        tag("td", row.usd_per_hour.text, _sub(row.price_as_of), data_label="$/hour"),
        tag("td", f"{needed}{row.memory.text}", _sub(fits), data_label="memory"),
        tag("td", row.bound, class_="s-left s-narrow", data_label="bound"),
    )


def _sub(text: str) -> Child:
    return tag("span", text, class_="s-sub") if text else None
