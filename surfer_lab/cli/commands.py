"""Which commands are there, and with which words? `predict`'s are those of `planner.options`, as in the magic."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surfer_lab import __version__
from surfer_lab.cli.files import stem_of, trace_file, with_suffix
from surfer_lab.cli.installed import needs_torch
from surfer_lab.cli.terminal import (
    measure_progress,
    paint,
    print_line,
    read_progress,
    speaks_plainly,
    waiting,
    width,
)
from surfer_lab.errors import OptionError
from surfer_lab.planner.options import PREDICT_FLAGS, PredictOptions, options_line, predict_options
from surfer_lab.report.text import text_of

if TYPE_CHECKING:
    from surfer_lab.report.prediction import Prediction

__all__ = ["app"]

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

_HELP = {flag.field: flag.help for flag in PREDICT_FLAGS}
_METAVAR = {flag.field: flag.metavar for flag in PREDICT_FLAGS}


def _print_version(asked: bool) -> None:
    if asked:
        print_line(__version__)
        raise typer.Exit


@app.callback()
def surfer(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and exit.")
    ] = False,
) -> None:
    """Predict what one PyTorch training step costs on GPUs you do not have: time, memory, money, with a range."""


def _option(word: str, field: str) -> typer.models.OptionInfo:
    return typer.Option(word, help=_HELP[field], metavar=_METAVAR[field])  # type: ignore[no-any-return]


TraceFile = Annotated[
    Path | None,
    typer.Argument(
        metavar="TRACE", help="A torch profiler trace (.json, .json.gz) or a saved capture.", show_default=False
    ),
]
On = Annotated[list[str] | None, _option("--on", "on")]
From = Annotated[str | None, _option("--from", "origin")]
BatchSize = Annotated[str | None, _option("--batch-size", "batch_size")]
BatchSizes = Annotated[list[str] | None, _option("--batch-sizes", "batch_sizes")]
PrecisionName = Annotated[str | None, _option("--precision", "precision")]
CompileName = Annotated[str | None, _option("--compile", "compile")]
HostFactor = Annotated[str | None, _option("--host-factor", "host_factor")]
Prices = Annotated[list[str] | None, _option("--price", "prices")]
Spot = Annotated[bool, typer.Option("--spot", help=_HELP["spot"])]
DatasetSize = Annotated[str | None, _option("--dataset-size", "dataset_size")]
Counts = Annotated[list[str] | None, _option("--counts", "counts")]
LinkName = Annotated[str | None, _option("--link", "link")]
StrategyName = Annotated[str | None, _option("--strategy", "strategy")]
MachineName = Annotated[str | None, _option("--machine", "machine")]
Name = Annotated[str | None, _option("--name", "name")]
Example = Annotated[bool, typer.Option("--example", help="Predict the bundled example instead of a file.")]


def _options(
    on: list[str] | None,
    origin: str | None,
    batch_size: str | None,
    batch_sizes: list[str] | None,
    precision: str | None,
    compiled: str | None,
    host_factor: str | None,
    prices: list[str] | None,
    spot: bool,
    dataset_size: str | None,
    name: str | None,
    counts: list[str] | None,
    link: str | None,
    strategy: str | None,
    machine: str | None,
) -> PredictOptions:
    return predict_options(
        {
            "on": on or None,
            "origin": origin,
            "batch_size": batch_size,
            "batch_sizes": batch_sizes or None,
            "precision": precision,
            "compile": compiled,
            "host_factor": host_factor,
            "prices": prices or None,
            "spot": "" if spot else None,
            "dataset_size": dataset_size,
            "name": name,
            "counts": counts or None,
            "link": link,
            "strategy": strategy,
            "machine": machine,
        }
    )


def _predicted(trace: Path | None, options: PredictOptions, *, is_example: bool) -> Prediction:
    """The file, or the bundled example, predicted; progress on stderr."""
    from surfer_lab.report.example import example_trace
    from surfer_lab.report.prediction import check_names, predict_as_asked
    from surfer_lab.trace.reader import read

    if is_example == (trace is not None):
        seen = "both a file and --example are given" if is_example else "no trace file is given"
        raise OptionError(seen, remedy="surfer predict TRACE, or surfer predict --example")
    check_names(options)  # before a long file is read
    if trace is None:
        recorded, name, file_word = example_trace(), "bundled example", "--example"
    else:
        path = trace_file(trace)
        with read_progress(f"reading {path.name}") as progress:
            recorded = read(path, progress=progress)
        name, file_word = path.name, shlex.quote(path.name)
    command = f"surfer predict {file_word} {options_line(options)}".rstrip()
    return predict_as_asked(recorded, options, name=name, command=command)


@app.command()
@speaks_plainly
def predict(
    trace: TraceFile = None,
    on: On = None,
    origin: From = None,
    batch_size: BatchSize = None,
    batch_sizes: BatchSizes = None,
    precision: PrecisionName = None,
    compiled: CompileName = None,
    host_factor: HostFactor = None,
    price: Prices = None,
    spot: Spot = False,
    dataset_size: DatasetSize = None,
    counts: Counts = None,
    link: LinkName = None,
    strategy: StrategyName = None,
    machine: MachineName = None,
    name: Name = None,
    example: Example = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on stdout.")] = False,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a self-contained report.")] = None,
    csv: Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Write the table of GPUs.")] = None,
) -> None:
    """Predict a recorded step on other GPUs.

    Time with its range, throughput, cost, memory, what limits it and what would help.
    """
    options = _options(
        on, origin, batch_size, batch_sizes, precision, compiled, host_factor, price, spot, dataset_size, name,
        counts, link, strategy, machine,
    )  # fmt: skip
    _show(_predicted(trace, options, is_example=example), json=json, html=html, csv=csv)


def _show(prediction: Prediction, *, json: bool, html: Path | None, csv: Path | None) -> None:
    written = [
        prediction.report(with_suffix(path, suffix)) for path, suffix in ((html, ".html"), (csv, ".csv")) if path
    ]
    if json:
        print_line(prediction.to_json())
        return
    print_line(text_of(prediction.view, width=width(), paint=paint))
    for path in written:
        print_line(f"\nWritten: {path}")


@app.command(name="predict-model")
@speaks_plainly
def predict_model(
    factory: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:FACTORY", help="surfer_lab.workloads:resnet50, or your own.", show_default=False
        ),
    ],
    on: On = None,
    batch_size: Annotated[
        str | None, typer.Option("--batch-size", metavar="N", help="Samples in a step; else the factory's own.")
    ] = None,
    batch_sizes: BatchSizes = None,
    precision: PrecisionName = None,
    compiled: CompileName = None,
    inference: Annotated[bool, typer.Option("--inference", help="Predict a forward pass instead of training.")] = False,
    host_factor: HostFactor = None,
    price: Prices = None,
    spot: Spot = False,
    dataset_size: DatasetSize = None,
    counts: Counts = None,
    link: LinkName = None,
    strategy: StrategyName = None,
    machine: MachineName = None,
    name: Name = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on stdout.")] = False,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a self-contained report.")] = None,
    csv: Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Write the table of GPUs.")] = None,
) -> None:
    """Predict a model that is not run, without a GPU.

    FACTORY returns a workload (example_inputs(batch_size), step(batch)), or (model, inputs) or (model, inputs,
    optimizer), or a function that runs one step, of batch_size where it takes that; it may take batch_size itself. It
    is called without data: no weight is made, so the model may be larger than this machine.
    """
    options = _options(
        on, None, batch_size, batch_sizes, precision, compiled, host_factor, price, spot, dataset_size, name,
        counts, link, strategy, machine,
    )  # fmt: skip
    needs_torch("the model is written in it")
    from surfer_lab.workloads.prediction import predict_factory

    words = f"{shlex.quote(factory)}{' --inference' if inference else ''} {options_line(options)}"
    with waiting(f"capturing {factory} from shapes"):
        prediction = predict_factory(
            factory, options, inference=inference, command=f"surfer predict-model {words}".rstrip()
        )
        _ = prediction.view
    _show(prediction, json=json, html=html, csv=csv)


@app.command()
@speaks_plainly
def report(
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="NOTEBOOK|TRACE",
            help="A notebook with %%predict in it, a torch profiler trace, or a saved capture.",
            show_default=False,
        ),
    ] = None,
    on: On = None,
    origin: From = None,
    batch_size: BatchSize = None,
    batch_sizes: BatchSizes = None,
    precision: PrecisionName = None,
    compiled: CompileName = None,
    host_factor: HostFactor = None,
    price: Prices = None,
    spot: Spot = False,
    dataset_size: DatasetSize = None,
    counts: Counts = None,
    link: LinkName = None,
    strategy: StrategyName = None,
    machine: MachineName = None,
    name: Name = None,
    example: Example = False,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Self-contained HTML.")] = None,
    md: Annotated[Path | None, typer.Option("--md", metavar="FILE", help="Markdown, its figures beside it.")] = None,
    pdf: Annotated[Path | None, typer.Option("--pdf", metavar="FILE", help="PDF, printed by a Chromium.")] = None,
) -> None:
    """Write a prediction to a file, or all those of a notebook.

    Without --html, --md or --pdf: NAME.surfer.html in this folder. A notebook's are taken as its cells left them.
    """
    options = _options(
        on, origin, batch_size, batch_sizes, precision, compiled, host_factor, price, spot, dataset_size, name,
        counts, link, strategy, machine,
    )  # fmt: skip
    asked = [with_suffix(path, end) for path, end in ((html, ".html"), (md, ".md"), (pdf, ".pdf")) if path is not None]
    targets = asked or [Path(f"{stem_of(source) if source is not None else 'example'}.surfer.html")]
    if source is not None and source.suffix == ".ipynb":
        write = _notebook_report(source, options, is_example=example)
    else:
        write = _predicted(source, options, is_example=example).report
    for target in targets:
        print_line(str(write(target)))


def _notebook_report(source: Path, options: PredictOptions, *, is_example: bool) -> Callable[[Path], Path]:
    """What writes the predictions of a notebook into a file."""
    from surfer_lab.report.stored import read_notebook
    from surfer_lab.report.written import write_report

    if is_example:
        raise OptionError("both a file and --example are given", remedy="surfer report NOTEBOOK")
    if given := options_line(options):
        raise OptionError(
            f"{given} is given, but a notebook's predictions are reported as its cells left them",
            remedy="write it after %%predict, run the cell again and save the notebook",
        )
    found = read_notebook(trace_file(source))
    return lambda target: write_report(lambda _: found.views, target, title=source.stem, notes=found.unread)


@app.command()
@speaks_plainly
def gpus(
    name: Annotated[list[str] | None, typer.Argument(metavar="[NAME]", help="One GPU, by name or alias.")] = None,
) -> None:
    """List the known GPUs, or show one.

    One GPU is shown with all that is known of it and the source of each number.
    """
    from surfer_lab.report.gpu_text import gpu_text, gpus_text

    print_line(gpu_text(" ".join(name), width=width()) if name else gpus_text(width=width()))


@app.command()
@speaks_plainly
def doctor() -> None:
    """Check this installation.

    Versions, GPU, JupyterLab extension, folders, a prediction; says what to do about what is missing.
    """
    from surfer_lab.cli.doctor import findings, text_of_findings

    found = findings()
    print_line(text_of_findings(found, paint=paint))
    if any(finding.is_fault for finding in found):
        raise typer.Exit(1)


@app.command()
@speaks_plainly
def calibrate(
    cpu: Annotated[bool, typer.Option("--cpu", help="Measure this machine's CPU, where it has no GPU.")] = False,
    links: Annotated[
        bool, typer.Option("--links", help="Measure what connects its GPUs (or its processes, without any).")
    ] = False,
    nccl: Annotated[
        Path | None, typer.Option("--nccl-tests", metavar="FILE", help="Take a link from all_reduce_perf's output.")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="Name of the link, for --link.")] = None,
    from_steps: Annotated[
        list[str] | None,
        typer.Option(
            "--from-steps",
            metavar="FILE[=MS]",
            help="A trace recorded on the GPU, or a saved capture and what its step took there; may be repeated.",
        ),
    ] = None,
    on: Annotated[str | None, typer.Option("--on", metavar="GPU", help="The GPU of --from-steps.")] = None,
) -> None:
    """Measure this machine's GPU.

    Its sustained rates, in under a minute; predictions for this GPU use them from then on. With --links, latency and
    bandwidth of what connects its GPUs, for --link NAME. With --from-steps, two constants of a GPU from a few measured
    steps of any models: no GPU is needed here.
    """
    if from_steps:
        from surfer_lab.cli.measured import calibrate_from_steps

        calibrate_from_steps(from_steps, on)
        return
    if nccl is not None:
        from surfer_lab.cli.calibration_text import link_text
        from surfer_lab.hardware.configuration import read_text
        from surfer_lab.hardware.machines import fitted_link, nccl_tests_samples, save_measured_link

        link = fitted_link(name or nccl.stem, nccl_tests_samples(read_text(nccl)), source=f"nccl-tests, {nccl.name}")
        print_line(link_text(link, save_measured_link(link)))
        return
    needs_torch("it is what measures")
    if links:
        from surfer_lab.cli.calibration_text import link_text
        from surfer_lab.training.links import calibrate_links

        with waiting("all-reduces of 4 KiB to 64 MiB"):
            measured = calibrate_links(name=name)
        print_line(link_text(measured.link, measured.saved_to, worst_error=measured.worst_error))
        return
    from surfer_lab.cli.calibration_text import calibration_text
    from surfer_lab.training.calibrate import calibrate as measure

    with measure_progress() as progress:
        run = measure(cpu=cpu, progress=progress)
    print_line(calibration_text(run, paint=paint))
