"""What would a captured step look like at another batch size?

Every size of a step is a function of the batch n: a dimension is a n + b, a storage's bytes are that or n^2 times
something. Both are read off either from one capture at a prime batch (1009: what is divisible by it scales with it,
what is not does not) or from two captures at different batches (solved for a and b). Evaluated at n they give a trace
whose ops and tensors have the sizes of that batch, exact at the captured ones.

Refused (PredictionError): a trace with measured kernels, whose times belong to its batch; a prime that divides a size
of the model itself; two captures that ran different ops; a batch at which a size would not be a positive whole number.
Times of ops are not rescaled: a reshaped trace is one of shapes only.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Final, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from surfer_lab.errors import PredictionError
from surfer_lab.trace.columns import Interned
from surfer_lab.trace.model import Trace, TraceOrigin
from surfer_lab.trace.tables import ArgShapes, MemoryTable, OpTable, TensorRole

__all__ = ["PRIME_BATCH", "BatchScaling", "at_batch"]

PRIME_BATCH: Final = 1009

_WHOLE_NUMBER: Final = re.compile(r"(?<![\w.+-])\d+(?![\w.])")  # neither "0.1" nor the end of "1e-05"
_OF_THE_MODEL: Final = (TensorRole.PARAMETER, TensorRole.BUFFER, TensorRole.OPTIMIZER_STATE, TensorRole.GRADIENT)

I64 = NDArray[np.int64]
Value = TypeVar("Value")


@dataclass(frozen=True, kw_only=True, eq=False)
class BatchScaling:
    """A step at any batch size: `at(n)` gives the trace, `tensor_bytes(n)` only the storages' sizes."""

    captured: tuple[tuple[int, Trace], ...]  # one capture at a prime, or two, with their batch sizes

    @classmethod
    def of_prime(cls, trace: Trace, batch_size: int | None = None) -> BatchScaling:
        """From one capture at a prime batch (the trace's own by default)."""
        prime = batch_size or trace.batch_size or PRIME_BATCH
        if not _is_prime(prime):
            raise PredictionError(
                f"a capture at batch {prime} does not show which sizes scale with the batch",
                remedy=f"capture at a prime batch ({PRIME_BATCH}), or at two batch sizes",
            )
        _check_no_kernels(trace)
        of_the_model = np.isin(trace.tensors.role, _OF_THE_MODEL) & (trace.tensors.allocated_by < 0)
        clashes = of_the_model & (trace.tensors.size_bytes % prime == 0) & (trace.tensors.size_bytes > 0)
        if clashes.any():
            raise PredictionError(
                f"{int(clashes.sum())} of the model's own tensors have sizes divisible by the prime batch {prime}",
                remedy="capture at another prime batch, or at two batch sizes",
            )
        return cls(captured=((prime, trace),))

    @classmethod
    def of_two(cls, first: Trace, second: Trace, batch_sizes: tuple[int, int] | None = None) -> BatchScaling:
        """From two captures of the same step at different batch sizes (the traces' own by default)."""
        sizes = batch_sizes or (first.batch_size or 0, second.batch_size or 0)
        if min(sizes) < 1 or sizes[0] == sizes[1]:
            raise PredictionError(
                f"two captures at batches {sizes[0]} and {sizes[1]} do not tell how sizes scale",
                remedy="two captures at different batch sizes, each named",
            )
        for trace in (first, second):
            _check_no_kernels(trace)
        _check_same_program(first, second)
        return cls(captured=((sizes[0], first), (sizes[1], second)))

    @property
    def batch_sizes(self) -> tuple[int, ...]:
        """Batches that were captured, at which `at` is exact."""
        return tuple(size for size, _ in self.captured)

    def at(self, batch_size: int) -> Trace:
        """The step's trace at this batch; a captured one is returned as it is."""
        if batch_size < 1:
            raise PredictionError(f"batch size is {batch_size}", remedy="a whole number of 1 or more")
        for size, trace in self.captured:
            if size == batch_size:
                return replace(trace, batch_size=batch_size)
        trace = self.captured[0][1]
        tensors = trace.tensors
        return replace(
            trace,
            origin=TraceOrigin.SYMBOLIC,
            batch_size=batch_size,
            ops=self._ops(batch_size),
            tensors=replace(tensors, size_bytes=self.tensor_bytes(batch_size)),
            memory=_no_events(),
            peak_allocated_bytes=None,
            peak_reserved_bytes=None,
            cell=None,
        )

    def tensor_bytes(self, batch_size: int) -> I64:
        """Sizes of the storages at this batch, (tensors,)."""
        if len(self.captured) == 1:
            prime, trace = self.captured[0]
            return _scaled_sizes(trace.tensors.size_bytes, prime, batch_size)
        (first_size, first), (second_size, second) = self.captured
        return _solved_sizes(
            first.tensors.size_bytes, second.tensors.size_bytes, (first_size, second_size), batch_size
        )  # fmt: skip

    def _ops(self, batch_size: int) -> OpTable:
        ops = self.captured[0][1].ops
        if len(self.captured) == 1:
            scale = partial(_scaled_whole, prime=self.captured[0][0], batch_size=batch_size)
            shapes = _mapped(partial(_with_sizes, size=scale))
            texts = _mapped(lambda texts: tuple(_WHOLE_NUMBER.sub(lambda m: str(scale(int(m[0]))), t) for t in texts))
            return replace(
                ops,
                duration_ns=np.zeros_like(ops.duration_ns),
                input_shapes=shapes(ops.input_shapes),
                output_shapes=shapes(ops.output_shapes),
                arguments=texts(ops.arguments),
            )
        others = self.captured[1][1].ops
        solve = partial(_solved_whole, batch_sizes=self.batch_sizes, batch_size=batch_size)
        return replace(
            ops,
            duration_ns=np.zeros_like(ops.duration_ns),
            input_shapes=_paired(ops.input_shapes, others.input_shapes, partial(_with_two_sizes, size=solve)),
            output_shapes=_paired(ops.output_shapes, others.output_shapes, partial(_with_two_sizes, size=solve)),
            arguments=_paired(ops.arguments, others.arguments, partial(_with_two_texts, size=solve)),
        )


