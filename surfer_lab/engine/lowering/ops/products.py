"""Products of matrices: 2 m n k FLOPs each, every operand read once, the result written once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from surfer_lab.engine.lowering.call import Call, Rule, Unrecorded, itemsize_of, numel, rate_class_of
from surfer_lab.engine.lowering.families import Family
from surfer_lab.engine.lowering.grid import GEMM_THREADS, gemm_blocks
from surfer_lab.engine.lowering.work import Gemm, KernelWork, Tf32Switch
from surfer_lab.trace.tables import Shape

__all__ = ["PRODUCT_OPS", "product_work"]


def product_work(
    gemm: Gemm,
    *,
    family: Family,
    read_bytes: float,
    write_bytes: float,
    dtype: str | None,
    launch_count: int = 1,
) -> KernelWork:
    """One (batched) matrix product with the traffic given."""
    complex_factor = 4 if (dtype or "").startswith("complex") else 1
    return KernelWork(
        family=family,
        flop=2.0 * gemm.batch * gemm.m * gemm.n * gemm.k * complex_factor,
        read_bytes=float(read_bytes),
        write_bytes=float(write_bytes),
        rate_class=rate_class_of(dtype, matrix=True),
        tf32=Tf32Switch.MATMUL,
        blocks=gemm_blocks(gemm.batch, gemm.m, gemm.n, gemm.k),
        threads=GEMM_THREADS,
        launch_count=launch_count,
        gemm=gemm,
    )


def _mm(a: Shape, b: Shape) -> Gemm:
    return Gemm(1, a[-2], b[-1], a[-1])


def _bmm(a: Shape, b: Shape) -> Gemm:
    return Gemm(a[0], a[-2], b[-1], a[-1])


def _mv(a: Shape, b: Shape) -> Gemm:
    return Gemm(1, a[-2], 1, a[-1])


def _dot(a: Shape, b: Shape) -> Gemm:
    return Gemm(1, 1, 1, a[0])


def _outer(a: Shape, b: Shape) -> Gemm:
    return Gemm(1, a[0], b[0], 1)


def _linear(a: Shape, b: Shape) -> Gemm:
    """X (..., k) times w (n, k) transposed; a bare vector of weights is one output."""
    return Gemm(1, numel(a[:-1]), b[0] if len(b) > 1 else 1, a[-1])


def _matmul(a: Shape, b: Shape) -> Gemm:
    """torch.matmul: vectors, matrices and broadcast batches; a batch over a plain matrix is folded into the rows."""
    if len(a) == 1:
        a = (1, *a)
    if len(b) == 1:
        b = (*b, 1)
    if len(b) == 2:
        return Gemm(1, numel(a[:-1]), b[-1], a[-1])
    batch = max(numel(a[:-2]), numel(b[:-2]))
    return Gemm(batch, a[-2], b[-1], a[-1])


@dataclass(frozen=True, kw_only=True)
class Product:
    """`left` and `right` are the factors' positions; `added` the tensor that is added to the product, -1: none."""

    left: int
    right: int
    dims: Callable[[Shape, Shape], Gemm]
    family: Family = Family.MM
    added: int = -1
    rank: int = 1

    def __call__(self, call: Call) -> tuple[KernelWork, ...]:
        gemm = self.dims(call.need(self.left, at_least=self.rank), call.need(self.right, at_least=1))
        if 0 in gemm:
            return ()
        dtype = call.dtype(self.left)
        result_size = itemsize_of(call.output_dtype() or (dtype if self.added < 0 else call.dtype(self.added)) or dtype)
        family = Family.BMM if gemm.batch > 1 else self.family
        return (
            product_work(
                gemm,
                family=family,
                read_bytes=call.bytes_of(self.left) + call.bytes_of(self.right) + call.bytes_of(self.added),
                write_bytes=gemm.batch * gemm.m * gemm.n * result_size,
                dtype=dtype,
            ),
        )


