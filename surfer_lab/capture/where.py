"""Where was an op called: on which line of the user's, in which module, from which place inside torch?

All of it is read off the Python stack while an op runs. No module is hooked and no function patched: hooks and patches
are seen by `torch.compile` and by whoever counts or pickles hooks, a stack is not.
"""

from __future__ import annotations

import re
import sys
import sysconfig
import weakref
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from types import CodeType, FrameType
from typing import Final, NamedTuple

import torch

from surfer_lab.trace.source_frames import shown_lines

__all__ = ["CallSite", "Label", "ModuleCall", "Place", "StackReader", "caller", "is_users_file", "is_users_line"]

# how a file is named in `Op.source`; None: by its own name
Label = Callable[[str], "str | None"]

_IPYTHON_INPUT: Final = re.compile(r"<ipython-input-(\d+)-")
_KERNEL_CELL: Final = re.compile(r"ipykernel_\d+[/\\]")


class Place(IntEnum):
    """Functions of torch whose ops a GPU would run otherwise; see `gpu_form`. ELSEWHERE: any other code."""

    ELSEWHERE = 0
    RNN = 1  # LSTM, GRU, RNN modules
    RNN_CELL = 2
    DROPOUT = 3
    RMS_NORM = 4
    ZERO_GRAD = 5
    CLIP_GRAD = 6
    GRAD_SCALER = 7
    OPTIMIZER = 8  # torch.optim's own arithmetic


class _Kind(IntEnum):
    TORCH = 0  # torch, the standard library, installed packages
    USER = 1
    MODULE = 2  # nn.Module._call_impl
    COMPILED = 6  # the entry to a compiled function
    ENGINE = 5  # torch.autograd.backward or grad: what is further inside computes gradients
    CHECKPOINT = 4  # torch.utils.checkpoint: runs a forward pass again during backward
    PASSING = 3  # between a dispatch mode and the op: not a place anybody calls from


def _code(owner: object, name: str) -> CodeType | None:
    function = getattr(owner, name, None)
    function = getattr(function, "__wrapped__", function)  # decorated ones
    return getattr(function, "__code__", None)


def _places() -> dict[int, Place]:
    rnn = torch.nn.modules.rnn
    named: list[tuple[CodeType | None, Place]] = [
        *((_code(cls, "forward"), Place.RNN) for cls in (rnn.LSTM, rnn.GRU, rnn.RNN)),
        *((_code(cls, "forward"), Place.RNN_CELL) for cls in (rnn.LSTMCell, rnn.GRUCell)),
        (_code(torch.nn.functional, "dropout"), Place.DROPOUT),
        (_code(torch.nn.functional, "rms_norm"), Place.RMS_NORM),
        (_code(torch.optim.Optimizer, "zero_grad"), Place.ZERO_GRAD),
    ]
    return {id(code): place for code, place in named if code is not None}


_PLACE_BY_FILE: Final = (
    (("torch", "nn", "utils", "clip_grad.py"), Place.CLIP_GRAD),
    (("torch", "amp", "grad_scaler.py"), Place.GRAD_SCALER),
)
_OPTIMIZER_FOLDER: Final = ("torch", "optim")
_PASSING_FILES: Final = (
    ("surfer_lab", "capture", "dispatch.py"),
    ("torch", "_ops.py"),
    ("torch", "utils", "_python_dispatch.py"),
    ("torch", "utils", "_stats.py"),
)
_RUNNER_FILES: Final = (  # they run a user's step, and stand in no line of the user's
    ("surfer_lab", "workloads", "any_batch.py"),
    ("surfer_lab", "workloads", "named_step.py"),
)
_COMPILE_FILE: Final = ("torch", "_dynamo", "eval_frame.py")
_AUTOGRAD_FILE: Final = ("torch", "autograd", "__init__.py")
_CHECKPOINT_FILE: Final = ("torch", "utils", "checkpoint.py")


