"""Does the panel follow a notebook through its life, and do its numbers, sliders, filters and figures work?"""

from __future__ import annotations

import contextlib
import re
from contextlib import AbstractContextManager

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.accessible import serious_faults
from tests.browser.lab import LabPage, LabServer
from tests.browser.predicted import demo_view, live_notebook, saved_notebook
from tests.trace.written import Written

KERNEL = "window.jupyterapp.shell.currentWidget.sessionContext"
# what is painted in the figures of a section; Bokeh's canvases lie in shadow trees
PIXELS = """section => {
    const within = root => [...root.querySelectorAll('*')].flatMap(
        one => [one, ...(one.shadowRoot ? within(one.shadowRoot) : [])]);
    return within(section).filter(one => one instanceof HTMLCanvasElement).map(one => one.toDataURL()).join();
}"""


def section(panel: Locator, name: str) -> Locator:
    return panel.locator(f"[data-section={name}]")


def opened(panel: Locator, name: str) -> Locator:
    found = section(panel, name)
    if found.get_attribute("open") is None:
        found.locator("> summary").click()
    return found


def written(lab: LabPage) -> AbstractContextManager[object]:
    """Within it, our settings are written to the server."""
    return lab.page.expect_response(
        lambda answer: answer.request.method == "PUT" and "settings/surfer-lab:plugin" in answer.url
    )


def gpu_names(panel: Locator) -> list[str]:
    return panel.locator(".jp-SurferGpus-row .jp-SurferGpus-name").all_inner_texts()


@pytest.fixture(scope="module")
def saved(lab_server: LabServer) -> str:
    second = demo_view("does_not_fit")
    return saved_notebook(lab_server, "two predictions.ipynb", demo_view(), second)


@pytest.fixture
def panel(lab: LabPage, saved: str) -> Locator:
    """The panel on a saved notebook without a kernel, its newest prediction shown."""
    lab.open_without_kernel(saved)
    shown = lab.show_panel()
    shown.locator(".jp-SurferGpus-row").first.wait_for()
    return shown


def test_without_a_notebook_it_says_what_to_do(lab: LabPage):
    panel = lab.show_panel()
    expect(panel.locator(".jp-SurferState")).to_have_attribute("data-state", "no-notebook")
    expect(panel.get_by_role("button", name="Open an example")).to_be_visible()


def test_it_shows_the_numbers_of_the_cell(panel: Locator, lab: LabPage):
    panel.get_by_label("Prediction", exact=True).select_option(index=1)
    cell = lab.outputs().first
    for part in (".jp-SurferSummary-sentence", ".jp-SurferWhatIf-step", ".jp-SurferGpus-row td.jp-SurferGpus-step"):
        texts = cell.locator(part).all_inner_texts()
        assert texts
        expect(panel.locator(part)).to_have_text(texts, use_inner_text=True)


@pytest.mark.parametrize("control", ["Batch size", "On", "Precision", "torch.compile"])
def test_each_control_changes_the_outcome_and_the_figure(panel: Locator, control: str):
    what_if = section(panel, "what-if")
    figure = what_if.locator(".jp-SurferFigure")
    figure.scroll_into_view_if_needed()
    figure.locator("canvas").first.wait_for()
    outcome = what_if.locator(".jp-SurferWhatIf-outcome")
    before, drawn = outcome.inner_text(), what_if.evaluate(PIXELS)
    assert drawn
    field = what_if.get_by_label(control, exact=True)
    if control == "torch.compile":
        field.check()
    elif control == "Batch size":
        field.press("ArrowLeft")
    else:
        field.select_option(index=3 if control == "On" else 1)
    expect(outcome).not_to_have_text(before, use_inner_text=True)
    figure.scroll_into_view_if_needed()  # what cannot be seen is not redrawn
    figure.page.wait_for_function(
        f"([section, drawn]) => ({PIXELS})(section) !== drawn", arg=[what_if.element_handle(), drawn]
    )


