"""The table of aten ops, put together, and the one question asked of it: what does this op do on a GPU?

Names are torch's, overloads and the "aten::" prefix dropped; ops of other namespaces keep their prefix. What is not in
the table gets a generic estimate from the bytes of its operands and results, counted as a fallback.
"""

from __future__ import annotations

import math
from enum import Enum
from functools import lru_cache
from typing import Final

from surfer_lab.engine.lowering.call import Call, Rule, Unrecorded, itemsize_of, rate_class_of
from surfer_lab.engine.lowering.families import Family
from surfer_lab.engine.lowering.grid import POINTWISE_THREADS, pointwise_blocks
from surfer_lab.engine.lowering.ops.attention import ATTENTION_OPS
from surfer_lab.engine.lowering.ops.convolution import CONVOLUTION_OPS
from surfer_lab.engine.lowering.ops.costless import COMPOSITES, VIEWS
from surfer_lab.engine.lowering.ops.fused import FUSED_OPS
from surfer_lab.engine.lowering.ops.movement import MOVEMENT_OPS
from surfer_lab.engine.lowering.ops.normalization import NORMALIZATION_OPS
from surfer_lab.engine.lowering.ops.numerics import NUMERICS_OPS
from surfer_lab.engine.lowering.ops.optimizer import OPTIMIZER_OPS
from surfer_lab.engine.lowering.ops.pointwise import POINTWISE_OPS
from surfer_lab.engine.lowering.ops.pooling import POOLING_OPS
from surfer_lab.engine.lowering.ops.products import PRODUCT_OPS
from surfer_lab.engine.lowering.ops.recurrent import RECURRENT_OPS
from surfer_lab.engine.lowering.ops.reduction import REDUCTION_OPS
from surfer_lab.engine.lowering.ops.streaming import NoKernel
from surfer_lab.engine.lowering.work import UNKNOWN, KernelWork, Source
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.trace.tables import ArgDtypes, ArgShapes, MemoryFormat

__all__ = ["RULES", "OpStanding", "lower_op", "plain_name", "standing_of"]

_VIEW: Final = NoKernel()
# later tables win: views last, but for composites that a rule can stand for
RULES: Final[dict[str, Rule]] = {
    **dict.fromkeys(VIEWS, _VIEW),
    **POINTWISE_OPS,
    **PRODUCT_OPS,
    **CONVOLUTION_OPS,
    **ATTENTION_OPS,
    **NORMALIZATION_OPS,
    **POOLING_OPS,
    **REDUCTION_OPS,
    **MOVEMENT_OPS,
    **OPTIMIZER_OPS,
    **RECURRENT_OPS,
    **NUMERICS_OPS,
    **FUSED_OPS,
}

_ATEN: Final = "aten::"
_MISFIT: Final = "its recorded shapes do not fit the op"
# how arithmetic over sizes of the wrong number or sign ends
_CONTRADICTIONS: Final = (ValueError, IndexError, ZeroDivisionError, OverflowError)
_LARGEST_COUNT: Final = 1 << 60
_MOST_LAUNCHES: Final = (1 << 31) - 1
# namespaces of what encloses operators: autograd's nodes, the profiler's marks, a scripting runtime's own instructions
_FRAME_NAMESPACES: Final = frozenset(("autograd", "torch", "profiler", "prim", "cuda", "inductor"))


class OpStanding(Enum):
    """What a name stands for when ops are nested."""

    ATOMIC = "atomic"  # lowered as one; what is inside it is how some backend did it
    COSTLESS = "costless"
    COMPOSITE = "composite"  # its insides carry the work, where they were recorded
    UNKNOWN_OP = "unknown op"  # an operator that is not in the table
    FRAME = "frame"  # no operator: an autograd node, a profiler mark, a function


def plain_name(name: str) -> str:
    """Without "aten::" and overload.

    >>> plain_name("aten::add_.Tensor"), plain_name("c10d::allreduce_")
    ('add_', 'c10d::allreduce_')
    """
    bare = name[len(_ATEN) :] if name.startswith(_ATEN) else name
    return bare.split(".", 1)[0] if "::" in name else bare


