"""Which figures does the front end draw? Writes their templates, as surfer_lab.view.bokeh_figures builds them.

python -m tools.generate_figures            write src/generated/figures.json
python -m tools.generate_figures --check    1 when it is stale
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from surfer_lab.view.bokeh_figures import template_text

ROOT: Final = Path(__file__).resolve().parents[1]
FIGURES_FILE: Final = ROOT / "src" / "generated" / "figures.json"


def main(arguments: list[str]) -> int:
    """Write the file, or with --check say that it is stale."""
    text = template_text()
    is_stale = not FIGURES_FILE.is_file() or FIGURES_FILE.read_text(encoding="utf-8") != text
    if "--check" in arguments:
        if is_stale:
            print(f"{FIGURES_FILE.relative_to(ROOT)} is stale: run python -m tools.generate_figures")
        return int(is_stale)
    FIGURES_FILE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