def test_the_price_slider_tries_a_price_and_a_kept_one_is_there_after_a_reload(
    panel: Locator, lab: LabPage, saved: str
):
    gpus = section(panel, "gpus")
    cost = gpus.locator(".jp-SurferGpus-row.jp-mod-selected td.jp-SurferGpus-cost")
    pricing = gpus.locator(".jp-SurferGpus-pricing")
    before = cost.inner_text()
    gpus.get_by_role("slider", name="Price of an hour").press("End")
    expect(cost).not_to_have_text(before, use_inner_text=True)
    expect(pricing).to_contain_text("a price that you try")
    gpus.get_by_role("button", name="Use the listed price").click()
    expect(cost).to_have_text(before, use_inner_text=True)
    gpus.get_by_role("slider", name="Price of an hour").press("End")
    with written(lab):
        gpus.get_by_role("button", name="Keep as my price").click()
    expect(pricing).to_contain_text("your own price")
    kept = cost.inner_text()
    lab.open()
    lab.open_without_kernel(saved)
    panel = lab.show_panel()
    expect(cost).to_have_text(kept, use_inner_text=True)
    expect(pricing).to_contain_text("your own price")
    with written(lab):
        gpus.get_by_role("button", name="Use the listed price").click()
    expect(cost).to_have_text(before, use_inner_text=True)


def test_gpus_are_filtered_sorted_and_pinned(lab: LabPage, panel: Locator):
    gpus = section(panel, "gpus")
    everything = gpu_names(panel)
    rows = panel.locator(".jp-SurferGpus-row .jp-SurferGpus-name")  # drawn behind the answer, a piece at a time
    gpus.get_by_role("searchbox").fill("ada >=24 GB")
    expect(rows).not_to_have_count(len(everything))
    found = gpu_names(panel)
    assert found
    assert set(found) <= {"L4", "L40", "L40S", "RTX 4090", "RTX 6000 Ada"} | {name for name in found if "Ada" in name}
    gpus.get_by_role("searchbox").fill("")
    heading = gpus.locator("th.jp-SurferGpus-gpu").first
    expect(rows).to_have_count(len(everything))
    heading.get_by_role("button").click()
    expect(rows).not_to_have_text(everything)
    expect(heading).to_have_attribute("aria-sort", "ascending")
    with written(lab):
        gpus.get_by_role("button", name="Pin T4", exact=True).click()
    expect(rows.first).to_have_text("T4")
    with written(lab):
        gpus.get_by_role("button", name="Pin T4", exact=True).click()
    expect(rows.first).not_to_have_text("T4")


def test_every_figure_has_its_table(panel: Locator):
    for name in ("gpus", "what-if", "operations", "timeline"):
        for figure in opened(panel, name).locator(".jp-SurferFigure:visible").all():
            figure.get_by_role("button", name="As a table").click()
            assert figure.locator("tbody tr").count() > 0


def test_two_predictions_stand_side_by_side(panel: Locator):
    panel.get_by_label("Compare with").select_option(index=1)
    rows = section(panel, "compare").locator("tbody tr")
    expect(rows).to_have_count(len(demo_view()["rows"]["gpu"]))


def test_axe_finds_no_serious_fault(panel: Locator, lab: LabPage):
    for name in ("operations", "timeline"):
        opened(panel, name)
    assert serious_faults(lab.page, "#surfer-lab-panel") == []


@pytest.mark.parametrize("theme", ["JupyterLab Dark", "JupyterLab Dark High Contrast"])
def test_text_stands_out_in_other_themes(panel: Locator, lab: LabPage, theme: str):
    lab.run_command("apputils:change-theme", {"theme": theme})
    lab.page.wait_for_function("name => document.body.dataset.jpThemeName === name", arg=theme)
    assert serious_faults(lab.page, "#surfer-lab-panel") == []


