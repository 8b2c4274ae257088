"""Which what-ifs do the options ask for, and how are they answered: by another trace, or on measured kernels' times?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from surfer_lab.engine.compilation import CompileMode
from surfer_lab.engine.item_times import ItemTimes
from surfer_lab.engine.options import EngineOptions
from surfer_lab.engine.precision import Precision, precision_blocker, precision_note
from surfer_lab.engine.whatif.compile import with_compile
from surfer_lab.engine.whatif.measured_compile import compiled, host_speed_up
from surfer_lab.engine.whatif.measured_precision import in_precision
from surfer_lab.engine.whatif.precision import with_precision
from surfer_lab.engine.work_items import Work
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.trace.model import Trace

__all__ = ["asked", "host_options", "measured_what_if", "options_as_run", "refusals"]


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


def host_options(trace: Trace, work: Work, options: EngineOptions) -> EngineOptions:
    """The options with the host of a recording as fast as a compiled program's, where that is asked for."""
    if options.compile is CompileMode.OFF:
        return options
    return replace(options, host_factor=options.host_factor * host_speed_up(trace, work, options.compile))


def refusals(gpus: Sequence[Gpu], precision: Precision) -> tuple[str, ...]:
    """What some of the GPUs cannot do of the precision asked for, a sentence each."""
    found = (precision_blocker(gpu, precision) or precision_note(gpu, precision) for gpu in gpus)
    return tuple(dict.fromkeys(one for one in found if one is not None))
