"""LSTM, GRU, RNN: one cuDNN op for all layers, directions and positions; a cell: two products and one fused op.

Source: torch 2.13, aten/src/ATen/native/RNN.cpp and cudnn/RNN.cpp.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from surfer_lab.capture.gpu_form.fold import BackwardOp, Fold, as_one, nodes_of, numel, same_call_run, shape_of
from surfer_lab.capture.oplog import LoggedOp, RnnFacts
from surfer_lab.hardware.dtypes import BYTES_BY_DTYPE
from surfer_lab.trace.tables import Shape

__all__ = ["recurrent_cell", "recurrent_layers"]

_MODE: Final = {"RNN_RELU": 0, "RNN_TANH": 1, "LSTM": 2, "GRU": 3}  # cudnnRNNMode_t
_GATES: Final = {"RNN_RELU": 1, "RNN_TANH": 1, "LSTM": 4, "GRU": 3}


def recurrent_layers(ops: Sequence[LoggedOp], index: int) -> Fold | None:
    """All ops of one call of an LSTM, GRU or RNN module -> _cudnn_rnn."""
    op = ops[index]
    facts = op.rnn
    run = same_call_run(ops, index)
    if facts is None or not any(part.name in _RNN_WORK for part in run):
        return None  # zeros for a first state, a permutation
    source = _rnn_input(run, facts)
    dtype = next((part.input_dtypes[0] for part in run if part.name in _RNN_WORK), op.input_dtypes[0])
    directions = 2 if facts.bidirectional else 1
    width = facts.projection_size or facts.hidden_size
    positions, batch = source[0], source[1]
    if facts.batch_first:  # cuDNN's op gets it as the module did; what a CPU runs has it turned already
        source = (batch, positions, source[2])
    out = (*source[:2], directions * width)
    state = (facts.layer_count * directions, batch, width)
    cell = (facts.layer_count * directions, batch, facts.hidden_size) if facts.mode == "LSTM" else None
    settings = (
        str(_MODE.get(facts.mode, 2)), str(facts.hidden_size), str(facts.projection_size), str(facts.layer_count),
        str(facts.batch_first), f"{facts.dropout:.6g}", str(facts.training), str(facts.bidirectional), "[]", "",
    )  # fmt: skip
    none = (None,) * len(settings)
    forward = as_one(
        run, "aten::_cudnn_rnn",
        input_shapes=(source, facts.weight_shapes, None, None, state, cell, *none),
        input_dtypes=(dtype, dtype, None, None, dtype, dtype if cell else None, *none),
        output_shapes=(out, state, cell), output_dtypes=(dtype, dtype, dtype if cell else None),
        arguments=("", "", "4" if cell else "2", "", "", "", *settings),
    )  # fmt: skip
    backward = BackwardOp(
        name="aten::_cudnn_rnn_backward",
        input_shapes=(source, facts.weight_shapes, None, None, state, cell, out, out, None, None, *none, None, None),
        input_dtypes=(
            dtype, dtype, None, None, dtype, dtype if cell else None, dtype, dtype, None, None, *none, None, None
        ),
        output_shapes=(source, state, cell, facts.weight_shapes),
        output_dtypes=(dtype, dtype, dtype if cell else None, dtype),
        arguments=("", "", "4" if cell else "2", "", "", "", "", "", "", "", *settings, "", ""), keeps=(),
    )  # fmt: skip
    results = _rnn_results(run)
    forward = forward.moved(output_storages=results)
    kept = next((s for part in run for s in part.output_storages if s not in results and s >= 0), None)
    gates = _GATES.get(facts.mode, 4)
    reserve = positions * batch * facts.hidden_size * directions * facts.layer_count * (gates + 1)
    saved = (kept, reserve * BYTES_BY_DTYPE.get(dtype or "", 4), dtype or "float32") if kept is not None else None
    return Fold(count=len(run), ops=(forward,), backward=backward, nodes=nodes_of(run), saved=saved)


_RNN_WORK: Final = frozenset(("aten::mkldnn_rnn_layer", "aten::addmm", "aten::mm", "aten::bmm", "aten::matmul"))


_MKLDNN_RESULTS: Final = 3  # output, hidden and cell state


def _rnn_input(run: Sequence[LoggedOp], facts: RnnFacts) -> Shape:
    """(positions, batch, features) as the first layer reads it."""
    first = next(part for part in run if part.name in _RNN_WORK)
    shape = shape_of(first.input_shapes[0])
    if first.name == "aten::mkldnn_rnn_layer" and len(shape) == 3:
        return shape
    rows = [_rows(part) for part in run if part.name in _RNN_WORK]
    batch = min(rows) or 1
    # torch on a CPU multiplies all positions' input at once and the state at each; elsewhere both at each position
    products = len(rows) // (facts.layer_count * (2 if facts.bidirectional else 1))
    positions = products - 1 if max(rows) > batch else products // 2
    features = facts.weight_shapes[0][-1] if facts.weight_shapes else facts.hidden_size
    return (max(1, positions), batch, features)


def _rows(product: LoggedOp) -> int:
    """Rows of the left factor."""
    shape = shape_of(product.input_shapes[1] if product.name == "aten::addmm" else product.input_shapes[0])
    return shape[-2] if len(shape) > 1 else 1


def _rnn_results(run: Sequence[LoggedOp]) -> tuple[int, ...]:
    last_reader: dict[int, int] = {}
    for at, part in enumerate(run):
        for storage in part.input_storages:
            last_reader[storage] = at
    unread = [
        storage
        for at, part in enumerate(run)
        for storage in part.output_storages[:_MKLDNN_RESULTS]  # the last is its scratch
        if last_reader.get(storage, -1) < at and storage >= 0
    ]
    return tuple(dict.fromkeys(unread)) or run[-1].output_storages


def recurrent_cell(ops: Sequence[LoggedOp], index: int) -> Fold | None:
    """addmm, addmm, then gates elementwise -> mm, mm, one fused op."""
    run = same_call_run(ops, index)
    products = [part for part in run[:2] if part.name == "aten::addmm"]
    if len(products) != 2 or len(run) < 4:
        return None
    gates = run[2:]
    plain = tuple(
        product.moved(
            name="aten::mm", input_shapes=product.input_shapes[1:3], input_dtypes=product.input_dtypes[1:3],
            arguments=("", ""), input_storages=product.input_storages[1:3],
        )
        for product in products
    )  # fmt: skip
    shape = shape_of(products[0].output_shapes[0])
    dtype = products[0].output_dtypes[0]
    state = shape_of(gates[-1].output_shapes[0])
    bias = shape_of(products[0].input_shapes[0])
    is_lstm = shape[-1] == 4 * state[-1]
    name = "aten::_thnn_fused_lstm_cell" if is_lstm else "aten::_thnn_fused_gru_cell"
    fused = as_one(
        gates, name, input_shapes=(shape, shape, state, bias, bias), input_dtypes=(dtype,) * 5,
        output_shapes=(state, state, shape) if is_lstm else (state, (shape[0], 5 * state[-1])),
        output_dtypes=(dtype,) * (3 if is_lstm else 2), arguments=("",) * 5,
    )  # fmt: skip
    if is_lstm:
        backward = BackwardOp(
            name="aten::_thnn_fused_lstm_cell_backward_impl", input_shapes=(state, state, state, state, shape, None),
            input_dtypes=(dtype,) * 5 + (None,), output_shapes=(shape, state, bias), output_dtypes=(dtype,) * 3,
            arguments=("",) * 5 + ("True",),
        )  # fmt: skip
    else:
        backward = BackwardOp(
            name="aten::_thnn_fused_gru_cell_backward", input_shapes=(state, (shape[0], 5 * state[-1]), None),
            input_dtypes=(dtype, dtype, None), output_shapes=(shape, shape, state, bias, bias),
            output_dtypes=(dtype,) * 5, arguments=("", "", "True"),
        )  # fmt: skip
    kept = next((s for part in gates for s in part.output_storages if s not in gates[-1].output_storages), None)
    size = numel(shape) * BYTES_BY_DTYPE.get(dtype or "", 4)
    return Fold(
        count=len(run), ops=(*plain, fused), backward=backward, nodes=nodes_of(gates),
        saved=(kept, size, dtype or "float32") if kept is not None else None,
    )  # fmt: skip
