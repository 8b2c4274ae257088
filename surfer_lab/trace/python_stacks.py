"""Which source line and which module is an op called from, by the python frames recorded around it?

Frames nest on their thread as ops do. Of each op's chain of frames only the user's first and last line, and the path
of modules ("ResNet_0.Sequential_1.Conv2d_3"), are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.trace.nesting import Nesting, inherit
from surfer_lab.trace.source_frames import module_of_frame, shown_lines, user_line

__all__ = ["PythonStacks"]

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

_LONGEST_PATH: Final = 1_024  # characters; modules nested some 60 deep


@dataclass(frozen=True, kw_only=True, eq=False)
class PythonStacks:
    """Distinct lines and module paths, and for each frame (rows,) the code of its own or its nearest caller's."""

    lines: list[str]
    modules: list[str]
    is_module: NDArray[np.bool_]  # (rows,): the frame is a module's call
    _line: I32
    _module: I32
    _nesting: Nesting

    @classmethod
    def of(
        cls, name_codes: NDArray[Any], names: Sequence[str], start_ns: I64, end_ns: I64, thread: I32
    ) -> PythonStacks:
        """Nest frames that are in order of start, longest first."""
        nesting = Nesting.of(start_ns, end_ns, thread)
        used = np.flatnonzero(np.bincount(name_codes, minlength=1)).tolist() if len(name_codes) else []
        line_of = {code: label for code in used if (label := user_line(names[code])) is not None}
        module_of = {code: label for code in used if (label := module_of_frame(names[code])) is not None}
        lines, line = _chains(name_codes, line_of, nesting.parent, _extended_lines)
        modules, module = _chains(name_codes, module_of, nesting.parent, _extended_path)
        return cls(
            lines=[shown_lines(*pair) for pair in lines],
            modules=modules,
            is_module=_among(name_codes, module_of),
            _line=inherit(line, nesting.parent),
            _module=inherit(module, nesting.parent),
            _nesting=nesting,
        )

    def around(self, time_ns: I64, thread: I32) -> tuple[I32, I32]:
        """Codes of the line and of the module path around each (thread, time), -1 = none."""
        frame = self._nesting.innermost(time_ns, thread)
        if not len(self._line):
            return frame, frame.copy()
        return np.where(frame >= 0, self._line[frame], -1), np.where(frame >= 0, self._module[frame], -1)

    def module_codes(self, rows: I64) -> I32:
        """The path of each of these frames."""
        return self._module[rows]


def _chains(
    name_codes: NDArray[Any], labels: dict[int, str], parent: I32, extended: Callable[[Any, str], Any]
) -> tuple[list[Any], I32]:
    """Each labelled frame's chain: its own label appended to the chain of its nearest labelled caller."""
    chains: dict[Any, int] = {}
    rows = np.flatnonzero(_among(name_codes, labels))
    own = np.full(len(name_codes), -1, dtype=np.int32)
    own[rows] = rows
    caller = inherit(own, parent)
    caller_of_row = np.where(parent[rows] >= 0, caller[parent[rows]], -1).tolist()
    code = np.full(len(name_codes), -1, dtype=np.int32)
    values: list[Any] = []
    for row, above in zip(rows.tolist(), caller_of_row, strict=True):  # callers stand before what they call
        chain = extended(values[code[above]] if above >= 0 else None, labels[int(name_codes[row])])
        found = chains.setdefault(chain, len(chains))
        if found == len(values):
            values.append(chain)
        code[row] = found
    return values, code


def _among(codes: NDArray[Any], wanted: Iterable[int]) -> NDArray[np.bool_]:
    table = np.zeros(int(codes.max(initial=0)) + 1, dtype=np.bool_)
    table[list(wanted)] = True
    found: NDArray[np.bool_] = table[codes]
    return found


def _extended_lines(chain: tuple[str, str] | None, line: str) -> tuple[str, str]:
    return (chain[0] if chain else line, line)


def _extended_path(chain: str | None, module: str) -> str:
    return f"{chain}.{module}"[:_LONGEST_PATH] if chain else module[:_LONGEST_PATH]
