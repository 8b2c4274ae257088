"""Do an explorer's traits, widgets and outcome say the same, and is what cannot be chosen refused?"""

from __future__ import annotations

from pathlib import Path

import ipywidgets
import msgspec
import pytest
import traitlets

from surfer_lab.errors import OptionError, SurferError
from surfer_lab.panel.explorer import Explorer
from surfer_lab.view.stored import restored
from surfer_lab.view.stored_model import StoredView
from tests.view.views import view

DEMO = Path(__file__).resolve().parents[2] / "src" / "demo" / "resnet50.json"


@pytest.fixture(scope="module")
def resnet():
    return restored(msgspec.json.decode(DEMO.read_bytes(), type=StoredView))


def widgets_of(box, kind):
    return [one for one in box.controls if isinstance(one, kind)]


def test_it_starts_at_what_was_asked_about(resnet):
    box = Explorer(resnet)
    row = next(row for row in resnet.rows if row.gpu == resnet.focus)
    assert (box.gpu, box.batch_size, box.precision, box.compile) == (resnet.focus, 32, "as-run", "off")
    assert box.outcome.step_ms == row.step.value
    assert box.usd_per_hour == row.usd_per_hour.value
    assert row.step.text in box.children[-2].value


def test_each_trait_changes_the_outcome_and_tells_observers(resnet):
    box, seen = Explorer(resnet), []
    box.observe(lambda change: seen.append(change.new), "outcome")
    box.gpu = "L4"
    box.batch_size = 128
    box.precision = "amp"
    box.compile = "default"
    box.usd_per_hour = 123.0
    assert len({(one.gpu, one.step_ms, one.usd_per_hour) for one in seen}) >= 5
    last = seen[-1]
    assert (last.gpu, last.batch_size, last.usd_per_hour) == ("L4", 128, 123.0)
    assert last.usd_per_1000_steps == pytest.approx(123.0 * last.step_ms / 3_600)
    assert last.samples_per_s == pytest.approx(128_000 / last.step_ms)


def test_a_widget_moves_its_trait_and_a_trait_its_widget(resnet):
    box = Explorer(resnet)
    gpu = widgets_of(box, ipywidgets.Dropdown)[0]
    batch = widgets_of(box, ipywidgets.SelectionSlider)[0]
    price = widgets_of(box, ipywidgets.FloatText)[0]
    gpu.value, batch.value, price.value = "L4", 64, 0.5
    assert (box.gpu, box.batch_size, box.usd_per_hour) == ("L4", 64, 0.5)
    box.gpu = "A30"
    assert gpu.value == "A30"
    assert price.value == pytest.approx(box.usd_per_hour)  # the listed price again


def test_figures_are_drawn_anew_and_need_nothing_loaded(resnet):
    box = Explorer(resnet)
    before = {name: figure.value for name, figure in box.figures.items()}
    assert all("<svg" in text and "<script" not in text for text in before.values())
    box.precision = "amp"
    assert all(figure.value != before[name] for name, figure in box.figures.items())


def test_bokeh_figures_keep_their_models_and_change_their_data(resnet):
    pytest.importorskip("jupyter_bokeh")
    box = Explorer(resnet, figures="bokeh")
    figure = box.figures["step_range"]
    bars = next(one for one in figure._model.references() if one.name == "bars")
    before = list(bars.data["value"])
    box.precision = "amp"
    assert bars.data["value"] != before
    assert bars is next(one for one in figure._model.references() if one.name == "bars")


@pytest.mark.parametrize(
    ("trait", "value"),
    [("gpu", "H900"), ("batch_size", 33), ("precision", "int3"), ("compile", "max"), ("usd_per_hour", -1.0)],
)
def test_what_is_not_in_the_view_is_refused_and_changes_nothing(resnet, trait, value):
    box = Explorer(resnet)
    before = box.outcome
    with pytest.raises((SurferError, traitlets.TraitError)):
        setattr(box, trait, value)
    assert box.outcome == before


def test_without_a_grid_gpu_and_price_are_left_to_choose():
    box = Explorer(view())
    assert [type(one).__name__ for one in box.controls] == ["Dropdown", "FloatText"]
    box.gpu = "Cheap 24GB"
    assert box.outcome.step_ms == pytest.approx(130.0)


def test_a_view_without_gpus_is_refused(resnet):
    with pytest.raises(OptionError, match="nothing to choose"):
        Explorer(msgspec.structs.replace(resnet, rows=[]))


def test_names_are_text_in_its_figures(resnet):
    hostile = '<img src=x onerror="alert(1)">'
    rows = [
        msgspec.structs.replace(row, gpu=hostile if not place else row.gpu) for place, row in enumerate(resnet.rows)
    ]
    box = Explorer(msgspec.structs.replace(resnet, rows=rows, focus=hostile, shortlist=[hostile, rows[1].gpu]))
    shown = [box.children[-2].value, *(figure.value for figure in box.figures.values())]
    assert not any("<img" in text for text in shown)
