"""Read a kernel's name: its family by the table of names, its tile and arithmetic by the vendors' conventions.

A name is classified once, however many kernels bear it. What the name does not say is None; what is in no table has
family None, and is counted as such.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from surfer_lab.engine.lowering.families import traits
from surfer_lab.engine.lowering.identity import KernelIdentity, Library, Tile
from surfer_lab.engine.lowering.kernel_names import NAME_PATTERNS, NamePattern
from surfer_lab.engine.lowering.work import Role, Tf32Switch
from surfer_lab.hardware.dtypes import RateClass

__all__ = ["classify_kernel"]

# Output tile of a block, by convention; the first that matches. Numbers of an instruction (16x8x8), of warps or of a
# Winograd tile look alike, so each pattern names what stands before the tile.
_TILES: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"_MT(\d+)x(\d+)x(\d+)",  # Tensile: macro tile
        r"tilesize(\d+)x(\d+)x(\d+)",  # xmma
        r"nvjet_\w+?_(\d+)x(\d+)_(\d+)x\d+",  # cuBLAS since 12.6: tile, then depth x stages
        r"GemmShapeILi(\d+)ELi(\d+)ELi(\d+)E",  # CUTLASS, mangled
        r"GemmShape<\(?(?:int\))?(\d+), \(?(?:int\))?(\d+), \(?(?:int\))?(\d+)>",  # CUTLASS, demangled
        r"(?:gemm|fprop|dgrad|wgrad)(?:_[a-z0-9]+)*?_(\d+)x(\d+)_(\d+)x\d+",  # CUTLASS's own names
        r"(?:gemm|cudnn|winograd)(?:_[a-z0-9]+)*?_(\d+)x(\d+)(?:x(\d+))?(?:_|$)",  # volta_sgemm_128x64_nn, scudnn
    )
)

# Arithmetic of a library's kernel; the first that matches. Half types stand before the instruction shape, because
# s1688 with no type is TF32 on Ampere (16x8x8, float accumulation) and half precision where a type is named.
# Tensile names the types right after its two index orders: Cijk_Alik_Bljk_HHS_BH_...
_TENSILE: Final = r"Cijk_[A-Z][a-z]{3}_[A-Z][a-z]{3}_"
_ARITHMETIC: Final = tuple(
    (re.compile(pattern), rate)
    for pattern, rate in (
        (rf"e4m3|e5m2|fp8|FP8|Fp8|f8f8|nvjet_q|qgmma|{_TENSILE}F8", RateClass.FP8),
        (rf"bf16|BF16|BFloat16|bfloat16|__nv_bfloat|nvjet_t|{_TENSILE}B", RateClass.BF16),
        (
            r"f16f16|fp16|FP16|_f16|hgemm|h\d{3,5}gemm|h\d{3,5}cudnn|hcudnn|hmma|c10::Half|__half|half_t|<half|"
            rf"nvjet_h|s884|s161616|s16816|{_TENSILE}H",
            RateClass.FP16,
        ),
        (r"tf32|TF32|s1688|nvjet_s", RateClass.TF32),
        (rf"i8816|i8i8|int8|imma|icudnn|_s8_|{_TENSILE}I8", RateClass.INT8),
        (rf"dgemm|d884|f64f64|_f64|double|{_TENSILE}D", RateClass.FP64),
        (rf"sgemm|scudnn|cgemm|f32f32|fp32|_f32|FP32|float|magma_s|{_TENSILE}S", RateClass.FP32),
    )
)
# as an element type; not an argument that happens to be double, nor an optional one
_DOUBLE: Final = re.compile(r"(?<!optional)<double|\(double\)#|double (?:const ?)?\*|, double, double")
_CUDNN: Final = re.compile(r"cudnn|cask")
_WINOGRAD: Final = re.compile(r"[wW]inograd|Sp3AsmConv")


def _tile(name: str) -> Tile | None:
    for pattern in _TILES:
        found = pattern.search(name)
        if found is not None:
            m, n, k = found.groups(default="0")
            return Tile(m=int(m), n=int(n), k=int(k))
    return None


def _rate_class(name: str, *, arithmetic: bool) -> RateClass | None:
    if not arithmetic:
        # half types are computed in float on the vector lanes
        return RateClass.FP64 if _DOUBLE.search(name) else RateClass.FP32
    return next((rate for pattern, rate in _ARITHMETIC if pattern.search(name)), None)


@lru_cache(maxsize=1 << 15)
def classify_kernel(name: str) -> KernelIdentity:
    """Family, library, tile and arithmetic of a kernel from its name alone.

    >>> kernel = classify_kernel("volta_sgemm_128x64_nn")
    >>> kernel.family.value, kernel.rate_class.value, kernel.tile.m, kernel.memory_bound
    ('mm', 'fp32', 128, False)
    """
    entry: NamePattern | None = next((pattern for pattern in NAME_PATTERNS if pattern.regex.search(name)), None)
    if entry is None:
        return KernelIdentity(
            name=name, family=None, library=Library.UNKNOWN, rate_class=None, tf32=Tf32Switch.NONE, tile=None,
            memory_bound=False, role=Role.MAIN,
        )  # fmt: skip
    family = traits(entry.family)
    bound = family.memory_bound if entry.memory_bound is None else entry.memory_bound
    arithmetic = family.arithmetic and entry.role is Role.MAIN
    rate = _rate_class(name, arithmetic=arithmetic)
    return KernelIdentity(
        name=name,
        family=entry.family,
        library=entry.library,
        rate_class=rate,
        # a kernel that runs float32 without TF32 may become a TF32 kernel elsewhere, by the flag of its kind
        tf32=_switch(name, entry, rate) if arithmetic else Tf32Switch.NONE,
        tile=_tile(name) if arithmetic else None,
        memory_bound=bound,
        role=entry.role,
        winograd=bool(_WINOGRAD.search(name)),
    )


def _switch(name: str, entry: NamePattern, rate: RateClass | None) -> Tf32Switch:
    if rate not in (RateClass.FP32, RateClass.TF32, None):
        return Tf32Switch.NONE
    is_convolution = entry.library in (Library.CUDNN, Library.MIOPEN) or _CUDNN.search(name)
    return Tf32Switch.CONVOLUTION if is_convolution else Tf32Switch.MATMUL
