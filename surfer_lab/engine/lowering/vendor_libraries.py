"""What does each vendor's library run beside a convolution that the other's does not? The layouts they change.

Matrix units want half-precision tensors channels-last. Given channels-first ones, the libraries copy them into the
other layout, each tensor in a kernel of its own: cuDNN what is read and the result (`nchwToNhwcKernel` and
`nhwcToNchwKernel` in the V100 and A100 traces), MIOpen the filter too: its implicit products for channels-last tensors
(solvers ConvAsmImplicitGemmGTCDynamic*XdlopsNHWC and those of Composable Kernel) put a `batched_transpose` kernel
around each of the three. Convolutions of 1 x 1 filters run as plain products on either, without copies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from surfer_lab.engine.lowering.identity import Library
from surfer_lab.hardware.gpu import Vendor

__all__ = ["LAYOUT_CHANGES", "LayoutChange"]


@dataclass(frozen=True, kw_only=True)
class LayoutChange:
    """Whose kernels they are, and which tensors of a pass of a convolution they copy."""

    library: Library
    data: bool  # what is read besides the filter: input, gradient, or both of a weight gradient's
    filter: bool
    result: bool

    def elements(self, data: int, filter_: int, result: int) -> int:
        """Elements copied, of tensors with so many."""
        return data * self.data + filter_ * self.filter + result * self.result


LAYOUT_CHANGES: Final[dict[Vendor, LayoutChange]] = {
    Vendor.NVIDIA: LayoutChange(library=Library.CUDNN, data=True, filter=False, result=True),
    Vendor.AMD: LayoutChange(library=Library.MIOPEN, data=True, filter=True, result=True),
}
