"""Which notebooks do the browser tests open? One that predicts a small loop, one that holds a recorded prediction."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat

from tests.browser.lab import LabServer

MIME_TYPE = "application/vnd.surfer-lab.prediction+json"
DEMO = Path(__file__).parents[2] / "src" / "demo"

TRAINING_LOOP = """\
%%predict
import torch
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(torch.randn(32, 64)), torch.randint(10, (32,)))
    loss.backward()
    optimizer.step()
"""


def live_notebook(server: LabServer, name: str, *, options: str = "") -> str:
    """A notebook that predicts a small training loop when it is run, asked with these options."""
    loop = TRAINING_LOOP.replace("%%predict", f"%%predict {options}".rstrip(), 1)
    return server.add_notebook(
        name, [nbformat.v4.new_code_cell("%load_ext surfer_lab"), nbformat.v4.new_code_cell(loop)]
    )


def demo_view(name: str = "resnet50") -> dict[str, Any]:
    """A prediction as a kernel sent it."""
    view: dict[str, Any] = json.loads((DEMO / f"{name}.json").read_text(encoding="utf-8"))
    return view


def saved_notebook(server: LabServer, name: str, *views: dict[str, Any]) -> str:
    """A notebook whose cells were predicted by somebody else, another day."""
    cells = [
        nbformat.v4.new_code_cell(
            f"%%predict\nstep({index})",
            execution_count=index,
            outputs=[nbformat.v4.new_output("display_data", data={MIME_TYPE: view, "text/html": "html twin"})],
        )
        for index, view in enumerate(views, start=1)
    ]
    return server.add_notebook(name, cells)