class CallSite(NamedTuple):
    """One place of a program. Neighbours of equal call and instruction: one call into torch, or a loop over it."""

    source: str | None  # "cell 3:12", or "train.py:41 > model.py:88": the user's outermost line, then the innermost
    place: Place
    call: int
    instruction: int
    is_checkpointed: bool = False  # inside torch.utils.checkpoint: in the backward pass, run again
    is_compiled: bool = False  # called by code that torch.compile made

    def same_call(self, other: CallSite) -> bool:
        return self.call == other.call and self.instruction == other.instruction


class ModuleCall(NamedTuple):
    """The modules around an op: the outermost one being called, and the innermost one's path in it."""

    root: torch.nn.Module
    path: str
    innermost: torch.nn.Module


class StackReader:
    """Reads the stack above an op, up to the frame in which the recording began, that one included.

    `base` is that frame; None reads to the end. The frame of the outermost module call is held until the next op, so
    that the next call is told from this one (a frame's address is used again); `forget()` drops it.
    """

    def __init__(self, *, base: FrameType | None = None, label: Label | None = None) -> None:
        self._base = base
        self._label = label
        self._call_impl = torch.nn.Module._call_impl.__code__
        self._places = _places()
        self._kinds: dict[int, tuple[_Kind, Place]] = {id(self._call_impl): (_Kind.MODULE, Place.ELSEWHERE)}
        self._kept: list[CodeType] = []  # an id stays unique only while its object lives
        self._files: dict[str, str] = {}
        self._paths: dict[int, tuple[weakref.ref[torch.nn.Module], str]] = {}
        self._root_frame: FrameType | None = None
        self._rnn_frame: FrameType | None = None
        self._rnn_serial = 0
        self.root_call_count = 0  # outermost module calls seen

    def forget(self) -> None:
        """Let go of the user's objects."""
        self._root_frame = self._rnn_frame = None

    def end(self) -> None:
        """Let go of everything that is alive."""
        self.forget()
        self._base = None

    def read(self, frame: FrameType | None) -> tuple[CallSite, ModuleCall | None]:
        """The site of an op called from `frame`, and the module call around it."""
        kinds, base = self._kinds, self._base
        innermost: FrameType | None = None
        user: FrameType | None = None
        outermost: FrameType | None = None
        module: FrameType | None = None
        root: FrameType | None = None
        place = Place.ELSEWHERE
        checkpointed = in_engine = compiled = False
        while frame is not None:
            found = kinds.get(id(frame.f_code))
            if found is None:
                found = self._classify(frame.f_code)
            kind = found[0]
            if innermost is None and kind is not _Kind.PASSING:
                innermost, place = frame, found[1]
            if kind is _Kind.USER:
                outermost = frame
                if user is None:
                    user = frame
            elif kind is _Kind.CHECKPOINT:
                checkpointed = checkpointed or not in_engine
            elif kind is _Kind.COMPILED:
                compiled = True
            elif kind is _Kind.ENGINE:
                in_engine = True
            elif kind is _Kind.MODULE:
                root = frame
                if module is None:
                    module = frame
            if frame is base:
                break
            frame = frame.f_back
        if root is not self._root_frame:
            self._root_frame = root
            if root is not None:
                self.root_call_count += 1
        source = None
        if user is not None and outermost is not None:
            source = self._line(user) if user is outermost else shown_lines(self._line(outermost), self._line(user))
        call = id(innermost)
        if place is Place.RNN or place is Place.RNN_CELL:
            # called again and again from a loop: the next call's frame may lie where this one's was
            if innermost is not self._rnn_frame:
                self._rnn_frame = innermost
                self._rnn_serial -= 1
            call = self._rnn_serial
        else:
            self._rnn_frame = None
        site = CallSite(source, place, call, innermost.f_lasti if innermost is not None else -1, checkpointed, compiled)
        if root is None or module is None:
            return site, None
        return site, self._module_call(root.f_locals["self"], module.f_locals["self"])

    def root_arguments(self) -> tuple[object, object] | None:
        """Positional and keyword arguments of the outermost module call last read; None outside of one."""
        frame = self._root_frame
        if frame is None:
            return None
        return frame.f_locals.get("args", ()), frame.f_locals.get("kwargs", {})

    def _module_call(self, root: torch.nn.Module, innermost: torch.nn.Module) -> ModuleCall:
        known = self._paths.get(id(innermost))
        if known is None or known[0]() is not innermost:
            # parts of a root called earlier keep their paths in it: a checkpointed block runs again on its own
            for name, part in root.named_modules():
                before = self._paths.get(id(part))
                if before is None or before[0]() is not part:
                    self._paths[id(part)] = (weakref.ref(part), name.removeprefix("_orig_mod."))
            known = self._paths.get(id(innermost))
        path = known[1] if known is not None else ""
        if not path or path == "_orig_mod":  # the root itself, or a module that it does not own
            path = type(getattr(innermost, "_orig_mod", innermost)).__name__
        return ModuleCall(root, path, innermost)

    def _classify(self, code: CodeType) -> tuple[_Kind, Place]:
        parts = Path(code.co_filename).parts
        place = self._places.get(id(code), Place.ELSEWHERE)
        for tail, named in _PLACE_BY_FILE:
            if parts[-len(tail) :] == tail:
                place = named
        if place is Place.ELSEWHERE and parts[-3:-1] == _OPTIMIZER_FOLDER:
            place = Place.OPTIMIZER
        kind = _Kind.USER if is_users_line(code.co_filename) else _Kind.TORCH
        if any(parts[-len(tail) :] == tail for tail in _PASSING_FILES):
            kind = _Kind.PASSING
        elif parts[-len(_CHECKPOINT_FILE) :] == _CHECKPOINT_FILE:
            kind = _Kind.CHECKPOINT
        elif parts[-len(_COMPILE_FILE) :] == _COMPILE_FILE and code.co_name == "compile_wrapper":
            kind = _Kind.COMPILED
        elif parts[-len(_AUTOGRAD_FILE) :] == _AUTOGRAD_FILE and code.co_name in ("backward", "grad"):
            kind = _Kind.ENGINE
        self._kept.append(code)
        self._kinds[id(code)] = found = (kind, place)
        return found

    def line_of(self, frame: FrameType, line: int) -> str | None:
        """File and line of a frame of the user's, None of any other."""
        filename = frame.f_code.co_filename
        return f"{self._file(filename)}:{line}" if is_users_line(filename) else None

    def _line(self, frame: FrameType) -> str:
        return f"{self._file(frame.f_code.co_filename)}:{frame.f_lineno}"

    def _file(self, filename: str) -> str:
        name = self._files.get(filename)
        if name is None:
            name = (self._label(filename) if self._label is not None else None) or _own_name(filename)
            self._files[filename] = name
        return name


