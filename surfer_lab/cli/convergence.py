"""Which commands plan and tune training over several devices? `tune` runs it, `plan-training` predicts."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surfer_lab.cli.commands import app
from surfer_lab.cli.installed import needs_torch
from surfer_lab.cli.terminal import print_line, speaks_plainly, waiting
from surfer_lab.errors import OptionError

if TYPE_CHECKING:
    from surfer_lab.planner.convergence.decisions import Decision
    from surfer_lab.view.training_model import TrainingView

__all__ = ["app", "plan_training_command", "tune_command"]

Json = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on stdout.")]
Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write it as a page.")]


@app.command(name="tune")
@speaks_plainly
def tune_command(
    factory: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:FACTORY",
            help="A function that returns (model, data set) or (model, data set, loss); FILE.py:FACTORY too.",
            show_default=False,
        ),
    ],
    target: Annotated[float, typer.Option("--target", metavar="LOSS", help="Mean loss that ends the training.")],
    batch_size: Annotated[int, typer.Option("--batch-size", metavar="N", help="Samples of an update.")] = 64,
    workers: Annotated[int, typer.Option("--workers", metavar="N", help="Processes that compute.")] = 4,
    window: Annotated[int, typer.Option("--window", metavar="N", help="Updates whose mean is the loss.")] = 20,
    max_seconds: Annotated[float, typer.Option("--max-seconds", metavar="S", help="Give up after.")] = 3600.0,
    address: Annotated[
        str | None, typer.Option("--address", metavar="HOST:PORT", help="A Ray cluster; else here.")
    ] = None,
    folder: Annotated[Path | None, typer.Option("--folder", metavar="DIR", help="Where checkpoints are kept.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the folder's checkpoint.")] = False,
    merge_head: Annotated[
        bool, typer.Option("--merge-head", help="Compute the fully connected part on its own server.")
    ] = False,
    gpus_per_worker: Annotated[float, typer.Option("--gpus-per-worker", metavar="N", help="GPUs of a worker.")] = 0.0,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Of the samples that are drawn.")] = 0,
    price: Annotated[float | None, typer.Option("--price", metavar="USD", help="Of a worker and hour.")] = None,
    json: Json = False,
    html: Html = None,
) -> None:
    """Train to a target loss over several workers, tuned while it trains.

    Groups of workers, momentum and learning rate are chosen by a model and short trials; every decision is told on
    stderr with its reason. Ctrl-C ends it with the best so far.
    """
    for package in ("ray", "torch"):
        if importlib.util.find_spec(package) is None:
            raise OptionError(f"{package} is not installed", remedy='pip install "surfer-lab[cluster]"')
    from surfer_lab.distributed.tune import named_factory, tune
    from surfer_lab.planner.convergence.tune_options import TuneOptions
    from surfer_lab.view.training_view import tuned_view

    options = TuneOptions(
        target_loss=target,
        batch_size=batch_size,
        workers=workers,
        window=window,
        max_seconds=max_seconds,
        seed=seed,
        address=address,
        folder=folder,
        resume=resume,
        merge_head=merge_head,
        gpus_per_worker=gpus_per_worker,
        usd_per_worker_hour=price,
    )
    made = named_factory(factory)
    typer.echo(f"Starting {workers} worker{'s' * (workers != 1)} ...", err=True)  # seconds, each loads torch
    run = tune(made, options, logged=_tell)
    _show(tuned_view(run, title=f"Tuned: {factory}", target_loss=target), json=json, html=html, is_told=True)
    if not run.is_reached:
        raise typer.Exit(1)


def _tell(decision: Decision) -> None:
    typer.echo(decision.words, err=True)


@app.command(name="plan-training")
@speaks_plainly
def plan_training_command(
    factory: Annotated[str, typer.Argument(metavar="MODULE:FACTORY", help="As for predict-model.", show_default=False)],
    machine: Annotated[str, typer.Option("--machine", metavar="NAME|FILE", help="A known machine, or a TOML of one.")],
    count: Annotated[int | None, typer.Option("--count", metavar="N", help="GPUs; else one node's.")] = None,
    batch_size: Annotated[int, typer.Option("--batch-size", metavar="N", help="Samples of an update.")] = 256,
    momentum: Annotated[
        float, typer.Option("--momentum", metavar="M", help="The best of a synchronous run, as far as known.")
    ] = 0.9,
    learning_rate: Annotated[float, typer.Option("--learning-rate", metavar="A", help="Likewise.")] = 0.01,
    iterations: Annotated[
        int | None, typer.Option("--iterations", metavar="N", help="That a synchronous run takes to the loss.")
    ] = None,
    price: Annotated[
        float | None, typer.Option("--price", metavar="USD", help="Of a GPU and hour; else listed.")
    ] = None,
    cpu_samples_per_s: Annotated[
        float | None, typer.Option("--cpu-samples-per-s", metavar="R", help="A CPU that computes beside the GPUs.")
    ] = None,
    cpu_price: Annotated[float | None, typer.Option("--cpu-price", metavar="USD", help="Of that CPU and hour.")] = None,
    json: Json = False,
    html: Html = None,
) -> None:
    """Predict how many groups train a model soonest on a machine.

    Nothing runs: the step is captured from shapes and predicted on the machine's GPU, links are the machine's.
    """
    needs_torch("the model is written in it")
    from surfer_lab.workloads.training_plan import planned_training

    with waiting(f"capturing {factory} from shapes"):
        view = planned_training(
            factory,
            machine,
            count=count,
            batch_size=batch_size,
            momentum=momentum,
            learning_rate=learning_rate,
            iterations=iterations,
            usd_per_gpu_hour=price,
            cpu_samples_per_s=cpu_samples_per_s,
            cpu_usd_per_hour=cpu_price,
        )
    _show(view, json=json, html=html)


def _show(view: TrainingView, *, json: bool, html: Path | None, is_told: bool = False) -> None:
    """`is_told`: its decisions were told as they were made, and a terminal need not show them twice."""
    from surfer_lab.report.training_report import training_page, training_text

    if html is not None:
        try:
            html.write_text(training_page(view), encoding="utf-8")
        except OSError as error:
            raise OptionError(f"{html} cannot be written ({error.strerror})", remedy="another path") from error
    if json:
        import msgspec

        print_line(msgspec.json.encode(view).decode())
        return
    print_line(training_text(view, with_decisions=not is_told))
    if html is not None:
        print_line(f"\nWritten: {html}")
