"""How many samples did the recorded step work on, judging by what its modules were called with?

A guess, or None: the leading dimension that most inputs of the outermost module calls share, times the number of
backward passes where one optimizer accumulates over several of them.
"""

from __future__ import annotations

from collections import Counter

from surfer_lab.capture.oplog import LoggedCall, OpLog

__all__ = ["guess_batch_size"]


def guess_batch_size(log: OpLog, first_op: int, end_op: int) -> int | None:
    """Samples in the stretch, None where the inputs do not agree on a leading dimension."""
    calls = [call for call in log.calls if first_op <= call.first_op < end_op and call.inputs]
    main = [call for call in calls if call.has_parameters] or calls
    per_call = _common_leading(main) or _common_leading(calls)
    if per_call is None:
        return None
    passes = len({op.backward_pass for op in log.ops[first_op:end_op] if op.backward_pass >= 0})
    accumulates = passes > 1 and len(set(log.optimizers)) == 1 and len({call.module_id for call in main}) == 1
    return per_call * min(passes, len(main)) if accumulates else per_call


def _common_leading(calls: list[LoggedCall]) -> int | None:
    """The size that leads every input with dimensions of a call, if it is the same in all calls but ragged ones."""
    sizes = []
    for call in calls:
        leading = {shape[0] for shape in call.inputs if shape}
        if len(leading) != 1:
            return None
        sizes.append(leading.pop())
    if not sizes:
        return None
    (size, count), *_ = Counter(sizes).most_common(1)
    return size if count * 2 > len(sizes) or len(set(sizes)) == 1 else None
