"""Which casts and dtypes would `torch.autocast` have given a step that was captured in float32?

Forward ops follow the lists: operands are cast before the op that needs it, a parameter's cast is kept until the region
ends (autocast's cache), activations are cast at each use, as autocast does. What an op saves for its gradient is what
it read, so the gradient op reads the cast too. Going backward, each forward cast has its gradient: the result for an
operand that was cast is cast back; a gradient that reaches an op whose result has another dtype is cast to that dtype
(autograd's engine does so on every edge). A parameter's gradient is cast when it is handed to the parameter.

The region is the whole forward pass unless told. Composite losses taken apart (l1_loss, kl_div) lose a cast or two.

Against steps really run under autocast on a CPU (the tests count them, at small sizes) the casts are the same for
LeNet, ResNet-50, Inception v3, SSD300, GPT-2, BERT, the Transformer and NCF. They differ for CaffeNet (4 more than 45:
two gradients cast there and back around its local response norms), LLaMA (4 more than 74, of gradients), DLRM (1
more than 29: two gradients of one tensor are summed before they are cast), DCGAN (1 fewer than 51: of the images that
both networks read) and GNMT (73 more than 15: a capture folds an LSTM into one op, the casts inside it too; here its
operands and their gradients are cast around it, as in cuDNN's path). Mask R-CNN lacks 20 of 375, in equal numbers there
and back: how many boxes a step keeps depends on its values, which halves change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from surfer_lab.trace.model import Trace
from surfer_lab.trace.rewrite.attention_ops import fit_attention
from surfer_lab.trace.rewrite.autocast_lists import CUDA_AUTOCAST, STATISTICS_OPS, AutocastRules, CastPolicy
from surfer_lab.trace.rewrite.draft import Draft, OpRow, Use, is_list, numel
from surfer_lab.trace.rewrite.names import (
    ACCUMULATING_OPS,
    CAST_OP,
    FLOATS,
    is_in_place,
    itemsize,
    plain_name,
    widest,
)
from surfer_lab.trace.tables import MemoryFormat, Phase, Shape, TensorRole

__all__ = ["autocast"]


def autocast(
    trace: Trace, dtype: str, *, rules: AutocastRules = CUDA_AUTOCAST, region: Sequence[bool] | None = None
) -> Trace:
    """The step under `torch.autocast(dtype=dtype)`: "float16" or "bfloat16".

    `region` says for each op of the trace whether it lies inside; without it every op of the forward pass does. Expects
    a capture in float32 (see `to_one_float`) that records uses of storages.
    """
    draft = Draft(trace)
    _Autocast(draft, dtype, rules, region).run()
    return draft.trace()


@dataclass(slots=True)
class _Ran:
    """How a forward op ran: dtype of its first result, and for each storage read: (as it was, as it was read)."""

    result: str
    read_as: dict[int, tuple[str, str]] = field(default_factory=dict)
    copies: dict[int, int] = field(default_factory=dict)  # storage -> storage of its cast
    cached: set[int] = field(default_factory=set)  # parameters whose cast is shared


@dataclass(slots=True)
class _Node:
    """The gradient of one forward op while its ops run by; `made`: what they made, with the row and the use."""

    forward: OpRow | None
    number: int  # autograd's
    ran: _Ran
    rows: list[OpRow] = field(default_factory=list)
    made: dict[int, tuple[OpRow, Use]] = field(default_factory=dict)
    arrived: dict[int, int] = field(default_factory=dict)  # gradient from outside -> as the node reads it


# gradient ops whose results have their operands' dtypes, whatever they compute with
_GRADIENT_LIKE_OPERAND = ("norm_backward", "attention", "softmax_backward", "rnn_backward", "cell_backward")


class _Autocast:
    def __init__(self, draft: Draft, dtype: str, rules: AutocastRules, region: Sequence[bool] | None) -> None:
        self.draft, self.low, self.rules, self.region = draft, dtype, rules, region
        self.dtype = [storage.dtype for storage in draft.storages]
        self.ran: dict[int, _Ran] = {}  # by id of the forward row
        self.cache: dict[int, int] = {}  # parameter -> its cast
        self.cast_before: dict[int, int] = {}  # parameter -> its cast of a region before the recording
        self.made_backward: set[int] = set()
        self.given: set[int] = set()  # parameters' gradients that are there
        self.was_backward = False
        self.rows: list[OpRow] = []
        self.node: _Node | None = None
        self.last_node = -1
        self.readers: dict[int, list[int]] = {}  # storage -> ids of the rows that read it
        for row in draft.rows:
            for use in row.reads:
                self.readers.setdefault(use.storage, []).append(id(row))

    def run(self) -> None:
        self._label_saved_before()
        for row in self.draft.rows:
            is_again = self._is_run_again(row)
            if row.phase is Phase.BACKWARD and not is_again:
                self._backward(row)
                continue
            self._end_node()
            if row.phase in (Phase.FORWARD, Phase.OTHER) or is_again:
                self._forward(row, is_again)
            else:
                self.rows.append(row)
        self._end_node()
        self.draft.rows = self.rows
        for storage, dtype in zip(self.draft.storages, self.dtype, strict=True):
            if storage.dtype != dtype and storage.dtype in FLOATS and dtype in FLOATS:
                storage.size_bytes = storage.size_bytes * itemsize(dtype) // itemsize(storage.dtype)
                storage.dtype = dtype

    # -- forward -------------------------------------------------------------------------------------------------------

    def _label_saved_before(self) -> None:
        """What ops before the recording saved for gradients that the recording holds: activations, in halves."""
        for row in self.draft.rows:
            if row.phase is not Phase.BACKWARD or row.forward is not None or "backward" not in row.name:
                continue
            saved = 2 if "norm_backward" in row.name else len(row.input_shapes)  # gradient, input; then statistics
            for use in row.reads:
                storage = self.draft.storages[use.storage]
                if not storage.is_there_before or use.position >= saved or storage.dtype not in FLOATS:
                    continue
                if storage.role in (TensorRole.TEMPORARY, TensorRole.ACTIVATION, TensorRole.INPUT):
                    self.dtype[use.storage] = self.low

    def _is_run_again(self, row: OpRow) -> bool:
        """Gradient checkpointing runs forward ops again in the backward pass: they make new autograd nodes."""
        is_new = row.forward is None and row.sequence > self.last_node
        self.last_node = max(self.last_node, row.sequence)
        return is_new and row.phase is Phase.BACKWARD

    def _forward(self, row: OpRow, is_again: bool) -> None:
        plain = plain_name(row.name)
        if not is_again and self.was_backward:
            self.cache.clear()  # a new forward pass: the region before has ended
            self.was_backward = False
        inside = self.region is None or (row.origin >= 0 and self.region[row.origin])
        policy = self.rules.policy(plain) if inside else CastPolicy.AS_GIVEN
        floats = [use for use in row.reads if self.dtype[use.storage] in FLOATS]
        target = self._target(policy, plain, row, floats)
        ran = _Ran(result="float32")
        for use in list(floats):
            before = self.dtype[use.storage] or "float32"
            if use.position < 0 and self._elements(use.storage) == 1:
                continue  # a number inside an op put together from several
            ran.read_as[use.storage] = (before, target or before)
            if target is not None and before != target:
                self._cast_operand(row, use, before, target, ran, may_cache=not is_again)
        self._label_operands(row, target)
        promoted = target or self._natural(row, floats) or "float32"
        ran.result = "float32" if policy is CastPolicy.FP32_RESULT else promoted
        self._label_results(row, ran.result)
        fit_attention(row)
        self.ran[id(row)] = ran
        self.rows.append(row)

    def _target(self, policy: CastPolicy, plain: str, row: OpRow, floats: list[Use]) -> str | None:
        """The dtype that operands are cast to; None: none is cast."""
        if not floats:
            return None
        if policy is CastPolicy.LOWER:
            return self.low
        if policy is CastPolicy.FP32:
            return "float32"
        if policy is CastPolicy.PROMOTE:
            return self._natural(row, floats)
        if policy is CastPolicy.FP32_RESULT and self.low in self.rules.separate_cast.get(plain, ()):
            return "float32"
        return None

    def _natural(self, row: OpRow, floats: list[Use]) -> str | None:
        """What torch promotes to: the widest of the operands, numbers without dimensions only among themselves."""
        sized = [use for use in floats if _entry(row, use) != ()]
        dtypes = [self.dtype[use.storage] or "float32" for use in sized or floats]
        if plain_name(row.name) in STATISTICS_OPS and dtypes:
            return dtypes[0]  # norms give what they normalise; weights and statistics may be wider
        if "norm_backward" in row.name and len(dtypes) > 1:
            return dtypes[1]
        if is_in_place(plain_name(row.name)) and row.reads:
            return self.dtype[row.reads[0].storage]
        return widest(dtypes) if dtypes else None

    def _cast_operand(
        self, row: OpRow, use: Use, before: str, after: str, ran: _Ran, *, may_cache: bool
    ) -> None:  # fmt: skip
        storage = use.storage
        is_parameter = self.draft.storages[storage].role is TensorRole.PARAMETER and after == self.low
        if is_parameter:
            ran.cached.add(storage)
        copy = self.cache.get(storage) if is_parameter and may_cache else None
        if copy is None:
            copy = self._cast(row, storage, self._shape(row, use), before, after)
            if is_parameter and may_cache:
                self.cache[storage] = copy
        ran.copies[storage] = copy
        use.storage = copy

    def _label_operands(self, row: OpRow, target: str | None) -> None:
        dtypes = list(row.input_dtypes)
        known = {use.position: self.dtype[use.storage] for use in reversed(row.reads) if use.position >= 0}
        highest_rank = max((_rank(entry) for entry in row.input_shapes), default=0)
        for position, old in enumerate(dtypes):
            if old not in FLOATS:
                continue
            if position in known:
                dtypes[position] = known[position]
            elif target is not None:
                entry = row.input_shapes[position]
                if is_list(entry) or _rank(entry) == highest_rank:  # what is smaller holds statistics
                    dtypes[position] = target
            elif any(use.position < 0 for use in row.reads):
                floats = [
                    self.dtype[use.storage] or "float32" for use in row.reads if self.dtype[use.storage] in FLOATS
                ]
                dtypes[position] = widest(floats) if floats else old
        row.input_dtypes = tuple(dtypes)

    def _label_results(self, row: OpRow, result: str) -> None:
        plain = plain_name(row.name)
        if row.name == CAST_OP:
            asked = next((text for text in row.arguments if text in FLOATS), None)
            result = asked or result
        reads = {use.storage for use in row.reads}
        has_statistics = plain in STATISTICS_OPS or "norm_backward" in plain
        has_floats = any(self.dtype[use.storage] in FLOATS for use in row.reads)
        dtypes = list(row.output_dtypes)
        for position, old in enumerate(dtypes):
            if old in FLOATS and (has_floats or row.name == CAST_OP) and not (has_statistics and position > 0):
                dtypes[position] = result
        for use in row.writes:
            position = max(use.position, 0)
            old = self.dtype[use.storage]
            if use.storage in reads:
                if position < len(dtypes) and dtypes[position] in FLOATS:
                    dtypes[position] = old
            elif old in FLOATS and position < len(dtypes) and dtypes[position] in FLOATS:
                self.dtype[use.storage] = dtypes[position]
        row.output_dtypes = tuple(dtypes)

    # -- backward ------------------------------------------------------------------------------------------------------

    def _backward(self, row: OpRow) -> None:
        self.was_backward = True
        forward = row.forward if row.forward is not None and not _is_of_view(row, row.forward) else None
        ran = self.ran.get(id(forward)) if forward is not None else None
        written_before = {use.storage for use in row.writes} & {use.storage for use in row.reads}
        self.made_backward.update(use.storage for use in row.writes if use.storage not in written_before)
        is_sum = plain_name(row.name) in ACCUMULATING_OPS and len(row.reads) == 2
        if row.forward is None and not is_sum:
            self._end_node()
            self._without_forward(row, written_before)
            return
        if ran is None or (is_sum and all(use.storage in self.made_backward for use in row.reads)):
            self._end_node()
            self._pass_on(row, written_before)
            return
        if self.node is None or self.node.forward is not forward or self.node.number != row.sequence:
            self._end_node()
            self.node = _Node(forward, row.sequence, ran)
        self._in_node(row, self.node, written_before)

    def _pass_on(self, row: OpRow, written_before: set[int]) -> None:
        """Sums of gradients, and what autograd does between nodes."""
        is_sum = plain_name(row.name) in ACCUMULATING_OPS
        floats = [use for use in row.reads if self.dtype[use.storage] in FLOATS]
        into = next((use for use in row.reads if use.storage in written_before), None)
        natural = self._natural(row, floats)
        wanted = natural if into is None else self.dtype[into.storage]
        if is_sum and wanted is not None:  # gradients of one tensor are brought to its dtype before they are summed
            for use in floats:
                if use is not into:
                    self._expect(row, use, wanted)
        self._label_operands(row, None)
        if natural is not None:
            self._label_results(row, natural)
        self.rows.append(row)
        for use in row.writes:
            storage = self.draft.storages[use.storage]
            if storage.role is TensorRole.GRADIENT and self._is_new_half(use.storage):
                self._hand_over([row], row, use, [storage.dtype or "float32"])

    def _without_forward(self, row: OpRow, written_before: set[int]) -> None:
        """The gradient of an op that ran before the recording began: what it saved was a half where products are."""
        if self.rules.policy(plain_name(row.name).removesuffix("_backward")) is CastPolicy.LOWER:
            for use in row.reads:
                storage = self.draft.storages[use.storage]
                if self.dtype[use.storage] not in FLOATS or use.storage in self.made_backward:
                    continue
                if storage.role is TensorRole.PARAMETER:
                    use.storage = self._cast_before(use.storage)
            for use in row.reads:
                if use.storage in self.made_backward and self.dtype[use.storage] in FLOATS:
                    self._expect(row, use, self.low)
        self._pass_on(row, written_before)

    def _cast_before(self, parameter: int) -> int:
        copy = self.cast_before.get(parameter)
        if copy is None:
            storage = self.draft.storages[parameter]
            size = storage.size_bytes * itemsize(self.low) // itemsize(storage.dtype)
            copy = self.cast_before[parameter] = self._new_storage(size, self.low)
            self.draft.storages[copy].is_there_before = True
        return copy

    def _in_node(self, row: OpRow, node: _Node, written_before: set[int]) -> None:
        """One of the ops that make up the gradient of a forward op."""
        ran = node.ran
        for use in row.reads:
            copy = ran.copies.get(use.storage)
            if copy is not None:
                self.draft.storages[use.storage].has_fewer_uses = True
                use.storage = copy
            elif (
                use.storage in self.made_backward
                and use.storage not in node.made
                and use.storage not in written_before
                and self.dtype[use.storage] in FLOATS
            ):
                arrived = use.storage  # cast once, however many of the node's ops read it
                if arrived in node.arrived:
                    use.storage = node.arrived[arrived]
                else:
                    self._expect(row, use, ran.result)
                    node.arrived[arrived] = use.storage
        self._label_operands(row, ran.result)
        self.rows.append(row)
        node.rows.append(row)
        keeps_dtypes = any(part in row.name for part in _GRADIENT_LIKE_OPERAND)
        natural = self._natural(row, [use for use in row.reads if self.dtype[use.storage] in FLOATS]) or ran.result
        results = list(row.output_dtypes)
        for use in row.writes:
            position = max(use.position, 0)
            old = self.dtype[use.storage]
            if old not in FLOATS or position >= len(results) or results[position] not in FLOATS:
                continue
            if use.storage not in written_before:
                operand = self._operand_of(row, use) if keeps_dtypes else -1
                self.dtype[use.storage] = ran.read_as.get(operand, ("", ran.result if keeps_dtypes else natural))[1]
            results[position] = self.dtype[use.storage]
            node.made[use.storage] = (row, use)
        row.output_dtypes = tuple(results)
        fit_attention(row)

    def _end_node(self) -> None:
        """What leaves a node has its operand's dtype (autograd's rule), then goes back through the operand's cast."""
        node, self.node = self.node, None
        if node is None:
            return
        inside = {id(row) for row in node.rows}
        for storage, (row, use) in node.made.items():
            kept = self.draft.storages[storage]
            is_parameters = kept.role is TensorRole.GRADIENT
            leaves = (
                is_parameters or kept.is_kept or any(reader not in inside for reader in self.readers.get(storage, ()))
            )
            if not leaves:
                continue
            if is_parameters:
                if self._is_new_half(storage):
                    self._hand_over(node.rows, row, use, [kept.dtype or "float32"])
                continue
            operand = self._operand_of(row, use)
            if operand < 0:
                continue
            before, read_as = node.ran.read_as[operand]
            steps = [read_as] if operand in node.ran.cached else [read_as, before]
            self._hand_over(node.rows, row, use, steps)

    def _hand_over(self, rows: list[OpRow], row: OpRow, use: Use, dtypes: list[str]) -> None:
        """Put casts to each of the dtypes, in order, after the last row; readers later see the last result."""
        storage, shape = use.storage, self._shape(row, use, is_result=True)
        now = self.dtype[storage] or "float32"
        wanted = [after for before, after in zip([now, *dtypes], dtypes, strict=False) if before != after]
        if not wanted:
            return
        raw = self._new_storage(numel(shape) * itemsize(now), now)
        for one in rows:
            for other in (*one.reads, *one.writes):
                if other.storage == storage:
                    other.storage = raw
        for number, after in enumerate(wanted):
            is_last = number == len(wanted) - 1
            result = storage if is_last else self._new_storage(numel(shape) * itemsize(after), after)
            cast = _cast_row(row, shape, now, after)
            cast.reads, cast.writes = [Use(raw, 0)], [Use(result, 0)]
            self.rows.append(cast)
            raw, now = result, after
        self.dtype[storage] = now

    def _is_new_half(self, storage: int) -> bool:
        """Is a parameter's gradient of another dtype than the parameter, and just made?"""
        kept = self.draft.storages[storage]
        if storage in self.given:
            return False
        self.given.add(storage)
        return self.dtype[storage] in FLOATS and self.dtype[storage] != kept.dtype

    def _operand_of(self, row: OpRow, use: Use) -> int:
        """The forward op's operand (storage) that this result is the gradient of: same size; parameters' apart; -1."""
        forward = row.forward
        if forward is None:
            return -1
        size = numel(self._shape(row, use, is_result=True))
        ran = self.ran[id(forward)]
        originals = {copy: storage for storage, copy in ran.copies.items()}
        is_parameters = self.draft.storages[use.storage].role is TensorRole.GRADIENT
        fitting: list[tuple[bool, bool, int, int]] = []
        for operand in forward.reads:
            storage = originals.get(operand.storage, operand.storage)
            if storage not in ran.read_as:
                continue
            fits = numel(self._shape(forward, Use(storage, operand.position))) == size
            is_parameter = self.draft.storages[storage].role is TensorRole.PARAMETER
            fitting.append((fits, is_parameter == is_parameters, -len(fitting), storage))
        if use.position < 0 and "attention" in row.name and all(fit for fit, *_ in fitting):
            # put together from the steps of unfused attention, whose gradients come value, key, query
            return fitting[max(0, len(fitting) - 1 - row.writes.index(use))][3] if fitting else -1
        best = max(fitting, default=None)
        return best[3] if best is not None and (best[0] or len(fitting) == 1) else -1

    def _expect(self, row: OpRow, use: Use, dtype: str) -> None:
        before = self.dtype[use.storage] or "float32"
        if before != dtype:
            use.storage = self._cast(row, use.storage, self._shape(row, use), before, dtype)

    # -- casts ---------------------------------------------------------------------------------------------------------

    def _cast(self, row: OpRow, storage: int, shape: Shape, before: str, after: str) -> int:
        """Put a cast before `row`; the storage of its result."""
        copy = self._new_storage(numel(shape) * itemsize(after), after)
        cast = _cast_row(row, shape, before, after)
        cast.reads, cast.writes = [Use(storage, 0)], [Use(copy, 0)]
        self.rows.append(cast)
        if row.phase is Phase.BACKWARD:
            self.made_backward.add(copy)
        return copy

    def _new_storage(self, size_bytes: int, dtype: str) -> int:
        self.dtype.append(dtype)
        return self.draft.add_storage(size_bytes, dtype)

    def _shape(self, row: OpRow, use: Use, *, is_result: bool = False) -> Shape:
        """The shape in which a row uses a storage; all its elements in a row where the argument is not known."""
        entry = _entry(row, use, is_result=is_result)
        if isinstance(entry, tuple) and not is_list(entry):
            return entry
        return (self._elements(use.storage),)

    def _elements(self, storage: int) -> int:
        kept = self.draft.storages[storage]
        return max(1, kept.size_bytes // itemsize(kept.dtype))


def _entry(row: OpRow, use: Use, *, is_result: bool = False) -> object:
    shapes = row.output_shapes if is_result else row.input_shapes
    return shapes[use.position] if 0 <= use.position < len(shapes) else None


def _rank(entry: object) -> int:
    return len(entry) if isinstance(entry, tuple) and not is_list(entry) else 0


def _is_of_view(row: OpRow, forward: OpRow) -> bool:
    """Is it the gradient of a view before the op, not of the op? They are numbered apart; folded ops have many."""
    is_folded = any(use.position < 0 for use in row.reads)
    return row.sequence >= 0 and forward.sequence >= 0 and row.sequence != forward.sequence and not is_folded


def _cast_row(row: OpRow, shape: Shape, before: str, after: str) -> OpRow:
    none = (None,) * 6
    return row.like(
        CAST_OP, input_shapes=(shape, *none), input_dtypes=(before, *none), output_shapes=(shape,),
        output_dtypes=(after,), arguments=("", after, "", "", "", "False", ""),
        memory_format=row.memory_format if len(shape) > 3 else MemoryFormat.CONTIGUOUS,
    )  # fmt: skip
