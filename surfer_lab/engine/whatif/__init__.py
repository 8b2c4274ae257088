"""What if the step computed in another precision, or were compiled? A step in, the step as it would have been out.

- `with_precision(trace, precision, *, options) -> RewriteResult`
- `with_compile(trace, mode, *, options) -> RewriteResult`

`EngineOptions(precision=..., compile=...)` asks `predict` for the same.
"""

from surfer_lab.engine.compilation import CompileMode
from surfer_lab.engine.precision import Precision, precision_blocker, precision_note
from surfer_lab.engine.whatif.compile import with_compile
from surfer_lab.engine.whatif.precision import with_precision
from surfer_lab.engine.whatif.result import RewriteResult

__all__ = [
    "CompileMode", "Precision", "RewriteResult", "precision_blocker", "precision_note", "with_compile",
    "with_precision",
]  # fmt: skip
