"""How is a run kept on disk so that it can be taken up again? One file, replaced whole or not at all."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson

from surfer_lab.errors import OptionError
from surfer_lab.planner.convergence.run_record import RunState

__all__ = ["CHECKPOINT_FILE", "load_checkpoint", "save_checkpoint"]

CHECKPOINT_FILE: Final = "checkpoint.npz"
_VERSION: Final = 1


def save_checkpoint(folder: Path, state: RunState, facts: Mapping[str, Any] | None = None) -> Path:
    """Write state and facts (JSON) to the folder's checkpoint; a crash in the middle leaves the one before."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / CHECKPOINT_FILE
    unfinished = folder / f".{CHECKPOINT_FILE}.{os.getpid()}"
    header = {"version": _VERSION, "updates": state.updates, "seconds": state.seconds, "facts": dict(facts or {})}
    with unfinished.open("wb") as file:
        np.savez(
            file,
            weights=state.weights,
            velocity=state.velocity,
            header=np.frombuffer(orjson.dumps(header, option=orjson.OPT_SERIALIZE_NUMPY), dtype=np.uint8),
        )
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
    return path


def load_checkpoint(folder: Path) -> tuple[RunState, dict[str, Any]]:
    """State and facts of the folder's checkpoint; OptionError where there is none, or none that can be read."""
    path = folder / CHECKPOINT_FILE
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
            header = orjson.loads(kept["header"].tobytes())
            if header.get("version") != _VERSION:
                raise OptionError(f"{path.name} is of version {header.get('version')!r}", remedy="start the run anew")
            state = RunState(
                weights=kept["weights"],
                velocity=kept["velocity"],
                updates=int(header["updates"]),
                seconds=float(header["seconds"]),
            )
            return state, dict(header["facts"])
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise OptionError(
            f"there is no checkpoint to resume from in {folder.name} ({type(error).__name__})",
            remedy="the folder of an earlier run, or a start without resume",
        ) from error
