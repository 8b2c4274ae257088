"""What is taken of a family's fractions of the sustained rates before any whole step was seen?

Fractions of the matrix units' rate and of the bandwidth, from kernel timings (NeuSight's artifact, FP32), DeepBench
(V100 and T4) and public profiler traces (V100, A100, H100), or the nearest family's: `engine.utilisation` as it was
before timm's steps joined it. A fit through the sum starts here and is held to it, so that no held-out step is in its
start; and this is the calibrated roofline that a learned part has to beat.
"""

from __future__ import annotations

from typing import Final

from surfer_lab.engine.lowering import Family

__all__ = ["FRACTIONS_BEFORE_STEPS", "USUAL_FRACTIONS"]

USUAL_FRACTIONS: Final = (0.5, 0.7)  # of a family that is not in the table
FRACTIONS_BEFORE_STEPS: Final[dict[Family, tuple[float, float]]] = {
    Family.CONV_1X1: (0.55, 1.0),
    Family.CONV_KXK: (0.77, 0.9),
    Family.CONV_STEM: (0.25, 0.36),
    Family.CONV_PATCH: (0.4, 0.8),
    Family.CONV_GROUPED: (0.15, 0.6),
    Family.CONV_DEPTHWISE: (0.1, 0.5),
    Family.DGRAD_1X1: (0.5, 0.87),
    Family.DGRAD_KXK: (0.65, 0.87),
    Family.DGRAD_STEM: (0.25, 0.36),
    Family.DGRAD_PATCH: (0.4, 0.8),
    Family.DGRAD_GROUPED: (0.15, 0.6),
    Family.DGRAD_DEPTHWISE: (0.1, 0.5),
    Family.WGRAD_1X1: (0.5, 1.0),
    Family.WGRAD_KXK: (0.71, 0.9),
    Family.WGRAD_STEM: (0.25, 1.0),
    Family.WGRAD_PATCH: (0.4, 0.8),
    Family.WGRAD_GROUPED: (0.1, 0.5),
    Family.WGRAD_DEPTHWISE: (0.05, 0.3),
    Family.CONV: (0.6, 0.9),
    Family.DGRAD: (0.55, 0.9),
    Family.WGRAD: (0.55, 0.9),
    Family.MM: (1.0, 0.85),
    Family.BMM: (0.6, 0.55),
    Family.ATTENTION: (0.5, 0.45),
    Family.ATTENTION_BACKWARD: (0.4, 0.45),
    Family.RNN: (0.3, 0.6),
    Family.RNN_BACKWARD: (0.3, 0.6),
    Family.BATCH_NORM: (0.5, 0.94),
    Family.BATCH_NORM_BACKWARD: (0.5, 0.88),
    Family.LAYER_NORM: (0.5, 0.67),
    Family.LAYER_NORM_BACKWARD: (0.5, 0.46),
    Family.GROUP_NORM: (0.5, 0.67),
    Family.GROUP_NORM_BACKWARD: (0.5, 0.46),
    Family.SOFTMAX: (0.5, 0.84),
    Family.SOFTMAX_BACKWARD: (0.5, 1.0),
    Family.POOL: (0.5, 0.95),
    Family.POOL_BACKWARD: (0.5, 0.35),
    Family.REDUCTION: (0.5, 0.68),
    Family.UNARY: (0.5, 1.02),
    Family.BINARY: (0.5, 1.0),
    Family.FUSED_POINTWISE: (0.5, 1.0),
    Family.DROPOUT: (0.5, 0.8),
    Family.OPTIMIZER: (0.5, 0.8),
    Family.FILL: (0.5, 1.0),
    Family.CAST: (0.5, 0.8),
    Family.COPY: (0.5, 0.55),
    Family.GATHER: (0.5, 0.25),
    Family.SCATTER: (0.5, 0.25),
}
