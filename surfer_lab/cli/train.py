"""How are the learned predictors fitted to a folder of measurements? `surfer train`."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Final

import typer
from tqdm import tqdm

from surfer_lab.cli.commands import app
from surfer_lab.cli.terminal import print_line, speaks_plainly
from surfer_lab.errors import OptionError

if TYPE_CHECKING:
    from surfer_lab.training.fit.train import TrainingRun

__all__ = ["app", "train"]

ROUNDING: Final = 0.05  # of a figure in percent, between machines
FIT_POINTS: Final = 1.0  # between fits on machines that round otherwise: figures of few cases move most


@app.command()
@speaks_plainly
def train(
    data: Annotated[Path, typer.Option("--data", metavar="DIR", help="Folder of measured data.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Where weights and manifest are written.")
    ] = None,
    cache: Annotated[Path | None, typer.Option("--cache", metavar="DIR", help="Where captures are kept.")] = None,
    workers: Annotated[int, typer.Option("--workers", metavar="N", min=0, help="Processes that capture models.")] = 2,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Hold the weights in use against this fit: their held-out figures, worked out again, and their bytes.",
        ),
    ] = False,
    make_table: Annotated[
        bool, typer.Option("--make-table", help="Only capture timm's models and make the table of their operations.")
    ] = False,
) -> None:
    """Fit the learned predictors, and say how well they do on what they did not see.

    Steps of timm's models are captured without a GPU once, with --make-table; then a fit takes minutes.
    """
    if importlib.util.find_spec("torch") is None:
        raise OptionError("fitting needs torch", remedy="pip install torch")
    from surfer_lab.training.timm_table.store import cache_folder

    folder = cache or cache_folder()
    if make_table:
        _make_table(data, folder, workers)
        return
    if out is None and not check:
        raise OptionError("where are the weights to go?", remedy="--out DIR")
    from surfer_lab.training.fit.text import text_of
    from surfer_lab.training.fit.train import train as fit

    with TemporaryDirectory() as temporary, _counted() as progress:
        run = fit(data, out or Path(temporary), cache=folder, workers=workers, progress=progress)
        print_line(text_of(run.manifest))
        print_line(f"{run.weight_bytes:,} bytes" + ("" if out is None else f" in {out}"))
        if check:
            _check(run, data, folder)


def _check(run: TrainingRun, data: Path, cache: Path) -> None:
    """Print how the weights in use and their manifest compare with the fit; OptionError where figures differ."""
    from surfer_lab.engine.learned.routing import manifest
    from surfer_lab.engine.learned.weight_files import weight_folder
    from surfer_lab.training.fit.reproduced import differences, files_that_differ, reproduced_figures
    from surfer_lab.training.fit.text import text_of_check

    found = reproduced_figures(weight_folder(), data, cache)
    stated = differences(manifest(), found)
    fitted = differences(run.manifest, found)
    print_line(text_of_check("weights in use, worked out again, beside their manifest", stated, ROUNDING))
    print_line(text_of_check("weights in use, worked out again, beside this fit", fitted, FIT_POINTS))
    other = files_that_differ(weight_folder(), run.folder)
    print_line(f"files with other bytes: {', '.join(other) or 'none'}")
    if any(one.size > ROUNDING for one in stated) or any(one.size > FIT_POINTS for one in fitted):
        raise OptionError(
            "the weights in use do not reach their figures, or another fit does not",
            remedy="the data and the table of steps that the manifest names by their hashes",
        )


def _make_table(data: Path, folder: Path, workers: int) -> None:
    from surfer_lab.training.fit.step_table import collect_steps, table_path
    from surfer_lab.training.timm_table.make import make_captures
    from surfer_lab.training.timm_table.rows import keys_of, read_rows
    from surfer_lab.training.timm_table.store import CaptureStore

    rows = read_rows(data)
    with _counted() as progress:
        make_captures(keys_of(rows), CaptureStore(folder), workers=workers, progress=progress)
    with _counted() as progress:
        _, table = collect_steps(data, folder, workers=workers, progress=progress)
    known = int((table.step >= 0).sum())
    print_line(f"{known:,} of {len(rows):,} rows, {len(table.count):,} items: {table_path(rows, folder)}")


@contextmanager
def _counted() -> Iterator[Callable[[str, int, int], None]]:
    """A bar on stderr: what is done, and how many of how many; nothing where stderr is no terminal."""
    with tqdm(leave=False, disable=None) as bar:

        def told(name: str, done: int, total: int) -> None:
            bar.total = total
            bar.set_description(name, refresh=False)
            bar.update(max(0, done - bar.n))

        yield told
