"""Does the theory of asynchronous training hold in real runs, and does tuning by it pay?"""

from __future__ import annotations

from surfer_lab.training.evaluate.convergence.all_experiments import evaluate_convergence

__all__ = ["evaluate_convergence"]
