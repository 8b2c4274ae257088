"""A CPU's ops are folded to what CUDA dispatches for the same call, forward and backward."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from surfer_lab.capture import record
from surfer_lab.engine.lowering.op_lowering import lower
from surfer_lab.trace.model import Trace
from surfer_lab.trace.tables import Phase, TensorRole
from tests.capture.programs import mlp, train
from tests.capture.reading import lives, names, rows


def _steady(model: nn.Module, x: torch.Tensor, optimizer: torch.optim.Optimizer | None = None) -> Trace:
    optimizer = optimizer or torch.optim.SGD(model.parameters(), 0.1)
    with record() as r:
        for _ in range(2):
            optimizer.zero_grad()
            out = model(x)
            (out[0] if isinstance(out, tuple) else out).sum().backward()
            optimizer.step()
    return r.trace


class _Attention(nn.Module):
    def __init__(self, dropout: float = 0.0, *, mask: bool = False, causal: bool = False) -> None:
        super().__init__()
        self.qkv = nn.Linear(8, 24)
        self.dropout, self.causal = dropout, causal
        self.mask = torch.zeros(2, 1, 6, 6) if mask else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x).view(2, 6, 3, 2, 4).permute(2, 0, 3, 1, 4)
        return F.scaled_dot_product_attention(
            q, k, v, attn_mask=self.mask, dropout_p=self.dropout, is_causal=self.causal
        )


@pytest.mark.parametrize("dropout", [0.0, 0.1])
@pytest.mark.parametrize("mask", [False, True])
def test_attention_is_one_fused_op_each_way_with_or_without_dropout(dropout: float, mask: bool) -> None:
    trace = _steady(_Attention(dropout, mask=mask), torch.randn(2, 6, 8))
    forward = [row for row in rows(trace) if row.name.endswith("efficient_attention")]
    backward = [row for row in rows(trace) if row.name.endswith("efficient_attention_backward")]
    assert len(forward) == len(backward) == 1
    assert forward[0].shapes[:3] == ((2, 2, 6, 4),) * 3
    assert forward[0].shapes[3] == ((2, 1, 6, 6) if mask else None)
    assert backward[0].shapes[1:4] == ((2, 2, 6, 4),) * 3
    assert not {"bmm", "_safe_softmax", "_softmax", "bernoulli_"} & set(names(trace))
    arguments = trace.ops.arguments[rows(trace).index(forward[0])]
    assert arguments is not None and float(arguments[5]) == pytest.approx(dropout)


def test_scores_of_unfused_attention_are_no_memory_of_a_gpu() -> None:
    sizes = {life.size_bytes for life in lives(_steady(_Attention(0.1), torch.randn(2, 6, 8)))}
    assert 2 * 2 * 6 * 6 * 4 not in sizes  # batch x heads x queries x keys x float32
    assert 2 * 2 * 6 * 4 in sizes  # log-sum-exp of each row


def test_attention_in_a_loop_is_one_op_a_turn() -> None:
    class Loop(_Attention):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            q, k, v = self.qkv(x).view(2, 6, 3, 2, 4).permute(2, 0, 3, 1, 4)
            return sum(F.scaled_dot_product_attention(q, k, v, dropout_p=0.1) for _ in range(3))

    found = names(_steady(Loop(), torch.randn(2, 6, 8)))
    assert found.count("_scaled_dot_product_efficient_attention") == 3
    assert found.count("_scaled_dot_product_efficient_attention_backward") == 3


def test_dropout_is_native_dropout_with_a_mask_of_bytes() -> None:
    trace = _steady(nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.25)), torch.randn(8, 4))
    found = names(trace)
    assert found.count("native_dropout") == found.count("native_dropout_backward") == 1
    assert "bernoulli_" not in found
    masks = [life for life in lives(trace) if life.dtype == "bool"]
    assert [life.size_bytes for life in masks] == [8 * 4] and masks[0].role is TensorRole.ACTIVATION


def test_dropout_of_whole_channels_stays_what_it_is_on_a_gpu_too() -> None:
    found = names(_steady(nn.Sequential(nn.Conv2d(2, 2, 1), nn.Dropout2d(0.5)), torch.randn(3, 2, 4, 4)))
    assert {"bernoulli_", "div_", "mul"} <= set(found) and "native_dropout" not in found


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_a_recurrent_network_is_one_cudnn_op_each_way(kind: str, bidirectional: bool) -> None:
    """As the module got its input: cuDNN's op turns it itself where the batch comes first."""
    model = getattr(nn, kind)(6, 5, num_layers=2, batch_first=True, bidirectional=bidirectional, dropout=0.2)
    trace = _steady(model, torch.randn(3, 7, 6))
    found = names(trace)
    assert found.count("_cudnn_rnn") == found.count("_cudnn_rnn_backward") == 1
    assert not {"addmm", "mm", "sigmoid_", "mkldnn_rnn_layer"} & set(found)
    (row,) = [row for row in rows(trace) if row.name == "aten::_cudnn_rnn"]
    assert row.shapes[0] == (3, 7, 6)
    assert row.shapes[1] == tuple(tuple(weight.shape) for weight in model._flat_weights)
    assert row.results[0] == (3, 7, 10 if bidirectional else 5)


