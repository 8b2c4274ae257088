"""Strategies on a captured step: bytes by closed form, times monotone in the link, efficiency, memory, 1,024 GPUs."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surfer_lab.engine.predict import predict
from surfer_lab.errors import OptionError, PredictionError
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.hardware.machines import load_machines
from surfer_lab.planner.pricing import load_prices
from surfer_lab.planner.scaling import (
    FixedBatch,
    ScalingSource,
    Tuning,
    profile_of,
    scaling_curve,
    scaling_point,
    strategy_of,
)
from surfer_lab.workloads import build
from surfer_lab.workloads.any_batch import capture_step
from surfer_lab.workloads.named_step import model_step

MACHINE = load_machines().find("DGX A100")
GPU = load_catalog().find(MACHINE.gpu)
BATCH = 32


@pytest.fixture(scope="module")
def source() -> ScalingSource:
    captured = capture_step(
        model_step(lambda: build("gpt2", layers=8, width=256, heads=4, sequence=128), name="gpt2"), BATCH
    )
    assert captured.scaling is not None
    scaling = captured.scaling

    @cache
    def at(batch: int):
        return profile_of(predict(scaling.at(batch), [GPU]), batch_size=batch)

    return ScalingSource(own=at(BATCH), at=at)


def linked(**factors):
    return replace(
        MACHINE,
        links=tuple(link.scaled(**factors) for link in MACHINE.links),
        network=MACHINE.network.scaled(**factors) if MACHINE.network is not None else None,
    )


def test_the_profile_has_a_gradient_a_parameter_and_its_blocks_make_the_step(source):
    own = source.own
    # one embedding for tokens and output: 2 + 8 x 12 + 2 parameters
    assert len(own.gradient_bytes) == 2 + 8 * 12 + 2
    assert own.gradient_bytes.sum() == own.parameter_bytes
    assert list(own.gradient_ready_ns) == sorted(own.gradient_ready_ns)
    assert len(own.blocks) == 8 + 2
    assert sum(b.forward_ns + b.backward_ns + b.optimizer_ns for b in own.blocks) == pytest.approx(
        own.step_ns, rel=1e-6
    )
    assert sum(b.parameter_bytes for b in own.blocks) == own.parameter_bytes
    # a block is entered by its batch of 128 x 256 floats
    assert own.blocks[3].input_bytes == BATCH * 128 * 256 * 4


@pytest.mark.parametrize("count", [2, 8, 64, 1024])
def test_bytes_sent_are_the_closed_forms(source, count):
    size = source.own.parameter_bytes
    ddp = scaling_point(source, MACHINE, count)
    assert ddp.schedule.wire_bytes == 2 * (count - 1) * size
    fsdp = scaling_point(source, MACHINE, count, strategy=strategy_of("fsdp"))
    # every parameter but the root's gathered twice, all gradients scattered once
    root = sum(block.parameter_bytes for block in (source.own.blocks[0], source.own.blocks[-1]))
    assert fsdp.schedule.wire_bytes == (count - 1) * (size + (size - root) + size)
    zero2 = scaling_point(source, MACHINE, count, strategy=strategy_of("zero2"))
    assert zero2.schedule.wire_bytes == 2 * (count - 1) * size


def test_tensor_parallelism_sends_four_all_reduces_a_block(source):
    point = scaling_point(source, MACHINE, 4, strategy=strategy_of("tp"))
    residual = 4 * BATCH * 128 * 256 * 4  # a group has the batch of four GPUs
    assert point.schedule.wire_bytes == (4 * 8 + 2) * 2 * 3 * residual


def test_a_pipeline_hands_each_micro_batch_on_and_back(source):
    point = scaling_point(source, MACHINE, 4, strategy=strategy_of("pp:4:8"))
    residual = (4 * BATCH // 8) * 128 * 256 * 4
    assert point.schedule.wire_bytes == 8 * 2 * 3 * residual


def test_a_pipeline_of_equal_stages_is_idle_as_the_formula_says():
    from surfer_lab.planner.scaling.collectives import Group
    from surfer_lab.planner.scaling.events import simulate
    from surfer_lab.planner.scaling.pipeline import Stage, _order, _Pieces

    link = MACHINE.links[0].scaled(bandwidth=1e12, latency=0.0)
    stages, micro = 4, 12
    stage = Stage(forward_ns=10, backward_ns=20, optimizer_ns=0, parameter_bytes=0, output_bytes=0)
    group = Group(per_node=stages, node_count=1, link=link, network=None)
    alone = Group(per_node=1, node_count=1, link=None, network=None)
    orders = [_order(rank, stages, micro, 1) for rank in range(stages)]
    schedule = simulate(_Pieces([stage] * stages, orders, group, alone, Tuning(), 1.0).all())
    assert schedule.end == pytest.approx((micro + stages - 1) * 30)
    # twice interleaved: the bubble halves
    orders = [_order(rank, stages, micro, 2) for rank in range(stages)]
    half = replace(stage, forward_ns=5, backward_ns=10)
    schedule = simulate(_Pieces([half] * 2 * stages, orders, group, alone, Tuning(chunks=2), 1.0).all())
    assert schedule.end == pytest.approx(micro * 30 + (stages - 1) * 15)


STRATEGIES = st.sampled_from(["ddp", "fsdp", "zero2", "tp", "pp:4:8", "pp:2:4:2"])


@settings(max_examples=25)
@given(word=STRATEGIES, count=st.sampled_from([4, 8, 16, 64]), factor=st.floats(1.0, 50.0))
def test_efficiency_falls_with_latency_and_rises_with_bandwidth(source, word, count, factor):
    strategy = strategy_of(word)
    plain = scaling_point(source, MACHINE, count, strategy=strategy)
    late = scaling_point(source, linked(latency=factor), count, strategy=strategy)
    wide = scaling_point(source, linked(bandwidth=factor), count, strategy=strategy)
    assert late.efficiency <= plain.efficiency * (1 + 1e-9)
    assert wide.efficiency >= plain.efficiency * (1 - 1e-9)
    assert plain.low_ns <= plain.step_ns <= plain.high_ns
    assert plain.exposed_ns <= plain.communication_ns + 1e-6


@pytest.mark.parametrize("word", ["ddp", "fsdp", "zero2", "tp", "pp", "tables"])
def test_one_gpu_is_the_step_itself(source, word):
    point = scaling_point(source, MACHINE, 1, strategy=strategy_of(word))
    assert point.step_ns == pytest.approx(source.own.step_ns, rel=1e-6)
    assert point.efficiency == pytest.approx(1.0, rel=1e-6)
    assert point.schedule.wire_bytes == 0


@pytest.mark.parametrize("word", ["ddp", "fsdp", "tp", "pp"])
def test_a_thousand_gpus_are_simulated(source, word):
    point = scaling_point(source, MACHINE, 1024, strategy=strategy_of(word))
    assert point.node_count == 128
    assert 0 < point.efficiency <= 1


def test_strong_scaling_shares_one_batch(source):
    curve = scaling_curve(source, MACHINE, (1, 2, 4, 8), fixed=FixedBatch.GLOBAL)
    assert {point.batch_size for point in curve.points} == {BATCH}
    steps = [point.step_ns for point in curve.points]
    assert steps == sorted(steps, reverse=True)
    weak = scaling_curve(source, MACHINE, (1, 2, 4, 8))
    assert [point.batch_size for point in weak.points] == [BATCH * count for count in (1, 2, 4, 8)]


def test_counts_that_cannot_be_are_notes_and_none_left_is_an_error(source):
    curve = scaling_curve(source, MACHINE, (1, 8, 12))
    assert [point.gpu_count for point in curve.points] == [1, 8]
    assert any("12 GPUs" in note for note in curve.notes)
    with pytest.raises(OptionError):
        scaling_curve(source, MACHINE, (12,))


def test_sharding_needs_less_memory_on_more_gpus_and_buckets_need_more_than_one_gpu(source):
    fsdp = scaling_curve(source, MACHINE, (1, 2, 8), strategy=strategy_of("fsdp")).points
    ddp = scaling_curve(source, MACHINE, (1, 8)).points
    assert fsdp[1].memory_bytes is not None
    assert fsdp[2].memory_bytes is not None
    assert fsdp[2].memory_bytes < fsdp[1].memory_bytes
    assert ddp[0].memory_bytes is not None
    assert ddp[1].memory_bytes == ddp[0].memory_bytes + source.own.parameter_bytes


def test_accumulated_gradients_are_sent_once_a_step(source):
    plain = scaling_point(source, MACHINE, 8)
    four = scaling_point(source, MACHINE, 8, tuning=Tuning(accumulation=4))
    assert four.schedule.wire_bytes == plain.schedule.wire_bytes
    assert four.batch_size == 4 * 8 * BATCH
    assert four.efficiency > plain.efficiency


def test_all_gpus_are_paid_for(source):
    prices = load_prices(load_catalog(), {MACHINE.gpu: 2.0})
    point = scaling_point(source, MACHINE, 8, prices=prices)
    assert point.usd_per_hour == 16.0
    assert point.usd_per_1000_steps == pytest.approx(16.0 * point.step_ns * 1e3 / 3.6e12)


def test_a_batch_that_is_not_known_is_refused(source):
    alone = ScalingSource(own=source.own)
    with pytest.raises(PredictionError, match="at its own batch"):
        scaling_point(alone, MACHINE, 2, fixed=FixedBatch.GLOBAL)


def test_words_of_strategies_are_read_and_wrong_ones_refused():
    assert strategy_of("zero3").name == "fsdp"
    assert strategy_of("pp:4:16:2").chunks == 2
    for wrong in ("mp", "ddp:4", "pp:0", "tp:x", ""):
        with pytest.raises(OptionError):
            strategy_of(wrong)
