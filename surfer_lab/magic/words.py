"""What do `%%predict` and `%surfer` do? Their lines are parsed here, by the vocabulary of `planner.options`.

Names and flags are checked before the cell runs. The user's own error leaves as in a plain cell; a prediction that
fails after the cell ran is told, and does not make the cell fail: the loop's results are worth more than the answer.
"""

from __future__ import annotations

from typing import Final

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class, no_var_expand

from surfer_lab.errors import OptionError, SurferError
from surfer_lab.planner.options import PREDICT_FLAGS, parse_predict_line

__all__ = ["SurferMagics"]

_PREDICT: Final = "%%predict"
_HELP_WORDS: Final = {"-h", "--help", "help", "?"}


def _help() -> str:
    longest = max(len(flag.usage) for flag in PREDICT_FLAGS)
    flags = "\n".join(f"  {flag.usage:<{longest}}  {flag.help}" for flag in PREDICT_FLAGS)
    return f"""%%predict [options]     at the top of the cell that runs the training loop; a few steps are enough
{flags}

%%tune FACTORY --target LOSS [options]     tune and run a training over several workers; %%tune --help: the options

%surfer last [NAME]     the newest prediction, or the one of that name: p = %surfer last
%surfer list            the predictions of this notebook
%surfer gpus [NAME]     the known GPUs, or all that is known of one
%surfer report FILE     write the newest prediction as .html, .md, .txt, .json or .csv
%surfer help            this text"""


@magics_class
class SurferMagics(Magics):
    """`%%predict`, `%%tune` and `%surfer`."""

    shell: InteractiveShell

    @no_var_expand
    @cell_magic
    def predict(self, line: str, cell: str) -> None:
        """Run the cell once, as it is, and predict its training step on other GPUs. `%%predict --help`: the options."""
        if line.strip() in _HELP_WORDS:
            _say(_help())
            return
        from surfer_lab.magic.predict_cell import checked_options, predict_cell  # `%load_ext` alone stays light

        try:
            if cell.lstrip().split(maxsplit=1)[:1] == [_PREDICT]:  # each of them would answer, and say what is wrong
                raise OptionError(
                    "%%predict stands twice at the head of this cell", remedy="one line of it, with all options"
                )
            options = checked_options(parse_predict_line(line))
        except SurferError as error:
            raise UsageError(str(error)) from None
        predict_cell(self.shell, cell, options)

    @no_var_expand
    @cell_magic
    def tune(self, line: str, cell: str) -> None:
        """Run the cell, then tune the training that its function makes over several workers, shown live."""
        from surfer_lab.planner.convergence.tune_options import TUNE_USAGE, parse_tune_line

        if line.strip() in _HELP_WORDS:
            _say(f"%%tune {TUNE_USAGE}")
            return
        from surfer_lab.magic.tune_cell import tune_cell

        try:
            name, options = parse_tune_line(line)
            tune_cell(self.shell, cell, name, options)
        except SurferError as error:
            raise UsageError(str(error)) from None

    @no_var_expand
    @line_magic
    def surfer(self, line: str) -> object:
        """`%surfer last|list|gpus|report|help`."""
        from surfer_lab.magic.surfer_line import answer

        try:
            said = answer(line, help_text=_help())
        except SurferError as error:
            raise UsageError(str(error)) from None
        if not isinstance(said, str):
            return said
        _say(said)
        return None


def _say(text: str) -> None:
    print(text)  # noqa: T201 # a magic's answer is the cell's output
