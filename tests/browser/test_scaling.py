"""Does a cell that asks about several GPUs show its curve, and does the link change it?"""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.accessible import serious_faults
from tests.browser.lab import LabPage, LabServer
from tests.browser.predicted import live_notebook


@pytest.fixture
def scaling(lab: LabPage, lab_server: LabServer) -> Locator:
    """The panel's section of several GPUs, once the cell's prediction is worked out."""
    path = live_notebook(lab_server, "scaling.ipynb", options="--on A100 SXM4 80GB --counts 1,2,4,8 --link nvlink")
    lab.open_notebook(path)
    panel = lab.show_panel()
    lab.run_all_cells()
    found = panel.locator("[data-section=scaling]")
    expect(found).to_be_visible(timeout=120_000)
    return found


def test_the_curve_is_there_and_changes_with_link_and_count(lab: LabPage, scaling: Locator):
    step, title = scaling.locator(".jp-SurferWhatIf-step"), scaling.locator(".jp-SurferWhatIf-head")
    expect(title).to_contain_text("NVLink")
    fast = step.inner_text()
    link = scaling.get_by_label("Connected by")
    expect(link.locator("option")).to_have_count(2)
    link.select_option(index=1)
    expect(title).to_contain_text("PCIe")
    expect(step).not_to_have_text(fast)
    eight = step.inner_text()
    scaling.get_by_label("GPUs", exact=True).select_option("1")
    expect(step).not_to_have_text(eight)
    figure = scaling.locator(".jp-SurferFigure")
    figure.scroll_into_view_if_needed()
    figure.locator("canvas").first.wait_for()
    figure.get_by_role("button", name="As a table").click()
    expect(figure.locator("tbody tr")).to_have_count(4)
    # below the cell as well
    expect(lab.outputs().locator("[data-section=scaling]")).to_be_visible()
    assert serious_faults(lab.page, "#surfer-lab-panel [data-section=scaling]") == []
