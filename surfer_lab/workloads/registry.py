"""Which reference workloads are there, and who builds each? One row a name; models are imported when asked for.

A name is a model at a published size: "gpt2_medium" is `gpt2` with size="medium". `tiny` sizes keep the structure and
shrink the rest, so that a real step on a CPU takes a moment.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from surfer_lab.errors import OptionError

if TYPE_CHECKING:
    from surfer_lab.workloads.workload import Device, Workload, WorkloadFactory

__all__ = ["build", "factory", "names", "tiny_sizes"]


@dataclass(frozen=True, kw_only=True)
class _Row:
    module: str
    function: str
    sizes: Mapping[str, Any] = field(default_factory=dict)
    tiny: Mapping[str, object]


_TINY_TRANSFORMER: Final = {"layers": 2, "width": 32, "heads": 2, "vocabulary": 101, "sequence": 12}
_TINY_GPT2: Final = {**_TINY_TRANSFORMER}
_TINY_BERT: Final = {**_TINY_TRANSFORMER, "feed_forward": 64, "predictions": 3}
_TINY_TRANSLATION: Final = {**_TINY_TRANSFORMER, "feed_forward": 64}
_TINY_LLAMA: Final = {**_TINY_TRANSFORMER, "feed_forward": 64, "heads": 4, "kv_heads": 2}
_TINY_DLRM: Final = {
    "table_rows": (50, 7, 3), "embedding": 8, "bottom": (16, 8), "top": (16, 8, 1),
}  # fmt: skip

_ROWS: Final[dict[str, _Row]] = {
    "resnet50": _Row(module="resnet", function="resnet50", tiny={"width": 8, "image": 64, "classes": 10}),
    "inception_v3": _Row(module="inception", function="inception_v3", tiny={"width_fraction": 1 / 16, "classes": 10}),
    "transformer": _Row(module="translation", function="transformer", tiny=_TINY_TRANSLATION),
    "transformer_big": _Row(
        module="translation", function="transformer", sizes={"size": "big"}, tiny=_TINY_TRANSLATION
    ),
    "gnmt": _Row(module="gnmt", function="gnmt", tiny={"layers": 3, "width": 16, "vocabulary": 101, "sequence": 7}),
    "dcgan": _Row(module="dcgan", function="dcgan", tiny={"width": 4}),
    "ssd300": _Row(module="ssd", function="ssd300", tiny={"width": 4, "extra_width_fraction": 1 / 32, "classes": 5}),
    "ssd300_resnet34": _Row(
        module="ssd",
        function="ssd300",
        sizes={"backbone": "resnet34"},
        tiny={"width": 4, "extra_width_fraction": 1 / 32, "classes": 5},
    ),
    "mask_rcnn": _Row(
        module="mask_rcnn",
        function="mask_rcnn",
        tiny={
            "width": 4,
            "pyramid": 16,
            "hidden": 32,
            "classes": 5,
            "image_height": 128,
            "image_width": 192,
            "proposals_per_level": 50,
            "rois_train": 16,
            "rois_infer": 16,
            "detections": 8,
        },
    ),
    "ncf": _Row(module="ncf", function="ncf", tiny={"users": 40, "items": 30, "factors": 4, "hidden": (16, 16, 8)}),
    "bert_base": _Row(module="bert", function="bert", sizes={"size": "base"}, tiny=_TINY_BERT),
    "bert_large": _Row(module="bert", function="bert", sizes={"size": "large"}, tiny=_TINY_BERT),
    "dlrm": _Row(module="dlrm", function="dlrm", tiny=_TINY_DLRM),
    "dlrm_kaggle": _Row(module="dlrm", function="dlrm", sizes={"size": "kaggle"}, tiny=_TINY_DLRM),
    "gpt2": _Row(module="gpt2", function="gpt2", tiny=_TINY_GPT2),
    "gpt2_medium": _Row(module="gpt2", function="gpt2", sizes={"size": "medium"}, tiny=_TINY_GPT2),
    "gpt2_large": _Row(module="gpt2", function="gpt2", sizes={"size": "large"}, tiny=_TINY_GPT2),
    "gpt2_xl": _Row(module="gpt2", function="gpt2", sizes={"size": "xl"}, tiny=_TINY_GPT2),
    "caffenet": _Row(module="caffenet", function="caffenet", tiny={"width_fraction": 1 / 16, "classes": 10}),
    "lenet": _Row(module="lenet", function="lenet", tiny={}),
    "llama_7b": _Row(module="llama", function="llama", sizes={"size": "7b"}, tiny=_TINY_LLAMA),
    "llama_13b": _Row(module="llama", function="llama", sizes={"size": "13b"}, tiny=_TINY_LLAMA),
    "llama_70b": _Row(module="llama", function="llama", sizes={"size": "70b"}, tiny=_TINY_LLAMA),
    "llama3_8b": _Row(module="llama", function="llama", sizes={"size": "3-8b"}, tiny=_TINY_LLAMA),
    "llama3_70b": _Row(module="llama", function="llama", sizes={"size": "3-70b"}, tiny=_TINY_LLAMA),
}

# families whose plain name takes the size as an argument: llama(size="70b"), bert(size="base")
_FAMILIES: Final[dict[str, tuple[str, str]]] = {"bert": ("bert", "bert"), "llama": ("llama", "llama")}


def names() -> tuple[str, ...]:
    """All workloads, in the order of the papers.

    >>> names()[:3]
    ('resnet50', 'inception_v3', 'transformer')
    """
    return tuple(_ROWS)


def factory(name: str) -> WorkloadFactory:
    """The function that builds a workload of this name, its size bound; sizes given to it replace the bound ones."""
    if name in _FAMILIES:
        module, function = _FAMILIES[name]
        return _function(module, function)
    row = _row(name)
    found = _function(row.module, row.function)
    return partial(found, **row.sizes) if row.sizes else found


def build(name: str, *, device: Device = "cpu", tiny: bool = False, **sizes: object) -> Workload:
    """A workload by name on a device. `tiny` takes the small sizes of the table, `sizes` replace one by one.

    An unknown name is an OptionError that names near matches; a size that the workload lacks is a TypeError.
    """
    chosen = {**(tiny_sizes(name) if tiny else {}), **sizes}
    return factory(name)(device=device, **chosen)


def tiny_sizes(name: str) -> dict[str, object]:
    """Sizes at which a real training step on a CPU takes a moment."""
    return dict(_row(name).tiny)


def _row(name: str) -> _Row:
    if name not in _ROWS:
        near = difflib.get_close_matches(name, _ROWS, n=3, cutoff=0.4)
        raise OptionError(f"no workload is called {name!r}", remedy=", ".join(near or names()))
    return _ROWS[name]


def _function(module: str, function: str) -> WorkloadFactory:
    found: WorkloadFactory = getattr(import_module(f"surfer_lab.workloads.models.{module}"), function)
    return found
