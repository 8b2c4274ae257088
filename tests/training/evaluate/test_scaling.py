"""What is judged of several GPUs, and how: rows of the tables, spreads that never see their model, the gloo case."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from surfer_lab.engine.precision import Precision
from surfer_lab.hardware.machines import load_machines
from surfer_lab.training.evaluate import gloo, scaling
from surfer_lab.training.evaluate.scaling_rows import Kind, Published, Run, published_rows, without_workload
from surfer_lab.workloads import factory


@pytest.fixture(scope="module")
def rows(data_dir: Path) -> tuple[Published, ...]:
    return published_rows(data_dir)


def test_every_figure_has_a_source_a_known_machine_and_a_workload(rows):
    machines = load_machines()
    for row in rows:
        assert row.source
        assert row.measured > 0
        assert callable(factory(row.workload))
        for run in filter(None, (row.run, row.base)):
            assert machines.find(run.machine).node_count(run.num_gpus) >= 1
            assert run.batch >= 1


def test_the_tables_are_read_as_they_are_printed(rows):
    by_source = {(row.model, row.source, row.run.precision): row for row in rows if row.kind == Kind.SCALING}
    resnet = next(
        row for (model, source, precision), row in by_source.items()
        if model == "ResNet-50" and "line 607 " in source and precision is Precision.AMP_FP16
    )  # fmt: skip
    assert resnet.measured == pytest.approx(8322 / 1200)
    assert (resnet.base.num_gpus, resnet.run.num_gpus, resnet.run.batch) == (1, 8, 256)
    ncf = next(
        row for (model, source, precision), row in by_source.items()
        if model == "NCF" and "line 814 " in source and precision is Precision.TF32
    )  # fmt: skip
    assert ncf.measured == pytest.approx(110.16 / 22.59)
    assert (ncf.base.batch, ncf.run.batch) == (1_048_576, 131_072)
    bert = next(
        row for (model, source, precision), row in by_source.items()
        if model == "BERT" and "line 856 " in source and precision is Precision.AMP_FP16
    )  # fmt: skip
    assert (bert.run.batch, bert.run.accumulation) == (8, 256)


def test_bert_of_that_round_sends_nothing_before_its_backward_pass_has_ended(rows):
    bert = next(row for row in rows if row.kind == Kind.LINK and row.model == "BERT")
    for run in (bert.run, bert.base):
        assert run.bucket_mib is not None
        assert run.bucket_mib * 2**20 > 4 * 340e6  # more than all its gradients
    assert {row.model for row in rows if row.kind == Kind.LINK} == {"DLRM", "BERT", "ResNet-50", "Mask R-CNN"}


def test_all_kinds_and_the_models_that_must_be_judged_are_there(rows):
    assert {row.kind for row in rows} == {Kind.SCALING, Kind.LINK, Kind.STRATEGY, Kind.PRECISION, Kind.COMPILE}
    judged = {row.model for row in rows if row.kind == Kind.SCALING}
    assert judged >= {"ResNet-50", "SSD", "BERT", "Transformer", "GNMT", "NCF", "DLRM"}
    assert sum(row.kind == Kind.PRECISION for row in rows) == 12
    assert sum(row.model == "GPT-2 Large" for row in rows) == 3


def test_models_without_a_workload_are_listed(data_dir: Path):
    assert {model for model, _ in without_workload(data_dir)} == {"Transformer-XL", "Jasper", "TFT"}


def figure(model: str, measured: float) -> Published:
    run = Run(machine="DGX A100", num_gpus=8, batch=4, precision=Precision.FP32)
    base = Run(machine="DGX A100", num_gpus=1, batch=4, precision=Precision.FP32)
    return Published(
        kind=Kind.SCALING, model=model, workload="lenet", run=run, base=base, measured=measured, source="a test"
    )


def test_a_models_spread_is_that_of_the_others():
    rows = [figure("a", 8 / 1.05), figure("b", 8 / 1.05), figure("c", 8 / 1.20)]
    slow = np.array([8 / (1 + 1.424 * spread) for spread in scaling.SPREADS])
    found = scaling._spreads(rows, {id(row): slow for row in rows})
    # what suits c alone (14 %) moves a and b, but never c itself
    assert found["c", False] == pytest.approx(0.04)
    changed = [*rows[:2], figure("c", 8 / 1.40)]
    assert scaling._spreads(changed, {id(row): slow for row in changed})["c", False] == found["c", False]


def test_the_best_constant_is_the_one_that_is_right_where_all_agree():
    assert scaling._best_constant([figure("a", 6.0), figure("b", 6.0)]) == pytest.approx(0.75)


def test_the_gloo_case_is_simulated_from_what_was_measured_of_one_rank():
    one = {
        "alone_s": [0.1, 0.1, 0.1], "ready_s": [[0.08, 0.05]] * 3, "gradient_bytes": [10**6, 4 * 10**6],
        "ddp_s": {str(bucket): [0.12] * 3 for bucket in gloo.BUCKETS_MIB},
    }  # fmt: skip
    found = {
        "rounds": 3,
        "all_reduce_s": [[size, [1e-4 + size / 1e9] * 3] for size in gloo.SIZES],
        "copy_s": [1e-9] * 3,
        "product_s": [0.1] * 3,
        "product_beside_s": [0.105] * 3,
        "beside_all_reduce_s": [0.01] * 3,
        "models": dict.fromkeys(gloo.MODELS, one),
    }
    assert gloo._contention(found) == pytest.approx(0.5)
    cases = gloo._cases(found)
    assert len(cases) == len(gloo.MODELS) * len(gloo.BUCKETS_MIB)
    # one bucket of 5 MB, 5.1 ms, after the last gradient at 80 ms; the optimizer's 20 ms follow
    whole = next(case for case in cases if case.columns["bucket_mib"] == 25.0)
    assert whole.predicted_ms == pytest.approx(80 + 5.1 + 20, rel=0.01)
    # two buckets: the first hides behind the second's gradient, half as fast beside it
    split = next(case for case in cases if case.columns["bucket_mib"] == 1.0)
    assert split.predicted_ms == pytest.approx(80 + 4.1 / 2 + 1.1 + 20, rel=0.01)
