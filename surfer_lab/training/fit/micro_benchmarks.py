"""Which timings of products and convolutions does a data folder hold, as shapes, GPUs and times?

A timing is one call between two events: it holds the harness's launch time, which differs by host and operation. It is
taken from the timings themselves, the 0.2 % quantile of an operation on a GPU, and added to what is predicted; nothing
else of a GPU that is held out is used. P4's linear rows of the collector's first list are left out: throttled, four
times too slow.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from surfer_lab.engine.learned.form import LearnedFamily
from surfer_lab.hardware.catalog import Catalog
from surfer_lab.hardware.gpu import Gpu
from surfer_lab.training.gpu_names import gpu_spelled

__all__ = ["FLOOR_TAKEN", "TABLES", "Timings", "read_timings"]

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

TABLES: Final = {
    LearnedFamily.LINEAR: ("linear", ("b", "m", "k_reduce", "n_out")),
    LearnedFamily.BMM: ("bmm", ("b", "m", "k_reduce", "n_out")),
    LearnedFamily.CONV: ("conv", ("b", "in_ch", "out_ch", "in_size")),
}
_FLOOR_QUANTILE: Final = 0.002
FLOOR_TAKEN: Final = 0.9  # of it: the shortest call did something


@dataclass(frozen=True, kw_only=True, eq=False)
class Timings:
    """One family: shapes (rows, 4), the GPU of each row as an index into `gpus`, ms with the harness's launch in it."""

    family: LearnedFamily
    gpus: tuple[Gpu, ...]
    gpu: I64
    shapes: F64
    measured_ms: F64
    floor_ms: F64
    is_model_sized: NDArray[np.bool_]  # of the collector's second list
    is_deepbench: NDArray[np.bool_]  # fitted to, never judged

    def __len__(self) -> int:
        return len(self.gpu)

    def of(self, rows: NDArray[np.bool_] | I64) -> Timings:
        """Some of the rows; the GPUs stay."""
        return Timings(
            family=self.family, gpus=self.gpus, gpu=self.gpu[rows], shapes=self.shapes[rows],
            measured_ms=self.measured_ms[rows], floor_ms=self.floor_ms[rows],
            is_model_sized=self.is_model_sized[rows], is_deepbench=self.is_deepbench[rows],
        )  # fmt: skip

    @property
    def dies(self) -> tuple[str, ...]:
        """Of the GPUs, each once."""
        return tuple(dict.fromkeys(gpu.die for gpu in self.gpus))

    def on_die(self, die: str) -> NDArray[np.bool_]:
        """Rows measured on cards with that die."""
        return np.array([gpu.die == die for gpu in self.gpus], dtype=bool)[self.gpu]


def read_timings(data: Path, family: LearnedFamily, catalog: Catalog) -> Timings:
    """All timings of a family on GPUs of the catalogue, in the table's order."""
    name, columns = TABLES[family]
    table = pd.read_parquet(data / "kernels" / f"{name}.parquet")
    if family is LearnedFamily.LINEAR:
        table = table[~((table.gpu == "P4") & (table.source_split == "train"))]
    found = {str(spelled): gpu_spelled(catalog, str(spelled)) for spelled in table.gpu.unique()}
    known = {spelled: gpu for spelled, gpu in sorted(found.items()) if gpu is not None}
    table = table[table.gpu.isin(list(known))].reset_index(drop=True)
    floor = table.gpu.map(table.groupby("gpu").time_ms.quantile(_FLOOR_QUANTILE))
    place = {spelled: index for index, spelled in enumerate(known)}
    return Timings(
        family=family,
        gpus=tuple(known.values()),
        gpu=np.array(table.gpu.map(place), dtype=np.int64),
        shapes=table[list(columns)].to_numpy(dtype=np.float64),
        measured_ms=table.time_ms.to_numpy(dtype=np.float64),
        floor_ms=FLOOR_TAKEN * floor.to_numpy(dtype=np.float64),
        is_model_sized=(table.source_split == "test").to_numpy(dtype=bool),
        is_deepbench=np.zeros(len(table), dtype=bool),
    )
