"""Linear algebra, Fourier transforms and collectives: textbook counts, coarse but of the right order.

Operation counts of the factorisations are those of Golub and Van Loan, Matrix Computations, leading term only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from surfer_lab.engine.lowering.call import Call, Rule, Unrecorded, numel, rate_class_of
from surfer_lab.engine.lowering.families import Family
from surfer_lab.engine.lowering.grid import POINTWISE_THREADS, pointwise_blocks
from surfer_lab.engine.lowering.ops.streaming import Moving
from surfer_lab.engine.lowering.work import KernelWork
from surfer_lab.trace.tables import Shape

__all__ = ["NUMERICS_OPS"]

_FFT_FLOP_PER_POINT: Final = 5.0  # 5 n log2 n real operations for a complex transform of n points
_FFT_REAL_FRACTION: Final = 0.5


def _square(factor: float) -> Callable[[Shape, Shape], float]:
    """Factor * n^3 for a batch of n x n matrices."""
    return lambda a, b: factor * numel(a[:-2]) * float(a[-1]) ** 3


def _rectangular(factor: float) -> Callable[[Shape, Shape], float]:
    """Factor * m n min(m, n) for a batch of m x n matrices."""
    return lambda a, b: factor * numel(a) * min(a[-2:])


def _solve(factor: float) -> Callable[[Shape, Shape], float]:
    """Factor * n^2 for each right-hand side."""
    return lambda a, b: factor * float(a[-1]) * numel(b)


@dataclass(frozen=True, kw_only=True)
class Dense:
    """`matrix` and `right` are positions; the library launches many small kernels, one panel after another."""

    count: Callable[[Shape, Shape], float]
    matrix: int = 0
    right: int = 0

    def __call__(self, call: Call) -> tuple[KernelWork, ...]:
        a, b = call.need(self.matrix, at_least=2), call.need(self.right, at_least=1)
        moved = float(sum(call.bytes_of(position) for position in {self.matrix, self.right}))
        written = call.output_bytes()
        return (
            KernelWork(
                family=Family.LINALG,
                flop=self.count(a, b),
                read_bytes=moved,
                write_bytes=float(written if written is not None else call.bytes_of(self.right)),
                rate_class=rate_class_of(call.dtype(self.matrix), matrix=False),
                blocks=max(1, numel(a[:-2])),
                threads=POINTWISE_THREADS,
                launch_count=max(1, math.ceil(a[-1] / 32)),
            ),
        )


def _fft(call: Call) -> tuple[KernelWork, ...]:
    """(self, dims, ...): n log n along the transformed dimensions; a real transform costs half."""
    shape = call.need(0, at_least=1)
    axes = call.ints(1) or (-1,)
    points = 1
    for axis in axes:
        if -len(shape) <= axis < len(shape):
            points *= shape[axis]
    moved = float(call.bytes_of(0))
    written = call.output_bytes()
    real = "r2c" in call.name or "c2r" in call.name
    elements = numel(shape)
    return (
        KernelWork(
            family=Family.FFT,
            flop=_FFT_FLOP_PER_POINT * elements * math.log2(max(2, points)) * (_FFT_REAL_FRACTION if real else 1.0),
            read_bytes=moved,
            write_bytes=float(written if written is not None else moved),
            rate_class=rate_class_of(call.dtype(0), matrix=False),
            blocks=pointwise_blocks(elements),
            threads=POINTWISE_THREADS,
            launch_count=len(axes),
        ),
    )


def _message(call: Call) -> float:
    """All tensors of the call, single or in lists."""
    total = sum(call.bytes_of(position) for position in range(len(call.inputs)))
    if total == 0:
        raise Unrecorded(f"{call.name}: the size of its message was not recorded")
    return float(total)


_COLLECTIVE: Final = Moving(family=Family.COMMUNICATION, read=_message, write=lambda call: 0.0)
_C10D: Final = (
    "allreduce_ allreduce_coalesced_ broadcast_ allgather_ _allgather_base_ allgather_coalesced_ "
    "allgather_into_tensor_coalesced_ reduce_scatter_ _reduce_scatter_base_ reduce_scatter_tensor_coalesced_ reduce_ "
    "gather_ scatter_ alltoall_ alltoall_base_ send recv_ recv_any_source_"
)
_FUNCTIONAL: Final = (
    "all_reduce all_reduce_ all_reduce_coalesced all_gather_into_tensor all_gather_into_tensor_coalesced "
    "reduce_scatter_tensor reduce_scatter_tensor_coalesced all_to_all_single broadcast broadcast_"
)
_NCCL: Final = "all_reduce all_gather _all_gather_base reduce_scatter _reduce_scatter_base broadcast all_to_all"

NUMERICS_OPS: Final[dict[str, Rule]] = {
    **dict.fromkeys(("linalg_cholesky", "linalg_cholesky_ex", "cholesky"), Dense(count=_square(1 / 3))),
    **dict.fromkeys(
        ("linalg_lu_factor", "linalg_lu_factor_ex", "linalg_lu", "_linalg_det", "linalg_det", "_linalg_slogdet",
         "linalg_slogdet", "_lu_with_info"),
        Dense(count=_square(2 / 3)),
    ),
    **dict.fromkeys(
        ("linalg_inv", "linalg_inv_ex", "inverse", "cholesky_inverse", "linalg_ldl_factor", "linalg_ldl_factor_ex"),
        Dense(count=_square(2.0)),
    ),
    **dict.fromkeys(
        ("linalg_solve", "_linalg_solve_ex", "linalg_solve_ex"), Dense(count=_square(2 / 3), right=1)
    ),
    **dict.fromkeys(
        ("linalg_solve_triangular", "cholesky_solve", "_cholesky_solve_helper"),
        Dense(count=_solve(1.0), matrix=0, right=1),
    ),
    **dict.fromkeys(("triangular_solve", "linalg_lu_solve", "linalg_ldl_solve"), Dense(count=_solve(2.0), right=1)),
    **dict.fromkeys(("linalg_qr", "geqrf", "linalg_householder_product", "linalg_lstsq", "ormqr"), Dense(
        count=_rectangular(2.0)
    )),
    **dict.fromkeys(("_linalg_svd", "linalg_svd", "linalg_svdvals", "linalg_pinv"), Dense(count=_rectangular(6.0))),
    **dict.fromkeys(
        ("_linalg_eigh", "linalg_eigh", "linalg_eigvalsh", "linalg_eig", "linalg_eigvals", "_linalg_eigvals"),
        Dense(count=_square(9.0)),
    ),
    **dict.fromkeys(("linalg_matrix_exp", "matrix_exp"), Dense(count=_square(30.0))),
    **dict.fromkeys(
        ("_pdist_forward", "_pdist_backward"), Dense(count=lambda a, b: 3.0 * a[0] * a[0] / 2 * a[-1])
    ),
    "linalg_cross": Moving(
        family=Family.BINARY,
        read=lambda call: float(call.bytes_of(0) + call.bytes_of(1)),
        write=lambda call: float(call.bytes_of(0)),
        flop=3.0,
    ),
    **dict.fromkeys(("_fft_c2c", "_fft_r2c", "_fft_c2r"), _fft),
    **{f"c10d::{name}": _COLLECTIVE for name in _C10D.split()},
    **{f"_c10d_functional::{name}": _COLLECTIVE for name in _FUNCTIONAL.split()},
    **{f"c10d_functional::{name}": _COLLECTIVE for name in _FUNCTIONAL.split()},
    **{f"nccl:{name}": _COLLECTIVE for name in _NCCL.split()},
    "record_param_comms": _COLLECTIVE,
}  # fmt: skip
