"""The command line: `surfer ...`. Parses, calls, prints; every answer comes from the layers below."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the `surfer` command and end the process: exit code 2 for the user's input, 130 when interrupted."""
    # `import surfer_lab.cli` alone loads nothing
    from surfer_lab.cli import characterize, convergence, evaluate, measured, schedule, train

    _ = characterize.app  # the same app, with its commands
    _ = convergence.app
    _ = measured.app
    _ = schedule.app
    _ = train.app
    evaluate.app(prog_name="surfer")
