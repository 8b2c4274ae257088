"""Which evaluations can be asked for? `surfer evaluate KIND`: tables on stdout, all cases as JSON."""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from surfer_lab.cli.commands import app
from surfer_lab.cli.terminal import counted, print_line, speaks_plainly
from surfer_lab.errors import OptionError
from surfer_lab.planner.options import near_matches

if TYPE_CHECKING:
    from surfer_lab.training.evaluate.cases import Evaluation

__all__ = ["KINDS", "app", "evaluate"]

DATA_VARIABLE: Final = "SURFER_LAB_DATA"


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One evaluation: where its function is, and which of the command's words it takes."""

    module: str
    function: str
    takes: tuple[str, ...]
    needs_data: bool


_PACKAGE: Final = "surfer_lab.training.evaluate"
KINDS: Final[dict[str, Kind]] = {
    "coverage": Kind(
        module="coverage",
        function="evaluate_coverage",
        takes=("data", "sample", "cache", "workers", "progress"),
        needs_data=False,
    ),
    "workloads": Kind(
        module="workloads", function="evaluate_workloads", takes=("sample", "progress"), needs_data=False
    ),
    "op-lists": Kind(module="op_lists", function="evaluate_op_lists", takes=("sample", "progress"), needs_data=False),
    "memory": Kind(module="memory", function="evaluate_memory", takes=("data", "progress"), needs_data=False),
    "traces": Kind(module="traces", function="evaluate_traces", takes=("data", "sample", "progress"), needs_data=True),
    "kernels": Kind(
        module="kernels", function="evaluate_kernels", takes=("data", "protocol", "sample", "progress"), needs_data=True
    ),
    "e2e": Kind(
        module="e2e", function="evaluate_e2e", takes=("data", "protocol", "sample", "progress"), needs_data=True
    ),
    "scaling": Kind(
        module="scaling", function="evaluate_scaling", takes=("data", "sample", "progress"), needs_data=True
    ),
    "convergence": Kind(
        module="convergence",
        function="evaluate_convergence",
        takes=("quick", "only", "figures", "address", "progress"),
        needs_data=False,
    ),
    "speed": Kind(module="speed", function="evaluate_speed", takes=("sample", "progress"), needs_data=False),
    "gloo": Kind(module="gloo", function="evaluate_gloo", takes=("progress",), needs_data=False),
    "timm-steps": Kind(
        module="timm_held_out",
        function="evaluate_timm_steps",
        takes=("data", "protocol", "sample", "cache", "workers", "progress"),
        needs_data=True,
    ),
    "timm": Kind(
        module="timm",
        function="evaluate_timm",
        takes=("data", "protocol", "sample", "cache", "workers", "progress"),
        needs_data=True,
    ),
}


@app.command()
@speaks_plainly
def evaluate(
    kind: Annotated[str, typer.Argument(metavar="KIND", help=f"{', '.join(KINDS)}, or all.", show_default=False)],
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="DIR", help=f"Folder of measured data; else the variable {DATA_VARIABLE}."),
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            "--protocol",
            metavar="WORD",
            help="held-out: shipped weights that never saw the GPU's die (default); logo: fitted now, without each die "
            "in turn; published: shipped weights, all dies seen.",
            show_default=False,
        ),
    ] = None,
    sample: Annotated[
        int | None, typer.Option("--sample", metavar="N", min=1, help="Only N models, files or rows of each.")
    ] = None,
    cache: Annotated[Path | None, typer.Option("--cache", metavar="DIR", help="Where captures are kept.")] = None,
    workers: Annotated[int, typer.Option("--workers", metavar="N", min=0, help="Processes that capture models.")] = 1,
    quick: Annotated[
        bool, typer.Option("--quick", help="convergence: fewer runs, minutes instead of an hour.")
    ] = False,
    only: Annotated[
        str | None,
        typer.Option("--only", metavar="NAME,...", help="convergence: of momentum, shares, penalty, prediction, ..."),
    ] = None,
    figures: Annotated[
        Path | None, typer.Option("--figures", metavar="DIR", help="convergence: where its figures are written.")
    ] = None,
    address: Annotated[
        str | None, typer.Option("--address", metavar="HOST:PORT", help="convergence: a Ray cluster; else here.")
    ] = None,
    json: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Every case, and the tables; all goes on with what FILE lacks."),
    ] = None,
) -> None:
    """Hold predictions against measured data.

    Tables go to stdout; --json keeps every case. Captures of models are kept between runs. The folder is laid out as
    e2e/index.csv, kernels/*.parquet, timm/bench.csv, traces/*.json.gz; of all, what it lacks is said.

    all is the table of what was aimed at: e2e and kernels, held out and refitted without each GPU; timm-steps, traces,
    speed: 6 minutes of processor time where the steps of timm's networks are captured, else 40 more. Interrupted, it
    goes on where it was, with the same --json FILE.
    """
    if kind != "all" and kind not in KINDS:
        nearest = near_matches(kind, [*KINDS, "all"])
        raise OptionError(f"{kind!r} is no evaluation", remedy=" or ".join(nearest) or f"{', '.join(KINDS)} or all")
    folder = data or (Path(os.environ[DATA_VARIABLE]) if os.environ.get(DATA_VARIABLE) else None)
    if folder is not None and not folder.is_dir():
        raise OptionError(f"{folder} is no folder", remedy="--data DIR, the folder that holds traces/, timm/, ...")
    words: dict[str, Any] = {
        "data": folder, "protocol": protocol, "sample": sample, "cache": cache, "workers": workers, "quick": quick,
        "only": None if only is None else tuple(word.strip() for word in only.split(",")),
        "figures": figures, "address": address,
    }  # fmt: skip
    if kind == "all":
        _evaluate_all(words, json)
        return
    found = _evaluated(KINDS[kind], kind, words)
    print_line(found.as_text() + "\n")
    if json is not None:
        try:
            json.write_bytes(found.as_json())
        except OSError as error:
            raise OptionError(f"{json} cannot be written ({error.strerror})", remedy="another path") from error


def _evaluate_all(words: dict[str, Any], json: Path | None) -> None:
    """The parts of the table of targets, each line said as it happens; the table at the end."""
    if words["data"] is None:
        raise OptionError("all needs measured data", remedy=f"--data DIR, or the variable {DATA_VARIABLE}")
    if words["protocol"] is not None:
        raise OptionError("all has the protocols of its parts", remedy="--protocol with one kind, as e2e or kernels")
    from surfer_lab.training.evaluate.all_parts import evaluate_all

    try:
        whole = evaluate_all(
            words["data"], sample=words["sample"], cache=words["cache"], workers=words["workers"], kept=json,
            tell=print_line, counting=counted,
        )  # fmt: skip
    except KeyboardInterrupt:
        if json is not None and json.is_file():
            print_line(f"what is done is in {json}; the same command goes on from there")
        raise
    print_line("\n" + whole.as_text() + "\n")


def _evaluated(kind: Kind, name: str, words: dict[str, Any]) -> Evaluation:
    if kind.needs_data and words["data"] is None:
        raise OptionError(f"{name} needs measured data", remedy=f"--data DIR, or the variable {DATA_VARIABLE}")
    function = getattr(importlib.import_module(f"{_PACKAGE}.{kind.module}"), kind.function)
    with counted(name) as progress:
        offered = {**words, "progress": progress}
        evaluation: Evaluation = function(**{word: offered[word] for word in kind.takes if offered[word] is not None})
    return evaluation