def test_all_is_reached_by_keyboard_alone(panel: Locator, lab: LabPage):
    focused = "(document.activeElement?.getAttribute('aria-label') || document.activeElement?.textContent || '').trim()"
    panel.get_by_role("button", name="Open a trace file").focus()
    seen: list[str] = []
    for _ in range(60):
        lab.page.keyboard.press("Tab")
        is_inside = "document.activeElement?.closest('#surfer-lab-panel') !== null"
        if not lab.page.evaluate(is_inside):
            break
        seen.append(lab.page.evaluate(focused))
        if seen[-1].startswith("Pin "):
            break
    reached = "\n".join(seen)
    for name in ("Settings", "Summary", "GPUs", "Filter GPUs", "Table of GPUs", "Step", "Pin "):
        assert name in reached, f"{name} is not reached by Tab:\n{reached}"
    # a row is chosen, a slider moved, a section opened with keys only
    row = panel.locator(".jp-SurferGpus-row").nth(2)
    row.locator(".jp-SurferGpus-name").press("Enter")
    expect(row).to_have_class(re.compile("jp-mod-selected"))
    section(panel, "operations").locator("> summary").press("Enter")
    expect(section(panel, "operations").locator(".jp-SurferVirtual-row").first).to_be_visible()


def test_a_narrow_sidebar_shows_each_gpus_time_and_cost(panel: Locator):
    assert panel.bounding_box()["width"] <= 340, "a sidebar is as narrow as JupyterLab makes it"
    cut_off = """panel => {
        const seen = panel.querySelector('.jp-SurferGpus-scroll');
        const end = seen.getBoundingClientRect().left + seen.clientLeft + seen.clientWidth;
        return [...seen.querySelectorAll('.jp-SurferGpus-cost, .jp-SurferGpus-step')]
            .filter(cell => {
                const text = document.createRange();
                text.selectNodeContents(cell);
                return text.getBoundingClientRect().right > end + 0.5;
            })
            .map(cell => cell.textContent);
    }"""
    assert panel.evaluate(cut_off) == []


def test_a_click_on_a_module_lists_its_operations(panel: Locator):
    panel.get_by_label("Prediction", exact=True).select_option(index=1)
    operations = opened(panel, "operations")
    figure = operations.locator(".jp-SurferFigure", has_text="GPU time by module")
    figure.scroll_into_view_if_needed()
    canvas = figure.locator("canvas").first
    canvas.wait_for()
    figure.locator(".jp-mod-waiting").wait_for(state="detached")
    find = operations.get_by_role("searchbox", name="Find an operation")
    counted = operations.locator(".jp-SurferOperations-count")
    before = counted.inner_text()
    for _ in range(5):  # until the figure listens, and the page around it has come to rest
        area = canvas.bounding_box()
        # the second level from the top, at its left: the first module
        canvas.page.mouse.click(area["x"] + 12, area["y"] + 52)
        with contextlib.suppress(AssertionError):
            expect(find).not_to_have_value("", timeout=2_000)
            break
    expect(find).not_to_have_value("")
    expect(counted).not_to_have_text(before)


def test_nothing_is_cut_off_at_any_width(lab: LabPage, saved: str):
    lab.open_without_kernel(saved)
    lab.run_command("surfer-lab:open-panel-as-tab")
    tab = lab.page.locator(".jp-MainAreaWidget .jp-SurferPanel")
    tab.locator(".jp-SurferGpus-row").first.wait_for()
    for width in (700, 1280, 1800):
        lab.page.set_viewport_size({"width": width, "height": 900})
        # figures take their new width a moment after the window has its own
        lab.page.wait_for_function("node => node.scrollWidth <= node.clientWidth", arg=tab.element_handle())


