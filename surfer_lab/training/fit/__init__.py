"""fit: the learned predictors' weights from measured tables; `train` writes them with a manifest."""

from surfer_lab.training.fit.train import train

__all__ = ["train"]
