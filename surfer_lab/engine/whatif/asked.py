"""Which what-ifs do the options ask for, and how are they answered: by another trace, or on measured kernels' times?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from surfer_lab.engine.compilation import CompileMode
from surfer_lab.engine.item_times import ItemTimes
from surfer_lab.engine.options import EngineOptions
from surfer_lab.engine.precision import Precision
from surfer_lab.engine.whatif.compile import with_compile
from surfer_lab.engine.whatif.measured_compile import compiled
from surfer_lab.engine.whatif.measured_precision import in_precision
from surfer_lab.engine.whatif.precision import with_precision
from surfer_lab.engine.work_items import Work
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.trace.model import Trace

__all__ = ["asked", "measured_what_if", "options_as_run"]


def asked(trace: Trace, options: EngineOptions) -> tuple[Trace, EngineOptions, tuple[str, ...]]:
    """The step that the options ask about, the options left to predict it with, and what was assumed."""
    notes: tuple[str, ...] = ()
    if options.precision is not Precision.AS_RUN:
        result = with_precision(trace, options.precision, options=options)
        trace, options, notes = result.trace, result.options, result.notes
    if options.compile is not CompileMode.OFF:
        result = with_compile(trace, options.compile, options=options)
        trace, options, notes = result.trace, result.options, (*notes, *result.notes)
    return trace, options, notes


def options_as_run(options: EngineOptions) -> EngineOptions:
    """The options without a precision that is still to be applied (to measured kernels), and the flags that it set."""
    if options.precision in (Precision.FP32, Precision.TF32):
        return replace(options, precision=Precision.AS_RUN, convolution_tf32=None, matmul_tf32=None)
    return replace(options, precision=Precision.AS_RUN)


def measured_what_if(
    times: ItemTimes, trace: Trace, work: Work, origin: Gpu, gpus: Sequence[Gpu], options: EngineOptions
) -> ItemTimes:
    """Measured kernels' times under the what-ifs that the options still ask for."""
    if options.precision is not Precision.AS_RUN:
        times = in_precision(times, trace, work, origin, gpus, options_as_run(options), options.precision)
    if options.compile is not CompileMode.OFF:
        times = compiled(times, trace, work)
    return times
