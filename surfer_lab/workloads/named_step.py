"""Which step does `module:factory` name? A factory's answer, whatever its form, as one `ModelStep`.

A factory is called without data (under fake tensors), with `batch_size` where it takes one, and returns one of

- a workload: an object with `example_inputs(batch_size)` and `step(batch)` (and `infer(batch)`), as
  `surfer_lab.workloads` has them;
- `(model, inputs)` or `(model, inputs, optimizer)`: inputs are a tensor, a tuple of positional or a dict of named
  arguments. The step is forward, a loss (`output.loss`, else the mean of the floating-point outputs), backward and
  the optimizer's step (AdamW where none is given);
- `(model, data set)` or `(model, data set, loss)`, as `surfer tune` takes it: items are (input, target), the loss is
  cross entropy where none is given, the optimizer SGD with momentum;
- a function: one training step, `step()` or `step(batch_size)`.

Refused (OptionError): a name that leads nowhere, with near matches; an answer of another form.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import torch

from surfer_lab.errors import OptionError

__all__ = ["FACTORY_FORMS", "ModelStep", "model_step", "named_step"]

FACTORY_FORMS: Final = (
    "a workload (example_inputs(batch_size) and step(batch)), (model, inputs), (model, inputs, optimizer), "
    "(model, data set), (model, data set, loss), or a function that runs one step"
)
_BATCH_WORD: Final = "batch_size"
_TUNED_BATCH: Final = 64  # of `surfer tune`, where none is named
_EXAMPLE: Final = "surfer_lab.workloads:resnet50, or your_module:your_factory"


@dataclass(frozen=True, kw_only=True)
class ModelStep:
    """A step that can be captured at a batch size: `run(build(n), n)`; `n` None: the factory's own."""

    name: str
    build: Callable[[int | None], Any]  # called where tensors have no data
    run: Callable[[Any, int | None], object]
    default_batch_size: int | None = None
    takes_batch_size: bool = True
    notes: list[str] = field(default_factory=list)  # what was assumed, known once built


def named_step(name: str, *, inference: bool = False) -> ModelStep:
    """The step of "module:factory"; the module is imported, or read from a file ("train.py:factory")."""
    module_name, colon, attribute = name.rpartition(":")
    if not colon or not module_name or not attribute:
        raise OptionError(f"{name!r} is not MODULE:FACTORY", remedy=_EXAMPLE)
    module = _module(module_name)
    found = _attribute(module, attribute, module_name)
    if not callable(found):
        raise OptionError(
            f"{name} is {type(found).__name__}, not a function", remedy=f"a function that returns {FACTORY_FORMS}"
        )
    return model_step(found, name=attribute, inference=inference)


def model_step(factory: Callable[..., Any], *, name: str, inference: bool = False) -> ModelStep:
    """The step of a factory."""
    parameters = _parameters(factory)
    own = parameters.get(_BATCH_WORD)
    takes = own is not None
    default = own.default if own is not None and isinstance(own.default, int) else None
    notes: list[str] = []

    def build(batch_size: int | None) -> _Made:
        missing = [one.name for one in _required(parameters) if one.name != _BATCH_WORD or batch_size is None]
        if missing == [_BATCH_WORD]:
            raise OptionError(f"the factory {name} wants a batch size", remedy="name it: --batch-size 32")
        if missing:
            raise OptionError(
                f"the factory {name} wants arguments ({', '.join(missing)})",
                remedy="a factory without arguments, or of batch_size alone",
            )
        made = factory(**{_BATCH_WORD: batch_size}) if takes and batch_size is not None else factory()
        return _made(made, batch_size, inference=inference, notes=notes, at_factory=takes)

    def run(made: _Made, batch_size: int | None) -> object:
        return made.run()

    return ModelStep(name=name, build=build, run=run, default_batch_size=default, notes=notes)


@dataclass(frozen=True, kw_only=True)
class _Made:
    run: Callable[[], object]
    keeps: object  # what the step works on, so that a capture finds it


def _made(made: Any, batch_size: int | None, *, inference: bool, notes: list[str], at_factory: bool) -> _Made:
    notes.clear()
    if hasattr(made, "example_inputs") and hasattr(made, "step"):
        return _of_workload(made, batch_size, inference=inference, notes=notes)
    if isinstance(made, torch.nn.Module):
        raise OptionError(
            f"the factory returns a model ({type(made).__name__}) without its inputs",
            remedy=f"return (model, inputs); known forms: {FACTORY_FORMS}",
        )
    if isinstance(made, tuple) and 2 <= len(made) <= 3 and isinstance(made[1], torch.utils.data.Dataset):
        return _of_data_set(*made, batch_size=batch_size, inference=inference, notes=notes)
    if isinstance(made, tuple) and 2 <= len(made) <= 3 and isinstance(made[0], torch.nn.Module):
        return _of_model(*made, batch_size=batch_size, inference=inference, notes=notes, at_factory=at_factory)
    if callable(made):
        return _of_function(made, batch_size)
    raise OptionError(f"the factory returns {type(made).__name__}", remedy=f"return {FACTORY_FORMS}")


