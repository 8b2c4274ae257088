"""A prediction over several GPUs: words that ask, the frame, and the same rows in text, Markdown and HTML."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from surfer_lab.errors import OptionError, PredictionError, UnknownGpuError
from surfer_lab.hardware.machines import load_machines
from surfer_lab.planner.options import parse_predict_line
from surfer_lab.report.block import html_block
from surfer_lab.report.example import example_trace
from surfer_lab.report.markdown import markdown_of
from surfer_lab.report.prediction import Prediction, predict
from surfer_lab.report.scaled import scaled
from surfer_lab.report.text import text_of
from surfer_lab.view.bokeh_figures import FIGURES, TOKENS, sources_of
from surfer_lab.view.figure_data import figure_data
from surfer_lab.view.scaling_view import scaling_view
from surfer_lab.view.selection import Choosing
from surfer_lab.view.stored import restored, stored
from surfer_lab.workloads.prediction import predict_factory


@pytest.fixture(scope="module")
def prediction() -> Prediction:
    options = parse_predict_line(
        "--on A100 SXM4 80GB --batch-size 32 --counts 1,2,8 --machine DGX A100 --price a100 sxm4 80gb=2"
    )
    return predict_factory("surfer_lab.workloads:lenet", options)


def test_words_give_the_curve_and_nothing_without_them(prediction):
    shown = prediction.view.scaling
    assert shown is not None
    assert [row.gpus for row in shown.rows] == [1, 2, 8]
    assert shown.machine == "DGX A100"
    assert all(row.usd_per_1000_steps is not None for row in shown.rows)
    plain = predict_factory("surfer_lab.workloads:lenet", parse_predict_line("--on L4 --batch-size 32"))
    assert plain.view.scaling is None


def test_the_same_rows_are_in_text_markdown_and_html(prediction):
    view = prediction.view
    texts = (text_of(view, width=200), markdown_of(view).replace("\\", ""), html_block(view))
    for row in view.scaling.table:
        for text in texts:
            assert row[1] in text
            assert row[4] in text


def test_a_stored_view_keeps_the_curves(prediction):
    kept = restored(stored(prediction.view))
    assert kept.scaling == prediction.view.scaling
    assert kept.scaling_links == prediction.view.scaling_links


def test_the_same_counts_stand_beside_it_with_other_links_once_each(prediction):
    view = prediction.view
    links = [view.scaling.link, *(other.link for other in view.scaling_links)]
    assert len(set(links)) == len(links) > 1
    for other in view.scaling_links:
        assert [row.gpus for row in other.rows] == [row.gpus for row in view.scaling.rows]
        assert other.rows[0].step_ms == view.scaling.rows[0].step_ms  # one GPU talks to nobody
        assert other.timeline == []
    slow = next(other for other in view.scaling_links if "PCIe" in other.link)
    assert slow.rows[-1].exposed_ms > view.scaling.rows[-1].exposed_ms


def test_the_figure_says_what_the_rows_say(prediction):
    data = figure_data("scaling", Choosing(prediction.view), 0)
    bars = data.sources["bars"]
    assert list(data.factors) == bars["gpus"] == ["1", "2", "8"]
    assert bars["ideal"] == [1, 2, 8]
    assert all(reached <= ideal for reached, ideal in zip(bars["speedup"], bars["ideal"], strict=True))
    exposed = [step - compute for step, compute in zip(bars["step"], bars["compute"], strict=True)]
    in_unit = bars["step"][0] / prediction.view.scaling.rows[0].step_ms
    # the view's numbers have six digits
    assert exposed == pytest.approx([row.exposed_ms * in_unit for row in prediction.view.scaling.rows], rel=1e-4)
    wanted = sources_of(FIGURES["scaling"](TOKENS))
    assert {name: set(columns) for name, columns in data.sources.items()} == {
        name: set(columns) for name, columns in wanted.items()
    }


def test_a_machines_name_is_no_markup(prediction):
    machine = replace(load_machines().find("DGX A100"), name="<b>DGX</b> | `x`")
    focus = prediction.on("A100 SXM4 80GB").gpu
    import msgspec

    view = msgspec.structs.replace(prediction.view, scaling=scaling_view(scaled(prediction, focus, machine=machine)))
    assert "<b>DGX</b>" not in html_block(view)
    assert "<b>DGX</b>" not in markdown_of(view)


def test_the_frame_has_raw_numbers_and_takes_other_machines(prediction, tmp_path: Path):
    frame = prediction.scale(counts=(1, 4), link="pcie")
    assert list(frame.index) == [1, 4]
    assert frame.loc[4, "efficiency"] < prediction.scale(counts=(4,)).loc[4, "efficiency"]
    strong = prediction.scale(counts=(1, 4), fixed="global")
    assert set(strong["batch_size"]) == {32}
    row = tmp_path / "box.toml"
    row.write_text('name = "my box"\ngpu = "A100 SXM4 80GB"\ngpus_per_node = 2\nlinks = ["PCIe 4 switch"]\n')
    assert prediction.scale(machine=row).attrs["machine"] == "my box"


def test_a_step_known_at_one_batch_is_not_answered_with_a_row_of_one_gpu(prediction):
    recorded = predict(example_trace(), on="A100 SXM4 80GB")
    with pytest.raises(PredictionError, match="at its own batch of 32 only, not at 16") as refused:
        recorded.scale(machine="DGX A100", strategy="ddp", fixed="global")
    assert "--no-run" in str(refused.value)
    assert list(recorded.scale(machine="DGX A100", counts=(1, 2)).index) == [1, 2]
    assert list(recorded.scale(machine="DGX A100", fixed="global", counts=(1,)).index) == [1]


def test_what_cannot_be_is_refused_with_a_remedy(prediction):
    with pytest.raises(UnknownGpuError, match="not among the GPUs predicted"):
        prediction.scale(machine="DGX-1")
    with pytest.raises(OptionError, match="no machine"):
        prediction.scale(machine="nothing like it")
    with pytest.raises(OptionError, match="no link"):
        prediction.scale(link="string")
    with pytest.raises(OptionError, match="tensor parallelism"):
        prediction.scale(strategy="tp", counts=(1, 2))
    with pytest.raises(OptionError, match="keep fixed"):
        prediction.scale(fixed="nothing")
    serving = parse_predict_line("--on L4 --batch-size 8")
    inference = predict_factory("surfer_lab.workloads:lenet", serving, inference=True)
    with pytest.raises(PredictionError, match="no gradient"):
        inference.scale()
