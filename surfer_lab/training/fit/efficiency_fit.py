"""Which efficiencies make the sum over a step's items meet what the step took? Gradient descent through the sum.

The form is the one of `engine.learned.efficiency`, here in torch; a test keeps the two together. The loss is smooth in
the logarithm of the step; weights are drawn to the fractions of `fractions_before`, from which the fit starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from surfer_lab.engine.learned.efficiency import BEND, Efficiency, efficiency_ms
from surfer_lab.engine.learned.facts import FAMILIES, Fact
from surfer_lab.engine.learned.item_terms import GROUP_OF_FAMILY, IS_ARITHMETIC, Group, ItemTerms, item_terms
from surfer_lab.engine.rates import class_on, rates_of
from surfer_lab.engine.wave_scaling import KERNEL_FLOOR_NS
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.trace.tables import MemoryFormat
from surfer_lab.training.fit.fractions_before import FRACTIONS_BEFORE_STEPS, USUAL_FRACTIONS
from surfer_lab.training.fit.gradient_fit import one_thread
from surfer_lab.training.fit.step_table import StepTable
from surfer_lab.units import NS_PER_MS

__all__ = ["Evidence", "StepFitSettings", "evidence_of", "fit_efficiency", "roofline_efficiency", "steps_ms"]

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

_SMOOTH: Final = 0.1  # relative errors below count by their square


@dataclass(frozen=True, kw_only=True)
class StepFitSettings:
    """What a fit costs, and how strongly weights are held back: by squares of logarithms, per weight."""

    steps: int = 300  # more: nearer to what was seen, farther from a GPU that was not
    batch_rows: int = 96
    learning_rate: float = 0.018
    bend: float = 0.02  # on what features change
    family: float = 0.002
    layout: float = 0.006
    feature: float = 0.01
    seed: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """Measured steps: items of the table on each GPU, and for each row its step, GPU, time and weight."""

    table: StepTable
    gpus: tuple[Gpu, ...]
    terms: tuple[ItemTerms, ...]  # by GPU, one row of GPUs each
    step: I64  # (rows,)
    gpu: I64
    measured_ms: F64

    def __len__(self) -> int:
        return len(self.step)


def evidence_of(table: StepTable, gpus: Sequence[Gpu], step: I64, gpu: I64, measured_ms: F64) -> Evidence:
    """With torch's default flags: convolutions may use TF32, products may not."""
    base = table.facts[:, Fact.RATE_CLASS].astype(np.int8)
    tf32 = table.facts[:, Fact.TF32].astype(np.int8)
    terms = []
    for one in gpus:
        classes = class_on(base, tf32, rates_of([one]), convolution_tf32=True, matmul_tf32=False)
        terms.append(item_terms(table.facts, classes, [one]))
    return Evidence(
        table=table, gpus=tuple(gpus), terms=tuple(terms), step=step, gpu=gpu, measured_ms=measured_ms,
    )  # fmt: skip


def start_of() -> F32:
    """Logarithms of what was known before any step, (families + 1, layouts, 2): where a fit starts."""
    table = [FRACTIONS_BEFORE_STEPS.get(family, USUAL_FRACTIONS) for family in FAMILIES] + [USUAL_FRACTIONS]
    compute = [one[0] if arithmetic else 1.0 for one, arithmetic in zip(table, IS_ARITHMETIC, strict=True)]
    both = np.log(np.stack([compute, [one[1] for one in table]], axis=1)).astype(np.float32)
    return np.repeat(both[:, None, :], len(MemoryFormat), axis=1)


def roofline_efficiency(item_count: int, pair_count: int) -> Efficiency:
    """The calibrated roofline in the same form: what a learned part has to beat."""
    groups = len(Group)
    return Efficiency(
        base=start_of(), bias=np.zeros((groups, 2), np.float32), of_item=np.zeros((groups, item_count, 2), np.float32),
        of_pair=np.zeros((groups, pair_count, 2), np.float32), floor_ms=KERNEL_FLOOR_NS / NS_PER_MS,
    )  # fmt: skip


class _Weights(torch.nn.Module):
    def __init__(self, item_count: int, pair_count: int) -> None:
        super().__init__()
        families, layouts = len(FAMILIES) + 1, len(MemoryFormat)
        self.family = torch.nn.Parameter(torch.zeros(families, 2))
        self.layout = torch.nn.Parameter(torch.zeros(families, layouts, 2))
        self.feature = torch.nn.Parameter(torch.zeros(len(Group), item_count + pair_count, 2))
        self.floor = torch.nn.Parameter(torch.tensor(float(np.log(KERNEL_FLOOR_NS / NS_PER_MS))))
        self.start = torch.from_numpy(start_of())