def test_it_follows_a_notebook_through_busy_restart_and_death(lab: LabPage, lab_server: LabServer):
    panel = lab.show_panel()
    lab.open_notebook(live_notebook(lab_server, "life.ipynb"))
    expect(panel.locator(".jp-SurferState")).to_have_attribute("data-state", "unloaded")
    lab.run_all_cells()
    step = panel.locator(".jp-SurferWhatIf-step")
    expect(step).to_have_text(re.compile(r"\d"), timeout=60_000)
    expect(lab.outputs().locator(".jp-SurferWhatIf-step")).to_have_text(step.inner_text(), use_inner_text=True)
    number = step.inner_text()
    operations = opened(panel, "operations")
    expect(operations.locator(".jp-SurferNote")).to_be_hidden(timeout=60_000)  # the kernel lists all of them
    operations.locator(".jp-SurferVirtual-row button").first.click()
    expect(lab.page.locator(".jp-Notebook .jp-mod-active.jp-CodeCell .cm-editor.cm-focused")).to_be_visible()

    lab.page.evaluate(f"() => {{ {KERNEL}.session.kernel.requestExecute({{code: 'import time; time.sleep(4)'}}); }}")
    notices = panel.locator(".jp-SurferPanel-notices")
    expect(notices).to_contain_text("running a cell")
    other = gpu_names(panel)[5]
    panel.get_by_label("On", exact=True).first.select_option(label=other)
    expect(panel.locator(".jp-SurferWhatIf-setting")).to_contain_text(other)
    expect(notices).not_to_contain_text("running a cell", timeout=30_000)

    lab.page.evaluate(f"() => {KERNEL}.restartKernel().then(() => undefined)")
    expect(step).to_have_text(re.compile(r"\d"))
    lab.page.evaluate(f"() => {KERNEL}.shutdown().then(() => undefined)")
    expect(notices).to_contain_text("No kernel")
    panel.get_by_label("On", exact=True).first.select_option(label=gpu_names(panel)[0])
    assert number


def test_two_notebooks_have_predictions_of_their_own(lab: LabPage, lab_server: LabServer, saved: str):
    lab.open_without_kernel(saved)
    panel = lab.show_panel()
    choices = panel.get_by_label("Prediction", exact=True).locator("option")
    expect(choices).to_have_count(2)
    lab.open_without_kernel(saved_notebook(lab_server, "third.ipynb", demo_view("profiler_trace")))
    expect(choices).to_have_count(1)
    expect(panel.locator(".jp-SurferPanel-source")).to_have_text("third.ipynb")
    lab.page.evaluate("() => { window.jupyterapp.shell.currentWidget.dispose(); }")
    expect(choices).to_have_count(2)


def test_a_double_click_on_a_trace_reads_it_in_a_kernel_of_its_own(lab: LabPage, lab_server: LabServer):
    path = lab_server.root / "step.pt.trace.json.gz"
    path.write_bytes(Written().steps(3).gzipped())
    lab.page.evaluate("() => window.jupyterapp.commands.execute('filebrowser:refresh')")
    lab.page.locator(".jp-DirListing-item", has_text=path.name).dblclick()
    tab = lab.page.locator(".jp-Document .jp-SurferPanel, .jp-MainAreaWidget .jp-SurferPanel")
    expect(tab.locator(".jp-SurferWhatIf-step")).to_have_text(re.compile(r"\d"), timeout=90_000)
    running = """async () => {
        const { sessions } = window.jupyterapp.serviceManager;
        await sessions.refreshRunning();
        return [...sessions.running()].filter(session => session.type === 'surfer-trace').length;
    }"""
    assert lab.page.evaluate(running) == 1
    lab.run_command("application:close")
    for _ in range(60):  # wait_for_function does not wait for a promise's value
        if lab.page.evaluate(running) == 0:
            break
        lab.page.wait_for_timeout(250)
    assert lab.page.evaluate(running) == 0


def test_what_is_no_trace_fails_with_what_to_do(lab: LabPage, lab_server: LabServer):
    path = lab_server.root / "broken.pt.trace.json"
    path.write_text("[1, 2", encoding="utf-8")
    lab.run_command("surfer-lab:open-trace", {"path": path.name})
    state = lab.page.locator(".jp-MainAreaWidget .jp-SurferState")
    expect(state).to_have_attribute("data-state", "failed", timeout=90_000)
    expect(state).to_contain_text("What to do")
    expect(state.get_by_role("button", name="Copy details")).to_be_visible()
