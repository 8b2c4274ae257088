"""Ops that launch nothing: views and metadata; and composites, whose work is done by the ops inside them.

A composite that holds no recorded op (a capture that stopped above it) may still have a rule elsewhere in the tables;
without one it is a view of its operand, as `reshape` and `to` are when nothing had to move.
"""

from __future__ import annotations

from typing import Final

__all__ = ["COMPOSITES", "VIEWS"]

# another shape of the same storage
_SAME_STORAGE: Final = """
    view _unsafe_view reshape _reshape_alias reshape_as view_as expand expand_as broadcast_to broadcast_tensors
    permute transpose transpose_ t t_ slice select unsqueeze unsqueeze_ squeeze squeeze_ detach detach_ alias
    as_strided as_strided_ split split_with_sizes unsafe_split unsafe_split_with_sizes chunk unsafe_chunk
    tensor_split hsplit vsplit dsplit unbind narrow diagonal unfold flatten unflatten ravel movedim moveaxis
    swapaxes swapaxes_ swapdims swapdims_ numpy_T mT mH T H adjoint matrix_H real imag view_as_real view_as_complex
    conj _conj resolve_conj resolve_neg _neg_view positive atleast_1d atleast_2d atleast_3d meshgrid linalg_diagonal
    _nested_view_from_buffer _nested_view_from_jagged _nested_get_values values _values indices _indices
    crow_indices col_indices slice_inverse _fw_primal _make_dual _unpack_dual _ncf_view _ncf_unsqueeze lift
    lift_fresh contiguous to type_as _dim_arange data set_data
"""
# storage without contents
_NO_CONTENTS: Final = """
    empty empty_like empty_strided empty_permuted new_empty new_empty_strided empty_quantized resize_ resize
    resize_as_ resize_as set_ set _resize_output_ _resize_output _cudnn_init_dropout_state _efficientzerotensor
    _empty_affine_quantized _empty_per_channel_affine_quantized _new_zeros_with_same_feature_meta
"""
# questions about a tensor, answered on the host
_QUESTIONS: Final = """
    size stride dim numel storage_offset sym_size sym_stride sym_numel sym_storage_offset sym_is_contiguous
    is_contiguous is_complex is_floating_point is_signed is_conj is_neg is_inference is_leaf is_same_size is_pinned
    is_coalesced is_set_to is_distributed result_type can_cast promote_types get_device device output_nr _version
    requires_grad_ retain_grad retains_grad element_size dense_dim sparse_dim qscheme q_scale q_zero_point
    _has_compatible_shallow_copy_type _has_same_storage_numel _debug_has_internal_overlap _is_zerotensor
    cudnn_is_acceptable _use_cudnn_ctc_loss _use_miopen_ctc_loss _use_cudnn_rnn_flatten_weight _fused_sdp_choice
    _nnpack_available is_vulkan_available _shape_as_tensor _get_tracing_state _assert_async _functional_assert_async
    _assert_scalar _functional_assert_scalar _assert_tensor_metadata sym_constrain_range
    sym_constrain_range_for_size _functional_sym_constrain_range _functional_sym_constrain_range_for_size
    _make_dep_token _print _propagate_xla_data record_stream _linalg_check_errors _cufft_get_plan_cache_size
    _cufft_get_plan_cache_max_size _cufft_set_plan_cache_max_size _cufft_clear_plan_cache
    _validate_sparse_coo_tensor_args _sparse_coo_tensor_unsafe _sparse_coo_tensor_with_dims
    _sparse_coo_tensor_with_dims_and_tensors sparse_coo_tensor _coalesced_ _nested_get_offsets _nested_get_lengths
    _nested_get_ragged_idx _nested_get_min_seqlen _nested_get_max_seqlen _nested_get_jagged_dummy
    _nested_tensor_size _nested_tensor_strides _nested_tensor_storage_offsets _add_batch_dim _remove_batch_dim
    get_gradients _backward wait
"""
# packing for CPU kernels, which no GPU does; host memory; reading one value (a tiny copy, a memcpy in traces)
_HOST: Final = """
    mkldnn_reorder_conv2d_weight mkldnn_reorder_conv3d_weight _mkldnn_reshape _mkldnn_transpose _mkldnn_transpose_
    to_mkldnn to_mkldnn_backward pin_memory _pin_memory item _local_scalar_dense is_nonzero
"""

VIEWS: Final = frozenset((_SAME_STORAGE + _NO_CONTENTS + _QUESTIONS + _HOST).split())