def _own_name(filename: str) -> str:
    cell = _IPYTHON_INPUT.search(filename)
    if cell:
        return f"cell {cell.group(1)}"
    if _KERNEL_CELL.search(filename):
        return "cell"
    return Path(filename).name


def _foreign_roots() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    roots = {paths["stdlib"], paths["platstdlib"], paths["purelib"], paths["platlib"]}
    return (*(str(Path(root)) + "/" for root in roots), str(Path(torch.__file__).parent), str(_PACKAGE))


_PACKAGE: Final = Path(__file__).parent.parent
_FOREIGN: Final = _foreign_roots()
_READABLE: Final = str(_PACKAGE / "workloads")  # models written to be read: as good as the user's


def is_users_line(filename: str) -> bool:
    """Is it the user's own code, but for what runs a user's step?"""
    return is_users_file(filename) and Path(filename).parts[-3:] not in _RUNNER_FILES


def is_users_file(filename: str) -> bool:
    """Is it the user's own code: nothing installed, generated or of this package (but its models)?"""
    if filename.startswith("<") and not filename.startswith("<ipython-input"):
        return False  # <string>, <frozen ...>, generated code
    normal = filename.replace("\\", "/")
    if "/site-packages/" in normal or "/dist-packages/" in normal:
        return False
    return filename.startswith(_READABLE) or not (filename.startswith(_FOREIGN) or normal.startswith(_FOREIGN))


def caller(depth: int = 1) -> FrameType | None:
    """The frame `depth` calls above the caller of this function."""
    try:
        return sys._getframe(depth + 1)
    except ValueError:
        return None
