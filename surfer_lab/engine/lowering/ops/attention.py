"""Fused attention, forward and backward, in each of its spellings.

    forward    two products:  scores q k^T and the weighted sum with v        2 b h sq sk (d + dv)
    backward   five: the scores again, then the gradients of v, scores, q, k  2 b h sq sk (3 d + 2 dv)

`flop` counts the full rectangle; a causal mask halves what the kernels really do, which `flop_fraction` says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from surfer_lab.engine.lowering.call import Call, Rule, numel, rate_class_of
from surfer_lab.engine.lowering.families import Family
from surfer_lab.engine.lowering.ops.products import product_work
from surfer_lab.engine.lowering.ops.streaming import pointwise_work
from surfer_lab.engine.lowering.work import Gemm, KernelWork, Role, Tf32Switch
from surfer_lab.trace.tables import Shape

__all__ = ["ATTENTION_OPS", "Attention"]

_QUERY_ROWS_PER_BLOCK: Final = 128  # FlashAttention-2's forward tile for head sizes up to 128
_CAUSAL_FRACTION: Final = 0.5
_STATISTIC_BYTES: Final = 4  # log-sum-exp of each query row, float32


@dataclass(frozen=True, kw_only=True)
class Attention:
    """Positions of the tensors in one spelling. `heads_first`: (b, h, s, d), else (b, s, h, d) or packed (s, h, d).

    `causal` is the position of the flag, or of an integer mask type where 0 means none; `offsets` that of the packed
    sequences' cumulative lengths (they are taken to be of equal length). `gradient` >= 0: backward.
    """

    query: int = 0
    causal: int = -1
    mask: int = -1
    heads_first: bool = True
    gradient: int = -1
    offsets: int = -1

    def __call__(self, call: Call) -> tuple[KernelWork, ...]:
        q, k, v = (call.need(self.query + offset, at_least=3) for offset in range(3))
        offsets = call.shape(self.offsets)
        sequences = max(1, offsets[0] - 1) if offsets else 1
        batch, heads, queries, size = self._sizes(q, sequences)
        _, _, keys, _ = self._sizes(k, sequences)
        value_size = v[-1]
        if not batch * heads * queries * keys * size:
            return ()
        dtype = call.dtype(self.query)
        item = call.itemsize(self.query)
        q_bytes, k_bytes, v_bytes = (call.bytes_of(self.query + offset) for offset in range(3))
        out_bytes = float(batch * heads * queries * value_size * item)
        row_bytes = float(batch * heads * queries * _STATISTIC_BYTES)
        pairs = 2.0 * batch * heads * queries * keys
        backward = self.gradient >= 0
        flag = call.flag(self.causal)
        kind = call.number(self.causal)
        causal = bool(flag) if flag is not None else bool(kind)
        main = KernelWork(
            family=Family.ATTENTION_BACKWARD if backward else Family.ATTENTION,
            flop=pairs * ((3 * size + 2 * value_size) if backward else (size + value_size)),
            read_bytes=float(q_bytes + k_bytes + v_bytes + call.bytes_of(self.mask))
            + ((2 * out_bytes + row_bytes) if backward else 0.0),
            write_bytes=float(q_bytes + k_bytes + v_bytes) if backward else out_bytes + row_bytes,
            rate_class=rate_class_of(dtype, matrix=True),
            tf32=Tf32Switch.MATMUL,
            blocks=batch * heads * max(1, -(-(keys if backward else queries) // _QUERY_ROWS_PER_BLOCK)),
            threads=_QUERY_ROWS_PER_BLOCK,
            gemm=Gemm(batch * heads, queries, keys, size),
            flop_fraction=_CAUSAL_FRACTION if causal else 1.0,
        )
        if not backward:
            return (main,)
        # rows' dot products of output and its gradient, before the main kernel
        prepare = pointwise_work(
            Family.REDUCTION, elements=int(out_bytes // item), read_bytes=2 * out_bytes, write_bytes=row_bytes,
            flop_per_element=2.0, dtype=dtype,
        )  # fmt: skip
        return main, replace(prepare, role=Role.HELPER)

    def _sizes(self, shape: Shape, sequences: int) -> tuple[int, int, int, int]:
        """Batch, heads, positions, head size."""
        if self.heads_first:
            # three dimensions: one head, (b, s, d)
            heads = 1 if len(shape) == 3 else shape[-3]
            return numel(shape[:-2]) // max(1, heads), heads, shape[-2], shape[-1]
        positions, heads, size = shape[-3:]
        batch = numel(shape[:-3])
        if sequences > 1:  # packed: (total, h, d), or the same behind a batch of one
            return batch * sequences, heads, max(1, positions // sequences), size
        return batch, heads, positions, size


def _multi_head(call: Call) -> tuple[KernelWork, ...]:
    """PyTorch's fused inference path: input projection, attention, output projection."""
    query = call.need(0, at_least=3)
    return _self_attention(call, query, projections=(5, 7))


