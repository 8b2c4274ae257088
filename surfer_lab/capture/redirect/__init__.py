"""What becomes of calls for CUDA on a machine without it? They run on the CPU while a cell is recorded, and say so.

`.cuda()`, `.to("cuda")`, `device="cuda"`, `torch.cuda.*`, `torch.autocast("cuda")`, `GradScaler("cuda")`. Torch's own
functions are replaced for the length of the cell, and put back. `torch.cuda.is_available()` keeps telling the truth:
a program that asks takes the path that it would take here without us. A tensor that is moved is copied, as a move
does. Under `autocast("cuda")` arithmetic stays in float32 (as torch itself decides where CUDA is missing; halves are
up to fifty times slower on a CPU); the trace gets the casts and dtypes of CUDA's autocast, see `autocast`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, Final

import torch
from torch.utils import _device as default_device

from surfer_lab.capture.oplog import OpLog
from surfer_lab.capture.patches import Patches
from surfer_lab.capture.redirect.device_tensors import DeviceTensors
from surfer_lab.capture.redirect.stand_ins import (
    EMPTY_ANSWERS,
    HostDevice,
    HostEvent,
    HostGenerator,
    HostStream,
    HostStreamContext,
)
from surfer_lab.capture.where import StackReader

__all__ = ["CudaRedirect"]

_moved: Final = DeviceTensors()

_LIKE_FUNCTIONS: Final = (
    "zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like", "randint_like", "normal",
)  # fmt: skip
_NEW_METHODS: Final = ("new_tensor", "new_zeros", "new_ones", "new_empty", "new_full", "new_empty_strided")


def _is_cuda(device: object) -> bool:
    if isinstance(device, torch.device):
        return device.type == "cuda"
    if isinstance(device, str):
        return device.split(":")[0] == "cuda"
    return isinstance(device, int) and not isinstance(device, bool)  # an index means the accelerator's


class CudaRedirect:
    """Redirects from `start` to `stop`, where there is no CUDA. `notice` is the line for the user, None: not needed."""

    def __init__(self) -> None:
        self._patches = Patches()
        self._reader = StackReader()
        self._first: tuple[str, str | None] | None = None
        self._kinds: set[str] = set()
        self._autocast: list[str | None] = []  # dtype of each autocast region around, None: switched off
        self._log: OpLog | None = None
        self.assumed_autocast: set[str] = set()

    @property
    def notice(self) -> str | None:
        """One line: what was asked of CUDA and ran on the CPU."""
        if self._first is None:
            return None
        what, where = self._first
        more = len(self._kinds) - 1
        return (
            f"No CUDA GPU here: {what}{f' ({where})' if where else ''}"
            f"{f' and {more} other kinds of call' if more > 1 else ' and one other kind of call' if more else ''}"
            " ran on the CPU instead, for this cell only."
        )

    def start(self, reader: StackReader | None = None, *, always: bool = False) -> None:
        """Replace, unless there is a GPU, or then too."""
        if torch.cuda.is_available() and not always:
            return
        _moved.tells = False
        if reader is not None:
            self._reader = reader
        self._replace_tensor_methods()
        self._replace_factories()
        self._replace_cuda_module()
        self._replace_amp()

    def stop(self) -> None:
        """Put everything back."""
        self._patches.undo()
        self._reader.end()
        self._log = None
        _moved.tells = False

    def prepare_log(self, log: OpLog) -> None:
        """A log is about to be written: what runs on the host stays out of it, autocast regions are marked."""
        self._log = log
        log.device_tensors = _moved
        log.autocast = self._autocast[-1] if self._autocast else None

    # -- noticing ------------------------------------------------------------------------------------------------------

    def _note(self, what: str) -> None:
        if what in self._kinds:
            return
        self._kinds.add(what)
        if self._first is None:
            self._first = (what, self._reader.read(sys._getframe(1))[0].source)
            self._reader.forget()

    # -- what is replaced ----------------------------------------------------------------------------------------------

    def _replace_tensor_methods(self) -> None:
        patches, tensor, module = self._patches, torch.Tensor, torch.nn.Module
        plain_to, module_to = tensor.to, module.to

        @functools.wraps(plain_to)
        def to(self_: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            wanted, args, kwargs = _without_cuda(args, kwargs)
            if not wanted:
                return self._kept_full(self_, plain_to(self_, *args, **kwargs), args, kwargs)
            self._note(".to('cuda')")
            return self._moved_copy(self_, plain_to(self_, *args, **kwargs))

        def cuda(self_: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            self._note(".cuda()")
            memory_format = kwargs.get("memory_format", torch.preserve_format)
            return self._moved_copy(self_, plain_to(self_, memory_format=memory_format))

        def pin_memory(self_: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
            self._note(".pin_memory()")
            return self_

        def record_stream(self_: torch.Tensor, stream: object) -> None:
            return None

        @functools.wraps(module_to)
        def to_module(self_: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
            wanted, args, kwargs = _without_cuda(args, kwargs)
            if wanted:
                self._note("model.to('cuda')")
            moved = module_to(self_, *args, **kwargs)
            return self._moved_module(moved) if wanted else moved

        def cuda_module(self_: torch.nn.Module, device: object = None) -> torch.nn.Module:
            self._note("model.cuda()")
            return self._moved_module(self_)

        plain_float = tensor.float

        @functools.wraps(plain_float)
        def float_(self_: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            return self._kept_full(self_, plain_float(self_, *args, **kwargs), (torch.float32,), {})

        plain_type = tensor.type

        @functools.wraps(plain_type)
        def type_(self_: torch.Tensor, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
            # a tensor type, as old programs name dtype and device at once
            named = f"{dtype.__module__}.{dtype.__name__}" if isinstance(dtype, type) else str(dtype)
            if not named.startswith("torch.cuda."):
                return plain_type(self_, dtype, *args, **kwargs) if dtype is not None else plain_type(self_)
            self._note(".type(torch.cuda...)")
            return self._moved_copy(self_, plain_type(self_, named.replace("torch.cuda.", "torch."), *args, **kwargs))

        def storage_cuda(self_: Any, device: object = None, non_blocking: bool = False) -> Any:
            self._note("storage.cuda()")
            return self_

        patches.replace(torch.UntypedStorage, "cuda", storage_cuda)
        patches.replace(tensor, "type", type_)
        patches.replace(tensor, "float", float_)
        patches.replace(tensor, "to", to)
        patches.replace(tensor, "cuda", cuda)
        patches.replace(tensor, "pin_memory", pin_memory)
        patches.replace(tensor, "record_stream", record_stream)
        patches.replace(module, "to", to_module)
        patches.replace(module, "cuda", cuda_module)

    def _replace_factories(self) -> None:
        constructors = default_device._device_constructors()  # cached there: ask before anything is replaced
        names = {function.__name__ for function in constructors} | set(_LIKE_FUNCTIONS)
        for name in sorted(names):
            plain = getattr(torch, name, None)
            if plain is not None and (plain in constructors or name in _LIKE_FUNCTIONS):
                self._patches.replace(torch, name, self._on_cpu(plain, f"torch.{name}(device='cuda')"))
        for name in _NEW_METHODS:
            plain = getattr(torch.Tensor, name)
            self._patches.replace(torch.Tensor, name, self._on_cpu(plain, f".{name}(device='cuda')"))
        self._patches.replace(torch, "Generator", HostGenerator)
        context_init = default_device.DeviceContext.__init__

        @functools.wraps(context_init)
        def init(self_: Any, device: Any) -> None:
            if _is_cuda(device):
                self._note("torch.device('cuda') as the default")
                device = "cpu"
            context_init(self_, device)

        self._patches.replace(default_device.DeviceContext, "__init__", init)
        plain_load = torch.load

        @functools.wraps(plain_load)
        def load(f: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
            if isinstance(map_location, (str, torch.device)) and _is_cuda(map_location):
                self._note("torch.load(map_location='cuda')")
                map_location = "cpu"
            elif isinstance(map_location, dict) and any(map(_is_cuda, map_location.values())):
                self._note("torch.load(map_location='cuda')")
                map_location = {old: "cpu" if _is_cuda(new) else new for old, new in map_location.items()}
            return plain_load(f, map_location, *args, **kwargs)

        self._patches.replace(torch, "load", load)

    def _replace_cuda_module(self) -> None:
        patches, cuda = self._patches, torch.cuda
        for name, answer in EMPTY_ANSWERS.items():
            patches.replace(cuda, name, self._answering(name, answer))
        patches.replace(torch.cuda.memory, "empty_cache", self._answering("empty_cache", None))
        for name in ("range_push", "range_pop", "mark"):
            patches.replace(cuda.nvtx, name, self._answering(f"nvtx.{name}", 0))
        for name in ("start", "stop"):
            patches.replace(cuda.profiler, name, self._answering(f"profiler.{name}", None))
        # CUDA's random numbers are the CPU's here, and so is their state
        patches.replace(cuda, "get_rng_state", self._get_random_state)
        patches.replace(cuda, "set_rng_state", self._set_random_state)
        patches.replace(cuda, "initial_seed", torch.initial_seed)
        for name, stand_in in (
            ("Event", HostEvent), ("Stream", HostStream), ("ExternalStream", HostStream),
            ("stream", HostStreamContext), ("device", HostDevice),
        ):  # fmt: skip
            patches.replace(cuda, name, stand_in)
        for name in ("current_stream", "default_stream"):
            patches.replace(cuda, name, lambda device=None: HostStream())

    def _replace_amp(self) -> None:
        autocast, patches = torch.autocast, self._patches
        plain_init: Any = autocast.__init__
        plain_enter: Any = autocast.__enter__
        plain_exit: Any = autocast.__exit__

        @functools.wraps(plain_init)
        def init(
            self_: Any, device_type: Any, dtype: Any = None, enabled: bool = True, cache_enabled: Any = None
        ) -> None:
            emulated = None
            if device_type == "cuda":
                if enabled:
                    self._note("torch.autocast('cuda')")
                dtype = dtype or torch.get_autocast_dtype("cuda")
                emulated = str(dtype).removeprefix("torch.") if enabled else None
                plain_init(self_, "cpu", torch.bfloat16, False, cache_enabled)
            else:
                plain_init(self_, device_type, dtype, enabled, cache_enabled)
            self_._emulated_dtype = emulated

        @functools.wraps(plain_enter)
        def enter(self_: Any) -> Any:
            entered = plain_enter(self_)
            self._enter_autocast(getattr(self_, "_emulated_dtype", None))
            return entered

        @functools.wraps(plain_exit)
        def leave(self_: Any, *error: Any) -> Any:
            if self._autocast:
                self._autocast.pop()
            self._mark_log()
            return plain_exit(self_, *error)

        patches.replace(autocast, "__init__", init)
        patches.replace(autocast, "__enter__", enter)
        patches.replace(autocast, "__exit__", leave)
        scaler = getattr(torch.amp, "GradScaler", None)
        if scaler is None:  # torch < 2.3: its scaler switches itself off
            return
        plain_scaler = scaler.__init__

        @functools.wraps(plain_scaler)
        def scaler_init(self_: Any, device: str = "cuda", *args: Any, **kwargs: Any) -> None:
            if device == "cuda":
                if kwargs.get("enabled", True):
                    self._note("GradScaler('cuda')")
                device = "cpu"
            plain_scaler(self_, device, *args, **kwargs)

        patches.replace(scaler, "__init__", scaler_init)

    # -- how -----------------------------------------------------------------------------------------------------------

    def _on_cpu(self, plain: Callable[..., Any], what: str) -> Callable[..., Any]:
        @functools.wraps(plain)
        def call(*args: Any, **kwargs: Any) -> Any:
            if kwargs:
                if kwargs.get("pin_memory"):
                    kwargs["pin_memory"] = False
                device = kwargs.get("device")
                if device is not None and _is_cuda(device):
                    self._note(what)
                    kwargs["device"] = "cpu"
                    _moved.tells, _moved.making = True, True
                    try:
                        made = plain(*args, **kwargs)
                    finally:
                        _moved.making = False
                    _moved.add(made)
                    return made
            return plain(*args, **kwargs)

        return call

    def _answering(self, name: str, answer: Any) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self._note(f"torch.cuda.{name}()")
            return answer

        call.__name__ = name.split(".")[-1]
        return call

    def _get_random_state(self, device: object = "cuda") -> torch.Tensor:
        self._note("torch.cuda.get_rng_state()")
        return torch.get_rng_state()

    def _set_random_state(self, new_state: torch.Tensor, device: object = "cuda") -> None:
        self._note("torch.cuda.set_rng_state()")
        torch.set_rng_state(new_state)

    def _kept_full(self, before: torch.Tensor, after: torch.Tensor, args: Any, kwargs: Any) -> torch.Tensor:
        """A cast to float32 that did nothing, since autocast is only emulated: on a GPU it casts a half."""
        wants_full = torch.float32 in args or kwargs.get("dtype") is torch.float32
        if after is before and wants_full and self.assumed_autocast and self._log is not None:
            self._log.note_full(after)
        return after

    @staticmethod
    def _moved_copy(before: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
        """A move copies, unless the tensor is there already."""
        if after is before and not _moved.has(before):
            after = before.clone()
        _moved.tells = True
        _moved.add(after)
        return after

    @staticmethod
    def _moved_module(module: torch.nn.Module) -> torch.nn.Module:
        for tensor in (*module.parameters(), *module.buffers()):
            _moved.add(tensor)
        _moved.tells = True
        return module

    def _enter_autocast(self, dtype: str | None) -> None:
        self._autocast.append(dtype)
        if dtype is not None:
            self.assumed_autocast.add(dtype)
        self._mark_log()

    def _mark_log(self) -> None:
        if self._log is not None:
            self._log.autocast = self._autocast[-1] if self._autocast else None


def _without_cuda(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[bool, tuple[Any, ...], dict[str, Any]]:
    """Arguments of `to` with the CPU in CUDA's place, and whether it was asked for."""
    if args and not isinstance(args[0], (torch.Tensor, torch.dtype)) and _is_cuda(args[0]):
        return True, ("cpu", *args[1:]), kwargs
    device = kwargs.get("device")
    if device is not None and _is_cuda(device):
        return True, args, {**kwargs, "device": "cpu"}
    return False, args, kwargs
