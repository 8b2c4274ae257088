"""Recurrent layers: LSTM, GRU and plain RNN, as one library call, forward and backward.

Each weight matrix multiplies every time step of every sequence once: 2 * |W| * t * b FLOPs. The input products of all
steps are one matrix product; the recurrent ones are t small products in a chain, each reading the recurrent weights
again. Backward costs twice the forward pass: the gradient of the data and that of the weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from surfer_lab.engine.lowering.call import Call, Rule, Unrecorded, numel, rate_class_of
from surfer_lab.engine.lowering.families import Family
from surfer_lab.engine.lowering.grid import GEMM_THREADS, gemm_blocks
from surfer_lab.engine.lowering.ops.streaming import TRANSCENDENTAL_FLOP, Pointwise, pointwise_work
from surfer_lab.engine.lowering.work import Gemm, KernelWork, Tf32Switch
from surfer_lab.trace.tables import Shape

__all__ = ["RECURRENT_OPS", "Recurrent"]

_KERNELS_PER_STEP: Final = 2  # the recurrent product and the gates' elementwise kernel
_GATES_BY_MODE: Final = {0: 1, 1: 1, 2: 4, 3: 3}  # cudnnRNNMode_t: RNN with ReLU, with tanh, LSTM, GRU


@dataclass(frozen=True, kw_only=True)
class Recurrent:
    """Positions in one spelling: input (t, b, i), or (b, t, i) where the flag at `batch_first` is set.

    Weights are a list at `weights`, or single arguments at each of `single_weights`. A two-dimensional input is packed:
    (rows of all steps, i), with the batch size of each step at `steps_at`.
    """

    input: int = 0
    weights: int = 1
    single_weights: tuple[int, ...] = ()
    batch_first: int = -1
    backward: bool = False
    state: int = -1  # hidden state (layers * directions, b, h); the cell state follows it
    steps_at: int = -1  # batch sizes of a packed sequence: one entry a step

    def __call__(self, call: Call) -> tuple[KernelWork, ...]:
        shape = call.need(self.input, at_least=2)
        item = call.itemsize(self.input)
        matrices = self._matrices(call) or self._from_state(call, shape)
        if not matrices:
            raise Unrecorded(f"{call.name}: shapes of its weights were not recorded")
        steps, batch = self._steps(call, shape)
        rows = steps * batch
        if rows == 0:
            return ()
        # an input matrix and a recurrent one alternate; projections (a third one) run with the recurrent ones
        recurrent = matrices[1::2]
        weight_count = sum(numel(weight) for weight in matrices)
        recurrent_count = sum(numel(weight) for weight in recurrent)
        hidden = sum(weight[0] for weight in recurrent)  # gate rows of all layers and directions
        passes = 2 if self.backward else 1
        layers = max(1, len(recurrent))
        activations = float(rows * (shape[-1] + 2 * hidden) * item)
        widest = max(recurrent or matrices, key=numel)
        return (
            KernelWork(
                family=Family.RNN_BACKWARD if self.backward else Family.RNN,
                flop=passes * (2.0 * weight_count * rows + TRANSCENDENTAL_FLOP * hidden * rows),
                read_bytes=passes * (activations + (weight_count + (steps - 1) * recurrent_count) * item),
                write_bytes=passes * activations + (weight_count * item if self.backward else 0.0),
                rate_class=rate_class_of(call.dtype(self.input), matrix=True),
                tf32=Tf32Switch.CONVOLUTION,  # cuDNN's recurrent layers follow cudnn.allow_tf32
                blocks=gemm_blocks(1, batch, widest[0]),
                threads=GEMM_THREADS,
                launch_count=layers * (1 + _KERNELS_PER_STEP * steps) * passes,
                gemm=Gemm(layers * steps, batch, widest[0], widest[1]),
            ),
        )

    def _matrices(self, call: Call) -> list[Shape]:
        if self.single_weights:
            return [shape for shape in map(call.shape, self.single_weights) if shape is not None and len(shape) == 2]
        # the overload for packed sequences has its batch sizes in front: the list is one place further
        lists = (call.tensor_list(position) or () for position in (self.weights, self.weights + 1))
        return max(([shape for shape in found if len(shape) == 2] for found in lists), key=len)

    def _from_state(self, call: Call, shape: Shape) -> list[Shape]:
        """Profilers before torch 2.1 leave lists empty: the same matrices from the state's shape and the mode."""
        state = call.shape(self.state)
        if not state or len(state) < 3:
            return []
        layers, width = state[0], state[-1]
        gates = 4 if call.shape(self.state + 1) is not None else 3  # only an LSTM has a cell state
        mode = call.ints(self.state + 2)
        if mode:
            gates = _GATES_BY_MODE.get(mode[0], gates)
        rows = gates * width
        inputs = [shape[-1]] + [width] * (layers - 1)
        return [matrix for columns in inputs for matrix in ((rows, columns), (rows, width))]

    def _steps(self, call: Call, shape: Shape) -> tuple[int, int]:
        if len(shape) == 2:  # packed, or one sequence without a batch dimension
            sizes = call.ints(self.steps_at)
            steps = len(sizes) if sizes else 1
            return (steps, -(-shape[0] // steps)) if sizes else (shape[0], 1)
        return (shape[1], shape[0]) if call.flag(self.batch_first) else (shape[0], shape[1])


def _cell(call: Call) -> tuple[KernelWork, ...]:
    """The fused gates of one step: two tensors of gates read, states written."""
    gates = call.need(0, at_least=1)
    size = call.itemsize(0)
    written = call.output_bytes()
    elements = numel(gates)
    return (
        pointwise_work(
            Family.BINARY,
            elements=max(1, elements),
            read_bytes=float(sum(call.bytes_of(position) for position, _ in call.tensors())),
            write_bytes=float(written if written is not None else elements * size),
            flop_per_element=TRANSCENDENTAL_FLOP,
            dtype=call.dtype(0),
        ),
    )


_LIST: Final = Recurrent(input=0, weights=2, batch_first=8)

RECURRENT_OPS: Final[dict[str, Rule]] = {
    "_cudnn_rnn": Recurrent(weights=1, state=4, batch_first=10, steps_at=14),
    "_cudnn_rnn_backward": Recurrent(weights=1, state=4, batch_first=14, steps_at=18, backward=True),
    "miopen_rnn": Recurrent(weights=1, state=3, batch_first=8, steps_at=12),
    "miopen_rnn_backward": Recurrent(weights=1, state=4, batch_first=13, steps_at=17, backward=True),
    "mkldnn_rnn_layer": Recurrent(single_weights=(1, 2), batch_first=14),
    "mkldnn_rnn_layer_backward": Recurrent(single_weights=(1, 2), backward=True),
    **dict.fromkeys(("lstm", "gru", "rnn_tanh", "rnn_relu"), _LIST),
    **dict.fromkeys(("_thnn_fused_lstm_cell", "_thnn_fused_gru_cell"), _cell),
    **dict.fromkeys(
        ("_thnn_fused_lstm_cell_backward_impl", "_thnn_fused_lstm_cell_backward", "_thnn_fused_gru_cell_backward"),
        Pointwise(family=Family.BINARY, operands=5, flop=2 * TRANSCENDENTAL_FLOP, results=4),
    ),
}
