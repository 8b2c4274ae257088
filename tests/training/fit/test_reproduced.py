"""A fit gives the same bytes twice, and its held-out figures come out of the weights again, without their manifest."""

from __future__ import annotations

import shutil
from copy import deepcopy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from surfer_lab.engine.learned.form import LearnedFamily
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.training.fit.deepbench import with_deepbench
from surfer_lab.training.fit.gradient_fit import FitSettings
from surfer_lab.training.fit.micro_benchmarks import TABLES, read_timings
from surfer_lab.training.fit.reproduced import differences, files_that_differ, reproduced_figures
from surfer_lab.training.fit.text import text_of_check
from surfer_lab.training.fit.train import TrainingRun, train

QUICK = FitSettings(steps=10, batch_rows=32, hidden=4)
RATES = {"V100-PCIe-32GB": 13.9e9, "T4": 6.9e9, "P100-PCIe-16GB": 7.9e9}  # FLOP a millisecond


def made_up_tables(folder: Path) -> Path:
    """Forty shapes of each family on three GPUs, half as fast as their rates."""
    (folder / "kernels").mkdir(parents=True)
    random = np.random.default_rng(0)
    for family, (name, columns) in TABLES.items():
        shapes = random.integers(8, 64 if family is LearnedFamily.CONV else 512, size=(40, 4)).astype(np.int64)
        if family is LearnedFamily.LINEAR:
            shapes[:, 0] = 1
        flop = 2.0 * shapes.prod(axis=1) * (9 * shapes[:, 3] if family is LearnedFamily.CONV else 1)
        rows = [
            pd.DataFrame(shapes, columns=list(columns)).assign(
                gpu=gpu, time_ms=0.02 + 2.0 * flop / rate, source_split="test"
            )
            for gpu, rate in RATES.items()
        ]
        pd.concat(rows, ignore_index=True).to_parquet(folder / "kernels" / f"{name}.parquet")
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_up_tables(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def run(data: Path, tmp_path_factory: pytest.TempPathFactory) -> TrainingRun:
    return train(data, tmp_path_factory.mktemp("weights"), settings=QUICK)


def test_two_fits_give_the_same_bytes(run: TrainingRun, data: Path, tmp_path: Path) -> None:
    again = train(data, tmp_path, settings=QUICK)
    assert {file.suffix for file in again.folder.iterdir()} == {".npz", ".json"}
    assert files_that_differ(run.folder, again.folder) == []


def test_held_out_figures_come_out_of_the_weights_again(run: TrainingRun, data: Path) -> None:
    compared = differences(run.manifest, reproduced_figures(run.folder, data, None))
    assert len(compared) > 50
    assert {one.name.split("/")[1] for one in compared} == {family.value for family in LearnedFamily}
    assert max(one.size for one in compared) == 0.0


def test_deepbenchs_operations_join_the_fit_of_their_family_and_are_not_judged(
    run: TrainingRun, data: Path, tmp_path: Path
) -> None:
    more = tmp_path / "data"
    shutil.copytree(data, more)
    (more / "deepbench").mkdir()
    rows = [{"kind": "gemm", "m": 512, "n": 256 * number, "k": 1024, "fwd_ms": 0.1 * number} for number in range(1, 9)]
    table = pd.DataFrame(rows).assign(gpu="1080Ti", mode="train", precision="fp32", a_trans="N", b_trans="N")
    table.to_csv(more / "deepbench" / "kernels.csv", index=False)
    timings = read_timings(more, LearnedFamily.LINEAR, load_catalog())
    joined = with_deepbench(timings, more, load_catalog())
    assert joined.is_deepbench.sum() == 8
    assert joined.shapes[-1].tolist() == [1, 512, 1024, 2048]
    assert set(joined.dies) - set(timings.dies) == {"GP102"}
    fitted = train(more, tmp_path / "weights", settings=QUICK)
    assert (fitted.folder / "linear-GP102.npz").is_file()
    assert {name[:4] for name in files_that_differ(run.folder, fitted.folder)} == {"line", "mani"}
    for entry in fitted.manifest["families"].values():
        assert entry["held_out"]["cases"] == 40 * len(RATES)


def test_a_figure_that_the_weights_do_not_reach_is_told(run: TrainingRun, data: Path) -> None:
    boasting = deepcopy(run.manifest)
    boasting["families"]["conv"]["held_out"]["learned_median_percent"] -= 5.0
    del boasting["families"]["bmm"]["held_out"]["won"]
    compared = differences(boasting, reproduced_figures(run.folder, data, None))
    off = {one.name: one.size for one in compared if one.size > 0.05}
    assert off == {
        "families/conv/held_out/learned_median_percent": pytest.approx(5.0),
        "families/bmm/held_out/won": float("inf"),
    }
    said = text_of_check("beside a manifest", compared, 0.05)
    assert "learned_median_percent" in said
    assert "nothing stated" in said


def test_weights_of_another_fit_are_other_files(run: TrainingRun, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(run.folder, other)
    shutil.copy(other / "conv-GV100.npz", other / "conv-all.npz")
    (other / "bmm-all.npz").unlink()
    assert files_that_differ(run.folder, other) == ["bmm-all.npz", "conv-all.npz"]
    assert files_that_differ(run.folder, run.folder) == []
