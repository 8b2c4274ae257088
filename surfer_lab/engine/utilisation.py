"""How much of a GPU's sustained rates does each family of work reach? A first table, by family and nothing else.

`compute` and `matrix` are fractions of the sustained matrix-multiplication rate on the FP32 lanes and on matrix units
(TF32, FP16, BF16, FP8), counting the FLOPs of the direct algorithm: above 1 where Winograd does with fewer. `memory` is
the fraction of the bandwidth (the sustained one, more where the L2 cache holds what is moved:
`roofline.cached_bandwidth`), counting every operand once. `matrix_gain` is what
the same layer gains from moving to matrix units, as a fraction of the ratio of the two sustained rates, measured on
pairs of runs of one layer on one GPU; 0 = nothing gained. `compute` and `matrix` of products are those of dimensions
that are multiples of 32; others reach `unaligned` of them.

Sources (`tools/fit_utilisation.py --data FOLDER` prints this table from the data):
K = kernel timings of NeuSight's artifact, fp32, five dies; D = DeepBench, V100 and T4, fp32 and fp16; T = public
profiler traces of V100, A100 and H100; M = whole steps of timm's networks in half precision on RTX 3090 and RTX 4090,
fitted through their sums (`training.timm_table.fractions`) and, where D has the family too, the geometric middle of the
two; G = no data, taken from the nearest family.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from surfer_lab.engine.lowering import Family

__all__ = ["ALIGNED_TO", "UTILISATION", "Utilisation"]

ALIGNED_TO: Final = 32  # elements


class Utilisation(NamedTuple):
    """Fractions of sustained rates; `source` as in the module's docstring."""

    compute: float = 0.5
    matrix: float = 0.5
    memory: float = 0.7
    matrix_gain: float = 0.5
    source: str = "G"
    unaligned: float = 1.0


UTILISATION: Final[dict[Family, Utilisation]] = {
    Family.CONV_1X1: Utilisation(0.75, 0.68, 1.00, 0.74, "D, T, M"),
    Family.CONV_KXK: Utilisation(0.90, 0.89, 0.90, 0.45, "K, D, M"),
    Family.CONV_STEM: Utilisation(0.89, 0.25, 0.36, 0.00, "D, T"),
    Family.CONV_PATCH: Utilisation(0.60, 0.40, 0.80, 0.50, "G"),
    Family.CONV_GROUPED: Utilisation(0.30, 0.35, 0.60, 0.20, "G; matrix units: M"),
    Family.CONV_DEPTHWISE: Utilisation(0.20, 0.10, 0.45, 0.00, "G; memory: M"),
    Family.DGRAD_1X1: Utilisation(0.56, 0.50, 0.87, 0.61, "D, T"),
    Family.DGRAD_KXK: Utilisation(1.32, 0.65, 0.87, 0.42, "D"),
    Family.DGRAD_STEM: Utilisation(0.60, 0.25, 0.36, 0.00, "G"),
    Family.DGRAD_PATCH: Utilisation(0.50, 0.40, 0.80, 0.50, "G"),
    Family.DGRAD_GROUPED: Utilisation(0.30, 0.15, 0.60, 0.20, "G"),
    Family.DGRAD_DEPTHWISE: Utilisation(0.20, 0.10, 0.45, 0.00, "G; memory: M"),
    Family.WGRAD_1X1: Utilisation(0.52, 0.50, 1.00, 0.90, "D, T"),
    Family.WGRAD_KXK: Utilisation(1.05, 0.71, 0.90, 0.34, "D"),
    Family.WGRAD_STEM: Utilisation(0.55, 0.25, 1.00, 0.00, "D, T"),
    Family.WGRAD_PATCH: Utilisation(0.50, 0.40, 0.80, 0.50, "G"),
    Family.WGRAD_GROUPED: Utilisation(0.20, 0.10, 0.50, 0.20, "G"),
    Family.WGRAD_DEPTHWISE: Utilisation(0.10, 0.05, 0.25, 0.00, "G; memory: M"),
    Family.CONV: Utilisation(0.80, 0.60, 0.90, 0.50, "D"),
    Family.DGRAD: Utilisation(0.70, 0.55, 0.90, 0.45, "D"),
    Family.WGRAD: Utilisation(0.70, 0.55, 0.90, 0.50, "D"),
    Family.MM: Utilisation(0.92, 1.00, 0.85, 1.00, "K, D, T", unaligned=0.86),
    Family.BMM: Utilisation(0.92, 0.60, 0.55, 0.70, "K; matrix units: G", unaligned=0.72),
    Family.ATTENTION: Utilisation(0.60, 0.65, 0.45, 0.70, "T; arithmetic: G; matrix units: M"),
    Family.ATTENTION_BACKWARD: Utilisation(0.50, 0.40, 0.45, 0.70, "G"),
    Family.RNN: Utilisation(0.40, 0.30, 0.60, 0.50, "G"),
    Family.RNN_BACKWARD: Utilisation(0.40, 0.30, 0.60, 0.50, "G"),
    Family.BATCH_NORM: Utilisation(memory=0.94, source="T"),
    Family.BATCH_NORM_BACKWARD: Utilisation(memory=0.88, source="T"),
    Family.LAYER_NORM: Utilisation(memory=0.67, source="K"),
    Family.LAYER_NORM_BACKWARD: Utilisation(memory=0.46, source="T"),
    Family.GROUP_NORM: Utilisation(memory=0.67, source="G"),
    Family.GROUP_NORM_BACKWARD: Utilisation(memory=0.46, source="G"),
    Family.SOFTMAX: Utilisation(memory=0.84, source="K, T"),
    Family.SOFTMAX_BACKWARD: Utilisation(memory=1.00, source="T"),
    Family.POOL: Utilisation(memory=0.95, source="T"),
    Family.POOL_BACKWARD: Utilisation(memory=0.35, source="T"),
    Family.REDUCTION: Utilisation(memory=0.68, source="T"),
    Family.UNARY: Utilisation(memory=1.02, source="K, T"),
    Family.BINARY: Utilisation(memory=1.00, source="K, T"),
    Family.FUSED_POINTWISE: Utilisation(memory=1.25, source="M"),
    Family.FUSED_REDUCTION: Utilisation(memory=1.05, source="M"),
    Family.DROPOUT: Utilisation(memory=0.80, source="G"),
    Family.OPTIMIZER: Utilisation(memory=0.80, source="G"),
    Family.FILL: Utilisation(memory=1.00, source="T"),
    Family.CAST: Utilisation(memory=0.90, source="M"),
    Family.LAYOUT: Utilisation(memory=0.90, source="M"),
    Family.CAT: Utilisation(memory=0.60, source="M"),
    Family.COPY: Utilisation(memory=0.55, source="T"),
    Family.GATHER: Utilisation(memory=0.25, source="T"),
    Family.SCATTER: Utilisation(memory=0.25, source="T"),
}
