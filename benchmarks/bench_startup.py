"""What does `import surfer_lab` add to starting Python?"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from benchmarks.figure import Figure, best_of_s


def python_s(statement: str) -> float:
    """Wall time in seconds of a fresh interpreter that runs `statement`, the best of ten."""
    return best_of_s(lambda: subprocess.run([sys.executable, "-c", statement], check=True), repeats=10)


def figures() -> Iterator[Figure]:
    """The added time; its peer is what torch, which the package is used with, takes to import."""
    bare_s = python_s("pass")
    yield Figure(
        name="import surfer_lab, over bare python",
        measured=python_s("import surfer_lab") - bare_s,
        unit="s",
        target=0.15,
        peer_name="import torch",
        peer=best_of_s(lambda: subprocess.run([sys.executable, "-c", "import torch"], check=True, capture_output=True))
        - bare_s,
    )