def _addbmm(call: Call) -> tuple[KernelWork, ...]:
    """Sum over the batch: one product with the batch folded into the contraction."""
    a, b = call.need(1, at_least=3), call.need(2, at_least=3)
    return (
        product_work(
            Gemm(1, a[1], b[2], a[0] * a[2]),
            family=Family.MM,
            read_bytes=call.bytes_of(0) + call.bytes_of(1) + call.bytes_of(2),
            write_bytes=a[1] * b[2] * call.itemsize(1),
            dtype=call.dtype(1),
        ),
    )


def _linear_backward(call: Call) -> tuple[KernelWork, ...]:
    """(input, gradient, weight): the product for the input and the one for the weight."""
    x, gradient, weight = call.need(0, at_least=1), call.need(1, at_least=1), call.need(2, at_least=2)
    rows, (n, k) = numel(x[:-1]), (weight[0], weight[-1])
    x_bytes, gradient_bytes, weight_bytes = (call.bytes_of(position) for position in (0, 1, 2))
    dtype = call.dtype(1)
    del gradient
    return (
        product_work(
            Gemm(1, rows, k, n), family=Family.MM, read_bytes=gradient_bytes + weight_bytes, write_bytes=x_bytes,
            dtype=dtype,
        ),
        product_work(
            Gemm(1, n, k, rows), family=Family.MM, read_bytes=gradient_bytes + x_bytes, write_bytes=weight_bytes,
            dtype=dtype,
        ),
    )  # fmt: skip


def _trilinear(call: Call) -> tuple[KernelWork, ...]:
    """What nn.Bilinear becomes: (b, i), (o, i, j), (b, j) with sizes of 1 put in; b o i j multiply-adds, twice."""
    operands = [call.need(position, at_least=1) for position in (0, 1, 2)]
    elements = 1
    for sizes in zip(*operands, strict=False):
        elements *= max(sizes)
    written = call.output_bytes()
    return (
        product_work(
            Gemm(1, elements, 1, 2),
            family=Family.BMM,
            read_bytes=sum(call.bytes_of(position) for position in (0, 1, 2)),
            write_bytes=written if written is not None else call.bytes_of(0),
            dtype=call.dtype(0),
        ),
    )


def _grouped(call: Call) -> tuple[KernelWork, ...]:
    """Grouped products of mixture-of-experts: (tokens, k) with (experts, k, n), each token in one group; or batched."""
    a, b = call.need(0, at_least=2), call.need(1, at_least=2)
    if len(a) == 2 and len(b) == 3:
        gemm = Gemm(1, a[0], b[-1], a[-1])
    elif len(a) == 3:
        gemm = Gemm(a[0], a[-2], b[-1], a[-1])
    else:
        gemm = Gemm(1, a[0], b[-1], a[-1])
    return (
        product_work(
            gemm,
            family=Family.BMM,
            read_bytes=call.bytes_of(0) + call.bytes_of(1),
            write_bytes=call.output_bytes() or gemm.batch * gemm.m * gemm.n * call.itemsize(0),
            dtype=call.dtype(0),
        ),
    )


def _cdist(call: Call) -> tuple[KernelWork, ...]:
    """Distances of every pair of rows: subtract, square, add for each coordinate."""
    a, b = call.need(0, at_least=2), call.need(1, at_least=2)
    gemm = Gemm(max(numel(a[:-2]), numel(b[:-2])), a[-2], b[-2], a[-1])
    if 0 in gemm:
        raise Unrecorded(f"{call.name}: an empty operand")
    written = gemm.batch * gemm.m * gemm.n * call.itemsize(0)
    return (
        product_work(
            gemm, family=Family.BMM, read_bytes=call.bytes_of(0) + call.bytes_of(1), write_bytes=written,
            dtype=call.dtype(0),
        ),
    )  # fmt: skip


def _cdist_backward(call: Call) -> tuple[KernelWork, ...]:
    """(gradient of the distances, a, b, p, distances): as many terms again as the forward pass, summed into a."""
    shifted = Call(call.name, call.inputs[1:3], call.dtypes[1:3], None, None, (), call.memory_format)
    (forward,) = _cdist(shifted)
    return (replace(forward, read_bytes=forward.bytes + call.bytes_of(0), write_bytes=float(call.bytes_of(1))),)


