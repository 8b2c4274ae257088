"""What does a user hold after characterising workloads? Their pages, shown in a notebook, as tables, or in a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from surfer_lab.errors import OptionError
from surfer_lab.planner.characterise.characterisation import GAIN_COUNT, Characterisation
from surfer_lab.report.character_report import (
    character_block,
    character_json,
    character_markdown,
    character_page_html,
    character_text,
)
from surfer_lab.report.characterised import view_of_pages
from surfer_lab.report.forms import write_form
from surfer_lab.units import BYTES_PER_GB, NS_PER_MS
from surfer_lab.view.character_model import CharacterView

if TYPE_CHECKING:
    import pandas

__all__ = ["CharacterComparison", "CharacterStudy"]


class CharacterComparison:
    """Workloads beside one another, shown in a notebook."""

    def __init__(self, view: CharacterView) -> None:
        self.view = view

    def __repr__(self) -> str:
        return character_text(self.view)

    def _repr_html_(self) -> str:
        return character_block(self.view)


class CharacterStudy:
    """Workloads characterised. `table()` and `scaling()` are raw numbers, `report(path)` writes a file."""

    def __init__(self, pages: Sequence[Characterisation], *, command: str = "") -> None:
        self.pages = tuple(pages)
        self.command = command

    @cached_property
    def view(self) -> CharacterView:
        """What a person is shown."""
        return view_of_pages(self.pages, command=self.command)

    def table(self) -> pandas.DataFrame:
        """One row a workload and GPU, the unit in the column's name; index: workload, gpu."""
        import pandas as pd  # slow to import, and only asked for here

        rows = []
        for page in self.pages:
            for on in page.on:
                whole = on.position.whole
                rows.append(
                    {
                        "workload": page.name,
                        "gpu": on.gpu.name,
                        "batch_size": page.batch_size,
                        "step_ms": on.step_ns / NS_PER_MS,
                        "busy_fraction": on.busy_fraction,
                        "flop_per_byte": whole.intensity,
                        "flop_per_s": whole.flop_per_s,
                        "bytes_per_s": whole.bytes_per_s,
                        "bound": on.diagnosis.bound.value,
                        "amp_gain": on.gains.amp,
                        "amp_gain_from_tf32": on.gains.amp_from_tf32,
                        "compile_gain": on.gains.compiled,
                        f"nvlink_gain_{GAIN_COUNT}_gpus": on.link_gain(),
                        "memory_gb": None if on.memory is None else on.memory.likely_bytes / BYTES_PER_GB,
                    }
                )
        return pd.DataFrame(rows).set_index(["workload", "gpu"])

    def scaling(self) -> pandas.DataFrame:
        """One row a workload, GPU, way to connect them and number of GPUs; index: workload, gpu, wiring, gpu_count."""
        import pandas as pd  # slow to import, and only asked for here

        rows = [
            {
                "workload": page.name,
                "gpu": on.gpu.name,
                "wiring": curve.topology.wiring.value,
                "gpu_count": point.gpu_count,
                "link": curve.topology.link_name,
                "step_ms": point.step_ns / NS_PER_MS,
                "speedup": point.speedup,
                "efficiency": point.efficiency,
                "exposed_ms": point.exposed_ns / NS_PER_MS,
                "bus_gb_per_s": point.bus_bytes_per_s / BYTES_PER_GB,
            }
            for page in self.pages
            for on in page.on
            for curve in on.curves
            for point in curve.points
        ]
        return pd.DataFrame(rows).set_index(["workload", "gpu", "wiring", "gpu_count"])

    def __getitem__(self, name: str) -> CharacterStudy:
        """One workload's page alone; OptionError with the names that there are."""
        found = [page for page in self.pages if page.name == name]
        if not found:
            names = ", ".join(page.name for page in self.pages)
            raise OptionError(f"{name!r} was not characterised here", remedy=f"one of {names}")
        return CharacterStudy(found, command=self.command)

    def comparison(self) -> CharacterComparison:
        """The workloads side by side, and the map of what is alike, without their pages."""
        return CharacterComparison(msgspec.structs.replace(self.view, pages=[]))

    def report(self, path: str | Path) -> Path:
        """Write a page (.html), Markdown (.md), text (.txt) or all numbers (.json); OptionError where it cannot be."""
        forms: dict[str, Callable[[], str | bytes]] = {
            ".html": lambda: character_page_html(self.view),
            ".md": lambda: character_markdown(self.view),
            ".json": lambda: character_json(self.view),
            ".txt": lambda: character_text(self.view) + "\n",
        }
        return write_form(path, forms, what="a characterisation")

    def __repr__(self) -> str:
        return character_text(self.view)

    def _repr_html_(self) -> str:
        return character_block(self.view)
