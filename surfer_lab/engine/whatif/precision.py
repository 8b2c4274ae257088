"""What if the step computed in another precision?

A capture without a GPU is rewritten: its ops get the dtypes and casts that torch would give them (`trace.rewrite`), so
time and memory follow from the shapes. A profiler's trace keeps its ops: each kernel's measured time is scaled by the
ratio of its roofline in the new arithmetic to its roofline as it ran (`measured_precision`), with a wider range.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from surfer_lab.engine.options import EngineOptions
from surfer_lab.engine.precision import Precision
from surfer_lab.engine.whatif.fused_ops import is_compiled
from surfer_lab.engine.whatif.result import RewriteResult
from surfer_lab.errors import PredictionError
from surfer_lab.trace.model import Trace, TraceOrigin
from surfer_lab.trace.rewrite import add_grad_scaler, autocast, drop_grad_scaler, floats_of, to_one_float
from surfer_lab.trace.rewrite.names import CAST_OP
from surfer_lab.trace.tables import Phase, TensorRole

__all__ = ["with_precision"]

_DEFAULT: Final = EngineOptions()


def with_precision(trace: Trace, precision: Precision, *, options: EngineOptions = _DEFAULT) -> RewriteResult:
    """The step in `precision`; the same trace where it is so already, or as run.

    Refuses (PredictionError) a capture that does not say what its ops read and write, and one that is compiled already:
    precision is asked first.
    """
    if precision is Precision.AS_RUN:
        return RewriteResult(trace=trace, options=options)
    options = _flags(options, precision)
    if trace.origin is TraceOrigin.PROFILER:
        return RewriteResult(trace=trace, options=replace(options, precision=precision), notes=(_MEASURED_NOTE,))
    options = replace(options, precision=Precision.AS_RUN)
    if is_compiled(trace):
        raise PredictionError(
            "the step is compiled already, its ops are fused", remedy="ask for the precision first, then compile"
        )
    if _is_so_already(trace, precision):
        return RewriteResult(trace=trace, options=options, notes=_notes(trace, precision))
    if not len(trace.uses) and len(trace.ops):
        raise PredictionError(
            "the capture does not say which op reads and writes what, so its casts cannot be placed",
            remedy="capture the step again with this version",
        )
    return RewriteResult(trace=_rewritten(trace, precision), options=options, notes=_notes(trace, precision))


_MEASURED_NOTE: Final = (
    "measured kernels are scaled by the ratio of their rooflines in both precisions; casts are added to the products "
    "that they feed, and element-wise work between products is taken to move halves"
)


def _is_so_already(trace: Trace, precision: Precision) -> bool:
    """Are all floats of the dtype wanted; under autocast: are there casts to the half, and parameters in float32?"""
    floats = floats_of(trace)
    if not precision.is_autocast:
        return floats <= {precision.half or "float32"}
    is_parameter = trace.tensors.role == TensorRole.PARAMETER
    of_parameters = set(trace.tensors.dtype.take(is_parameter))
    casts = trace.ops.name.map(lambda name: name == CAST_OP, absent=False, dtype=np.bool_)
    to_half = trace.ops.output_dtypes.map(lambda dtypes: dtypes[:1] == (precision.half,), absent=False, dtype=np.bool_)
    return floats == {"float32", precision.half} and of_parameters == {"float32"} and bool((casts & to_half).any())


def _rewritten(trace: Trace, precision: Precision) -> Trace:
    half = precision.half
    if not precision.is_autocast:
        return to_one_float(drop_grad_scaler(trace), half or "float32")
    plain = to_one_float(drop_grad_scaler(trace), "float32")
    step = autocast(plain, half or "float16")
    return add_grad_scaler(step) if precision is Precision.AMP_FP16 else step


def _flags(options: EngineOptions, precision: Precision) -> EngineOptions:
    """Torch's TF32 flags where the question decides them."""
    if precision in (Precision.FP32, Precision.TF32):
        is_on = precision is Precision.TF32
        return replace(options, convolution_tf32=is_on, matmul_tf32=is_on)
    return options


def _notes(trace: Trace, precision: Precision) -> tuple[str, ...]:
    if precision.is_autocast:
        said = [f"autocast to {precision.half} over the whole forward pass and loss, by torch's lists for CUDA"]
        if floats_of(trace) != {"float32"}:
            said.append("parameters in float32, as autocast expects them, whatever the recording had")
        if precision is Precision.AMP_FP16 and bool((trace.ops.phase == Phase.BACKWARD).any()):
            said.append("gradients are scaled and checked (GradScaler); the host waits for the check in each step")
        return tuple(said)
    if precision is Precision.BF16:
        return ("parameters, gradients and optimizer state in bfloat16: half the memory, and training may suffer",)
    if precision is Precision.TF32:
        return ("float32 matrix products and convolutions use TF32 on GPUs that have it",)
    return ("float32 without TF32",)