def _of_workload(made: Any, batch_size: int | None, *, inference: bool, notes: list[str]) -> _Made:
    if inference and not hasattr(made, "infer"):
        raise OptionError("the workload has no infer(batch)", remedy="leave --inference out, or add it")
    notes += [f"left out of the step: {what}" for what in getattr(made, "left_out", ())]
    wanted = next(iter(_parameters(made.example_inputs).values()), None)
    if wanted is None:
        raise OptionError("example_inputs() of the workload takes no batch size", remedy="example_inputs(batch_size)")
    own = getattr(made, "default_batch_size", wanted.default)
    size = batch_size if batch_size is not None else own
    if not isinstance(size, int):
        raise OptionError("the workload has no default_batch_size", remedy="add it, or name one: --batch-size 32")
    step = made.infer if inference else made.step
    return _Made(run=lambda: step(made.example_inputs(size)), keeps=made)


def _of_model(
    model: torch.nn.Module,
    inputs: Any,
    optimizer: torch.optim.Optimizer | None = None,
    *,
    batch_size: int | None,
    inference: bool,
    notes: list[str],
    at_factory: bool,
) -> _Made:
    makes_inputs = callable(inputs) and not isinstance(inputs, torch.nn.Module)
    if batch_size is not None and not at_factory:
        inputs = inputs(batch_size) if makes_inputs else _at_batch(inputs, batch_size)
    elif makes_inputs:
        raise OptionError("the factory's inputs want a batch size", remedy="name it: --batch-size 32")
    _check_inputs(inputs)
    arguments, named = _arguments(inputs)
    if inference:
        model.eval()

        def infer() -> object:
            with torch.no_grad():
                return model(*arguments, **named)

        return _Made(run=infer, keeps=(model, inputs))
    _check_trained(model)
    if optimizer is not None and (isinstance(optimizer, type) or not hasattr(optimizer, "zero_grad")):
        seen = optimizer.__name__ if isinstance(optimizer, type) else f"a value of type {type(optimizer).__name__}"
        raise OptionError(
            f"the factory returns {seen} where its optimizer is expected",
            remedy="an optimizer of the model: torch.optim.AdamW(model.parameters())",
        )
    if optimizer is None:
        optimizer = torch.optim.AdamW(model.parameters())
        notes.append("the factory names no optimizer: AdamW is taken")
    notes.append("the loss is output.loss where there is one, else the mean of the outputs")

    def train() -> object:
        optimizer.zero_grad()
        loss = _loss(model(*arguments, **named))
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        return loss.detach()

    return _Made(run=train, keeps=(model, inputs, optimizer))


