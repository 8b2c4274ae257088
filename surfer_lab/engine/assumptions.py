"""Which assumptions does a prediction rest on that the recording does not settle? Sentences, worded once.

Only what bears on this prediction is said: TF32 only where an item would run on it on some of the GPUs, copies only
where there are any.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.host_launches import host_sentence
from surfer_lab.engine.lowering import Tf32Switch
from surfer_lab.engine.options import EngineOptions
from surfer_lab.engine.rates import CLASS_INDEX, has_tf32
from surfer_lab.engine.tf32 import tf32_flags
from surfer_lab.engine.work_items import Transfer, Work
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.trace.model import Trace, TraceOrigin
from surfer_lab.trace.tables import SpanKind

__all__ = ["assumptions_of"]


def assumptions_of(
    trace: Trace, work: Work, origin: Gpu | None, gpus: Sequence[Gpu], options: EngineOptions
) -> tuple[str, ...]:
    """The sentences, most weighty first."""
    said = [*_tf32(work, origin, gpus, options)]
    if trace.origin is not TraceOrigin.PROFILER:
        said.append(host_sentence(options.compile))
        if trace.origin is TraceOrigin.CPU_RUN and bool((trace.spans.kind == SpanKind.INPUT).any()):
            said.append("waiting for the data loader takes what it took on this machine")
    else:
        said.append(_host(trace, options))
    if bool((work.transfer == Transfer.PINNED).any()):
        said.append("copies from and to pinned host memory go at the speed of the cards' PCIe generation")
    if bool((work.transfer == Transfer.STAGED).any()):
        said.append("copies by way of pageable host memory take as long as recorded: the host's memory bounds them")
    if bool(work.is_communication.any()):
        said.append("collectives take as long as recorded, on the same links")
    return tuple(said)


def _tf32(work: Work, origin: Gpu | None, gpus: Sequence[Gpu], options: EngineOptions) -> list[str]:
    if not any(has_tf32(gpu) for gpu in gpus):
        return []
    single = work.base_class == CLASS_INDEX[RateClass.FP32]
    convolutions = bool((single & _by(work, Tf32Switch.CONVOLUTION)).any())
    products = bool((single & _by(work, Tf32Switch.MATMUL)).any())
    if not convolutions and not products:
        return []
    flags = tf32_flags(origin, options)
    if flags.as_recorded:
        return ["float32 work uses TF32 where the recording did"]
    said = []
    if convolutions:
        chosen = "as asked" if options.convolution_tf32 is not None else "torch's default"
        verb = "use" if flags.convolution else "do not use"
        said.append(f"float32 convolutions {verb} TF32 on GPUs that have it ({chosen})")
    if products:
        chosen = "as asked" if options.matmul_tf32 is not None else "torch's default"
        verb = "use" if flags.matmul else "do not use"
        said.append(f"float32 matrix products {verb} TF32 ({chosen})")
    return said


def _by(work: Work, switch: Tf32Switch) -> NDArray[np.bool_]:
    chosen: NDArray[np.bool_] = work.tf32 == switch
    return chosen


def _host(trace: Trace, options: EngineOptions) -> str:
    speed = "of the same speed" if options.host_factor == 1.0 else f"{options.host_factor:g} times as fast"
    if trace.cell is not None and trace.cell.unprofiled_step_ns:
        return f"the host is {speed}; its time is the one without the profiler"
    return f"the host is {speed}; its time is the one under the profiler, which slows launches"