# Composite in every backend (CompositeImplicit in native_functions.yaml), and factories, which fill an empty tensor:
# the ops inside carry the work. Those with a rule of their own are lowered by it when nothing is recorded inside.
_COMPOSITES: Final = """
    to contiguous reshape flatten type_as linear matmul linalg_matmul einsum tensordot inner outer chain_matmul kron
    linalg_multi_dot bilinear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d
    _convolution_mode thnn_conv2d slow_conv3d batch_norm _batch_norm_impl_index _batch_norm_impl_index_backward
    instance_norm layer_norm group_norm rms_norm dropout dropout_ alpha_dropout alpha_dropout_ feature_dropout
    feature_dropout_ feature_alpha_dropout softmax log_softmax special_softmax cross_entropy_loss nll_loss
    nll_loss2d nll_loss_nd l1_loss kl_div margin_ranking_loss hinge_embedding_loss cosine_embedding_loss
    triplet_margin_loss poisson_nll_loss cosine_similarity pairwise_distance pdist cdist
    binary_cross_entropy_with_logits max_pool1d max_pool2d max_pool3d max_pool1d_with_indices avg_pool1d
    adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d pad pad_sequence _pad_circular
    _pad_enum tile concat concatenate hstack vstack dstack column_stack row_stack stack one_hot embedding_bag
    embedding_backward index_select_backward gather_backward take_along_dim argsort msort
    scaled_dot_product_attention _scaled_dot_product_attention_math lstm gru rnn_tanh rnn_relu lstm_cell gru_cell
    rnn_tanh_cell rnn_relu_cell _pack_padded_sequence_backward _pad_packed_sequence _thnn_fused_lstm_cell_backward
    _thnn_differentiable_lstm_cell_backward _thnn_differentiable_gru_cell_backward mish_backward log_sigmoid
    infinitely_differentiable_gelu_backward relu6 relu6_ selu selu_ rrelu rrelu_ prelu square square_ clip clip_
    divide divide_ true_divide true_divide_ multiply multiply_ subtract subtract_ negative negative_ absolute
    absolute_ float_power float_power_ fix fix_ greater greater_ greater_equal greater_equal_ less less_ less_equal
    less_equal_ not_equal not_equal_ arccos arcsin arctan arctan2 arccosh arcsinh arctanh isfinite isclose isreal
    std std_mean var nanmean norm_except_dim frobenius_norm nuclear_norm linalg_norm linalg_matrix_norm
    linalg_vecdot sum_to_size quantile nanquantile cov corrcoef diff gradient trapezoid trapz cumulative_trapezoid
    diag diagflat fliplr flipud rot90 item is_nonzero masked_select_backward value_selecting_reduction_backward
    trace_backward linalg_inv inverse linalg_det linalg_slogdet linalg_solve linalg_solve_ex linalg_svd
    linalg_svdvals linalg_eigh linalg_eigvalsh linalg_cholesky linalg_lu_factor linalg_pinv linalg_matrix_power
    linalg_cond linalg_matrix_rank linalg_tensorinv linalg_tensorsolve linalg_vander matrix_power matrix_exp logdet
    det slogdet svd qr pinverse fft_fft fft_ifft fft_rfft fft_irfft fft_hfft fft_ihfft fft_fft2 fft_ifft2 fft_rfft2
    fft_irfft2 fft_hfft2 fft_ihfft2 fft_fftn fft_ifftn fft_rfftn fft_irfftn fft_hfftn fft_ihfftn fft_fftshift
    fft_ifftshift stft istft affine_grid_generator_backward grid_sampler _weight_norm
    _weight_norm_differentiable_backward where _convolution _convolution_double_backward __and__ __or__ __xor__
    __iand__ __ior__ __ixor__ _cast_Float _cast_Half _cast_Double _cast_Long _cast_Int
    _autocast_to_reduced_precision _autocast_to_full_precision conv_tbc_backward cummaxmin_backward cumprod_backward
    native_channel_shuffle channel_shuffle ctc_loss multilabel_margin_loss choose_qparams_optimized
    fake_quantize_per_tensor_affine fake_quantize_per_channel_affine upsample_nearest1d upsample_nearest2d
    upsample_nearest3d upsample_linear1d upsample_bilinear2d upsample_trilinear3d upsample_bicubic2d
    repeat_interleave tensor_split meshgrid zeros ones full zeros_like ones_like full_like new_zeros new_ones
    new_full scalar_tensor rand randn rand_like randn_like randint randint_like normal eye
"""
COMPOSITES: Final = frozenset(_COMPOSITES.split())