def _of_data_set(
    model: torch.nn.Module,
    data: torch.utils.data.Dataset[Any],
    loss: Callable[..., torch.Tensor] = torch.nn.functional.cross_entropy,
    *,
    batch_size: int | None,
    inference: bool,
    notes: list[str],
) -> _Made:
    """A batch has the shapes of the first item."""
    item = data[0]
    if not isinstance(item, (tuple, list)) or len(item) != 2:
        kind = "Tensor" if isinstance(item, torch.Tensor) else type(item).__name__  # not FakeTensor
        raise OptionError(
            f"the factory's data set has items of type {kind}",
            remedy="items that are (input, target), or return (model, inputs)",
        )
    size = _TUNED_BATCH if batch_size is None else batch_size
    if inference:
        inputs, _ = _at_batch(torch.utils.data.default_collate([item]), size)
        return _of_model(model, inputs, batch_size=None, inference=True, notes=notes, at_factory=False)
    _check_trained(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    notes.append("the factory returns a data set: batches have the shapes of its first item, the optimizer is SGD")

    def train() -> object:
        inputs, targets = _at_batch(torch.utils.data.default_collate([item]), size)
        optimizer.zero_grad()
        found = loss(model(inputs), targets)
        found.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        return found.detach()

    return _Made(run=train, keeps=(model, optimizer))


def _of_function(step: Callable[..., Any], batch_size: int | None) -> _Made:
    wanted = _required(_parameters(step))
    if len(wanted) > 1:
        names = ", ".join(one.name for one in wanted)
        raise OptionError(
            f"the factory returns a function of {len(wanted)} arguments ({names})",
            remedy="one that runs a step without arguments, or with the batch size",
        )
    if not wanted:
        if batch_size is not None and _BATCH_WORD in _parameters(step):
            return _Made(run=lambda: step(**{_BATCH_WORD: batch_size}), keeps=step)
        return _Made(run=step, keeps=step)
    if batch_size is None:
        raise OptionError("the factory's step wants a batch size", remedy="name it: --batch-size 32")
    if wanted[0].kind is inspect.Parameter.KEYWORD_ONLY:
        return _Made(run=lambda: step(**{wanted[0].name: batch_size}), keeps=step)
    return _Made(run=lambda: step(batch_size), keeps=step)


def _at_batch(inputs: Any, batch_size: int) -> Any:
    """The inputs with another leading size: that of all tensors which lead with the first one's."""
    leading = next((tensor.shape[0] for tensor in _tensors(inputs) if tensor.dim()), None)
    made: dict[int, torch.Tensor] = {}  # a tensor that stands twice stays one: labels that are the inputs

    def resized(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if not value.dim() or value.shape[0] != leading:
                return value
            return made.setdefault(id(value), value.new_zeros((batch_size, *value.shape[1:])))
        if isinstance(value, Mapping):
            return {key: resized(one) for key, one in value.items()}
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*(resized(one) for one in value))
        if isinstance(value, (tuple, list)):
            return type(value)(resized(one) for one in value)
        return value

    return resized(inputs)


def _check_trained(model: torch.nn.Module) -> None:
    if not any(parameter.requires_grad for parameter in model.parameters()):
        seen = "has parameters, all frozen" if any(True for _ in model.parameters()) else "has no parameters"
        raise OptionError(f"the model ({type(model).__name__}) {seen}: there is nothing to train", remedy="--inference")


def _check_inputs(inputs: Any) -> None:
    if inputs is None or isinstance(inputs, (str, bytes, int, float, torch.nn.Module, torch.optim.Optimizer)):
        raise OptionError(
            f"the factory returns {type(inputs).__name__} where its inputs are expected",
            remedy="a tensor, a tuple of arguments, or a dict of named ones",
        )
    first = next((tensor for tensor in _tensors(inputs) if tensor.dim()), None)
    if first is not None and first.shape[0] == 0:
        raise OptionError(
            f"the factory's inputs hold no sample (shape {tuple(first.shape)})", remedy="inputs of one sample or more"
        )


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _tensors(one)
    elif isinstance(value, (tuple, list)):
        for one in value:
            yield from _tensors(one)


def _arguments(inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(inputs, Mapping):
        return (), dict(inputs)
    return (tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)), {}


def _loss(output: Any) -> torch.Tensor:
    own = output.get("loss") if isinstance(output, Mapping) else getattr(output, "loss", None)
    if isinstance(own, torch.Tensor):
        return own
    if not isinstance(output, (torch.Tensor, Mapping, tuple, list)) and hasattr(output, "__dict__"):
        output = vars(output)
    numbers = [tensor for tensor in _tensors(output) if tensor.is_floating_point() or tensor.is_complex()]
    floats = [tensor.abs() if tensor.is_complex() else tensor for tensor in numbers if tensor.requires_grad]
    if numbers and not floats:
        raise OptionError(
            "no output of the model depends on parameters that are trained",
            remedy="--inference, or return a function that runs the whole step",
        )
    if not floats:
        raise OptionError(
            "the model's output has no floating-point tensor to take a loss of",
            remedy="return a function that runs the whole step",
        )
    total = floats[0].mean()
    for one in floats[1:]:
        total = total + one.mean()
    return total


def _required(parameters: Mapping[str, inspect.Parameter]) -> list[inspect.Parameter]:
    """Those without a default."""
    open_ended = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [one for one in parameters.values() if one.default is inspect.Parameter.empty and one.kind not in open_ended]


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # a builtin
        return {}


def _module(name: str) -> ModuleType:
    if name.endswith(".py"):
        return _file_module(Path(name))
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)  # as `python -m` has it: the user's own modules lie here
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        if not f"{name}.".startswith(f"{missing}."):
            raise OptionError(
                f"{name} imports {missing}, which is not installed", remedy=f"pip install {missing}"
            ) from (error)
        raise OptionError(
            f"there is no module {missing}",
            remedy=f"run in its folder, or name its file: {name.split('.')[-1]}.py:NAME",
        ) from error
    except (Exception, SystemExit) as error:  # whatever the user's module raises when imported
        raise OptionError(
            f"importing {name} fails with {type(error).__name__}: {error}", remedy=f'python -c "import {name}"'
        ) from error


def _file_module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path) if path.is_file() else None
    if spec is None or spec.loader is None:
        raise OptionError(f"there is no file {path}", remedy=f"MODULE:FACTORY, such as {_EXAMPLE}")
    folder = str(path.parent.resolve())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # whatever the user's file raises
        raise OptionError(
            f"running {path} fails with {type(error).__name__}: {error}", remedy=f"python {path}"
        ) from error
    return module


def _attribute(module: ModuleType, name: str, module_name: str) -> Any:
    try:
        return getattr(module, name)
    except AttributeError:
        near = _near_factories(module, name)
        raise OptionError(
            f"{module_name} has no {name}",
            remedy=" or ".join(f"{module_name}:{one}" for one in near) or "a function of that module",
        ) from None


def _near_factories(module: ModuleType, name: str) -> list[str]:
    """Names like this one, else a few, of what the module itself offers to call: not its imports, flags or helpers."""
    own = [
        one
        for one in dir(module)
        if not one.startswith("_")
        and callable(value := getattr(module, one))
        and str(getattr(getattr(value, "func", value), "__module__", "")).startswith(module.__name__)
    ]
    own.sort(key=lambda one: one in vars(module))  # what a package offers on demand comes before its own tools
    return difflib.get_close_matches(name, own, n=3, cutoff=0.5) or own[:5]
