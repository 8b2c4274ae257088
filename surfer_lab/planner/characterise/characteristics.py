"""Which numbers make workloads alike, and what are they for a workload, and for a kernel of a benchmark?

All of one V100, as the study had it: numbers of one card can be compared. Logarithms (base 10) where values span
decades. A kernel is a step of one call that keeps the GPU busy and sends nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from surfer_lab.hardware.kernel_benchmarks import BenchmarkKernel
from surfer_lab.planner.characterise.characterisation import GAIN_COUNT, Characterisation
from surfer_lab.planner.characterise.roofline_position import Part
from surfer_lab.planner.characterise.similarity import Characteristics, PointGroup
from surfer_lab.planner.characterise.topologies import Wiring
from surfer_lab.units import BYTES_PER_GB, NS_PER_US

__all__ = ["REFERENCE_GPU", "UNITS", "kernel_characteristics", "workload_characteristics"]

REFERENCE_GPU: Final = "V100 SXM2 16GB"
UNITS: Final[Mapping[str, str]] = {
    "intensity": "FLOPs by byte moved, log",
    "arithmetic": "FLOP/s achieved, log",
    "memory traffic": "bytes/s achieved, log",
    "products": "share of GPU time in matrix products and attention",
    "convolutions": "share of GPU time in convolutions",
    "recurrent": "share of GPU time in recurrent layers",
    "kernel length": "microseconds a kernel, log",
    "kernels": "kernels a step, log",
    "busy": "share of the step in which the GPU computes",
    "precision gain": "mixed precision against FP32",
    "bus traffic": f"GB/s that a GPU sends, of {GAIN_COUNT} on an NVLink mesh",
    "footprint": "bytes of memory, log",
}
_LEAST: Final = 1e-3  # below it a logarithm says nothing


def workload_characteristics(page: Characterisation, group: PointGroup) -> Characteristics | None:
    """Of a workload characterised on the reference GPU; None where one of its numbers is not known."""
    on = page.on_gpu(REFERENCE_GPU)
    if on is None:
        return None
    whole = on.position.whole
    mesh = next((curve for curve in on.curves if curve.topology.wiring is Wiring.MESH), None)
    point = mesh.at(GAIN_COUNT) if mesh is not None else None
    gain, memory = on.gains.amp, on.memory
    if whole.intensity is None or gain is None or memory is None or point is None:
        return None
    return Characteristics(
        name=page.name,
        group=group,
        values={
            "intensity": _log(whole.intensity),
            "arithmetic": _log(whole.flop_per_s),
            "memory traffic": _log(whole.bytes_per_s),
            "products": on.position.share_of(Part.PRODUCT, Part.ATTENTION),
            "convolutions": on.position.share_of(Part.CONVOLUTION),
            "recurrent": on.position.share_of(Part.RECURRENT),
            "kernel length": _log(on.position.mean_kernel_ns / NS_PER_US),
            "kernels": _log(on.position.kernel_count),
            "busy": on.busy_fraction,
            "precision gain": gain,
            "bus traffic": point.bus_bytes_per_s / BYTES_PER_GB,
            "footprint": _log(float(memory.likely_bytes)),
        },
    )


def kernel_characteristics(kernel: BenchmarkKernel) -> Characteristics:
    """Of a measured kernel, in FP32."""
    return Characteristics(
        name=f"{kernel.kind} {kernel.shape}",
        group=PointGroup.KERNEL,
        values={
            "intensity": _log(kernel.intensity()),
            "arithmetic": _log(kernel.flop_per_s()),
            "memory traffic": _log(kernel.bytes_per_s()),
            "products": float(kernel.kind == "product"),
            "convolutions": float(kernel.kind == "convolution"),
            "recurrent": float(kernel.kind == "recurrent"),
            "kernel length": _log(kernel.fp32_ns / NS_PER_US),
            "kernels": 0.0,
            "busy": 1.0,
            "precision gain": kernel.tensor_core_gain,
            "bus traffic": 0.0,
            "footprint": _log(kernel.elements * 4.0),
        },
    )


def _log(value: float | None) -> float:
    return math.log10(max(_LEAST, value or 0.0))
