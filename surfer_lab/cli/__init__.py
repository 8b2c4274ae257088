"""The command line: `surfer ...`. Parses, calls, prints; every answer comes from the layers below."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the `surfer` command and end the process: exit code 2 for the user's input, 130 when interrupted."""
    from surfer_lab.cli import convergence, evaluate, measured, train  # `import surfer_lab.cli` alone loads nothing

    _ = convergence.app  # the same app, with its commands
    _ = measured.app
    _ = train.app
    evaluate.app(prog_name="surfer")
