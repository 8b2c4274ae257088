"""Which predictions does the front end show with no kernel? Real ones, stored as they are in a notebook.

    python -m tools.write_demo [--traces FOLDER]     write src/demo/*.json

A ResNet-50 step captured without a GPU (the bundled recording's model, at any batch), a profiler's recording of a small
network on a GPU (FOLDER, where public traces lie; left as it is without), and a step that fits on no GPU.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Final

import msgspec

from surfer_lab.report.prediction import Prediction, predict
from surfer_lab.view.detail_model import Provenance
from surfer_lab.view.stored import stored
from surfer_lab.workloads.prediction import predict_model

ROOT: Final = Path(__file__).resolve().parents[1]
DEMO_FOLDER: Final = ROOT / "src" / "demo"
_TRACE: Final = "param_2080ti_resnet.json.gz"


def demo_text(prediction: Prediction, *, name: str) -> str:
    """The stored view, its grid with it, without what differs from run to run."""
    view = msgspec.structs.replace(
        prediction.view_with_grid,
        provenance=Provenance(id=f"demo-{name}", made_at="2025-01-01T12:00:00+00:00", source="model"),
    )
    return json.dumps(msgspec.to_builtins(stored(view)), indent=1, ensure_ascii=False) + "\n"


def main(arguments: list[str]) -> int:
    """Write the files and name them."""
    parser = argparse.ArgumentParser(prog="python -m tools.write_demo")
    parser.add_argument("--traces", type=Path)
    traces = parser.parse_args(arguments).traces
    made = {
        "resnet50": predict_model(
            "surfer_lab.workloads:resnet50", batch_size=32, dataset_size=1_281_167, name="ResNet-50"
        ),
        "does_not_fit": predict_model("surfer_lab.workloads:gpt2", batch_size=4096, name="GPT-2"),
    }
    if traces is not None:
        made["profiler_trace"] = predict(traces / _TRACE, name="profiler trace")
    DEMO_FOLDER.mkdir(parents=True, exist_ok=True)
    for name, prediction in made.items():
        (DEMO_FOLDER / f"{name}.json").write_text(demo_text(prediction, name=name), encoding="utf-8")
        print(f"src/demo/{name}.json")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
