"""What would an optimizer's step dispatch on a GPU, when here it runs on a CPU?

On CUDA devices torch's optimizers work on lists of tensors by default (`foreach`), on a CPU tensor by tensor: other
ops, and hundreds of launches instead of a dozen. So a twin with the same settings, and tensors without data in place of
the parameters, takes the step that the log shows; the user's optimizer steps unseen, and is never touched.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

import torch
from torch.optim import Optimizer

from surfer_lab.capture.oplog import OpLog

__all__ = ["TWIN_DEVICE", "step_twin", "takes_lists_on_gpu"]

TWIN_DEVICE: Final = "meta"


def takes_lists_on_gpu(optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Would this optimizer choose its implementation over lists on a GPU: torch's own, nothing chosen by the user?

    torch.optim's `_default_to_fused_or_foreach`: foreach where neither is set, parameters are native tensors, and
    the step is not differentiated.
    """
    if not type(optimizer).__module__.startswith("torch.optim") or "foreach" not in optimizer.defaults:
        return False
    if len(args) > 1 or kwargs.get("closure") is not None:
        return False
    for group in optimizer.param_groups:
        if group.get("foreach") is not None or group.get("fused") or group.get("differentiable"):
            return False
        if not all(_is_native(parameter) for parameter in group["params"]):
            return False
        if any(parameter.grad is not None and parameter.grad.is_sparse for parameter in group["params"]):
            return False
    return not torch.autograd._profiler_enabled()  # type: ignore[attr-defined] # the user's own profile must not show a twin


def _is_native(parameter: torch.Tensor) -> bool:
    """No subclass of the user's; a fake tensor stands for a native one."""
    return type(parameter) in (torch.nn.Parameter, torch.Tensor) or hasattr(parameter, "fake_device")


def step_twin(optimizer: Optimizer, log: OpLog) -> bool:
    """Step the twin, logged as the optimizer's tensors; False where it cannot be done, with the log as before."""
    cls = type(optimizer)
    step = getattr(cls.step, "__wrapped__", None)  # below the hooks: the user's must not run twice
    if step is None:
        return False
    twin = object.__new__(cls)
    twin.__dict__.update(optimizer.__dict__)
    twin.param_groups = []
    twin.state = defaultdict(dict)
    first_op = len(log.ops)
    log.only_device = ""
    log.suspended += 1
    try:
        for group in optimizer.param_groups:
            members = [_without_data(parameter, log) for parameter in group["params"]]
            for parameter, member in zip(group["params"], members, strict=True):
                if parameter.grad is not None:
                    member.grad = _without_data(parameter.grad, log)
                state = optimizer.state.get(parameter)
                if state:
                    twin.state[member] = {key: _state_without_data(value, log) for key, value in state.items()}
            settings = {key: value for key, value in group.items() if key != "params"}
            twin.param_groups.append({**settings, "params": members, "foreach": True})
        log.suspended -= 1
        log.only_device = TWIN_DEVICE
        step(twin)
    except (RuntimeError, NotImplementedError, TypeError, ValueError, AttributeError, KeyError):
        # reads values out of its state (Adafactor, ASGD): the real step is logged as it is
        log.suspended = 0
        del log.ops[first_op:]
        return False
    finally:
        log.only_device = ""
    return True


def _without_data(tensor: torch.Tensor, log: OpLog) -> torch.Tensor:
    empty = torch.empty_like(tensor, device=TWIN_DEVICE, requires_grad=False)
    log.storages.stand_in(empty, tensor)
    return empty


def _state_without_data(value: Any, log: OpLog) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    if value.dim() == 0:  # step counters: they live on the host on a GPU machine too, and are read
        return value.detach().clone()
    return _without_data(value, log)