def at_batch(trace: Trace, batch_size: int) -> Trace:
    """A capture at a prime batch, reshaped to another one."""
    return BatchScaling.of_prime(trace).at(batch_size)


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % factor for factor in range(2, int(number**0.5) + 1))


def _check_no_kernels(trace: Trace) -> None:
    if len(trace.kernels):
        raise PredictionError(
            "the trace holds measured kernels, whose times belong to the batch they ran with",
            remedy="capture the step without a GPU (surfer_lab.trace_symbolic) for other batch sizes",
        )


def _check_same_program(first: Trace, second: Trace) -> None:
    if len(first.ops) != len(second.ops) or len(first.tensors) != len(second.tensors):
        raise PredictionError(
            f"the two captures ran {len(first.ops)} and {len(second.ops)} ops on {len(first.tensors)} and "
            f"{len(second.tensors)} tensors",
            remedy="two captures of the same step, neither of them the first one of its program",
        )
    for row, (one, other) in enumerate(zip(first.ops.name, second.ops.name, strict=True)):
        if one != other:
            raise PredictionError(
                f"the two captures differ at op {row}: {one} and {other}",
                remedy="two captures of the same step; a branch on the batch size cannot be followed",
            )


def _scaled_whole(size: int, *, prime: int, batch_size: int) -> int:
    """prime^k m becomes batch^k m."""
    if size == 0:
        return 0
    power = 0
    while size % prime == 0:
        size //= prime
        power += 1
    for _ in range(power):
        size *= batch_size
    return size


def _scaled_sizes(sizes: I64, prime: int, batch_size: int) -> I64:
    rest, factor = sizes.copy(), np.ones_like(sizes)
    scales = (rest % prime == 0) & (rest > 0)
    while scales.any():
        rest[scales] //= prime
        factor[scales] *= batch_size
        scales = (rest % prime == 0) & (rest > 0)
    return rest * factor