def _columns(call: Call) -> int:
    result = call.output()
    if result is None:
        raise Unrecorded(f"{call.name}: its output's width is not in its packed operand's shape")
    return result[-1]


def _packed(call: Call) -> tuple[KernelWork, ...]:
    x = call.need(0, at_least=2)
    gemm = Gemm(1, numel(x[:-1]), _columns(call), x[-1])
    return (
        product_work(
            gemm,
            family=Family.MM,
            read_bytes=call.bytes_of(0) + call.bytes_of(1) + call.bytes_of(3),
            write_bytes=gemm.m * gemm.n * call.itemsize(0),
            dtype=call.dtype(0),
        ),
    )


def _half_sparse(call: Call) -> tuple[KernelWork, ...]:
    """Two of four elements kept: the matrix units do half of the dense product."""
    x = call.need(1 if "semi_structured_mm" in call.name or "cslt" in call.name else 0, at_least=2)
    gemm = Gemm(1, numel(x[:-1]), _columns(call), x[-1])
    work = product_work(
        gemm,
        family=Family.MM,
        read_bytes=call.bytes_of(0) + call.bytes_of(1),
        write_bytes=gemm.m * gemm.n * call.itemsize(0),
        dtype=call.dtype(0),
    )
    return (replace(work, flop_fraction=0.5),)


_PLAIN: Final = Product(left=0, right=1, dims=_mm, rank=2)
_ADDED: Final = Product(left=1, right=2, dims=_mm, added=0, rank=2)
_BATCHED: Final = Product(left=0, right=1, dims=_bmm, family=Family.BMM, rank=3)
_BATCHED_ADDED: Final = Product(left=1, right=2, dims=_bmm, family=Family.BMM, added=0, rank=3)
_VECTOR: Final = Product(left=0, right=1, dims=_mv, rank=2)
_VECTOR_ADDED: Final = Product(left=1, right=2, dims=_mv, added=0, rank=2)
_LINEAR: Final = Product(left=0, right=1, dims=_linear, added=2)

PRODUCT_OPS: Final[dict[str, Rule]] = {
    **dict.fromkeys(("mm", "_int_mm", "_scaled_mm", "_scaled_mm_v2", "_sparse_mm", "_weight_int8pack_mm"), _PLAIN),
    **dict.fromkeys(("addmm", "addmm_", "_addmm_activation", "_sparse_addmm", "sspaddmm"), _ADDED),
    **dict.fromkeys(("bmm",), _BATCHED),
    **dict.fromkeys(("baddbmm", "baddbmm_"), _BATCHED_ADDED),
    **dict.fromkeys(("mv",), _VECTOR),
    **dict.fromkeys(("addmv", "addmv_"), _VECTOR_ADDED),
    **dict.fromkeys(("dot", "vdot", "inner"), Product(left=0, right=1, dims=_dot)),
    **dict.fromkeys(("addr", "addr_"), Product(left=1, right=2, dims=_outer, added=0)),
    **dict.fromkeys(("outer", "ger"), Product(left=0, right=1, dims=_outer)),
    **dict.fromkeys(("matmul", "linalg_matmul"), Product(left=0, right=1, dims=_matmul)),
    **dict.fromkeys(("linear", "mkldnn_linear"), _LINEAR),
    **dict.fromkeys(("addbmm", "addbmm_"), _addbmm),
    **dict.fromkeys(("linear_backward", "mkldnn_linear_backward"), _linear_backward),
    "_trilinear": _trilinear,
    **dict.fromkeys(("_grouped_mm", "_scaled_grouped_mm"), _grouped),
    **dict.fromkeys(("_cdist_forward", "cdist", "_euclidean_dist"), _cdist),
    "_cdist_backward": _cdist_backward,
    # weights packed in fewer bits: the packed matrix's rows are the outputs
    **dict.fromkeys(("_weight_int4pack_mm", "_weight_int4pack_mm_for_cpu", "_mixed_dtypes_linear"), _packed),
    **dict.fromkeys(("_sparse_semi_structured_linear", "_sparse_semi_structured_mm", "_cslt_sparse_mm"), _half_sparse),
}
