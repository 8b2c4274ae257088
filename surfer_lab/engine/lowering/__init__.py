"""Lowering: from an aten op and its shapes, or from a kernel's name, to the work a GPU has to do.

Public names and where they live:

- `Family`, `FamilyTraits`, `Fusion`, `traits(family)`: the families of work and what holds for each.
- `KernelWork`, `Lowered`, `Gemm`, `Role`, `Source`, `Tf32Switch`, `rate_class_on(...)`: the records.
- `lower_op(name, input_shapes, input_dtypes, output_shapes=None, *, output_dtypes=None, arguments=None,
  memory_format=MemoryFormat.UNKNOWN) -> tuple[KernelWork, ...]`: one op; `()` for views and metadata, which launch
  nothing. Memoised by signature.
- `lower(ops: OpTable, rows: NDArray[np.int32] | None = None) -> Lowered`: ops of a capture without a GPU, one row per
  kind of kernel launched, in op order; without `rows` it takes the outermost ops of the table that it knows.
- `lower_kernels(kernels: KernelTable, ops: OpTable) -> Lowered`: recorded kernels, one row a kernel in the table's
  order, shapes and name combined.
- `classify_kernel(name: str) -> KernelIdentity`, `Library`, `Tile`: from the name alone; memoised.

Pure: tables and arithmetic, no torch, no files.
"""

from surfer_lab.engine.lowering.families import FAMILY_TRAITS, Family, FamilyTraits, Fusion, traits
from surfer_lab.engine.lowering.identity import KernelIdentity, Library, Tile
from surfer_lab.engine.lowering.kernel_identity import classify_kernel
from surfer_lab.engine.lowering.kernel_lowering import lower_kernels
from surfer_lab.engine.lowering.op_lowering import lower
from surfer_lab.engine.lowering.op_table import lower_op
from surfer_lab.engine.lowering.work import UNKNOWN, Gemm, KernelWork, Lowered, Role, Source, Tf32Switch, rate_class_on

__all__ = [
    "FAMILY_TRAITS", "UNKNOWN", "Family", "FamilyTraits", "Fusion", "Gemm", "KernelIdentity", "KernelWork", "Library",
    "Lowered", "Role", "Source", "Tf32Switch", "Tile", "classify_kernel", "lower", "lower_kernels", "lower_op",
    "rate_class_on", "traits",
]  # fmt: skip
