"""Planner: what one step takes, costs and needs on each GPU, which to choose, and what would help. Pure, no torch."""
