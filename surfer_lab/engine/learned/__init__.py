"""Learned predictors: how long does a product or convolution take on a GPU that nobody measured it on?

Networks say which share of a GPU's rates a shape reaches; `routing` says where they are used and why. numpy only.
"""

from surfer_lab.engine.learned.form import LearnedFamily
from surfer_lab.engine.learned.items import LearnedTimes, learned_ratio, learned_times
from surfer_lab.engine.learned.predictor import predict_times
from surfer_lab.engine.learned.routing import Route, routes

__all__ = [
    "LearnedFamily", "LearnedTimes", "Route", "learned_ratio", "learned_times", "predict_times", "routes",
]  # fmt: skip
