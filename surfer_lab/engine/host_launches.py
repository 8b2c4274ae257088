"""What does a launch cost the host: in eager PyTorch by phase, under torch.compile, in a CUDA graph?

Used where nothing was recorded on a GPU. Without these costs a small batch would look as if the GPU were the limit.

| program | phase | ns a launch | from |
|---|---|---|---|
| eager | forward | 10,000 | V100 traces: lower quartile of launch gaps 7.8, median 27 us, profiler and Python in it |
| eager | backward | 8,000 | the same: 8.0 and 22 us, shortest tenth 5.6 against 7.0 us forward: no Python between |
| eager | optimizer | 7,000 | the same: 7.2 us lower quartile between the launches of steps over lists |
| compiled | all | 5,000 | a launch call takes 3.9 to 5.0 us (medians, MI300X, H100, V100); little is left between |
| CUDA graph | all | 100 | a graph is one launch; what its kernels cost is the GPU's gap between them |

A compiled region costs 40 us each time it is entered (guards, autograd's wrapper, outputs): measured on a CPU as the
time of a compiled call of one tiny kernel above the eager call's, 25 to 60 us by machine. A graph as much: its inputs
are copied to where it reads them.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.compilation import CompileMode
from surfer_lab.trace.tables import Phase
from surfer_lab.units import NS_PER_US

__all__ = ["HOST_NS_PER_LAUNCH", "MODELLED_HOST_FACTOR", "host_sentence", "launch_costs"]

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

HOST_NS_PER_LAUNCH: Final = 10_000.0  # eager, forward, and what has no phase
# How far a host may be from these costs, either way: the V100 traces' lower quartiles of launch gaps (7.8 us forward)
# are 1.3 times below the cost taken; medians (22 to 27 us) hold the profiler and Python, so they only bound it above.
MODELLED_HOST_FACTOR: Final = 1.5
_EAGER_NS: Final = {Phase.BACKWARD: 8_000.0, Phase.OPTIMIZER: 7_000.0}
_COMPILED_NS: Final = 5_000.0
_GRAPH_NS: Final = 100.0
_REGION_NS: Final = 40_000.0
_COMPILED_PHASES: Final = (Phase.FORWARD, Phase.BACKWARD)


def launch_costs(phase: NDArray[np.integer], launch_count: NDArray[np.integer], mode: CompileMode) -> tuple[F64, F64]:
    """Host ns of each item's launches, (items,) in launch order: of one launch, and of all with what comes before."""
    one = np.full(len(phase), HOST_NS_PER_LAUNCH)
    for which, cost in _EAGER_NS.items():
        one[phase == which] = cost
    before = np.zeros(len(phase))
    if mode is not CompileMode.OFF:
        compiled = np.isin(phase, _COMPILED_PHASES)
        one[compiled] = _COMPILED_NS if mode is CompileMode.DEFAULT else _GRAPH_NS
        before[_region_starts(phase, compiled)] = _REGION_NS
    return one, before + one * launch_count


def _region_starts(phase: NDArray[np.integer], compiled: NDArray[np.bool_]) -> I64:
    """First item of each stretch of one compiled phase."""
    if not len(phase):
        return np.zeros(0, dtype=np.int64)
    changes = np.concatenate([[True], phase[1:] != phase[:-1]])
    return np.flatnonzero(changes & compiled).astype(np.int64)


def host_sentence(mode: CompileMode) -> str:
    """What is assumed of the host, for a person."""
    if mode is CompileMode.REDUCE_OVERHEAD:
        return "the host launches forward and backward as CUDA graphs, the optimizer kernel by kernel"
    per_launch = _COMPILED_NS if mode is CompileMode.DEFAULT else HOST_NS_PER_LAUNCH
    which = "compiled" if mode is CompileMode.DEFAULT else "eager"
    return f"the host launches a kernel every {per_launch / NS_PER_US:.0f} µs, as {which} PyTorch programs do"