def test_a_decoder_loop_calls_its_network_as_often_as_it_does() -> None:
    class Decoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            state = (torch.zeros(1, 2, 4), torch.zeros(1, 2, 4))
            for step in range(3):
                out, state = self.lstm(x[step : step + 1], state)
            return out

    assert names(_steady(Decoder(), torch.randn(3, 2, 4))).count("_cudnn_rnn") == 3


@pytest.mark.parametrize("cell", [nn.LSTMCell, nn.GRUCell])
def test_a_recurrent_cell_is_two_products_and_one_fused_op(cell: type[nn.Module]) -> None:
    class Once(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = cell(4, 5)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out = self.cell(x)
            return out[0] if isinstance(out, tuple) else out

    found = names(_steady(Once(), torch.randn(3, 4)), Phase.FORWARD)
    fused = [name for name in found if name.startswith("_thnn_fused")]
    assert found.count("mm") == 2 and len(fused) == 1 and "sigmoid_" not in found


def test_rms_norm_is_fused_where_this_torch_fuses_it_on_cuda() -> None:
    found = names(_steady(nn.Sequential(nn.Linear(8, 8), nn.RMSNorm(8), nn.RMSNorm(8)), torch.randn(3, 8)))
    if hasattr(torch.ops.aten, "_fused_rms_norm"):
        assert found.count("_fused_rms_norm") == found.count("_fused_rms_norm_backward") == 2 and "rsqrt" not in found
    else:
        assert found.count("rsqrt") == 2


OPTIMIZERS = ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "NAdam", "RAdam", "Adamax"]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_steps_over_lists_as_it_does_on_a_gpu(name: str) -> None:
    model = mlp()
    trace = _steady(model, torch.randn(4, 16), getattr(torch.optim, name)(model.parameters()))
    steps = [row for row in rows(trace) if row.phase is Phase.OPTIMIZER]
    assert steps and all(row.name.startswith("aten::_foreach_") for row in steps)
    shapes = tuple(tuple(parameter.shape) for parameter in model.parameters())
    assert all(row.shapes[0] == shapes for row in steps)


@pytest.mark.parametrize("chosen", [{"foreach": False}, {"fused": True}, {"foreach": True}])
def test_what_the_user_chose_is_what_runs(chosen: dict[str, bool]) -> None:
    model = mlp()
    trace = _steady(model, torch.randn(4, 16), torch.optim.AdamW(model.parameters(), **chosen))
    steps = names(trace, Phase.OPTIMIZER)
    if chosen.get("fused"):
        assert steps.count("_fused_adamw_") == 1
    elif chosen.get("foreach"):
        assert any(name.startswith("_foreach_") for name in steps)
    else:
        assert "addcdiv_" in steps and not any(name.startswith("_foreach_") for name in steps)


