"""Which job where, and when? `surfer schedule`: jobs of a file on machines, the best placement and those by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from tqdm import tqdm

from surfer_lab.cli.commands import app
from surfer_lab.cli.files import with_suffix
from surfer_lab.cli.terminal import paint, print_line, speaks_plainly, width
from surfer_lab.errors import OptionError
from surfer_lab.planner.options import predict_options
from surfer_lab.planner.schedule.solver import Progress

__all__ = ["app", "schedule_command"]


@app.command(name="schedule")
@speaks_plainly
def schedule_command(
    jobs: Annotated[
        Path,
        typer.Argument(
            metavar="JOBS.toml",
            help="[[job]] tables: name, then hours = {1 = 10.0, 2 = 6.0} or model = 'MODULE:FACTORY' with epochs.",
            show_default=False,
        ),
    ],
    machine: Annotated[
        list[str],
        typer.Option("--machine", metavar="NAME|FILE", help="A known machine, or a TOML of one; may be repeated."),
    ],
    count: Annotated[
        list[int] | None,
        typer.Option("--count", metavar="N", help="GPUs of each machine, or once for each; else one node's."),
    ] = None,
    objective: Annotated[
        str, typer.Option("--objective", metavar="makespan|cost", help="What is to be least.")
    ] = "makespan",
    time_limit: Annotated[
        float, typer.Option("--time-limit", metavar="S", help="End the search after; the gap that is left is said.")
    ] = 20.0,
    price: Annotated[
        list[str] | None, typer.Option("--price", metavar="GPU=USD,...", help="Your own price per GPU and hour.")
    ] = None,
    spot: Annotated[bool, typer.Option("--spot", help="Use interruptible (spot) prices.")] = False,
    json: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write all numbers.")] = None,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a self-contained page.")] = None,
    md: Annotated[Path | None, typer.Option("--md", metavar="FILE", help="Write Markdown.")] = None,
) -> None:
    """Place jobs on the GPUs of machines.

    How many GPUs each job gets and when it starts, so that all are done soonest, or for the least money, within memory,
    deadlines and order; beside it what running them one after another, or side by side, would take. Times are given, or
    predicted from a step on one GPU: nothing runs. Ctrl-C ends the search with the best so far.
    """
    from surfer_lab.report.schedule_report import schedule_text
    from surfer_lab.workloads.scheduled import schedule

    asked = [
        with_suffix(path, end) for path, end in ((json, ".json"), (html, ".html"), (md, ".md")) if path is not None
    ]
    if objective not in ("makespan", "cost"):
        raise OptionError(f"--objective is {objective!r}", remedy="--objective makespan, or cost")
    prices = predict_options({"prices": price or None}).prices
    with _search("USD" if objective == "cost" else "h") as (told, progress):
        found = schedule(
            jobs, machine, count=count or None, objective=objective, time_limit_s=time_limit, prices=prices, spot=spot,
            told=told, progress=progress,
        )  # fmt: skip
    print_line(schedule_text(found.view, width=width(), paint=paint))
    for path in asked:
        print_line(f"\nWritten: {found.report(path)}")


@contextmanager
def _search(unit: str) -> Iterator[tuple[Callable[[str], None], Progress]]:
    """A line on stderr: the job that is predicted, then the best so far; nothing where stderr is no terminal."""
    with tqdm(bar_format="{desc} [{elapsed}]", leave=False, disable=None) as bar:

        def told(name: str) -> None:
            bar.set_description_str(f"predicting {name}")

        def progress(value: float, bound: float) -> None:
            bar.set_description_str(f"best so far {value:.4g} {unit}, none below {bound:.4g} (Ctrl-C takes it)")

        yield told, progress
