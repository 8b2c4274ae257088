"""Efficiencies are found through the sum: one form in torch and numpy, repeatable fits, held-out rows unseen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from surfer_lab.engine.learned.efficiency import Efficiency
from surfer_lab.engine.learned.facts import COLUMNS_OF_FACTS, FAMILIES, Fact
from surfer_lab.engine.lowering import Family
from surfer_lab.engine.rates import CLASS_INDEX
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.hardware.dtypes import RateClass
from surfer_lab.training.fit import efficiency_fit
from surfer_lab.training.fit.efficiency_fit import (
    Evidence,
    StepFitSettings,
    evidence_of,
    fit_efficiency,
    roofline_efficiency,
    steps_ms,
)
from surfer_lab.training.fit.step_protocols import balanced, gain_figures, held_out_steps, step_rows
from surfer_lab.training.fit.step_table import StepTable

QUICK = StepFitSettings(steps=60, batch_rows=16)
MADE_OF = (Family.MM, Family.UNARY, Family.BATCH_NORM, Family.CONV_KXK)
STEPS = 60


def made_up_table() -> StepTable:
    """Steps of four items each, of families that weigh differently from step to step."""
    random = np.random.default_rng(0)
    facts = np.zeros((STEPS * len(MADE_OF), COLUMNS_OF_FACTS))
    sizes = 2.0 ** random.integers(16, 24, size=len(facts))
    facts[:, Fact.FAMILY] = [FAMILIES.index(family) for family in MADE_OF] * STEPS
    facts[:, Fact.RATE_CLASS] = CLASS_INDEX[RateClass.FP16]
    facts[:, Fact.MEMORY_FORMAT] = 1
    facts[:, Fact.READ_BYTES], facts[:, Fact.MOVED_BYTES] = 2 * sizes, 4 * sizes
    facts[:, Fact.LAUNCHES] = facts[:, Fact.FLOP_FRACTION] = 1
    products = np.isin(facts[:, Fact.FAMILY], [FAMILIES.index(Family.MM), FAMILIES.index(Family.CONV_KXK)])
    m, n, k = sizes / 1024, 1024.0, 512.0
    facts[products, Fact.BATCH] = 1
    facts[products, Fact.M], facts[products, Fact.N], facts[products, Fact.K] = m[products], n, k
    facts[:, Fact.FLOP] = np.where(products, 2 * m * n * k, sizes)
    start = np.arange(STEPS + 1) * len(MADE_OF)
    step = np.arange(STEPS, dtype=np.int64)
    families = tuple(f"family{number % 10}" for number in range(STEPS))
    return StepTable(facts=facts, count=np.ones(len(facts)), start=start, step=step, family=families)


def made_up_evidence(factor: float = 1.0) -> Evidence:
    table, gpu = made_up_table(), load_catalog().find("RTX 3090")
    places = np.zeros(STEPS, dtype=np.int64)
    plain = evidence_of(table, [gpu], table.step, places, np.ones(STEPS))
    return replace(plain, measured_ms=factor * steps_ms(roofline(plain), plain, table.step))


def roofline(evidence: Evidence) -> Efficiency:
    return roofline_efficiency(evidence.terms[0].of_item.shape[1], evidence.terms[0].of_pair.shape[2])


def test_the_form_is_the_same_in_torch_and_in_numpy() -> None:
    evidence = made_up_evidence()
    mean, scale = efficiency_fit._standard(evidence)
    first = evidence.terms[0]
    weights = efficiency_fit._Weights(first.of_item.shape[1], first.of_pair.shape[2])
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in (weights.family, weights.layout, weights.feature):
            parameter.copy_(0.05 * torch.randn(parameter.shape))
        logs, _ = efficiency_fit._logs(weights, evidence, evidence.step, mean, scale)
    stored = efficiency_fit._stored(weights, mean, scale, first.of_item.shape[1])
    assert steps_ms(stored, evidence, evidence.step) == pytest.approx(np.exp(logs.numpy()), rel=2e-3)


def test_a_fit_repeats_itself_and_leaves_torchs_random_state_alone() -> None:
    evidence, before = made_up_evidence(1.5), torch.random.get_rng_state()
    rows, weight = evidence.step, np.ones(STEPS)
    first, second = (fit_efficiency(evidence, rows, weight, QUICK) for _ in range(2))
    assert (first.base == second.base).all()
    assert (first.of_item == second.of_item).all()
    assert torch.equal(before, torch.random.get_rng_state())


def test_a_fit_finds_steps_that_take_half_as_long_again() -> None:
    evidence = made_up_evidence(1.5)
    before = np.abs(steps_ms(roofline(evidence), evidence, evidence.step) / evidence.measured_ms - 1.0)
    fitted = fit_efficiency(evidence, evidence.step, np.ones(STEPS), QUICK)
    after = np.abs(steps_ms(fitted, evidence, evidence.step) / evidence.measured_ms - 1.0)
    assert np.median(before) == pytest.approx(1 / 3, rel=1e-3)
    assert np.median(after) < 0.1


def made_up_rows() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "gpu": ["RTX 3090", "RTX 4090"] * (STEPS // 2), "mode": "infer", "precision": "amp", "layout": "NCHW",
            "torch": "2.4.0", "compile": "none", "arch": [f"arch{number // 3}" for number in range(STEPS)],
            "model": [f"arch{number // 3}" for number in range(STEPS)], "img_size": 224, "batch": 64,
            "step_ms": made_up_evidence().measured_ms,
        }
    )  # fmt: skip


def test_every_row_is_judged_by_weights_that_never_saw_its_group() -> None:
    steps = step_rows(made_up_rows(), made_up_table(), load_catalog())
    families, architectures, gpus = held_out_steps(steps, StepFitSettings(steps=2, batch_rows=4))
    for way in (families, architectures, gpus):
        assert np.isfinite(way.predicted_ms).all()
    assert (len(families.weights), len(architectures.weights)) == (5, 2)
    assert set(gpus.weights) == {"GA102", "AD102"}


def test_rows_of_a_table_weigh_alike_whatever_their_count() -> None:
    rows = made_up_rows().assign(mode=["train"] * 6 + ["infer"] * (STEPS - 6), gpu="RTX 3090")
    weight = balanced(rows)
    assert weight.sum() == pytest.approx(1.0)
    assert weight[:6].sum() == pytest.approx(0.4)


def test_a_gain_is_of_the_same_network_and_per_image() -> None:
    rows = pd.DataFrame(
        {
            "gpu": "RTX 4090", "mode": "infer", "precision": "amp", "layout": "NCHW", "torch": "2.4.0", "img_size": 224,
            "model": ["a", "a", "b", "b"], "compile": ["none", "dynamo"] * 2, "batch": [64, 32, 64, 64],
            "step_ms": [10.0, 2.5, 10.0, 5.0],
        }
    )  # fmt: skip
    figures = gain_figures(rows, rows["step_ms"].to_numpy())
    assert figures[-1]["cases"] == 2
    assert figures[-1]["mean_percent"] == pytest.approx(0.0)
