"""What was dispatched, op by op, while a stretch of the user's program ran?

`OpLog.add` is called after every dispatched op and keeps descriptions, never tensors. Nothing is interpreted here:
which ops a GPU would run instead is `gpu_form`'s question, what becomes of the rows `assemble`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any, Final, Protocol

import torch

from surfer_lab.capture.calls import Described, Descriptions, OpKind
from surfer_lab.capture.storages import UNKNOWN_STORAGE, StorageWatch
from surfer_lab.capture.where import CallSite, Place, StackReader
from surfer_lab.trace.tables import ArgDtypes, ArgShapes, MemoryFormat, Phase, Shape, SpanKind, TensorRole

__all__ = ["MAX_LOGGED_OPS", "LoggedCall", "LoggedOp", "LoggedSpan", "MadeFull", "OpLog", "RnnFacts"]

# A stretch without any step in it (a long preparation, a hand-written loop) must not fill the memory: about 1 kB an op
MAX_LOGGED_OPS: Final = 200_000

_COMPILED_NODE: Final = "CompiledFunctionBackward"
_ACCUMULATE: Final = "torch::autograd::AccumulateGrad"
_LOADER_SPAN: Final = "enumerate(DataLoader)"
_SPAN_ENTER: Final = ("profiler::_record_function_enter_new", "profiler::_record_function_enter")
_SPAN_EXIT: Final = "profiler::_record_function_exit"


class DeviceJudge(Protocol):
    """Knows which tensors would lie on a GPU."""

    def runs_there(self, inputs: Iterable[torch.Tensor], outputs: Iterable[torch.Tensor], *, surely: bool) -> bool:
        """Would this op run on it?"""


@dataclass(frozen=True, slots=True)
class RnnFacts:
    """What an LSTM, GRU or RNN module was called with; its ops on a CPU do not show it."""

    mode: str  # "LSTM"
    hidden_size: int
    projection_size: int
    layer_count: int
    bidirectional: bool
    batch_first: bool
    dropout: float
    training: bool
    weight_shapes: tuple[tuple[int, ...], ...]


@dataclass(slots=True)
class LoggedOp:
    """One dispatched op that does work. Storages are rows of the log's watch."""

    name: str
    phase: Phase
    start_ns: int
    end_ns: int
    input_shapes: ArgShapes
    input_dtypes: ArgDtypes
    output_shapes: ArgShapes
    output_dtypes: ArgDtypes
    arguments: tuple[str, ...]
    memory_format: MemoryFormat
    module: str | None
    site: CallSite
    input_storages: tuple[int, ...]
    output_storages: tuple[int, ...]
    # forward: the autograd nodes that this op and the views before it made, [first, end); backward: empty
    first_node: int = 0
    end_node: int = 0
    node: int = -1  # backward: the node being evaluated; -1 for gradient accumulation and recomputed forward ops
    backward_pass: int = -1  # number of the autograd pass
    autocast: str | None = None  # dtype of an autocast region for a GPU that is only emulated
    rnn: RnnFacts | None = None

    def moved(self, **changes: Any) -> LoggedOp:
        """A copy with changes."""
        return replace(self, **changes)


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """One outermost module call: from which op on, with which tensors (shape and whether floating)."""

    first_op: int
    time_ns: int
    module_id: int
    module_name: str
    has_parameters: bool
    grad_enabled: bool
    training: bool
    is_compiled: bool
    inputs: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class MadeFull:
    """From an op on, a storage is in the program's full precision: a gradient given to its parameter, `.float()`."""

    before_op: int
    storage: int
    phase: Phase
    shape: Shape


@dataclass(slots=True)
class LoggedSpan:
    name: str
    kind: SpanKind
    start_ns: int
    end_ns: int = -1
    handle: int = 0


