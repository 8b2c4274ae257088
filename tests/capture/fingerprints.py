"""What has a program left behind? Everything a user could notice, hashed bit by bit, to compare two runs of it."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch.nn.modules import module as nn_module
from torch.optim import optimizer as optim


def digest(value: Any) -> str:
    """A hash of tensors, arrays, numbers and containers of them, exact to the bit."""
    state = hashlib.sha256()
    _feed(state, value)
    return state.hexdigest()


def _feed(state: Any, value: Any) -> None:
    if isinstance(value, torch.Tensor):
        state.update(f"{value.dtype}{tuple(value.shape)}{value.requires_grad}".encode())
        data = value.detach().cpu().contiguous()
        state.update(data.view(torch.uint8).numpy().tobytes() if data.dim() else repr(data.item()).encode())
    elif isinstance(value, np.ndarray):
        state.update(value.tobytes())
    elif isinstance(value, torch.nn.Module):
        _feed(state, value.state_dict())
        for part in value.modules():
            _feed(state, hook_count(part))
            _feed(state, part.training)
        for parameter in value.parameters():
            _feed(state, parameter.grad)
    elif isinstance(value, (torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler, torch.amp.GradScaler)):
        _feed(state, {k: v for k, v in value.state_dict().items() if not callable(v)})
    elif isinstance(value, Mapping):
        for key, item in value.items():
            _feed(state, key)
            _feed(state, item)
    elif isinstance(value, (list, tuple, set)):
        for item in value:
            _feed(state, item)
    else:
        state.update(repr(value).encode())


def hook_count(module: torch.nn.Module) -> int:
    """Hooks on one module."""
    return sum(len(getattr(module, name)) for name in vars(module) if name.endswith("_hooks"))


def surroundings() -> dict[str, Any]:
    """Random states, global hooks and flags, modes, and torch's functions by identity."""
    return {
        "torch rng": torch.get_rng_state(),
        "numpy rng": np.random.get_state(),  # noqa: NPY002 # what programs use
        "python rng": random.getstate(),
        "grad enabled": torch.is_grad_enabled(),
        "module hooks": sum(
            len(hooks) for name, hooks in vars(nn_module).items() if name.startswith("_global_") and "hooks" in name
        ),
        "optimizer hooks": (len(optim._global_optimizer_pre_hooks), len(optim._global_optimizer_post_hooks)),
        "dispatch modes": torch._C._len_torch_dispatch_stack(),
        "function modes": torch._C._len_torch_function_stack(),
        "default dtype": torch.get_default_dtype(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "flags": (
            torch.backends.cudnn.benchmark, torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32,
            torch.get_float32_matmul_precision(), torch.is_autocast_enabled("cpu"),
        ),
        "functions": [
            id(f) for f in (
                torch.Tensor.to, torch.Tensor.cuda, torch.nn.Module.__call__, torch.nn.Module.to, torch.zeros,
                torch.autocast.__init__, torch.Generator, torch.load, torch.compile,
                torch.nn.functional.scaled_dot_product_attention,
            )
        ],
    }  # fmt: skip


def seed_all(seed: int = 7) -> None:
    """All three generators that programs use."""
    torch.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002 # what programs use
    random.seed(seed)