def _solved_whole(one: int, other: int, *, batch_sizes: tuple[int, ...], batch_size: int) -> int:
    """A n + b through both; (n / n1)^2 where the sizes are in the square of the batches' ratio."""
    if one == other:
        return one
    low, high = batch_sizes
    if one * high * high == other * low * low:
        value = Fraction(one * batch_size * batch_size, low * low)
    else:
        value = one + Fraction(other - one, high - low) * (batch_size - low)
    if value.denominator != 1 or value < 0:
        raise PredictionError(
            f"a size of {one} at batch {low} and {other} at batch {high} is not whole at batch {batch_size}",
            remedy=f"a batch size that differs from {low} by a multiple of {high - low}, or captures nearer to it",
        )
    return int(value)


def _solved_sizes(one: I64, other: I64, batch_sizes: tuple[int, int], batch_size: int) -> I64:
    pairs, place = np.unique(np.stack((one, other), axis=1), axis=0, return_inverse=True)
    solved = [
        _solved_whole(first, second, batch_sizes=batch_sizes, batch_size=batch_size)
        for first, second in pairs.tolist()
    ]  # fmt: skip
    return np.asarray(solved, dtype=np.int64)[place.reshape(-1)]


def _with_sizes(shapes: ArgShapes, *, size: Callable[[int], int]) -> ArgShapes:
    def reshaped(shape: object) -> object:
        if isinstance(shape, tuple):
            return tuple(reshaped(part) for part in shape)
        return size(shape) if isinstance(shape, int) else shape

    return cast(ArgShapes, reshaped(shapes))


def _with_two_sizes(one: ArgShapes, other: ArgShapes, *, size: Callable[[int, int], int]) -> ArgShapes:
    def reshaped(first: object, second: object) -> object:
        if isinstance(first, tuple) and isinstance(second, tuple):
            if len(first) != len(second):
                raise PredictionError(
                    f"an op has arguments of shapes {one} in one capture and {other} in the other",
                    remedy="two captures of the same step",
                )
            return tuple(reshaped(a, b) for a, b in zip(first, second, strict=True))
        return size(first, second) if isinstance(first, int) and isinstance(second, int) else first

    return cast(ArgShapes, reshaped(one, other))


def _with_two_texts(
    one: tuple[str, ...], other: tuple[str, ...], *, size: Callable[[int, int], int]
) -> tuple[str, ...]:
    solved = []
    for first, second in zip(one, other, strict=False):
        numbers = _WHOLE_NUMBER.findall(second)
        if first == second or len(numbers) != len(_WHOLE_NUMBER.findall(first)):
            solved.append(first)
            continue
        others = iter(numbers)
        solved.append(_WHOLE_NUMBER.sub(lambda m, others=others: str(size(int(m[0]), int(next(others)))), first))  # type: ignore[misc]
    return tuple(solved)


def _mapped(change: Callable[[Value], Value]) -> Callable[[Interned[Value]], Interned[Value]]:
    """Each distinct value changed once."""
    return lambda column: Interned(column.codes, tuple(change(value) for value in column.values))


def _paired(one: Interned[Value], other: Interned[Value], join: Callable[[Value, Value], Value]) -> Interned[Value]:
    """Row by row the join of both columns' values, each distinct pair once; absent where the first is."""
    pairs, place = np.unique(np.stack((one.codes, other.codes), axis=1), axis=0, return_inverse=True)
    values: list[Value] = []
    codes = []
    for first, second in pairs.tolist():
        if first < 0:
            codes.append(-1)
            continue
        codes.append(len(values))
        values.append(one.values[first] if second < 0 else join(one.values[first], other.values[second]))
    return Interned(np.asarray(codes, dtype=np.int32)[place.reshape(-1)], tuple(values))


def _no_events() -> MemoryTable:
    none = np.zeros(0, dtype=np.int64)
    return MemoryTable(
        time_ns=none,
        delta_bytes=none,
        allocated_bytes=none,
        reserved_bytes=none,
        device=np.zeros(0, dtype=np.int16),
        op=np.zeros(0, dtype=np.int32),
    )
