"""What does Surfer Lab answer on the bundled examples? `make run`: headless, no GPU needed.

Predicts the bundled recording with the `surfer` command, then executes examples/quickstart.ipynb in a kernel of this
environment and prints what its cells answered as text. Leaves below --out: the reports of both, the executed notebook.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT: Final = Path(__file__).resolve().parents[1]
NOTEBOOK: Final = ROOT / "examples" / "quickstart.ipynb"
CELL_LIMIT_S: Final = 600
COLOUR_CODE: Final = re.compile(r"\x1b\[[0-9;]*m")


def predict_recording(out: Path) -> int:
    """Exit status of `surfer predict --example`, which prints its answer and writes a report."""
    surfer = Path(sys.executable).with_name("surfer")
    command = ["predict", "--example", "--html", f"{out.name}/recording.html"]
    print(f"$ surfer {' '.join(command)}", flush=True)
    return subprocess.run([surfer, *command], cwd=out.parent, check=False).returncode


def answers(notebook: nbformat.NotebookNode) -> list[str]:
    """The text of every output of the notebook, in order."""
    texts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            text = output.get("text") if output.output_type == "stream" else output.get("data", {}).get("text/plain")
            if text:
                texts.append(str(text).rstrip())
    return texts


def main() -> int:
    """Run, print, write; 1 when a cell failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "out", help="folder of what is written")
    out: Path = parser.parse_args().out.resolve()
    out.mkdir(parents=True, exist_ok=True)

    began = time.monotonic()
    if predict_recording(out):
        return 1
    print(f"\n$ jupyter execute {NOTEBOOK.relative_to(ROOT)}", flush=True)
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=CELL_LIMIT_S,
        resources={"metadata": {"path": str(out)}},
        extra_arguments=["--log-level=ERROR"],
    )
    try:
        client.execute()
    except CellExecutionError as failure:
        print(COLOUR_CODE.sub("", str(failure)), file=sys.stderr)
        return 1
    finally:
        nbformat.write(notebook, out / NOTEBOOK.name)
    print("\n\n".join(answers(notebook)))
    written = ", ".join(sorted(path.name for path in out.iterdir() if path.suffix in {".html", ".ipynb", ".md"}))
    print(f"\nBoth took {time.monotonic() - began:.0f} s. Written to {out.name}/: {written}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
