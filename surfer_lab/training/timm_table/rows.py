"""Which capture does a row of timm's tables need, how was it measured, and which eager row belongs to a compiled one?

Data, learned from the tables' own versions of timm and torch: fused attention exists from torch 2.0 on; the rows of
torch 2.9.1 were taken with re-parameterised models (`--reparam`); inference rows behave as with half precision layer
and group norms (`--fast-norm`); training rows are eager SGD with Nesterov momentum, gradients zeroed in place as torch
1.12 does by default. One name changed its architecture since and is left out, by name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from surfer_lab.errors import OptionError

__all__ = ["RENAMED", "TABLE", "CaptureKey", "compiled_beside_eager", "gains_of", "key_of", "keys_of", "read_rows"]

F64 = NDArray[np.float64]

# timm's name for another network than it was when the rows were measured, and why it is known
RENAMED: Final[dict[str, str]] = {
    "ecaresnext50t_32x4d": "the name stands for another network since the rows were measured",
}
TABLE: Final = ("gpu", "mode", "layout", "torch", "compile")  # one file of measurements
_SAME_NETWORK: Final = ("gpu", "mode", "precision", "layout", "torch", "model", "img_size")
_UNFUSED_TORCH: Final = ("1.12", "1.13")
_REPARAMETERISED_TORCH: Final = ("2.9.1",)
_COLUMNS: Final = ("gpu", "mode", "precision", "layout", "torch", "compile", "arch", "img_size", "batch", "step_ms")


@dataclass(frozen=True, kw_only=True, order=True)
class CaptureKey:
    """One capture: a network, what is done with it, and how; it serves every batch size."""

    arch: str
    mode: str  # "infer" or "train"
    img_size: int
    layout: str  # "NCHW" or "NHWC"
    fused_attention: bool = True
    reparameterised: bool = False

    @property
    def name(self) -> str:
        """Without the architecture: "train-224-NHWC-unfused"."""
        words = [self.mode, str(self.img_size), self.layout]
        words += [
            word for word, is_on in (("unfused", not self.fused_attention), ("reparam", self.reparameterised)) if is_on
        ]
        return "-".join(words)


def read_rows(data: Path) -> pd.DataFrame:
    """The benchmark table of a data folder (`timm/bench.csv`), architectures by their own names."""
    path = data / "timm" / "bench.csv"
    if not path.is_file():
        raise OptionError(
            f"{data} holds no timm/bench.csv", remedy="name a folder with the layout of the measured data"
        )
    rows = pd.read_csv(path, dtype={"torch": str, "cuda": str})
    missing = [name for name in _COLUMNS if name not in rows.columns]
    if missing:
        raise OptionError(f"{path.name} lacks the columns {', '.join(missing)}", remedy="the layout of its README")
    return rows


def key_of(row: Any) -> CaptureKey:
    """The capture that a row (a named tuple of the table) needs."""
    return CaptureKey(
        arch=str(row.arch),
        mode=str(row.mode),
        img_size=int(row.img_size),
        layout=str(row.layout),
        fused_attention=str(row.torch) not in _UNFUSED_TORCH,
        reparameterised=str(row.torch) in _REPARAMETERISED_TORCH,
    )


def keys_of(rows: pd.DataFrame, archs: Iterable[str] | None = None) -> list[CaptureKey]:
    """All captures that the rows need, in order; of some architectures only, where they are named."""
    wanted = None if archs is None else set(archs)
    found = {key_of(row) for row in rows.itertuples()}
    return sorted(key for key in found if key.arch not in RENAMED and (wanted is None or key.arch in wanted))


def compiled_beside_eager(rows: pd.DataFrame) -> pd.DataFrame:
    """The compiled rows whose network also ran eager; "batch_eager", "step_ms_eager" and "predicted_eager" are that's.

    `rows` has a column "predicted"; pairs of which one is not predicted are left out.
    """
    keys = list(_SAME_NETWORK)
    eager = rows[rows["compile"] == "none"].drop_duplicates(keys)
    pairs = rows[rows["compile"] != "none"].merge(
        eager[[*keys, "batch", "step_ms", "predicted"]], on=keys, suffixes=("", "_eager")
    )
    return pairs[pairs["predicted"].notna() & pairs["predicted_eager"].notna()]


def gains_of(pairs: pd.DataFrame) -> tuple[F64, F64]:
    """(measured, predicted) gain of compiling per image, of `compiled_beside_eager`'s rows: batches may differ."""
    images = (pairs["batch"] / pairs["batch_eager"]).to_numpy(dtype=np.float64)
    measured = (pairs["step_ms_eager"] / pairs["step_ms"]).to_numpy(dtype=np.float64) * images
    predicted = (pairs["predicted_eager"] / pairs["predicted"]).to_numpy(dtype=np.float64) * images
    return measured, predicted
