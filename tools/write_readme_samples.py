"""Write the README's samples of output from the commands that it names, so that none is typed by hand.

    python -m tools.write_readme_samples [--check]

A sample stands between `<!-- sample NAME -->` and `<!-- end of sample -->`: the command, and the lines of its answer
that the README has room for.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from surfer_lab.report.example import example_trace
from surfer_lab.report.prediction import predict
from surfer_lab.report.text import text_of
from surfer_lab.workloads.prediction import predict_model

__all__ = ["README", "SAMPLES", "readme_with_samples"]

README: Final = Path(__file__).parents[1] / "README.md"
WIDTH: Final = 96  # what a code block on a repository's page shows without scrolling, indentation left out
INDENT: Final = "    "
EXAMPLE_GPUS: Final = ["RTX 4090", "L4", "A100 SXM4 80GB", "H100 SXM5"]
MODEL_GPUS: Final = ["RTX 3090", "L4", "H100 SXM5"]
SHOWN_ALTERNATIVES: Final = ("what if", "> as run", "  as run, compiled", "  AMP bf16  ", "  AMP bf16, compiled")


def _blocks(text: str) -> list[str]:
    return text.split("\n\n")


def example() -> str:
    """The bundled example: its sentences and its table of GPUs."""
    blocks = _blocks(text_of(predict(example_trace(), on=EXAMPLE_GPUS).view, width=WIDTH))
    table = next(block for block in blocks if block.startswith("GPU "))
    left_out = "(then: what other precisions and compiling would give, the costliest operations, how it was predicted)"
    command = f'$ surfer predict --example --on "{",".join(EXAMPLE_GPUS)}"'
    return "\n\n".join([command, blocks[1], table, left_out])


def model() -> str:
    """A model that is not run: memory, batch size, and what precision and compiling would give."""
    answer = predict_model("surfer_lab.workloads:resnet50", on=MODEL_GPUS, batch_size=64)
    blocks = _blocks(text_of(answer.view, width=WIDTH))
    sentences = re.split(r"\n(?=\S)", blocks[1])
    said = [sentence for sentence in sentences if sentence.startswith(("Memory", "Batch size"))]
    table = next(block for block in blocks if "what if" in block).splitlines()
    rows = [line for line in table if line.startswith(SHOWN_ALTERNATIVES)]
    command = f'$ surfer predict-model surfer_lab.workloads:resnet50 --batch-size 64 --on "{",".join(MODEL_GPUS)}"'
    return "\n\n".join([command, "\n".join(said), "\n".join(rows)])


SAMPLES: Final[Mapping[str, Callable[[], str]]] = {"example": example, "model": model}


def readme_with_samples(text: str, samples: Mapping[str, Callable[[], str]] = SAMPLES) -> str:
    """The README with these samples replaced. ValueError where it has no place for one."""
    for name, made in samples.items():
        begin, end = f"<!-- sample {name} -->", "<!-- end of sample -->"
        before, mark, rest = text.partition(begin)
        _, closing, after = rest.partition(end)
        if not mark or not closing:
            raise ValueError(f"the README has no {begin} ... {end}")
        lines = "\n".join(f"{INDENT}{line}".rstrip() for line in made().splitlines())
        text = f"{before}{begin}\n\n{lines}\n\n{end}{after}"
    return text


def main() -> int:
    """Write the README, or say whether it is up to date."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--check", action="store_true")
    asked = words.parse_args()
    text = README.read_text(encoding="utf-8")
    fresh = readme_with_samples(text)
    if asked.check:
        print("README.md: up to date" if fresh == text else "README.md: run python -m tools.write_readme_samples")
        return int(fresh != text)
    README.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
