"""How does the command line speak? Answers on stdout, errors and progress on stderr, colours only to a terminal."""

from __future__ import annotations

import functools
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, ParamSpec, TypeVar

import typer
from rich.console import Console
from rich.style import Style
from tqdm import tqdm

from surfer_lab.errors import OptionError, SurferError
from surfer_lab.report.text import Ink

__all__ = [
    "EXIT_INTERRUPTED",
    "EXIT_USER_ERROR",
    "counted",
    "measure_progress",
    "paint",
    "print_line",
    "read_progress",
    "speaks_plainly",
    "waiting",
    "width",
]

P = ParamSpec("P")
R = TypeVar("R")

EXIT_USER_ERROR: Final = 2
EXIT_INTERRUPTED: Final = 130  # 128 + SIGINT, as shells have it
_WIDEST: Final = 140

_STYLES: Final = {
    Ink.TITLE: Style.parse("bold"),
    Ink.LABEL: Style.parse("cyan"),
    Ink.STRONG: Style.parse("bold green"),
    Ink.FAINT: Style.parse("dim"),
    Ink.WARNING: Style.parse("yellow"),
}


def print_line(text: str = "") -> None:
    """One answer on stdout; characters that its encoding lacks are replaced instead of ending the program.

    OptionError where stdout cannot take it (a full disk), at once and not when Python ends.
    """
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"  # a closed stdout is None
    try:
        print(text.encode(encoding, errors="replace").decode(encoding), flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        _give_stdout_up()
        reason = error.strerror or type(error).__name__
        raise OptionError(
            f"the answer cannot be written to stdout ({reason})", remedy="another place for it"
        ) from error


def width() -> int:
    """Columns to write in: the terminal's, at most 140; 120 where stdout is none."""
    return min(_WIDEST, shutil.get_terminal_size((120, 24)).columns)


def paint(text: str, ink: Ink) -> str:
    """The text in its colour, where stdout shows colours (NO_COLOR and pipes: none)."""
    console = Console(file=sys.stdout)
    if not console.is_terminal or console.no_color or console.color_system is None:
        return text
    return _STYLES[ink].render(text)


@contextmanager
def read_progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr while a file is read; nothing where stderr is no terminal, or the file is read at once."""
    with tqdm(desc=what, unit="B", unit_scale=True, unit_divisor=1024, delay=0.5, leave=False, disable=None) as bar:

        def told(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield told


@contextmanager
def counted(what: str) -> Iterator[Callable[[str, int, int], None]]:
    """A bar on stderr: what is done, and how many of how many; nothing where stderr is no terminal."""
    with tqdm(desc=what, leave=False, disable=None) as bar:

        def told(name: str, done: int, total: int) -> None:
            bar.total = total
            bar.set_postfix_str(name, refresh=False)
            bar.update(done - bar.n)

        yield told


@contextmanager
def measure_progress() -> Iterator[Callable[[str, float], None]]:
    """A bar on stderr while something is measured: what, and the share done."""
    with tqdm(total=100, unit="%", leave=False, disable=None, bar_format="{desc} {bar} {percentage:.0f} %") as bar:

        def told(what: str, share: float) -> None:
            bar.set_description(f"measuring {what}", refresh=False)
            bar.update(100 * share - bar.n)

        yield told


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """A word on stderr while something runs that tells no progress; nothing where stderr is no terminal."""
    console = Console(file=sys.stderr)
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield


def speaks_plainly(command: Callable[P, R]) -> Callable[P, R]:
    """A command whose errors of the user's become one sentence and exit code 2, and an interrupt exit code 130."""

    @functools.wraps(command)
    def wrapped(*arguments: P.args, **options: P.kwargs) -> R:
        try:
            return command(*arguments, **options)
        except SurferError as error:
            _complain(str(error))
            raise typer.Exit(EXIT_USER_ERROR) from error
        except KeyboardInterrupt:
            _complain("interrupted")
            raise typer.Exit(EXIT_INTERRUPTED) from None
        except BrokenPipeError:
            # the reader of a pipe went away (`surfer ... | head`): nothing more to say
            _give_stdout_up()
            raise typer.Exit(0) from None

    return wrapped


def _give_stdout_up() -> None:
    """What is still buffered goes nowhere, so that Python's end does not fail on it once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(sentence: str) -> None:
    if sys.stderr is not None:  # closed; print would take stdout, where only answers belong
        print(f"surfer: {sentence}", file=sys.stderr, flush=True)
