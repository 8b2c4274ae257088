"""What does a captured step compute in, when it is run in the precision of a benchmark row?

Captures are in float32; a row's autocast is put in by the casts' rules. Inference rows behave as with timm's fast
norms: layer, group and RMS norms in half precision, where plain autocast takes them to float32.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from surfer_lab.errors import OptionError
from surfer_lab.trace.model import Trace
from surfer_lab.trace.rewrite import CUDA_AUTOCAST, AutocastRules, CastPolicy, autocast, to_one_float

__all__ = ["FAST_NORM_AUTOCAST", "PRECISIONS", "in_precision"]

_NORMS: Final = (
    "layer_norm", "native_layer_norm", "group_norm", "native_group_norm", "rms_norm", "_fused_rms_norm",
)  # fmt: skip
FAST_NORM_AUTOCAST: Final[AutocastRules] = replace(
    CUDA_AUTOCAST, policies={**CUDA_AUTOCAST.policies, **dict.fromkeys(_NORMS, CastPolicy.LOWER)}
)
_AUTOCAST: Final = {"amp": "float16", "amp_bf16": "bfloat16"}
_ONE_FLOAT: Final = {"bf16": "bfloat16", "fp16": "float16"}
PRECISIONS: Final = (*_AUTOCAST, *_ONE_FLOAT, "fp32")


def in_precision(trace: Trace, precision: str, *, is_training: bool) -> Trace:
    """The step in the precision that a row names: one of `PRECISIONS`, else OptionError."""
    if precision in _AUTOCAST:
        rules = CUDA_AUTOCAST if is_training else FAST_NORM_AUTOCAST
        return autocast(trace, _AUTOCAST[precision], rules=rules)
    if precision in _ONE_FLOAT:
        return to_one_float(trace, _ONE_FLOAT[precision])
    if precision == "fp32":
        return trace
    raise OptionError(f"no precision is called {precision!r} here", remedy=", ".join(PRECISIONS))
