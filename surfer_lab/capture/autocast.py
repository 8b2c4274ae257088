"""Which casts and dtypes would CUDA's autocast have added to a step that ran in float32?

On a machine without CUDA, `torch.autocast("cuda")` is off and arithmetic stays in float32. Here each logged op in such
a region gets the dtypes that it would have had on CUDA: inputs cast by autocast's lists (parameters once a region),
results labelled, gradients cast back where autograd would, and storages sized by their labels. Values are not touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from surfer_lab.capture.gpu_form import ExtraStorage, GpuForm
from surfer_lab.capture.gpu_form.fold import numel
from surfer_lab.capture.oplog import LoggedOp, MadeFull
from surfer_lab.capture.storages import StorageLife
from surfer_lab.hardware.dtypes import BYTES_BY_DTYPE
from surfer_lab.trace.rewrite.autocast_lists import CUDA_AUTOCAST, STATISTICS_OPS, CastPolicy
from surfer_lab.trace.tables import ArgDtypes, Phase, Shape, TensorRole

__all__ = ["with_cuda_autocast"]

_FULL: Final = "float32"
_HALVES: Final = ("float16", "bfloat16")
# the result has the first argument's dtype, whatever the others: weights and statistics, a mask, bounds
_AS_FIRST_ARGUMENT: Final = frozenset((
    "native_batch_norm", "cudnn_batch_norm", "miopen_batch_norm", "_native_batch_norm_legit", "_batch_norm_with_update",
    "batch_norm_elemt", "native_dropout", "masked_fill", "index_fill", "clamp",
))  # fmt: skip
_SUMS_OF_GRADIENTS: Final = ("aten::add", "aten::add_")


def with_cuda_autocast(
    form: GpuForm, lives: Sequence[StorageLife], made_full: Sequence[MadeFull]
) -> GpuForm:  # fmt: skip
    """The form with casts inserted; unchanged where no op ran in a region of `autocast("cuda")`.

    `made_full`: with positions in `form.ops`.
    """
    if not any(op.autocast for op in form.ops):
        return form
    return _Emulation(form, lives).run(made_full)


class _Argument(NamedTuple):
    """One tensor argument of an op; a list of tensors counts as one of all their elements."""

    position: int
    shape: Shape
    storage: int  # -1: not known
    dtype: str | None  # that the run had
    label: str  # that it would have


@dataclass(slots=True)
class _Cast:
    """A tensor in another dtype: made by one row, read until another."""

    storage: int
    row: int
    size_bytes: int
    dtype: str
    is_cached: bool  # a parameter's: kept until the region ends
    last_used: int
    used_backward: bool = False


class _Computed(NamedTuple):
    """How a forward op was computed; its gradient's op is computed likewise."""

    dtype: str
    as_given: bool  # gives the gradient in its input's own dtype
    as_first: bool
    of_input: str