@pytest.mark.parametrize("name", ["Adafactor", "ASGD", "Rprop", "LBFGS"])
def test_an_optimizer_that_cannot_be_stood_in_for_is_recorded_as_it_ran(name: str) -> None:
    model, x = mlp(), torch.randn(4, 16)
    optimizer = getattr(torch.optim, name)(model.parameters())

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        return loss

    with record() as r:
        for _ in range(3):
            if name != "LBFGS":
                closure()
            optimizer.step(closure if name == "LBFGS" else None)
    assert names(r.trace, Phase.OPTIMIZER) and names(r.trace, Phase.BACKWARD)


def test_clipping_and_zeroing_work_on_lists() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with record() as r:
        for _ in range(2):
            optimizer.zero_grad(set_to_none=False)
            model(torch.randn(4, 16)).sum().backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
    found = names(r.trace)
    assert [found.count(name) for name in ("_foreach_zero_", "_foreach_norm", "_foreach_mul_")] == [1, 1, 1]
    assert "zero_" not in found and found.count("linalg_vector_norm") == 1


def test_a_loop_of_the_users_over_gradients_stays_a_loop() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with record() as r:
        for _ in range(2):
            optimizer.zero_grad()
            model(torch.randn(4, 16)).sum().backward()
            for parameter in model.parameters():
                parameter.grad.mul_(0.5)
            optimizer.step()
    assert names(r.trace).count("mul_") == 4


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpointed_block_runs_its_forward_twice(reentrant: bool) -> None:
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Dropout(0.2), _Attention16())

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return checkpoint(self.inner, x, use_reentrant=reentrant)

    trace = _steady(Block(), torch.randn(2, 6, 16, requires_grad=True))
    forward, backward = names(trace, Phase.FORWARD), names(trace, Phase.BACKWARD)
    for name in ("addmm", "relu", "native_dropout", "_scaled_dot_product_efficient_attention"):
        assert forward.count(name) == backward.count(name) > 0
    assert backward.count("native_dropout_backward") == 1
    modules = [row.module for row in rows(trace) if row.name == "aten::relu"]
    assert modules == ["inner.1", "inner.1"]


class _Attention16(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        heads = x.view(2, 6, 4, 4).transpose(1, 2)
        return F.scaled_dot_product_attention(heads, heads, heads, dropout_p=0.1)


def test_every_folded_op_is_known_to_the_lowering() -> None:
    model = nn.Sequential(_Attention(0.1), nn.Flatten(2), nn.RMSNorm(24), nn.Dropout(0.1))
    for trace in (
        _steady(model, torch.randn(2, 6, 8)),
        _steady(nn.LSTM(6, 5, 2, dropout=0.1), torch.randn(7, 3, 6)),
        _steady(nn.LSTMCell(4, 5), torch.randn(3, 4)),
    ):
        lowered = lower(trace.ops)
        unknown = {trace.ops.name[int(op)] for op, reason in zip(lowered.op, lowered.reason, strict=True) if reason}
        assert not unknown


def test_storages_live_between_the_ops_that_make_and_last_use_them() -> None:
    model = mlp()
    trace = _steady(model, torch.randn(8, 16))
    found = names(trace)
    by_maker: dict[str, list[tuple[int, str | None]]] = {}
    for life in lives(trace):
        if life.allocated_by >= 0 and life.size_bytes == 8 * 32 * 4:
            freed = found[life.freed_after] if life.freed_after >= 0 else None
            by_maker.setdefault(found[life.allocated_by], []).append((life.size_bytes, freed))
    assert by_maker["relu"] == [(1024, "threshold_backward")]  # saved for backward
    assert by_maker["addmm"] == [(1024, "relu")]  # not saved
    train(model, torch.optim.SGD(model.parameters(), 0.1), torch.randn(8, 16), 1)