def fit_efficiency(evidence: Evidence, rows: I64, weight: F64, settings: StepFitSettings) -> Efficiency:
    """Fit to some rows, drawn in proportion to `weight` (as long as `rows`)."""
    mean, scale = _standard(evidence)
    random = np.random.default_rng(settings.seed)
    chance = weight / weight.sum()
    terms = evidence.terms[0]
    with one_thread():
        torch.manual_seed(settings.seed)
        weights = _Weights(terms.of_item.shape[1], terms.of_pair.shape[2])
        optimizer = torch.optim.Adam(weights.parameters(), lr=settings.learning_rate)
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, settings.learning_rate, total_steps=settings.steps, pct_start=0.15
        )
        for _ in range(settings.steps):
            drawn = random.choice(rows, settings.batch_rows, p=chance)
            logs, bent = _logs(weights, evidence, drawn, mean, scale)
            target = torch.from_numpy(np.log(evidence.measured_ms[drawn]).astype(np.float32))
            loss = torch.nn.functional.smooth_l1_loss(logs, target, beta=_SMOOTH)
            held = (
                settings.bend * bent
                + settings.family * (weights.family**2).mean()
                + settings.layout * (weights.layout**2).sum(1).mean()
                + settings.feature * (weights.feature**2).sum(2).mean()
            )
            optimizer.zero_grad()
            (loss + held).backward()  # type: ignore[no-untyped-call] # torch leaves it without types
            optimizer.step()
            schedule.step()
    return _stored(weights, mean, scale, terms.of_item.shape[1])


def _standard(evidence: Evidence) -> tuple[F32, F32]:
    first = evidence.terms[0]
    columns = np.concatenate([first.of_item, first.of_pair[0]], axis=1)
    return columns.mean(axis=0), columns.std(axis=0) + np.float32(1e-3)


def _logs(
    weights: _Weights, evidence: Evidence, drawn: I64, mean: F32, scale: F32
) -> tuple[torch.Tensor, torch.Tensor]:
    """Logarithms of the drawn steps' times, and the mean square of what features change."""
    items, place = evidence.table.items_of(evidence.step[drawn])
    gpu = evidence.gpu[drawn][place]
    first = evidence.terms[0]
    pairs = np.empty((len(items), first.of_pair.shape[2]), dtype=np.float32)
    compute, memory = np.empty(len(items), dtype=np.float32), np.empty(len(items), dtype=np.float32)
    for one, terms in enumerate(evidence.terms):
        own = gpu == one
        pairs[own] = terms.of_pair[0, items[own]]
        compute[own], memory[own] = terms.compute_ms[0, items[own]], terms.memory_ms[0, items[own]]
    columns = (np.concatenate([first.of_item[items], pairs], axis=1) - mean) / scale
    facts = evidence.table.facts[items]
    family = facts[:, Fact.FAMILY].astype(np.int64)
    layout = facts[:, Fact.MEMORY_FORMAT].astype(np.int64)
    group = GROUP_OF_FAMILY[family]
    inputs = torch.from_numpy(columns)
    bent = torch.zeros(len(items), 2)
    for one in Group:
        rows = torch.from_numpy(np.flatnonzero(group == one))
        if len(rows):
            bent = bent.index_copy(0, rows, inputs[rows] @ weights.feature[one])
    bent = BEND * torch.tanh(bent / BEND)
    reached = weights.start[family, layout] + weights.family[family] + weights.layout[family, layout] + bent
    times = torch.hypot(
        torch.from_numpy(compute) * torch.exp(-reached[:, 0]), torch.from_numpy(memory) * torch.exp(-reached[:, 1])
    )
    launches = torch.from_numpy((facts[:, Fact.LAUNCHES]).astype(np.float32))
    counts = torch.from_numpy(evidence.table.count[items].astype(np.float32))
    whole = counts * (times + launches * torch.exp(weights.floor))
    sums = torch.zeros(len(drawn)).index_add(0, torch.from_numpy(place), whole)
    return torch.log(sums), (bent**2).mean()


def _stored(weights: _Weights, mean: F32, scale: F32, item_count: int) -> Efficiency:
    """As the package keeps them: the features' mean and scale folded in."""
    feature = (weights.feature.detach().numpy() / scale[None, :, None]).astype(np.float32)
    base = (weights.start + weights.family[:, None, :] + weights.layout).detach().numpy()
    return Efficiency(
        base=base.astype(np.float32), bias=-np.einsum("f,gfo->go", mean, feature).astype(np.float32),
        of_item=feature[:, :item_count], of_pair=feature[:, item_count:], floor_ms=float(np.exp(weights.floor.item())),
    )  # fmt: skip


def steps_ms(weights: Efficiency, evidence: Evidence, rows: I64) -> F64:
    """Times of some rows' steps, ms: the sum over their items."""
    found = np.empty(len(rows))
    steps = evidence.step[rows]
    for one, terms in enumerate(evidence.terms):
        own = np.flatnonzero(evidence.gpu[rows] == one)
        if not len(own):
            continue
        items, place = evidence.table.items_of(steps[own])
        distinct, which = np.unique(items, return_inverse=True)
        some = ItemTerms(
            of_item=terms.of_item[distinct], of_pair=terms.of_pair[:, distinct],
            compute_ms=terms.compute_ms[:, distinct], memory_ms=terms.memory_ms[:, distinct],
            shortest_ms=terms.shortest_ms[:, distinct],
        )  # fmt: skip
        each = efficiency_ms(weights, evidence.table.facts[distinct], some)[0]
        found[own] = np.bincount(
            place, weights=each[which] * evidence.table.count[items], minlength=len(own)
        )  # fmt: skip
    return found
