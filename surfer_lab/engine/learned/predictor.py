"""How long do products and convolutions take on GPUs by the shipped networks? numpy, all shapes and GPUs in one pass.

Weights are read once, on first use; repeated shapes are worked out once. Shapes far outside of what was fitted are
answered all the same: features are bounded, the form is a roofline. Not guaranteed: that more bandwidth or more SMs is
never slower, or that a longer product takes longer; the networks see waves and tiles, which are not monotone either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surfer_lab.engine.learned.convolution_terms import convolution_terms
from surfer_lab.engine.learned.form import LearnedFamily, Real, Terms, combined_ms
from surfer_lab.engine.learned.machine import Machines, machines_of
from surfer_lab.engine.learned.parametric import drawn_to_roofline_ms, parametric_ms
from surfer_lab.engine.learned.product_terms import product_terms
from surfer_lab.engine.learned.weight_files import weight_folder
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.units import NS_PER_MS

__all__ = ["ALL_DIES", "Network", "has_networks_without", "network", "network_ms", "predict_times", "terms"]

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
Member = tuple[tuple[F32, F32], ...]

# single products keep their rate up to more work than batches, of which few timings are long
LARGEST_FLOP_PER_SM: Final = {LearnedFamily.LINEAR: 1e9, LearnedFamily.BMM: 5e8, LearnedFamily.CONV: 2e9}
_WINOGRAD: Final = {LearnedFamily.CONV: 2.25}  # multiplications saved by F(2x2, 3x3)
ALL_DIES: Final = "all"  # name of the weights that were fitted to every die


@dataclass(frozen=True, kw_only=True, eq=False)
class Network:
    """Several perceptrons of two hidden layers, averaged in the logarithm of the time."""

    mean: F32  # (features,)
    scale: F32
    layers: tuple[tuple[tuple[F32, F32], ...], ...]  # by member: weight (inputs, outputs) and bias, thrice

    def outputs(self, features: F32) -> list[F32]:
        """Of each member, (rows, 2 A + 1)."""
        return [_forward(self._on_features(member), features) for member in self.layers]

    def _on_features(self, member: Member) -> Member:
        """Mean and scale of the features folded into the first layer."""
        (weight, bias), *rest = member
        scaled = weight / self.scale[:, None]
        return ((scaled, bias - self.mean @ scaled), *rest)


def _forward(member: tuple[tuple[F32, F32], ...], x: F32) -> F32:
    for weight, bias in member[:-1]:
        x = x @ weight
        x += bias
        away = np.exp(np.minimum(-x, np.float32(60.0)))
        away += np.float32(1.0)
        x /= away  # SiLU
    weight, bias = member[-1]
    return x @ weight + bias


def network(family: LearnedFamily, without_die: str = "") -> Network:
    """The weights in use, or those fitted without a die (how evaluations predict that die); all where none saw it."""
    return _read(weight_folder(), family, without_die if has_networks_without(family, without_die) else "")


@cache
def _read(folder: Path, family: LearnedFamily, without_die: str) -> Network:
    name = f"{family.value}-{without_die or ALL_DIES}.npz"
    with (folder / name).open("rb") as stream, np.load(stream) as stored:
        count = int(stored["members"])
        layers = tuple(
            tuple(
                (
                    stored[f"weight{member}_{layer}"].astype(np.float32),
                    stored[f"bias{member}_{layer}"].astype(np.float32),
                )
                for layer in range(3)
            )
            for member in range(count)
        )
        return Network(mean=stored["mean"], scale=stored["scale"], layers=layers)


def has_networks_without(family: LearnedFamily, die: str) -> bool:
    """Whether there are weights that never saw a die although others of the data's dies were seen."""
    return (weight_folder() / f"{family.value}-{die}.npz").is_file()


def terms(family: LearnedFamily, shapes: Real, machines: Machines) -> Terms:
    """The form's terms, a row a shape with its machine."""
    if family is LearnedFamily.CONV:
        return convolution_terms(shapes, machines)
    return product_terms(shapes, machines, family)


