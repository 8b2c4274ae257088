"""Take the README's picture: the report of the bundled example, in a browser, as a reader sees it.

python -m tools.take_pictures --out docs/img [--chromium PATH]
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from typing import Final

from playwright.sync_api import sync_playwright

from surfer_lab.report.example import example_trace
from surfer_lab.report.prediction import predict

GPUS: Final = ["RTX 4090", "L4", "A100 SXM4 80GB", "H100 SXM5", "T4", "RTX 3090"]
WIDTH_PX: Final = 980
HEIGHT_PX: Final = 980
BROWSER_ARGUMENTS: Final = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]


def main() -> None:
    """Write report-light.png and report-dark.png."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--out", type=Path, required=True)
    words.add_argument("--chromium", default=os.environ.get("SURFER_LAB_CHROMIUM", "/usr/bin/chromium"))
    asked = words.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder) / "report.html"
        predict(example_trace(), on=GPUS, name="ResNet-50 step").report(page_file)
        browser = playwright.chromium.launch(executable_path=asked.chromium, args=BROWSER_ARGUMENTS)
        for scheme in ("light", "dark"):
            page = browser.new_page(
                viewport={"width": WIDTH_PX, "height": HEIGHT_PX}, color_scheme="light" if scheme == "light" else "dark"
            )
            page.goto(page_file.as_uri())
            page.screenshot(path=asked.out / f"report-{scheme}.png")
        browser.close()


if __name__ == "__main__":
    main()
