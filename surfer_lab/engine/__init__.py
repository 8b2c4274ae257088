"""What would it cost elsewhere? Times, ranges and methods of a trace's work on GPUs; pure arrays, no I/O.

- `predict(trace, gpus, *, origin=None, options=EngineOptions()) -> PredictionSet`
- `op_totals(prediction, gpu_index) -> OpTotals`: GPU time of one step by op
- `EngineOptions`, `ScalingMethod`: what may be chosen
"""

from surfer_lab.engine.options import EngineOptions, ScalingMethod
from surfer_lab.engine.predict import predict
from surfer_lab.engine.totals import OpTotals, op_totals

__all__ = ["EngineOptions", "OpTotals", "ScalingMethod", "op_totals", "predict"]