def standing_of(name: str) -> OpStanding:
    """How a recorded name is treated; autograd nodes and marks are frames, whatever they enclose."""
    plain = plain_name(name)
    if plain in COMPOSITES:
        return OpStanding.COMPOSITE
    rule = RULES.get(plain)
    if rule is not None:
        return OpStanding.COSTLESS if rule is _VIEW else OpStanding.ATOMIC
    namespace, separator, rest = name.partition("::")
    spelt_as_operator = bool(separator) and namespace.isidentifier() and "::" not in rest and " " not in name
    return OpStanding.UNKNOWN_OP if spelt_as_operator and namespace not in _FRAME_NAMESPACES else OpStanding.FRAME


def _fallback(call: Call) -> tuple[KernelWork, ...]:
    """One kernel that reads all operands and writes all results (as much as the largest operand where unknown)."""
    read = float(sum(call.bytes_of(position) for position in range(len(call.inputs))))
    recorded = call.output_bytes()
    largest = max((call.bytes_of(position) for position in range(len(call.inputs))), default=0)
    written = float(recorded if recorded is not None else largest)
    dtype = call.lead_dtype() or call.output_dtype()
    elements = max(1, int(max(read, written) // itemsize_of(dtype)))
    return (
        KernelWork(
            family=Family.OTHER,
            flop=float(elements),
            read_bytes=read,
            write_bytes=written,
            rate_class=rate_class_of(dtype, matrix=False),
            blocks=pointwise_blocks(elements),
            threads=POINTWISE_THREADS,
            source=Source.FALLBACK,
            reason=f"{call.name} is not in the table of ops: its operands' bytes alone",
        ),
    )


def _unknown(reason: str) -> tuple[KernelWork, ...]:
    return (
        KernelWork(
            family=Family.OTHER,
            flop=UNKNOWN,
            read_bytes=UNKNOWN,
            write_bytes=UNKNOWN,
            rate_class=RateClass.FP32,
            source=Source.NONE,
            reason=reason,
        ),
    )


def _is_sound(work: KernelWork) -> bool:
    if work.source is Source.NONE:
        return True
    figures = (work.flop, work.read_bytes, work.write_bytes)
    counts = (work.blocks, work.threads, *(work.gemm or ()))
    return (
        all(0 <= figure < math.inf for figure in figures)
        and all(0 <= count <= _LARGEST_COUNT for count in counts)
        and 1 <= work.launch_count <= _MOST_LAUNCHES
    )


@lru_cache(maxsize=1 << 16)
def lower_op(
    name: str,
    input_shapes: ArgShapes,
    input_dtypes: ArgDtypes = (),
    output_shapes: ArgShapes | None = None,
    *,
    output_dtypes: ArgDtypes | None = None,
    arguments: tuple[str, ...] = (),
    memory_format: MemoryFormat = MemoryFormat.UNKNOWN,
) -> tuple[KernelWork, ...]:
    """The kernels that one op launches on a GPU; `()` for views and metadata.

    Shapes are tuples, one entry an argument (a tuple of shapes for a list of tensors, None for no tensor). An op that
    is not in the table has source FALLBACK; one whose shapes were not recorded has source NONE and says why.

    >>> (work,) = lower_op("aten::mm", ((64, 32), (32, 16)), ("float32", "float32"))
    >>> work.family.value, work.flop, work.bytes
    ('mm', 65536.0, 14336.0)
    """
    plain = plain_name(name)
    rule = RULES.get(plain)
    call = Call(plain, input_shapes, input_dtypes, output_shapes, output_dtypes, arguments, MemoryFormat(memory_format))
    if rule is None and not call.has_shapes():
        return _unknown(f"{name}: not in the table, and no shapes recorded")
    try:
        works = (rule or _fallback)(call)
    except Unrecorded as missing:
        return _unknown(str(missing))
    except _CONTRADICTIONS:
        works = None
    # a damaged or foreign trace may hold shapes that the op cannot have had
    return works if works is not None and all(map(_is_sound, works)) else _unknown(f"{name}: {_MISFIT}")
