"""Capture without running: `trace_symbolic(step, ...)` for functions, `observe_symbolic(execute, names)` for cells."""

from surfer_lab.capture.symbolic.run import observe_symbolic, trace_symbolic

__all__ = ["observe_symbolic", "trace_symbolic"]