def _encoder_layer(call: Call) -> tuple[KernelWork, ...]:
    """A whole encoder layer of the fused inference path: attention, two layer norms, two products with an activation.

    (src, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu, norm_first, eps,
    norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1, ffn_weight_2, ...)
    """
    source = call.need(0, at_least=3)
    rows, width, item = numel(source[:-1]), source[-1], call.itemsize(0)
    dtype = call.dtype(0)
    moved = float(rows * width * item)
    works = list(_self_attention(call, source, projections=(3, 5)))
    for position in (14, 16):
        n, k = call.need(position, at_least=2)
        works.append(
            product_work(
                Gemm(1, rows, n, k), family=Family.MM, read_bytes=rows * k * item + call.bytes_of(position),
                write_bytes=rows * n * item, dtype=dtype,
            )
        )  # fmt: skip
    hidden = rows * call.need(14, at_least=2)[0]
    works.append(
        pointwise_work(
            Family.UNARY, elements=hidden, read_bytes=hidden * item, write_bytes=hidden * item, flop_per_element=10.0,
            dtype=dtype,
        )
    )  # fmt: skip
    works.append(
        pointwise_work(
            Family.LAYER_NORM, elements=rows * width, read_bytes=2 * moved, write_bytes=moved, flop_per_element=8.0,
            dtype=dtype, launch_count=2,
        )
    )  # fmt: skip
    return tuple(works)


def _self_attention(call: Call, source: Shape, *, projections: tuple[int, int]) -> tuple[KernelWork, ...]:
    rows, width, item = numel(source[:-1]), source[-1], call.itemsize(0)
    batch, positions = source[0], source[1]
    dtype = call.dtype(0)
    works = []
    for position in projections:
        n, k = call.need(position, at_least=2)
        works.append(
            product_work(
                Gemm(1, rows, n, k), family=Family.MM, read_bytes=rows * k * item + call.bytes_of(position),
                write_bytes=rows * n * item, dtype=dtype,
            )
        )  # fmt: skip
    moved = float(rows * width * item)
    works.append(
        KernelWork(
            family=Family.ATTENTION,
            flop=4.0 * batch * positions * positions * width,
            read_bytes=3 * moved,
            write_bytes=moved,
            rate_class=rate_class_of(dtype, matrix=True),
            tf32=Tf32Switch.MATMUL,
            blocks=batch * max(1, -(-positions // _QUERY_ROWS_PER_BLOCK)),
            threads=_QUERY_ROWS_PER_BLOCK,
        )
    )
    return tuple(works)


ATTENTION_OPS: Final[dict[str, Rule]] = {
    "scaled_dot_product_attention": Attention(mask=3, causal=5),
    "_scaled_dot_product_attention_math": Attention(mask=3, causal=5),
    "_scaled_dot_product_flash_attention": Attention(causal=4),
    "_scaled_dot_product_flash_attention_for_cpu": Attention(causal=4),
    "_scaled_dot_product_efficient_attention": Attention(mask=3, causal=6),
    "_scaled_dot_product_cudnn_attention": Attention(mask=3, causal=6),
    "_scaled_dot_product_fused_attention_overrideable": Attention(mask=3, causal=5),
    "_cudnn_attention_forward": Attention(mask=3, causal=10),
    "_flash_attention_forward": Attention(causal=8, offsets=3, heads_first=False),
    "_flash_attention_forward_no_dropout_inplace": Attention(query=1, causal=9, offsets=4, heads_first=False),
    "_efficient_attention_forward": Attention(mask=3, causal=9, offsets=4, heads_first=False),
    "_scaled_dot_product_flash_attention_backward": Attention(gradient=0, query=1, causal=11),
    "_scaled_dot_product_flash_attention_for_cpu_backward": Attention(gradient=0, query=1, causal=7),
    "_scaled_dot_product_efficient_attention_backward": Attention(gradient=0, query=1, mask=4, causal=11),
    "_scaled_dot_product_cudnn_attention_backward": Attention(gradient=0, query=1, mask=8, causal=14),
    "_scaled_dot_product_fused_attention_overrideable_backward": Attention(gradient=0, query=1, mask=4, causal=13),
    "_cudnn_attention_backward": Attention(gradient=0, query=1, mask=8, causal=14),
    "_flash_attention_backward": Attention(gradient=0, query=1, causal=11, offsets=6, heads_first=False),
    "_efficient_attention_backward": Attention(
        gradient=0, query=1, mask=4, causal=14, offsets=6, heads_first=False
    ),
    "_native_multi_head_attention": _multi_head,
    "_transformer_encoder_layer_fwd": _encoder_layer,
    # packages people install beside torch
    **dict.fromkeys(
        ("flash_attn::_flash_attn_forward", "flash_attn::_flash_attn_varlen_forward", "xformers_flash::flash_fwd"),
        Attention(heads_first=False),
    ),
    **dict.fromkeys(
        (
            "flash_attn::_flash_attn_backward", "flash_attn::_flash_attn_varlen_backward",
            "xformers_flash::flash_bwd",
        ),
        Attention(gradient=0, query=1, heads_first=False),
    ),
    "xformers::efficient_attention_forward_cutlass": Attention(mask=3, heads_first=False),
    "xformers::efficient_attention_backward_cutlass": Attention(gradient=0, query=1, mask=4, heads_first=False),
}  # fmt: skip
