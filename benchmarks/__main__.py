"""Which benchmarks are there, and how did each do? Finds `bench_*` modules, runs them, prints one table."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console
from rich.table import Table

import benchmarks
from benchmarks.figure import Figure, NotAtHand

PREFIX: Final = "bench_"
ONE_MODULE: Final = "--one-module"


class Outcome(msgspec.Struct):
    """What the process of one module hands back: its figures, or why there are none."""

    figures: list[Figure] = []
    not_run: str = ""


def subjects() -> list[str]:
    """The subjects that have a `bench_<subject>` module."""
    names = (module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    return sorted(name.removeprefix(PREFIX) for name in names if name.startswith(PREFIX))


def measure(subject: str) -> Outcome:
    """Run one module in this process."""
    try:
        return Outcome(figures=list(importlib.import_module(f"benchmarks.{PREFIX}{subject}").figures()))
    except NotAtHand as reason:
        return Outcome(not_run=str(reason))


def measure_apart(subject: str) -> Outcome:
    """Run one module in a fresh process, so that no other's imports and memory are measured with it."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", ONE_MODULE, subject],
        cwd=Path(__file__).resolve().parents[1],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        return Outcome(not_run=f"failed with exit status {done.returncode}; its message stands above")
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=Outcome)


def add_rows(table: Table, subject: str, outcome: Outcome) -> None:
    """Append what came of one subject to the printed table."""
    if outcome.not_run:
        table.add_row(subject, "", "", "", "", f"not run: {outcome.not_run}")
    for figure in outcome.figures:
        peer = f"{figure.peer:.4g} {figure.unit}  {figure.peer_name}" if figure.peer is not None else ""
        table.add_row(
            figure.name,
            f"{figure.measured:.4g} {figure.unit}",
            peer,
            f"{figure.ratio:.2f}" if figure.ratio is not None else "",
            figure.target_text,
            "met" if figure.is_met else "MISSED",
        )


def main(arguments: list[str]) -> int:
    """Measure the named subjects (all when none is named) and print the table; 2 for an unknown subject."""
    if arguments[:1] == [ONE_MODULE]:
        print(msgspec.json.encode(measure(arguments[1])).decode())
        return 0
    known = subjects()
    unknown = [name for name in arguments if name not in known]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are: {', '.join(known)}")
        return 2
    table = Table(title="Surfer Lab against its peers")
    for heading in ("figure", "measured", "peer", "ratio", "target", ""):
        table.add_column(heading, justify="right" if heading in ("measured", "ratio") else "left")
    for subject in arguments or known:
        print(f"measuring {subject} ...", file=sys.stderr)
        add_rows(table, subject, measure_apart(subject))
    Console(width=None if sys.stdout.isatty() else 160).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
