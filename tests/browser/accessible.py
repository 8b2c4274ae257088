"""What does axe find in a page? The faults that it calls serious or critical, a line each."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"


def serious_faults(page: Page, within: str = "body") -> list[str]:
    """Rule and place of each; the script is run in the page, nothing is fetched."""
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: `npm ci` brings it, and `make test` runs that")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    return page.evaluate(
        """async within => (await axe.run(within)).violations
            .filter(fault => ["serious", "critical"].includes(fault.impact))
            .flatMap(fault => fault.nodes.map(node => `${fault.id}: ${node.target} ${node.failureSummary}`))""",
        within,
    )
