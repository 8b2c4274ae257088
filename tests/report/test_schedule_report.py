"""Is a schedule shown whole in every form, drawn to scale, and can no name of a job become markup?"""

from __future__ import annotations

import html
import json
import re
from itertools import pairwise

import pytest

from surfer_lab.errors import OptionError
from surfer_lab.planner.schedule import Mode, Objective, plan_jobs
from surfer_lab.report.gantt_svg import gantt_svg, gantt_text, hour_ticks
from surfer_lab.report.schedule_report import (
    schedule_html,
    schedule_json,
    schedule_markdown,
    schedule_page,
    schedule_text,
    write_schedule,
)
from surfer_lab.view.schedule_view import schedule_view
from tests.planner.schedule.made_jobs import box, job

pytest.importorskip("ortools")

EVIL = "<script>alert(1)</script> | `x` \u202e"


@pytest.fixture(scope="module")
def view():
    jobs = [job(EVIL, {1: 4, 2: 3}), job("b", {1: 4, 2: 3}), job("c", {1: 1}, deadline=2)]
    return schedule_view(plan_jobs(jobs, box(2), notes=["a note with <i>"]), title="jobs <b>")


def test_the_answer_comes_first_and_then_what_is_saved(view):
    assert view.headline == "3 jobs on 2 GPUs of box: all done after 5 h, $18.00."
    assert view.sentences[0].startswith("Run one after another, each on all GPUs: 7 h, 2 h longer, $26.00")
    assert "c ends after its deadline" in view.sentences[1]
    assert view.sentences[2] == "Proven: with these times no placement is shorter."
    assert [chart.title for chart in view.charts] == [
        "Best placement", "One after another, each on all GPUs", "Side by side, each on one GPU",
    ]  # fmt: skip
    assert view.comparison.rows[0] == ["Best placement", "5 h", "9.00", "90 %", "$18.00", "$20.00"]


def test_every_bar_lies_on_its_lanes_at_its_hours(view):
    for chart in view.charts:
        taken: dict[int, list[tuple[float, float]]] = {}
        for bar in chart.bars:
            assert len(bar.lanes) == bar.gpus
            for lane in bar.lanes:
                taken.setdefault(lane, []).append((bar.start_h, bar.end_h))
        for spans in taken.values():
            ordered = sorted(spans)
            assert all(first[1] <= second[0] for first, second in pairwise(ordered))
        assert len(chart.table.rows) == len(chart.bars) == 3


def test_no_name_becomes_markup(view):
    for text in (schedule_html(view), schedule_page(view), gantt_svg(view.charts[0], view.span_h)):
        assert "<script" not in text
        assert "&lt;script&gt;" in text
        assert "\u202e" not in text
    assert "<b>" not in schedule_page(view).split("</title>")[0]
    written = schedule_markdown(view)
    table = next(line for line in written.splitlines() if line.startswith("| \\<script"))
    assert r"\|" in table
    assert r"\`x\`" in table
    assert "a note with \\<i\\>" in written


def test_a_page_asks_no_network_and_has_a_table_for_each_figure(view):
    page = schedule_page(view, made_on="1 May 2026")
    assert "default-src 'none'" in html.unescape(page)
    assert not re.search(r"(src|href)=", page)
    assert page.count("<svg") == len(view.charts)
    assert page.count("<table>") == len(view.charts) + 1
    assert "1 May 2026" in page


def test_rectangles_are_as_long_as_their_hours(view):
    drawn = gantt_svg(view.charts[0], view.span_h)
    widths = [float(one) + 1.0 for one in re.findall(r"<rect[^>]* width=\"([\d.]+)\"", drawn)]
    hours = [bar.end_h - bar.start_h for bar in view.charts[0].bars]
    assert [width / widths[0] for width in widths] == pytest.approx([one / hours[0] for one in hours], abs=0.01)


def test_a_terminal_shows_each_gpu_with_the_jobs_that_run_there(view):
    lines = gantt_text(view.charts[0], view.span_h, width=76)
    assert len(lines) == 3
    assert all(len(line) <= 80 for line in lines)
    assert set(lines[0].split("  ", 1)[1].strip()) | set(lines[1].split("  ", 1)[1].strip()) == {"1", "2", "3", "·"}
    text = schedule_text(view, width=76)
    assert "3 c" in text
    assert "Side by side" in text


def test_json_has_all_numbers(view):
    found = json.loads(schedule_json(view))
    assert found["charts"][0]["makespan_h"] == 5.0
    assert found["is_proven"] is True
    assert found["bound"] == 5.0


def test_files_follow_their_ending(view, tmp_path):
    for name in ("s.html", "s.md", "s.json", "s.txt"):
        assert write_schedule(view, tmp_path / name).stat().st_size > 0
    with pytest.raises(OptionError, match="ends in"):
        write_schedule(view, tmp_path / "s.doc")
    with pytest.raises(OptionError, match="cannot be written"):
        write_schedule(view, tmp_path / "nowhere" / "s.html")


def test_ranges_and_deadlines_at_their_far_end_are_said():
    modes = (Mode(machine="box", gpu_count=1, duration_s=3600.0, low_s=3000.0, high_s=7200.0),)
    uncertain = type(job("a", {1: 1}))(name="a", modes=modes, deadline_s=5400.0)
    said = schedule_view(plan_jobs([uncertain], box(1))).sentences
    assert said[-2] == "In this order, with the ranges of the predicted times: 50 min to 2 h."
    assert said[-1] == "At the far end of the ranges a would miss the deadline."


def test_a_search_cut_short_says_how_much_better_it_could_be():
    jobs = [job(f"job {at}", {1: 7 + at * 0.37, 2: 4 + at * 0.21, 4: 2.3 + at * 0.13, 8: 1.9}) for at in range(24)]
    said = schedule_view(plan_jobs(jobs, box(8), time_limit_s=0.05)).sentences[2]
    assert re.match(r"Best so far \(the search ended after 0.05 s\): at most \d+ % shorter is possible", said)


def test_of_the_cheapest_schedule_it_is_said_that_none_is_cheaper():
    view = schedule_view(plan_jobs([job("a", {1: 4, 2: 3})], box(2), objective=Objective.COST))
    assert "Proven: with these times no placement is cheaper." in view.sentences
    assert view.bound == pytest.approx(8.0, abs=1e-3)


def test_ticks_are_round_and_few():
    for span in (0.003, 0.7, 1.0, 9.0, 31.3, 250.0):
        ticks = hour_ticks(span)
        assert 4 <= len(ticks) <= 11
        assert ticks[0] == 0
        assert ticks[-1] <= span
    assert hour_ticks(0.0) == [0]
