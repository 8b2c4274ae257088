"""What does a fit find, in words? The routing table and the held-out figures of a manifest."""

from __future__ import annotations

from typing import Any

from surfer_lab.training.fit.reproduced import Difference
from surfer_lab.training.timm_table.rows import TABLE

__all__ = ["text_of", "text_of_check"]


def text_of(manifest: dict[str, Any]) -> str:
    """Lines for a terminal."""
    lines = ["single operations in FP32, dies held out: median |error| in percent, learned and calibrated roofline"]
    for family, entry in manifest["families"].items():
        held = entry["held_out"]
        verdict = "learned" if entry["routed"] else "roofline"
        lines.append(
            f"  {family:8} {held['learned_median_percent']:6.1f} {held['roofline_median_percent']:6.1f}   {verdict}"
        )
    steps = manifest.get("steps")
    if steps is None:
        return "\n".join([*lines, "no captured steps: nothing is fitted through the sum"])
    lines.append("groups of families, steps of a GPU held out: median |error| in percent, learned and on the roofline")
    for group, entry in steps["groups"].items():
        verdict = "learned" if entry["routed"] else "roofline"
        lines.append(
            f"  {group:12} {entry['learned_median_percent'] or 0:6.1f} {entry['roofline_median_percent'] or 0:6.1f}"
            f"   {verdict}, nearer in {entry['won']:.0%} of {entry['cases']:,} steps"
        )
    for way, figures in steps["held_out_as_routed"].items():
        lines.append(f"whole steps, {way} held out, as routed: |error| in percent, mean and median")
        lines += [_row(one) for one in figures]
    lines.append("compile gain, families held out: mean and median |error| in percent, rank correlation")
    lines += [
        f"  torch {one['torch']:6} {one['mean_percent']:6.1f} {one['median_percent']:6.1f} "
        f"{one['rank_correlation']:6.2f}"
        for one in steps["compile_gain"]
    ]
    return "\n".join(lines)


def _row(one: dict[str, Any]) -> str:
    name = " ".join(str(one[column]) for column in TABLE)
    return f"  {name:44} {one['mean_percent']:6.1f} {one['median_percent']:6.1f}"


def text_of_check(title: str, compared: list[Difference], allowed: float) -> str:
    """What a comparison of figures found: how many, the largest difference, and each that is larger than allowed."""
    largest = max(compared, key=lambda one: one.size, default=None)
    if largest is None:
        return f"{title}: no figures"
    lines = [f"{title}: {len(compared):,} figures, the largest difference {largest.size:.2f} ({largest.name})"]
    lines += [
        f"  {one.name}: {_number(one.stated)} stated, {_number(one.found)} found"
        for one in compared
        if one.size > allowed
    ]
    return "\n".join(lines)


def _number(value: float | None) -> str:
    return "nothing" if value is None else f"{value:.2f}"
