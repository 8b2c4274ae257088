"""Do figures show a view's own numbers, fit their templates, and have a table that says the same?"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import msgspec
import numpy as np
import pytest

from surfer_lab.view.bokeh_figures import (
    DARK,
    FIGURE_COLORS,
    FIGURES,
    LIGHT,
    TOKENS,
    TRAINING_FIGURES,
    figure_templates,
    filled_figure,
    sources_of,
    template_text,
)
from surfer_lab.view.figure_data import FIGURE_TITLES, figure_data
from surfer_lab.view.selection import Choosing, Setting
from surfer_lab.view.stored import restored
from surfer_lab.view.stored_model import StoredView
from tools.generate_figures import FIGURES_FILE

DEMO = Path(__file__).resolve().parents[2] / "src" / "demo"


@pytest.fixture(scope="module", params=["resnet50", "profiler_trace", "does_not_fit"])
def choosing(request):
    kept = msgspec.json.decode((DEMO / f"{request.param}.json").read_bytes(), type=StoredView)
    return Choosing(restored(kept))


def test_every_figure_has_a_title_and_a_template():
    assert list(FIGURE_TITLES) == list(FIGURES)
    assert set(figure_templates()) == {*FIGURES, *TRAINING_FIGURES}


def test_the_checked_in_templates_are_not_stale():
    assert FIGURES_FILE.read_text(encoding="utf-8") == template_text(), "run python -m tools.generate_figures"


def test_templates_hold_no_colour_of_their_own():
    text = json.dumps(figure_templates())
    used = {token for token in FIGURE_COLORS.values() if token in text}
    assert len(used) >= 8
    for theme in (LIGHT, DARK):
        assert not any(f'"{color}"' in text for color in asdict(theme).values())


@pytest.mark.parametrize("name", list(FIGURES))
def test_a_figures_data_has_the_columns_that_its_template_wants(choosing, name):
    data = figure_data(name, choosing, 0)
    if data is None:
        # what a recording at one batch size cannot have, and what was not asked about
        assert name in {"batch_curve", "roofline", "cost_time", "scaling"}
        return
    wanted = sources_of(FIGURES[name](TOKENS))
    assert {source: set(columns) for source, columns in data.sources.items()} == {
        source: set(wanted[source]) for source in data.sources
    }
    for columns in data.sources.values():
        assert len({len(values) for values in columns.values()}) == 1
    assert data.rows and all(len(row) == len(data.columns) for row in data.rows)
    assert filled_figure(name, data, DARK).name == "figure"


def test_step_times_are_the_rows_own(choosing):
    data = figure_data("step_range", choosing, 0)
    by_name = {row.gpu: row for row in choosing.view.rows}
    for gpu, value, row in zip(data.sources["bars"]["gpu"], data.sources["bars"]["value"], data.rows, strict=True):
        assert value == pytest.approx(by_name[gpu].step.value)
        assert row[1] == by_name[gpu].step.text
        assert row[2] == by_name[gpu].step.range_text


def test_the_front_is_beaten_by_nobody(choosing):
    data = figure_data("cost_time", choosing, 0)
    x, y = data.sources["front"]["x"], data.sources["front"]["y"]
    assert x == sorted(x)
    assert y == sorted(y, reverse=True)


def test_another_setting_shows_the_grids_numbers():
    kept = msgspec.json.decode((DEMO / "resnet50.json").read_bytes(), type=StoredView)
    choosing = Choosing(restored(kept))
    setting = Setting(batch=0, precision=1, compiled=1)
    chosen = choosing.at(3, setting)
    assert chosen.batch_size == choosing.batch_sizes[0]
    assert chosen.step_ms != choosing.at(3).step_ms
    assert chosen.low_ms <= chosen.step_ms <= chosen.high_ms
    data = figure_data("batch_curve", choosing, 3, setting)
    assert data.sources["points"]["step"][0] == pytest.approx(chosen.step_ms)
    assert data.sources["chosen"]["batch"] == [chosen.batch_size]


def test_the_grid_at_the_own_setting_is_the_row_to_three_digits(choosing):
    own = choosing.grid.own
    if min(own) < 0:
        pytest.skip("the prediction's own setting is not on this grid's axes")
    step = choosing._step[:, own[0], own[1], own[2], 0]
    rows = np.array([choosing.at(place).step_ms for place in range(len(choosing.view.rows))])
    assert step == pytest.approx(rows, rel=1e-3)


def test_the_icicle_is_whole_and_children_lie_under_their_parent(choosing):
    nodes = figure_data("modules", choosing, 0).sources["nodes"]
    assert (nodes["left"][0], nodes["right"][0]) == (0, 1)
    for left, right, top in zip(nodes["left"], nodes["right"], nodes["top"], strict=True):
        above = [
            place
            for place, bottom in enumerate(nodes["bottom"])
            if bottom == top and nodes["left"][place] <= left + 1e-4 and nodes["right"][place] >= right - 1e-4
        ]
        assert above or top == 0


def test_names_in_figures_are_text():
    plain = (DEMO / "resnet50.json").read_bytes()
    first = msgspec.json.decode(plain, type=StoredView).rows.gpu[0]
    hostile = "<script>alert(1)</script>"
    # wherever the view names the GPU: its choices do so too
    renamed = plain.replace(msgspec.json.encode(first), msgspec.json.encode(hostile))
    view = restored(msgspec.json.decode(renamed, type=StoredView))
    data = figure_data("step_range", Choosing(view), 0)
    assert hostile in data.sources["bars"]["gpu"]
    plot = filled_figure("step_range", data, LIGHT)
    from bokeh.models import HoverTool

    for tool in plot.select({"type": HoverTool}):
        assert all("safe" not in text for _, text in tool.tooltips)  # Bokeh escapes what is not called safe
