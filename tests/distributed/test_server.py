"""The parameter server by itself: what an update is, what is counted, when a phase ends. No Ray."""

from __future__ import annotations

import asyncio
from functools import partial

import numpy as np
import pytest

from surfer_lab.distributed.checkpoint import load_checkpoint, save_checkpoint
from surfer_lab.distributed.head_server import HeadServer
from surfer_lab.distributed.messages import Push
from surfer_lab.distributed.problem import Quadratic
from surfer_lab.distributed.server import ParameterServer
from surfer_lab.errors import OptionError
from surfer_lab.planner.convergence.run_record import UPDATE_COLUMNS, PhaseRequest, RunState
from surfer_lab.planner.convergence.setting import Setting

START = RunState(weights=np.array([1.0, 2.0], np.float32), velocity=np.zeros(2, np.float32), updates=7, seconds=3.0)
PHASE = 5


def request(groups=1, **words):
    words = {"max_updates": 100, "window": 2, **words}
    return PhaseRequest(setting=Setting(groups=groups, momentum=0.5, learning_rate=0.1), batch_size=4, **words)


def push(group=0, version=0, loss=1.0, gradient=(1.0, 0.0)):
    return Push(
        phase=PHASE, group=group, version=version, gradient=np.array(gradient, np.float32), loss=loss, samples=4
    )  # fmt: skip


def served(script, *, folder="", keeps=False, asked=None, **words):
    async def run():
        server = ParameterServer(folder=folder, **words)
        await server.begin(PHASE, asked or request(), START, keeps=keeps, facts={"why": "test"})
        return await script(server), await server.result(), await server.status()

    return asyncio.run(run())


def test_an_update_is_momentum_and_a_step():
    async def script(server):
        await server.exchange(Push(phase=PHASE, group=0))
        await server.exchange(push())
        return await server.exchange(push(version=1))

    pull, result, _ = served(script)
    # v = -0.1, w = 0.9; v = -0.05 - 0.1, w = 0.75
    assert pull.weights == pytest.approx([0.75, 2.0])
    assert pull.version == 2
    assert result["state"].velocity == pytest.approx([-0.15, 0.0])
    assert result["state"].updates == 9


def test_staleness_is_the_updates_between_reading_and_writing():
    async def script(server):
        await asyncio.gather(*(server.exchange(Push(phase=PHASE, group=group)) for group in range(3)))
        for group in range(3):
            await server.exchange(push(group=group, version=0))
        await server.exchange(push(group=0, version=1))

    _, result, status = served(script, asked=request(groups=3))
    assert result["updates"][:, UPDATE_COLUMNS.index("staleness")].tolist() == [0, 1, 2, 2]
    assert status.staleness == (1, 1, 2)


def test_groups_start_together_and_a_late_one_at_once():
    async def script(server):
        first = asyncio.create_task(server.exchange(Push(phase=PHASE, group=0)))
        await asyncio.sleep(0)
        assert not first.done()
        await server.exchange(Push(phase=PHASE, group=1))
        assert (await first).version == 0
        return await server.exchange(Push(phase=PHASE, group=0))  # replaced meanwhile

    pull, _, _ = served(script, asked=request(groups=2))
    assert not pull.is_over


@pytest.mark.parametrize(
    ("losses", "words", "field"),
    [
        ((1.0, 0.5, 0.3), {"target_loss": 0.4}, "is_reached"),
        ((1.0, float("nan")), {}, "is_diverged"),
        ((1.0, 50.0), {"diverged_above": 20.0}, "is_diverged"),
        ((1.0, 1.0, 1.0), {"max_updates": 3}, None),
    ],
)
def test_a_phase_ends_for_its_reason_and_groups_are_told(losses, words, field):
    async def script(server):
        await server.exchange(Push(phase=PHASE, group=0))
        return [await server.exchange(push(version=at, loss=loss)) for at, loss in enumerate(losses)]

    pulls, result, status = served(script, asked=request(**words))
    assert [pull.is_over for pull in pulls] == [False] * (len(losses) - 1) + [True]
    assert status.is_done
    for name in ("is_reached", "is_diverged"):
        assert result[name] == (name == field)


def test_what_belongs_to_an_earlier_phase_changes_nothing():
    async def script(server):
        return await server.exchange(Push(phase=PHASE - 1, group=0, version=0, gradient=np.ones(2, np.float32)))

    pull, result, _ = served(script)
    assert pull.is_over
    assert len(result["updates"]) == 0
    assert result["state"].weights == pytest.approx(START.weights)


def test_stopping_lets_waiting_groups_go_and_keeps_the_state(tmp_path):
    async def script(server):
        await server.exchange(Push(phase=PHASE, group=0))
        await server.exchange(push())
        await server.stop()
        return await server.exchange(push(version=1))

    pull, result, _ = served(script, folder=str(tmp_path), keeps=True)
    assert pull.is_over
    assert result["is_interrupted"]
    state, facts = load_checkpoint(tmp_path)
    assert state.weights == pytest.approx([0.9, 2.0])
    assert (state.updates, facts) == (8, {"why": "test"})


def test_every_update_is_in_a_checkpoint_that_is_due_at_once(tmp_path):
    async def script(server):
        await server.exchange(Push(phase=PHASE, group=0))
        await server.exchange(push())

    served(script, folder=str(tmp_path), keeps=True, checkpoint_s=0.0)
    assert load_checkpoint(tmp_path)[0].updates == 8


def test_a_phase_that_is_not_kept_leaves_no_checkpoint(tmp_path):
    async def script(server):
        await server.exchange(Push(phase=PHASE, group=0))
        await server.exchange(push())
        await server.stop()

    served(script, folder=str(tmp_path), checkpoint_s=0.0)
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_is_what_was_saved(tmp_path):
    save_checkpoint(tmp_path, START, {"rates": np.array([1.5, 2.0])})
    state, facts = load_checkpoint(tmp_path)
    assert state.weights.tolist() == [1.0, 2.0]
    assert (state.updates, state.seconds, facts) == (7, 3.0, {"rates": [1.5, 2.0]})


@pytest.mark.parametrize("content", [None, b"", b"PK\x03\x04 cut off"])
def test_a_missing_or_damaged_checkpoint_is_one_sentence(tmp_path, content):
    if content is not None:
        (tmp_path / "checkpoint.npz").write_bytes(content)
    with pytest.raises(OptionError, match="no checkpoint to resume from"):
        load_checkpoint(tmp_path)


def test_a_problem_without_a_head_cannot_be_merged():
    with pytest.raises(OptionError, match="no separate head"):
        HeadServer(partial(Quadratic, dimensions=2))
