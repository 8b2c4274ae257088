"""Which line of the user's code, and which module, does a recorded python frame stand for?

Names come in three forms: "train.py(41): main" (torch 2's python_function events, prefix of sys.path removed), the
same with a whole path ("Call stack" of older releases, innermost first, joined by ";"), and "nn.Module: Linear_3".
Only a file's name and line are kept of a path: folders tell who recorded it (USERS complaint 18). Frames of installed
packages and of python itself are nobody's line.
"""

from __future__ import annotations

import re
import sys
from typing import Final

__all__ = ["lines_of_call_stack", "module_of_frame", "shown_lines", "user_line"]

_FRAME: Final = re.compile(r"(?P<path>[^\n]{1,4096}?)\((?P<line>\d{1,9})\)(?:: [^\n]*)?$")
_MODULE: Final = re.compile(r"nn\.Module: (?P<name>[^\n]{1,256})$")
_INSTALLED: Final = re.compile(
    r"(?:^|[/\\])(?:site-packages|dist-packages|lib[/\\]python\d[\d.]*|[Pp]ython\d*[/\\]lib)(?:[/\\]|$)|^<(?!ipython-input)"
)
_NOTEBOOK_CELL: Final = re.compile(r"ipykernel_\d+[/\\]\d+\.py$|<ipython-input-[^>]*>$")

# Packages that a profiled script imports; recorded relative to sys.path, so that nothing else marks them as installed
_PACKAGES: Final = frozenset({
    "IPython", "PIL", "accelerate", "apex", "av", "datasets", "debugpy", "deepspeed", "diffusers", "einops",
    "fairscale", "flash_attn", "functorch", "huggingface_hub", "ignite", "ipykernel", "jupyter_client",
    "jupyter_core", "lightning", "lightning_fabric", "megatron", "numpy", "pandas", "peft", "pytorch_lightning",
    "ray", "safetensors", "scipy", "sklearn", "surfer_lab", "timm", "tokenizers", "torch", "torchaudio",
    "torchdata", "torchgen", "torchmetrics", "torchrec", "torchtext", "torchvision", "tornado", "tqdm",
    "traitlets", "transformers", "triton", "trl", "vllm", "xformers", "zmq",
})  # fmt: skip
_LIBRARY_TOPS: Final = _PACKAGES | sys.stdlib_module_names


def user_line(frame: str) -> str | None:
    """File and line of a frame in the user's own code, None for any other frame.

    >>> user_line("/home/someone/project/train.py(41): main"), user_line("torch/nn/functional.py(9): relu")
    ('train.py:41', None)
    >>> user_line("threading.py(1032): _bootstrap"), user_line("<built-in method mul of Tensor object at 0x7f>")
    (None, None)
    """
    match = _FRAME.match(frame)
    if match is None:
        return None
    path, line = match.group("path"), match.group("line")
    if _NOTEBOOK_CELL.search(path):
        return f"cell:{line}"
    parts = re.split(r"[/\\]", path)
    top = parts[0].removesuffix(".py")
    if _INSTALLED.search(path) or (top in _LIBRARY_TOPS and (len(parts) > 1 or top in sys.stdlib_module_names)):
        return None
    return f"{parts[-1]}:{line}"


def module_of_frame(frame: str) -> str | None:
    """The module's own name of a module frame: its class, numbered.

    >>> module_of_frame("nn.Module: Linear_3"), module_of_frame("train.py(1): f")
    ('Linear_3', None)
    """
    match = _MODULE.match(frame)
    return match.group("name") if match else None


def shown_lines(outermost: str, innermost: str) -> str:
    """The user's line that began the call, and the user's line that made it where that is another one.

    >>> shown_lines("train.py:41", "model.py:88"), shown_lines("train.py:41", "train.py:41")
    ('train.py:41 > model.py:88', 'train.py:41')
    """
    return outermost if outermost == innermost else f"{outermost} > {innermost}"


def lines_of_call_stack(stack: str) -> str | None:
    """The user's lines of an old "Call stack", None where there is none.

    >>> lines_of_call_stack("/opt/lib/python3.7/torch/nn/functional.py(9): relu;net.py(5): forward;run.py(7): main")
    'run.py:7 > net.py:5'
    """
    lines = [line for frame in stack.split(";") if (line := user_line(frame.strip())) is not None]
    return shown_lines(lines[-1], lines[0]) if lines else None