@dataclass(slots=True)
class _Emulation:
    form: GpuForm
    lives: Sequence[StorageLife]
    ops: list[LoggedOp] = field(default_factory=list)
    label: dict[int, str] = field(default_factory=dict)  # storage -> dtype it would have, where not the run's
    casts: dict[tuple[int, str], _Cast] = field(default_factory=dict)
    ended_casts: list[tuple[int, _Cast]] = field(default_factory=list)
    computed: dict[int, _Computed] = field(default_factory=dict)  # by autograd node
    made_backward: set[int] = field(default_factory=set)
    own_use: dict[int, int] = field(default_factory=dict)  # storage -> last row that reads it itself, not a cast
    extra: dict[int, ExtraStorage] = field(default_factory=dict)
    begins: dict[int, int] = field(default_factory=dict)
    storage_count: int = 0  # of our own

    def run(self, made_full: Sequence[MadeFull]) -> GpuForm:
        wanted_full: dict[int, list[MadeFull]] = {}
        for made in made_full:
            wanted_full.setdefault(made.before_op, []).append(made)
        moved_to: list[int] = []
        was_inside = False
        for at, op in enumerate(self.form.ops):
            for made in wanted_full.get(at, ()):
                self._make_full(made, op)
            if was_inside and op.autocast is None:
                self._end_region()
            was_inside = op.autocast is not None
            is_gradient = op.phase is Phase.BACKWARD and not op.site.is_checkpointed
            emulated = self._backward(op) if is_gradient else self._forward(op)
            moved_to.append(len(self.ops))
            self.ops.append(emulated)
        for made in wanted_full.get(len(self.form.ops), ()):
            self._make_full(made, self.form.ops[-1])
        return self._finished(moved_to)

    # -- forward -------------------------------------------------------------------------------------------------------

    def _forward(self, op: LoggedOp) -> LoggedOp:
        plain = op.name.removeprefix("aten::")
        policy = CUDA_AUTOCAST.policy(plain) if op.autocast else CastPolicy.AS_GIVEN
        if policy is CastPolicy.FP32_RESULT and op.autocast in CUDA_AUTOCAST.separate_cast.get(plain, ()):
            policy = CastPolicy.FP32
        arguments = self._arguments(op)
        floats = [argument for argument in arguments if argument.label == _FULL or argument.label in _HALVES]
        widest = _FULL if any(argument.label == _FULL for argument in floats) else (op.autocast or _FULL)
        wanted = {CastPolicy.LOWER: op.autocast, CastPolicy.FP32: _FULL, CastPolicy.PROMOTE: widest}.get(policy)
        reads = {
            argument.position: self._cast(op, argument, wanted)
            for argument in floats
            if wanted is not None and argument.label != wanted
        }
        for argument in floats:
            if argument.position not in reads:
                self.own_use[argument.storage] = len(self.ops)
        as_first = plain in _AS_FIRST_ARGUMENT
        gives_full = policy is CastPolicy.FP32_RESULT
        result = wanted or (_FULL if gives_full else _natural_result(floats, as_first=as_first))
        computed = _Computed(result, gives_full, as_first, floats[0].label if floats else _FULL)
        for node in range(op.first_node, op.end_node):
            self.computed.setdefault(node, computed)
        return op.moved(
            input_dtypes=_dtypes(op, floats, wanted), input_storages=_reading(op, arguments, reads),
            output_dtypes=self._label_results(op, plain, result, as_first=as_first),
        )  # fmt: skip

    def _label_results(self, op: LoggedOp, plain: str, result: str, *, as_first: bool) -> ArgDtypes:
        in_place = plain.endswith("_")
        only_first = as_first or plain in STATISTICS_OPS
        dtypes = list(op.output_dtypes)
        for at, dtype in enumerate(dtypes):
            storage = op.output_storages[at] if at < len(op.output_storages) else -1
            if dtype != _FULL or (only_first and at):
                continue
            if in_place or storage in op.input_storages:
                dtypes[at] = self.label.get(storage, dtype)
            else:
                dtypes[at] = result
                self._set_label(storage, result)
        return tuple(dtypes)

    # -- backward ------------------------------------------------------------------------------------------------------

    def _backward(self, op: LoggedOp) -> LoggedOp:
        known = self.computed.get(op.node) if op.node >= 0 else None
        arguments = self._arguments(op)
        floats = [argument for argument in arguments if argument.dtype == _FULL]
        self.made_backward.update(storage for storage in op.output_storages if storage not in op.input_storages)
        if known is None or op.name in _SUMS_OF_GRADIENTS:
            return self._sum_or_pass(op, arguments, floats)
        mixed = known.as_first
        computed = floats[:2] if mixed else floats  # the rest are statistics and weights
        reads: dict[int, int] = {}
        for argument in computed:
            cast = self.casts.get((argument.storage, known.dtype))
            if argument.storage in self.made_backward and argument.label != known.dtype:
                reads[argument.position] = self._cast(op, argument, known.dtype, is_gradient=True)
            elif cast is not None:
                cast.last_used, cast.used_backward = len(self.ops), True
                reads[argument.position] = cast.storage
            else:
                self.own_use[argument.storage] = len(self.ops)
        result = known.of_input if known.as_given else known.dtype
        tensors = [dtype for dtype in op.output_dtypes if dtype is not None]
        for place, (storage, dtype) in enumerate(zip(op.output_storages, tensors, strict=False)):
            if dtype == _FULL and storage not in op.input_storages and not (mixed and place):
                self._set_label(storage, result)
        return op.moved(
            input_dtypes=_dtypes(op, computed, known.dtype), input_storages=_reading(op, arguments, reads),
            output_dtypes=tuple(
                result if dtype == _FULL and not (mixed and at) else dtype for at, dtype in enumerate(op.output_dtypes)
            ),
        )  # fmt: skip

    def _sum_or_pass(self, op: LoggedOp, arguments: Sequence[_Argument], floats: Sequence[_Argument]) -> LoggedOp:
        """Gradients summed are brought to the widest type; what only passes one on keeps its type."""
        kinds = {argument.label for argument in floats if argument.shape}
        result = _FULL if _FULL in kinds or not kinds else next(iter(kinds))
        reads: dict[int, int] = {}
        for argument in floats:
            if argument.shape and argument.label != result and op.name in _SUMS_OF_GRADIENTS:
                reads[argument.position] = self._cast(op, argument, result, is_gradient=True)
            else:
                self.own_use[argument.storage] = len(self.ops)
        for storage in op.output_storages:
            if storage not in op.input_storages:
                self._set_label(storage, result)
        return op.moved(
            input_dtypes=_dtypes(op, floats, result), input_storages=_reading(op, arguments, reads),
            output_dtypes=tuple(result if dtype == _FULL else dtype for dtype in op.output_dtypes),
        )  # fmt: skip

    def _make_full(self, wanted: MadeFull, before: LoggedOp) -> None:
        """What is in half precision is cast to float32, and read as that from here on."""
        storage = wanted.storage
        label = self.label.get(storage)
        if label is None:
            return
        maker = next((at for at in range(len(self.ops) - 1, -1, -1) if storage in self.ops[at].output_storages), -1)
        size = self.lives[storage].size_bytes
        half = self._new_storage()
        for at in range(max(maker, 0), len(self.ops)):
            self.ops[at] = _with_storage(self.ops[at], storage, half)
        cast = _cast_op(before, wanted.shape, label, _FULL, (half,), (storage,))
        self.ops.append(cast.moved(phase=wanted.phase))
        row = len(self.ops) - 1
        half_bytes = size * BYTES_BY_DTYPE[label] // BYTES_BY_DTYPE[_FULL]
        self.extra[half] = ExtraStorage(half_bytes, label, TensorRole.TEMPORARY, maker, row, row)
        self.begins[storage] = row
        del self.label[storage]

    # -- casts and labels ----------------------------------------------------------------------------------------------

    def _cast(self, op: LoggedOp, argument: _Argument, dtype: str, *, is_gradient: bool = False) -> int:
        """The storage of the argument in the other dtype: a new one, or the one that the region keeps."""
        storage = argument.storage
        known = self.casts.get((storage, dtype))
        if known is not None and (known.is_cached or is_gradient):
            known.last_used = len(self.ops)
            return known.storage
        shape = self._without_repeats(argument)
        made = self._new_storage()
        read = (storage,) if storage >= 0 else ()
        self.ops.append(_cast_op(op, shape, argument.label, dtype, read, (made,)))
        row = len(self.ops) - 1
        self.own_use[storage] = row
        is_parameter = 0 <= storage < len(self.lives) and self.lives[storage].role is TensorRole.PARAMETER
        size = numel(shape) * BYTES_BY_DTYPE[dtype]
        cast = _Cast(made, row, size, dtype, is_parameter and not is_gradient, row + 1)
        if known is not None:
            self.ended_casts.append((storage, known))
        self.casts[(storage, dtype)] = cast
        return made

    def _without_repeats(self, argument: _Argument) -> Shape:
        """The shape of what is cast; an expanded view is cast before it is expanded."""
        if not 0 <= argument.storage < len(self.lives):
            return argument.shape
        life = self.lives[argument.storage]
        elements = life.size_bytes // BYTES_BY_DTYPE.get(life.dtype, BYTES_BY_DTYPE[_FULL])
        return (elements,) if 0 < elements < numel(argument.shape) else argument.shape

    def _end_region(self) -> None:
        """Casts of parameters are dropped with the region, unless the backward pass will read them."""
        for cast in self.casts.values():
            if cast.is_cached:
                cast.last_used = max(cast.last_used, len(self.ops) - 1)
                cast.is_cached = False

    def _new_storage(self) -> int:
        self.storage_count += 1
        return len(self.lives) + self.storage_count - 1

    def _set_label(self, storage: int, dtype: str) -> None:
        if dtype == _FULL:
            self.label.pop(storage, None)
        elif 0 <= storage < len(self.lives) and self.lives[storage].dtype == _FULL:
            self.label[storage] = dtype

    def _arguments(self, op: LoggedOp) -> list[_Argument]:
        tensors: list[tuple[int, Shape, int]] = []  # position, shape, how many
        for at, entry in enumerate(op.input_shapes):
            if entry is None:
                continue
            if entry and isinstance(entry[0], tuple):
                elements = sum(numel(shape) for shape in entry if isinstance(shape, tuple))
                tensors.append((at, (elements,), len(entry)))
            else:
                tensors.append((at, entry, 1))  # type: ignore[arg-type] # one tensor's shape by the check above
        storages = op.input_storages
        exact = sum(count for _, _, count in tensors) == len(storages)
        found = []
        offset = 0
        for place, (at, shape, count) in enumerate(tensors):
            if exact:
                storage = storages[offset]
            else:  # a folded op: several arguments are views of one storage
                storage = storages[min(place, len(storages) - 1)] if storages else -1
            offset += count
            dtype = op.input_dtypes[at]
            label = self.label.get(storage, _FULL) if dtype == _FULL else (dtype or "")
            found.append(_Argument(at, shape, storage, dtype, label))
        return found

    # -- result --------------------------------------------------------------------------------------------------------

    def _finished(self, moved_to: Sequence[int]) -> GpuForm:
        released: dict[int, int] = {}
        for storage, cast in [*self.ended_casts, *((storage, cast) for (storage, _), cast in self.casts.items())]:
            role = TensorRole.ACTIVATION if cast.used_backward else TensorRole.TEMPORARY
            last = min(cast.last_used, len(self.ops) - 1)
            self.extra[cast.storage] = ExtraStorage(cast.size_bytes, cast.dtype, role, cast.row, last, last)
            is_plain = 0 <= storage < len(self.lives) and self.lives[storage].role is TensorRole.TEMPORARY
            if cast.used_backward and is_plain:
                released[storage] = self.own_use.get(storage, cast.row)  # only its cast is saved for backward
        resized = dict(self.form.resized)
        for storage, dtype in self.label.items():
            size, before = resized.get(storage, (self.lives[storage].size_bytes, _FULL))
            if before == _FULL:
                resized[storage] = (size * BYTES_BY_DTYPE[dtype] // BYTES_BY_DTYPE[_FULL], dtype)
        return replace(
            self.form, ops=self.ops, position=[moved_to[at] for at in self.form.position], resized=resized,
            internal={storage: moved_to[at] for storage, at in self.form.internal.items()},
            extra={**self.form.extra, **self.extra}, released=released, begins=self.begins,
        )  # fmt: skip


def _natural_result(floats: Sequence[_Argument], *, as_first: bool) -> str:
    if not floats:
        return _FULL
    if as_first:
        return floats[0].label
    # numbers (no dimensions) do not widen a tensor
    sized = [argument.label for argument in floats if argument.shape] or [argument.label for argument in floats]
    return _FULL if _FULL in sized else sized[0]


def _dtypes(op: LoggedOp, arguments: Sequence[_Argument], wanted: str | None) -> ArgDtypes:
    dtypes = list(op.input_dtypes)
    for argument in arguments:
        dtypes[argument.position] = wanted or argument.label
    return tuple(dtypes)


def _reading(op: LoggedOp, arguments: Sequence[_Argument], reads: dict[int, int]) -> tuple[int, ...]:
    """The op's storages, with casts where it reads casts; those of a folded op have no positions."""
    if not reads:
        return op.input_storages
    if len(arguments) == len(op.input_storages):
        return tuple(reads.get(argument.position, argument.storage) for argument in arguments)
    kept = [argument.storage for argument in arguments if argument.position not in reads and argument.storage >= 0]
    return tuple(dict.fromkeys((*kept, *reads.values())))


def _with_storage(op: LoggedOp, before: int, after: int) -> LoggedOp:
    if before not in op.input_storages and before not in op.output_storages:
        return op
    return op.moved(
        input_storages=tuple(after if storage == before else storage for storage in op.input_storages),
        output_storages=tuple(after if storage == before else storage for storage in op.output_storages),
    )


def _cast_op(
    at: LoggedOp, shape: Shape, before: str, after: str, read: tuple[int, ...], made: tuple[int, ...]
) -> LoggedOp:  # fmt: skip
    none = (None,) * 6
    return at.moved(
        name="aten::_to_copy", end_ns=at.start_ns, input_shapes=(shape, *none), input_dtypes=(before, *none),
        output_shapes=(shape,), output_dtypes=(after,), arguments=("", after, "", "", "", "False", ""),
        input_storages=read, output_storages=made, end_node=at.first_node, node=-1, rnn=None,
    )  # fmt: skip