@dataclass(slots=True)
class OpLog:
    """Ops of one stretch, in order. `suspended`: run on, log nothing (the user's optimizer while a twin stands in)."""

    reader: StackReader
    descriptions: Descriptions
    start_ns: int
    ops: list[LoggedOp] = field(default_factory=list)
    calls: list[LoggedCall] = field(default_factory=list)
    call_ends: list[tuple[int, int]] = field(default_factory=list)  # op number after, time
    spans: list[LoggedSpan] = field(default_factory=list)
    made_full: list[MadeFull] = field(default_factory=list)
    backward_passes: list[int] = field(default_factory=list)  # graph task ids outside of the optimizer, in order
    optimizer_depth: int = 0
    optimizers: list[int] = field(default_factory=list)  # ids of optimizers that stepped
    originals: dict[int, torch.nn.Module] = field(default_factory=dict)  # by id of a module called in its place
    backward_pass_stood_for: int | None = None  # the autograd pass that one on shapes repeats
    compiled_seen: bool = False  # an op of compiled code was logged
    host_numbers: set[int] = field(default_factory=set)  # storages: step counters of optimizers
    suspended: int = 0
    undescribed_count: int = 0
    is_full: bool = False  # MAX_LOGGED_OPS reached: what came after is missing
    only_device: str = ""  # log only what touches this device
    on_call: Callable[[OpLog], None] | None = None  # told after an outermost module call began
    autocast: str | None = None
    storages: StorageWatch = field(init=False)
    device_tensors: DeviceJudge | None = None  # decides what a GPU would run; None: everything
    _node_end: int = 0
    _seen_calls: int = 0
    _known_roots: set[int] = field(default_factory=set)
    _loading: int = 0
    _has_ended: bool = False
    _last_autocast: str | None = None

    def __post_init__(self) -> None:
        self.storages = StorageWatch(lambda: len(self.ops))
        self._node_end = torch._C._autograd._get_sequence_nr()
        self._seen_calls = self.reader.root_call_count

    def add(
        self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any, start_ns: int, end_ns: int,
        frame: FrameType | None,
    ) -> None:  # fmt: skip
        """Log a dispatched op that has just run."""
        kind = self.descriptions.kind(func)
        node = torch._C._current_autograd_node()
        node_end = torch._C._autograd._get_sequence_nr()
        if node is not None and node.name().startswith(_COMPILED_NODE):
            self.compiled_seen = True
            if self.originals:
                return  # its module's ops are logged in its place
        if kind.is_metadata:
            if kind.name.startswith("profiler::"):
                self._span(kind.name, args, out, end_ns)
            else:
                self._follow(kind, args, out, node)
            return
        if self._loading:
            return
        if len(self.ops) >= MAX_LOGGED_OPS:
            self.is_full = True
            self.suspended += 1
            return
        described = self.descriptions.describe(kind, args, kwargs, out)
        if self.only_device and not any(
            tensor.device.type == self.only_device for tensor in (*described.inputs, *described.outputs)
        ):
            return
        site, call = self.reader.read(frame)
        graph_task = torch._C._current_graph_task_id()
        in_backward = graph_task != -1
        if self.originals and kind.name == "aten::copy_" and node is not None and node.name() == _ACCUMULATE:
            return  # brings a compiled gradient into its parameter's layout
        if in_backward and self.backward_pass_stood_for is not None:
            graph_task = self.backward_pass_stood_for
        self.compiled_seen |= site.is_compiled
        if in_backward:
            call_root, self._seen_calls = None, self.reader.root_call_count  # recomputed blocks are no calls
        else:
            call_root = call.root if call is not None else None
        if self.reader.root_call_count != self._seen_calls or (call_root is None and self._in_call):
            self._note_call(call_root, start_ns)
            if self._has_ended:
                return
        number = len(self.ops)
        if in_backward:
            phase = Phase.BACKWARD
            if not self.optimizer_depth and (not self.backward_passes or self.backward_passes[-1] != graph_task):
                self.backward_passes.append(graph_task)
        elif self.optimizer_depth and not torch.is_grad_enabled():
            phase = Phase.OPTIMIZER
        elif call is not None or any(tensor.requires_grad for tensor in described.inputs):
            phase = Phase.FORWARD
        else:
            phase = Phase.OTHER
        if self.device_tensors is not None and not self.device_tensors.runs_there(
            described.inputs, described.outputs, surely=phase is not Phase.OTHER
        ):
            return
        if self.optimizer_depth and self._is_hosts(described):
            return
        first_node = self._node_end
        self._node_end = node_end
        row_of = self.storages.row_of
        inputs = tuple(row_of(tensor, allocated_by=-1) for tensor in described.inputs)
        outputs = tuple(row_of(tensor, allocated_by=number) for tensor in described.outputs)
        lives = self.storages.lives
        for row in inputs + outputs:
            if row != UNKNOWN_STORAGE:
                lives[row].last_used_by = number
        node_number = -1
        if in_backward and node is not None and not site.is_checkpointed and node.name() != _ACCUMULATE:
            node_number = node._sequence_nr()
        self.ops.append(
            LoggedOp(
                kind.name, phase, start_ns, end_ns, described.input_shapes, described.input_dtypes,
                described.output_shapes, described.output_dtypes, described.arguments, described.memory_format,
                call.path if call is not None else None, site, inputs, outputs, first_node, node_end, node_number,
                graph_task, self._autocast_around(in_backward, site),
                _rnn_facts(call.innermost) if site.place is Place.RNN and call is not None else None,
            )
        )  # fmt: skip

    def _autocast_around(self, in_backward: bool, site: CallSite) -> str | None:
        """A checkpointed forward pass runs again as it ran: in the region that was around it."""
        if self.autocast is not None:
            self._last_autocast = self.autocast
        elif in_backward and site.is_checkpointed:
            return self._last_autocast
        return self.autocast

    def note_full(self, tensor: torch.Tensor) -> None:
        """The program wants this tensor in float32; it is already, but would not be on a GPU."""
        if not self.suspended and not self._has_ended:
            row = self.storages.known_row(tensor)
            self.made_full.append(MadeFull(len(self.ops), row, Phase.FORWARD, tuple(tensor.shape)))

    def _is_hosts(self, described: Described) -> bool:
        """Counting an optimizer's steps: on numbers that lie on the host on a GPU machine too."""
        known_row = self.storages.known_row
        if not described.inputs or not all(known_row(tensor) in self.host_numbers for tensor in described.inputs):
            return False
        self.host_numbers.update(self.storages.row_of(out, allocated_by=-1) for out in described.outputs)
        self.host_numbers.discard(UNKNOWN_STORAGE)
        return True

    @property
    def _in_call(self) -> bool:
        return len(self.call_ends) < len(self.calls)

    def end(self, end_ns: int) -> None:
        """Nothing more will come: let go of what is watched."""
        if self._in_call:
            self.call_ends.append((len(self.ops), end_ns))
        for span in self.spans:
            if span.end_ns < 0:
                span.end_ns = end_ns
        self._has_ended = True
        self.storages.end()
        self.reader.forget()

    def _note_call(self, root: torch.nn.Module | None, time_ns: int) -> None:
        if self._in_call:
            self.call_ends.append((len(self.ops), time_ns))
        self._seen_calls = self.reader.root_call_count
        if root is None:
            return
        original = self.originals.get(id(root)) or getattr(root, "_orig_mod", root)
        if id(root) not in self._known_roots:
            self._known_roots.add(id(root))
            self.storages.give_role(root.parameters(), TensorRole.PARAMETER)
            self.storages.give_role(root.buffers(), TensorRole.BUFFER)
        arguments = self.reader.root_arguments()
        tensors = list(_tensors_in(arguments, depth=4))
        for tensor in tensors:
            row = self.storages.row_of(tensor, allocated_by=-1)
            life = self.storages.lives[row] if row != UNKNOWN_STORAGE else None
            is_plain = life is not None and life.role is TensorRole.TEMPORARY
            if life is not None and is_plain and (life.allocated_by == -1 or not tensor.requires_grad):
                life.role = TensorRole.INPUT
        self.calls.append(
            LoggedCall(
                len(self.ops), time_ns, id(original), type(original).__name__,
                next(iter(root.parameters()), None) is not None, torch.is_grad_enabled(), root.training,
                original is not root, tuple(tuple(tensor.shape) for tensor in tensors),
            )
        )  # fmt: skip
        if self.on_call is not None:
            self.on_call(self)

    def _follow(self, kind: OpKind, args: Sequence[Any], out: Any, node: Any) -> None:
        """An op without work: new storages appear, gradients are handed to their parameters."""
        if isinstance(out, torch.Tensor) and (not self.only_device or out.device.type == self.only_device):
            row = self.storages.row_of(out, allocated_by=len(self.ops))
            if self.optimizer_depth and kind.name == "aten::lift_fresh" and not out.dim():
                self.host_numbers.add(row)
            if node is not None and kind.name == "aten::detach" and node.name() == _ACCUMULATE:
                self.made_full.append(MadeFull(len(self.ops), row, Phase.BACKWARD, tuple(out.shape)))

    def _span(self, name: str, args: Sequence[Any], out: Any, time_ns: int) -> None:
        if name in _SPAN_ENTER and args:
            label = str(args[0])
            is_loader = label.startswith(_LOADER_SPAN)
            self._loading += is_loader
            self.spans.append(
                LoggedSpan(label, SpanKind.INPUT if is_loader else _span_kind(label), time_ns, -1, id(out))
            )
        elif name == _SPAN_EXIT:
            still_open = [span for span in reversed(self.spans) if span.end_ns < 0]
            same = [span for span in still_open if args and span.handle == id(args[0])]
            for span in (same or still_open)[:1]:
                span.end_ns = time_ns
                self._loading -= span.kind is SpanKind.INPUT


def _span_kind(label: str) -> SpanKind:
    return SpanKind.OPTIMIZER if label.startswith("Optimizer.step#") else SpanKind.USER


def _tensors_in(value: object, *, depth: int) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if depth == 0:
        return []
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [tensor for item in value[:64] for tensor in _tensors_in(item, depth=depth - 1)]
    return []


def _rnn_facts(module: torch.nn.Module) -> RnnFacts | None:
    if not isinstance(module, torch.nn.RNNBase):
        return None
    return RnnFacts(
        module.mode, module.hidden_size, getattr(module, "proj_size", 0), module.num_layers, module.bidirectional,
        module.batch_first, module.dropout, module.training,
        tuple(tuple(weight.shape) for weight in module._flat_weights if weight is not None),
    )  # fmt: skip
