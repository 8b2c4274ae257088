"""What is a timm network, built from its name alone? A module on "meta", with the switches of the benchmark.

Nothing is downloaded and nothing is computed: parameters have shapes and no data.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from surfer_lab.errors import OptionError
from surfer_lab.training.timm_table.torchvision_stand_in import import_timm

__all__ = ["Network", "build_network", "family_of"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Network:
    """A built network and which of the switches made a difference to it."""

    module: torch.nn.Module
    family: str
    could_fuse_attention: bool
    was_reparameterised: bool


def family_of(arch: str) -> str:
    """The file of timm's that defines the architecture: its siblings of other sizes are in the same."""
    timm = import_timm()
    return str(timm.model_entrypoint(arch).__module__).rsplit(".", 1)[-1]


def build_network(
    arch: str, *, fused_attention: bool = True, reparameterised: bool = False, img_size: int | None = None
) -> Network:
    """The network as timm builds it by default, on "meta".

    `img_size` rebuilds networks whose tables belong to one image size; None: the size that timm gives it. OptionError
    where this timm has no such network.
    """
    timm = import_timm()
    if not timm.is_model(arch):
        raise OptionError(
            f"timm {timm.__version__} has no network of this name: it was renamed or taken out since the measurements",
            remedy="a version of timm that has it",
        )
    sizes: dict[str, Any] = {} if img_size is None else {"img_size": img_size}
    with _attention(timm, is_fused=fused_attention), torch.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # timm's remarks on names that it will rename
        module: torch.nn.Module = timm.create_model(arch, pretrained=False, **sizes)
    could_fuse = any(hasattr(part, "fused_attn") for part in module.modules())
    changed = False
    if reparameterised:
        before = sum(1 for _ in module.parameters())
        module.eval()
        with torch.device("meta"), torch.no_grad():
            module = timm.utils.model.reparameterize_model(module)
        changed = before != sum(1 for _ in module.parameters())
    return Network(module=module, family=family_of(arch), could_fuse_attention=could_fuse, was_reparameterised=changed)


@contextmanager
def _attention(timm: Any, *, is_fused: bool) -> Iterator[None]:
    """Timm's switch for torch's fused attention, as it was afterwards."""
    config: Any = sys.modules["timm.layers.config"]
    before = config._USE_FUSED_ATTN
    timm.layers.set_fused_attn(is_fused)
    try:
        yield
    finally:
        config._USE_FUSED_ATTN = before