def network_ms(learned: Network, these: Terms) -> Real:
    """Times of rows, ms: the geometric mean over the members."""
    times = [combined_ms(out, these.compute_ms, these.memory_ms) for out in learned.outputs(these.features)]
    if len(times) == 1:
        return times[0]
    mean: Real = np.exp(np.mean([np.log(one) for one in times], axis=0))
    return mean


def predict_times(
    family: LearnedFamily, shapes: NDArray[np.generic], gpus: Sequence[Gpu], *, without_die: str = "",
    long_run: bool = True,
) -> F64:  # fmt: skip
    """FP32 times in ns, (gpus, items), of shapes (items, 4) with the columns of `COLUMNS`.

    `long_run`: as in a step of a model; False: alone, as a micro-benchmark of milliseconds runs. A shape with more work
    than `LARGEST_FLOP_PER_SM` takes as long as so many times a smaller batch of it: few timings are that long, and
    what a network makes of them grows faster than the work. Nothing is faster than the greater of peak and sustained
    rate, at F(2x2, 3x3)'s count of multiplications.
    """
    if not len(shapes) or not gpus:
        return np.zeros((len(gpus), len(shapes)))
    distinct, which = np.unique(np.asarray(shapes, dtype=np.float64), axis=0, return_inverse=True)
    machines = machines_of(gpus, family, long_run=long_run).against_items()
    single = distinct.astype(np.float32)
    pieces, times_over = _in_pieces(family, single, machines.sm_count)
    alone = network_ms(network(family, without_die), terms(family, pieces, machines)) * times_over
    drawn = drawn_to_roofline_ms(family, alone, parametric_ms(family, pieces, machines).reshape(-1) * times_over)
    shortest = _flop(family, single) / _WINOGRAD.get(family, 1.0) / _fastest_flop_per_ms(gpus)
    times = np.maximum(drawn.reshape(len(gpus), len(distinct)), shortest)
    found: F64 = times[:, which.reshape(-1)].astype(np.float64) * NS_PER_MS
    return found


def _flop(family: LearnedFamily, shapes: Real) -> Real:
    """(items,); of a convolution by the direct algorithm."""
    first, m, k, n = shapes.T
    flop: Real = 18.0 * first * m * k * n**2 if family is LearnedFamily.CONV else 2.0 * first * m * k * n
    return flop


def _fastest_flop_per_ms(gpus: Sequence[Gpu]) -> Real:
    """The greater of peak and sustained, (gpus, 1): nothing is predicted to be faster."""
    rates = [max(gpu.peak_flop_per_s[RateClass.FP32], gpu.sustained[RateClass.FP32].per_s) / 1e3 for gpu in gpus]
    return np.array(rates, dtype=np.float32)[:, None]


def _in_pieces(family: LearnedFamily, shapes: F32, sm_count: Real) -> tuple[Real, Real]:
    """Shapes of no more work than a network knows well, (gpus, items, 4), and how many of them a shape is, (pairs,).

    Where none is larger, the shapes as they are, for all GPUs.
    """
    _, m, k, _ = shapes.T
    per_sm = _flop(family, shapes) / sm_count
    wanted = np.maximum(1.0, np.exp2(np.ceil(np.log2(per_sm / np.float32(LARGEST_FLOP_PER_SM[family])))))
    if wanted.max(initial=1.0) <= 1.0:
        return shapes, np.ones(1, dtype=np.float32)
    # a batch is in the rows of a product, or in a weight's gradient what is contracted: the longer of both is cut
    cut = np.where(k > m, 2, 1) if family is LearnedFamily.LINEAR else np.zeros(len(shapes), dtype=np.int64)
    whole = shapes[np.arange(len(shapes)), cut]
    piece = np.maximum(1.0, np.ceil(whole / wanted))
    smaller = np.where(cut[:, None] == np.arange(shapes.shape[1]), piece[..., None], shapes)
    return smaller, (whole / piece).reshape(-1)
