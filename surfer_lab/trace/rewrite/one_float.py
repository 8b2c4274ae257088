"""What if all of a step's floating tensors had one dtype? float32, or a pure half: `model.to(torch.bfloat16)`.

Casts between floats become copies of nothing and are dropped: what read their result reads their source. Statistics of
norms and attention stay float32, as kernels keep them; so do scalars (step counters, scales). What the program casts
without need in float32 (`x.float()` there is no op at all) is not known and not put in.
"""

from __future__ import annotations

from surfer_lab.trace.model import Trace
from surfer_lab.trace.rewrite.attention_ops import fit_attention
from surfer_lab.trace.rewrite.autocast_lists import STATISTICS_OPS
from surfer_lab.trace.rewrite.draft import Draft, OpRow
from surfer_lab.trace.rewrite.names import CAST_OP, FLOATS, itemsize, plain_name
from surfer_lab.trace.tables import ArgDtypes, ArgShapes, TensorRole

__all__ = ["floats_of", "to_one_float"]


def floats_of(trace: Trace) -> frozenset[str]:
    """The floating dtypes (float32, float16, bfloat16) of the tensors that the step's ops read and write."""
    columns = (trace.ops.input_dtypes, trace.ops.output_dtypes)
    found = {dtype for column in columns for dtypes in column.values for dtype in dtypes if dtype in FLOATS}
    return frozenset(found)


def to_one_float(trace: Trace, dtype: str) -> Trace:
    """The step with all of its float32, float16 and bfloat16 tensors in `dtype`; the same trace where they are."""
    if floats_of(trace) <= {dtype}:
        return trace
    draft = Draft(trace)
    _drop_casts(draft)
    for row in draft.rows:
        _convert(row, dtype)
    scalars = _scalars(draft)
    for number, storage in enumerate(draft.storages):
        if storage.dtype in FLOATS and number not in scalars:
            storage.size_bytes = storage.size_bytes * itemsize(dtype) // itemsize(storage.dtype)
            storage.dtype = dtype
    return draft.trace()


def _convert(row: OpRow, dtype: str) -> None:
    first_statistic = 1 if plain_name(row.name) in STATISTICS_OPS else len(row.output_dtypes)
    row.input_dtypes = _converted(row.input_shapes, row.input_dtypes, dtype)
    row.output_dtypes = (
        *_converted(row.output_shapes[:first_statistic], row.output_dtypes[:first_statistic], dtype),
        *row.output_dtypes[first_statistic:],
    )
    if row.name == CAST_OP and row.output_dtypes and row.output_dtypes[0] in FLOATS:
        row.arguments = tuple(dtype if text in FLOATS else text for text in row.arguments)
    fit_attention(row)


def _converted(shapes: ArgShapes, dtypes: ArgDtypes, dtype: str) -> ArgDtypes:
    pairs = zip(_padded(shapes, len(dtypes)), dtypes, strict=True)
    return tuple(dtype if old in FLOATS and shape != () else old for shape, old in pairs)


def _padded(shapes: ArgShapes, count: int) -> ArgShapes:
    return (*shapes[:count], *(None,) * (count - len(shapes)))


def _scalars(draft: Draft) -> set[int]:
    """Storages of one element, by what they are written or read as, and statistics, which stay as they are."""
    found: set[int] = set()
    for row in draft.rows:
        plain = plain_name(row.name)
        for uses, shapes in ((row.reads, row.input_shapes), (row.writes, row.output_shapes)):
            for use in uses:
                entry = shapes[use.position] if 0 <= use.position < len(shapes) else None
                if entry == () or (isinstance(entry, tuple) and entry and all(part == () for part in entry)):
                    found.add(use.storage)
        if plain in STATISTICS_OPS:
            found.update(use.storage for use in row.writes if use.position > 0)
    # what a folded op keeps for its gradient (log-sum-exps) is written by no row
    written = {use.storage for row in draft.rows for use in row.writes}
    found.update(
        number
        for number, storage in enumerate(draft.storages)
        if not storage.is_there_before and number not in written and storage.role is not TensorRole.GRADIENT
    )
    return found


def _drop_casts(draft: Draft) -> None:
    """Take out copies from float to float whose result is another storage; readers get the source."""
    writes, last_use = _writes_and_last_uses(draft)
    stands_for: dict[int, int] = {}
    kept: list[OpRow] = []
    for at, row in enumerate(draft.rows):
        for use in (*row.reads, *row.writes):
            use.storage = _followed(stands_for, use.storage)
        if not _is_float_cast(row) or len(row.reads) > 1 or len(row.writes) > 1:
            kept.append(row)
            continue
        if not row.reads or not row.writes:
            continue  # a cast whose tensors nobody saw
        source, result = row.reads[0].storage, row.writes[0].storage
        changes_meanwhile = any(at < written <= last_use[result] for written in writes.get(source, ()))
        if source == result or changes_meanwhile or any(written > at for written in writes.get(result, ())):
            kept.append(row)
            continue
        stands_for[result] = source
        last_use[source] = max(last_use[source], last_use[result])
        _take_over(draft, source, result)
    _relink(kept)
    draft.rows = kept


def _is_float_cast(row: OpRow) -> bool:
    return (
        row.name == CAST_OP
        and bool(row.input_dtypes) and row.input_dtypes[0] in FLOATS
        and bool(row.output_dtypes) and row.output_dtypes[0] in FLOATS
        and row.input_dtypes[0] != row.output_dtypes[0]
    )  # fmt: skip


def _take_over(draft: Draft, source: int, result: int) -> None:
    """The source is now what the cast's result was: a gradient, or something that outlives the step."""
    old, new = draft.storages[result], draft.storages[source]
    new.is_kept = new.is_kept or old.is_kept
    new.has_fewer_uses = old.has_fewer_uses = True  # one lives as long as the uses of both, the other is gone
    if new.role in (TensorRole.TEMPORARY, TensorRole.ACTIVATION):
        new.role = old.role


def _writes_and_last_uses(draft: Draft) -> tuple[dict[int, list[int]], dict[int, int]]:
    """Rows that write each storage, and the last row that uses it."""
    writes: dict[int, list[int]] = {}
    last_use: dict[int, int] = {}
    for at, row in enumerate(draft.rows):
        for use in row.reads:
            last_use[use.storage] = at
        for use in row.writes:
            last_use[use.storage] = at
            writes.setdefault(use.storage, []).append(at)
    return writes, last_use


def _followed(stands_for: dict[int, int], storage: int) -> int:
    while storage in stands_for:
        storage = stands_for[storage]
    return storage


def _relink(rows: list[OpRow]) -> None:
    """A gradient of an op that is gone is a gradient of nothing."""
    there = {id(row) for row in rows}
    for row in rows:
        if row.forward is not None and id(row.forward) not in there:
            row.forward = None
