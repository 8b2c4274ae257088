"""scaling: what would a step on one GPU become on several?

    profile = profile_of(prediction, gpu_index)                     one step: gradients, blocks, when each is ready
    curve = scaling_curve(ScalingSource(own=profile), machine, (1, 2, 4, 8), strategy=strategy_of("ddp"))
    curve.points[-1].efficiency, .step_ns, .exposed_ns, .memory_bytes, .schedule

Nothing here measures: links and their reached shares are `hardware.machines`', one GPU's times the engine's.
"""

from surfer_lab.planner.parallelism import Spread, Strategy, strategy_of
from surfer_lab.planner.scaling.buckets import Bucket, buckets_of
from surfer_lab.planner.scaling.collectives import Collective, Group, collective_ns, group_of, wire_bytes
from surfer_lab.planner.scaling.curve import (
    FixedBatch,
    ScalingCurve,
    ScalingPoint,
    ScalingSource,
    scaling_curve,
    scaling_point,
)
from surfer_lab.planner.scaling.data_parallel import data_parallel
from surfer_lab.planner.scaling.events import Piece, Schedule, simulate
from surfer_lab.planner.scaling.profile import BlockTimes, GradientTimeline, StepProfile, profile_of
from surfer_lab.planner.scaling.tuning import Tuning

__all__ = [
    "BlockTimes", "Bucket", "Collective", "FixedBatch", "GradientTimeline", "Group", "Piece", "ScalingCurve",
    "ScalingPoint", "ScalingSource", "Schedule", "Spread", "StepProfile", "Strategy", "Tuning", "buckets_of",
    "collective_ns", "data_parallel", "group_of", "profile_of", "scaling_curve", "scaling_point", "simulate",
    "strategy_of", "wire_bytes",
]  # fmt: skip
