"""Fused attention and recurrent layers, counted by hand."""

import pytest

from surfer_lab.engine.lowering import Family, Source, lower_op
from surfer_lab.hardware.dtypes import RateClass

B, H, S, D = 2, 12, 1024, 64
Q = (B, H, S, D)
HALF = ("bfloat16",) * 3


def test_attention_is_two_products_of_the_full_rectangle() -> None:
    (work,) = lower_op("aten::_scaled_dot_product_flash_attention", (Q, Q, Q), HALF)
    assert work.flop == 4 * B * H * S * S * D
    assert work.read_bytes == 3 * 2 * B * H * S * D
    assert work.write_bytes == 2 * B * H * S * D + 4 * B * H * S  # and the log-sum-exp of each row
    assert (work.family, work.rate_class, work.flop_fraction) == (Family.ATTENTION, RateClass.BF16, 1.0)


def test_backward_is_two_and_a_half_times_the_forward_pass() -> None:
    (ahead,) = lower_op("aten::_scaled_dot_product_flash_attention", (Q, Q, Q), HALF)
    main, helper = lower_op("aten::_scaled_dot_product_flash_attention_backward", (Q, Q, Q, Q), (*HALF, HALF[0]))
    assert main.flop == 2.5 * ahead.flop
    assert main.family is Family.ATTENTION_BACKWARD
    assert helper.flop < main.flop / 100


@pytest.mark.parametrize(
    ("name", "position"),
    [
        ("aten::_scaled_dot_product_flash_attention", 4),
        ("aten::_scaled_dot_product_efficient_attention", 6),
        ("aten::_scaled_dot_product_cudnn_attention", 6),
        ("aten::_scaled_dot_product_flash_attention_for_cpu", 4),
        ("aten::scaled_dot_product_attention", 5),
    ],
)
def test_a_causal_mask_halves_what_is_done_not_what_is_counted(name: str, position: int) -> None:
    arguments = tuple("True" if place == position else "" for place in range(8))
    (work,) = lower_op(name, (Q, Q, Q), HALF, arguments=arguments)
    assert (work.flop, work.flop_fraction) == (4 * B * H * S * S * D, 0.5)


def test_the_kernels_own_op_has_heads_behind_positions() -> None:
    swapped = (B, S, H, D)
    (inner,) = lower_op("aten::_flash_attention_forward", (swapped, swapped, swapped), HALF)
    (outer,) = lower_op("aten::_scaled_dot_product_flash_attention", (Q, Q, Q), HALF)
    assert (inner.flop, inner.bytes, inner.blocks) == (outer.flop, outer.bytes, outer.blocks)


def test_packed_sequences_do_not_look_at_each_other() -> None:
    packed = (B * S, H, D)
    inputs = (packed, packed, packed, (B + 1,), (B + 1,))
    (work,) = lower_op("aten::_flash_attention_forward", inputs, (*HALF, "int32", "int32"))
    assert work.flop == 4 * B * H * S * S * D


def test_grouped_queries_read_fewer_keys() -> None:
    few = (B, H // 4, S, D)
    (work,) = lower_op("aten::_scaled_dot_product_flash_attention", (Q, few, few), HALF)
    assert work.flop == 4 * B * H * S * S * D
    assert work.read_bytes == 2 * (B * H * S * D + 2 * B * (H // 4) * S * D)


def test_an_lstm_layer_is_its_two_matrices_for_every_step() -> None:
    # GNMT's width: 50 steps of 64 sentences, 1,024 wide; matrices (4096, 1024) twice
    shapes = ((50, 64, 1024), ((4096, 1024), (4096, 1024), (4096,), (4096,)), None, None, (1, 64, 1024), (1, 64, 1024))
    (work,) = lower_op("aten::_cudnn_rnn", shapes, ("float32", "float32", None, None, "float32", "float32"))
    products = 2 * (2 * 4096 * 1024) * 50 * 64
    assert products < work.flop < 1.01 * products  # and the gates
    assert work.family is Family.RNN
    assert work.launch_count == 1 + 2 * 50


def test_directions_and_layers_add_their_matrices_and_backward_doubles() -> None:
    layers = ((400, 32), (400, 100), (400, 32), (400, 100), (400, 200), (400, 100), (400, 200), (400, 100))
    (work,) = lower_op("aten::lstm", ((7, 3, 32), ((4, 3, 100), (4, 3, 100)), layers), ("float32",) * 3)
    products = 2 * sum(rows * columns for rows, columns in layers) * 7 * 3
    assert products < work.flop < 1.3 * products
    inputs = ((7, 3, 32), layers, None, (1,), (4, 3, 100), (4, 3, 100))
    (back,) = lower_op("aten::_cudnn_rnn_backward", inputs, ("float32",) * 6)
    assert back.flop == 2 * work.flop
    assert back.family is Family.RNN_BACKWARD


def test_without_the_list_of_weights_the_state_gives_the_same_matrices() -> None:
    dtypes = ("float32", "float32", None, "float32", "float32", "float32")
    weights = ((4096, 1024), (4096, 1024))
    listed = lower_op("aten::_cudnn_rnn", ((50, 64, 1024), weights, None, None, (1, 64, 1024), (1, 64, 1024)), dtypes)
    unlisted = lower_op("aten::_cudnn_rnn", ((50, 64, 1024), (), None, None, (1, 64, 1024), (1, 64, 1024)), dtypes)
    assert listed == unlisted


def test_a_gru_has_three_gates() -> None:
    state = (1, 8, 16)
    shapes = ((5, 8, 16), None, None, None, state, None, None)
    (gru,) = lower_op("aten::_cudnn_rnn", shapes, ("float32",) * 7, arguments=("",) * 6 + ("3",))
    (lstm,) = lower_op("aten::_cudnn_rnn", (*shapes[:5], state, None), ("float32",) * 7, arguments=("",) * 6 + ("2",))
    assert gru.flop / lstm.flop == pytest.approx(3 / 4)


def test_a_recurrent_layer_whose_weights_nobody_recorded_is_not_guessed() -> None:
    (work,) = lower_op("aten::lstm", ((5, 8, 16), None, None), ("float32", None, None))
    assert work.source is Source.NONE
