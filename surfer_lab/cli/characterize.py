"""What kind of work is a workload? `surfer characterize`: one page a workload, several compared."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from surfer_lab.cli.commands import BatchSize, Counts, From, app
from surfer_lab.cli.files import trace_file, with_suffix
from surfer_lab.cli.installed import needs_torch
from surfer_lab.cli.terminal import counted, paint, print_line, speaks_plainly, width
from surfer_lab.errors import OptionError

if TYPE_CHECKING:
    from surfer_lab.planner.characterise.characterisation import Characterisation
    from surfer_lab.report.characterised import CharacterOptions

__all__ = ["app", "characterize"]

_TRACE_ENDINGS: Final = (".json", ".json.gz", ".gz", ".surfertrace")
_STAGES: Final = 4  # of a workload, and one more for each GPU


@app.command()
@speaks_plainly
def characterize(
    workloads: Annotated[
        list[str],
        typer.Argument(
            metavar="W...",
            help="Reference workloads (resnet50, bert_large, ...), MODULE:FACTORY, traces, folders of the traces of a "
            "run's ranks, or such traces joined by commas.",
            show_default=False,
        ),
    ],
    on: Annotated[
        list[str] | None,
        typer.Option("--on", metavar="GPU,...", help="GPUs told of; else an A100 and a V100.", show_default=False),
    ] = None,
    origin: From = None,
    batch_size: BatchSize = None,
    counts: Counts = None,
    input_ms: Annotated[
        float | None,
        typer.Option("--input-ms", metavar="MS", help="What loading one sample takes one core; else told as a budget."),
    ] = None,
    json: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write all numbers.")] = None,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a self-contained page.")] = None,
    md: Annotated[Path | None, typer.Option("--md", metavar="FILE", help="Write Markdown.")] = None,
) -> None:
    """Tell what kind of work a training step is.

    Its place under the roofline beside measured kernels, scaling on each way to connect GPUs, what NVLink, mixed
    precision and a compiler gain, what the host must have, and which known workloads it is like. Nothing runs.
    """
    from surfer_lab.planner.characterise.characterisation import COUNTS
    from surfer_lab.planner.options import predict_options
    from surfer_lab.report.character_report import character_text
    from surfer_lab.report.character_study import CharacterStudy
    from surfer_lab.report.characterised import USUAL_GPUS, CharacterOptions

    words = predict_options({"on": on or None, "origin": origin, "batch_size": batch_size, "counts": counts or None})
    options = CharacterOptions(
        on=words.on or USUAL_GPUS,
        origin=words.origin,
        batch_size=words.batch_size,
        counts=words.counts or COUNTS,
        input_ms=input_ms,
    )
    targets = [
        with_suffix(path, ending)
        for path, ending in ((html, ".html"), (md, ".md"), (json, ".json"))
        if path is not None
    ]
    study = CharacterStudy(
        _pages(workloads, options), command=f"surfer characterize {shlex.join(map(_named, workloads))}"
    )
    print_line(character_text(study.view, width=width(), paint=paint))
    for path in targets:
        print_line(f"\nWritten: {study.report(path)}")


def _named(word: str) -> str:
    """The word as a report may show it: files by their names, not by where they lie."""
    return word if _trace_paths(word) is None else ",".join(Path(one).name for one in word.split(","))


def _pages(words: Sequence[str], options: CharacterOptions) -> list[Characterisation]:
    """Each workload in turn, with a bar; names are looked at before anything long begins."""
    makers = [_maker(word, options) for word in words]
    seen: dict[str, None] = {}
    total = len(makers) * (_STAGES + len(options.gpus))
    with counted("characterize") as progress:

        def told(what: str) -> None:
            if what not in seen:
                seen[what] = None
                progress(what, min(len(seen), total), total)

        return [make(told) for make in makers]


_Maker = Callable[[Callable[[str], object]], "Characterisation"]


def _maker(word: str, options: CharacterOptions) -> _Maker:
    """What makes the page of one word; OptionError, TraceError where it means nothing."""
    from surfer_lab.report.characterised import characterise_traces

    if (paths := _trace_paths(word)) is not None:
        name = Path(word).name if len(paths) == 1 or "," not in word else f"{len(paths)} ranks of {paths[0].name}"
        return lambda told: characterise_traces(paths, options, name=name, between=told)
    needs_torch("the model is written in it")
    from surfer_lab.workloads.characterised import characterise_workload, workload_step

    workload_step(word)
    return lambda told: characterise_workload(word, options, told)


def _trace_paths(word: str) -> list[Path] | None:
    """The traces of a file, a folder of ranks, or several joined by commas; None for a workload."""
    if "," in word:
        return [trace_file(Path(one.strip())) for one in word.split(",") if one.strip()]
    path = Path(word)
    if path.is_dir():
        found = sorted(one for one in path.iterdir() if one.name.endswith(_TRACE_ENDINGS))
        if not found:
            raise OptionError(f"{word} holds no trace", remedy="a folder of *.json or *.json.gz, a trace a rank")
        return found
    if path.is_file() and not word.endswith(".py"):
        return [path]
    return [trace_file(path)] if word.endswith(_TRACE_ENDINGS) else None
