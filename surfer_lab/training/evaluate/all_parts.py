"""Which evaluations make the table of targets, and what is kept where one is interrupted? `surfer evaluate all`.

    models (e2e)    operations (kernels)    steps under AMP (timm-steps)    recorded traces    time of an answer (speed)
    models and operations once more, refitted without each GPU (logo), with the first paper's hybrid refitted alike

Parts run one after the other; after each, the file of `--json` holds all that is done, and a run with the same file
goes on with what it lacks: a part counts as done where data, code, weights and words are those of the file's.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from surfer_lab.errors import OptionError, SurferError
from surfer_lab.training.evaluate.cases import Evaluation, Table, plain
from surfer_lab.training.evaluate.e2e import evaluate_e2e
from surfer_lab.training.evaluate.fingerprint import code_hash, data_hash
from surfer_lab.training.evaluate.kernels import evaluate_kernels
from surfer_lab.training.evaluate.protocol import Protocol
from surfer_lab.training.evaluate.speed import evaluate_speed
from surfer_lab.training.evaluate.targets import PART, ranges_of_steps, target_table
from surfer_lab.training.evaluate.timm_held_out import evaluate_timm_steps
from surfer_lab.training.evaluate.traces import evaluate_traces
from surfer_lab.training.timm_table.store import cache_folder

__all__ = ["PARTS", "Part", "Whole", "evaluate_all", "whole_of"]

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class Part:
    """One evaluation: its function, its words besides the data, and the folders of the data that it reads."""

    name: str
    command: str  # what gives it alone
    function: Callable[..., Evaluation]
    folders: tuple[str, ...]
    words: tuple[tuple[str, Any], ...] = ()
    takes: tuple[str, ...] = ("data", "sample", "progress")


def _timm_steps(
    data: Path, *, sample: int | None = None, cache: Path | None = None, workers: int = 1,
    progress: Progress | None = None,
) -> Evaluation:  # fmt: skip
    """The held-out steps; networks that are not captured yet are captured first, where all rows are asked for."""
    folder = cache or cache_folder()
    if sample is None:
        _capture_what_lacks(data, folder, workers, progress)
    return evaluate_timm_steps(data, sample=sample, cache=folder, workers=workers, progress=progress)


def _capture_what_lacks(data: Path, folder: Path, workers: int, progress: Progress | None) -> None:
    from surfer_lab.training.fit.step_table import table_path
    from surfer_lab.training.timm_table.make import make_captures
    from surfer_lab.training.timm_table.rows import keys_of, read_rows
    from surfer_lab.training.timm_table.store import CaptureStore

    rows = read_rows(data)
    if not table_path(rows.reset_index(drop=True), folder).is_file():
        make_captures(keys_of(rows), CaptureStore(folder), workers=workers, progress=progress)


PARTS: Final = (
    Part(
        name="e2e", command="surfer evaluate e2e --data FOLDER", function=evaluate_e2e, folders=("e2e", "kernels"),
        words=(("protocol", Protocol.HELD_OUT),),
    ),
    Part(
        name="kernels", command="surfer evaluate kernels --data FOLDER", function=evaluate_kernels,
        folders=("kernels",), words=(("protocol", Protocol.HELD_OUT),),
    ),
    Part(
        name="timm-steps", command="surfer evaluate timm-steps --data FOLDER", function=_timm_steps,
        folders=("timm",), takes=("data", "sample", "cache", "workers", "progress"),
    ),
    Part(name="traces", command="surfer evaluate traces --data FOLDER", function=evaluate_traces, folders=("traces",)),
    Part(name="speed", command="surfer evaluate speed", function=evaluate_speed, folders=(),
         takes=("sample", "progress")),
    Part(
        name="kernels logo", command="surfer evaluate kernels --data FOLDER --protocol logo",
        function=evaluate_kernels, folders=("kernels",), words=(("protocol", Protocol.LOGO),),
    ),
    Part(
        name="e2e logo", command="surfer evaluate e2e --data FOLDER --protocol logo", function=evaluate_e2e,
        folders=("e2e", "kernels"), words=(("protocol", Protocol.LOGO),),
    ),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Whole:
    """All parts: cases as rows of the JSON with their part, what is kept of each part, and the tables of targets."""

    rows: tuple[Mapping[str, Any], ...]
    parts: Mapping[str, Mapping[str, Any]]
    tables: tuple[Table, ...]

    def as_json(self) -> bytes:
        """`{"cases": [...], "summary": {"tables", "notes", "parts"}}`; a part's own tables stand in it."""
        summary = {
            "tables": {table.title: table.as_records() for table in self.tables},
            "notes": [note for table in self.tables for note in table.notes],
            "parts": self.parts,
        }
        return orjson.dumps({"cases": self.rows, "summary": plain(summary)})

    def as_text(self) -> str:
        """The tables of targets, and what was not evaluated."""
        missing = [f"{name} was not evaluated: {part['reason']}" for name, part in self.parts.items() if part["reason"]]
        return "\n\n".join([*(table.as_text() for table in self.tables), *(["\n".join(missing)] if missing else [])])


def whole_of(rows: list[Mapping[str, Any]], parts: Mapping[str, Mapping[str, Any]]) -> Whole:
    """The tables of targets beside the cases that they are made of."""
    return Whole(rows=tuple(rows), parts=parts, tables=(target_table(rows), ranges_of_steps(rows)))


def evaluate_all(
    data: Path,
    *,
    sample: int | None = None,
    cache: Path | None = None,
    workers: int = 1,
    kept: Path | None = None,
    tell: Callable[[str], None] | None = None,
    counting: Callable[[str], Any] | None = None,
    parts: tuple[Part, ...] = PARTS,
) -> Whole:
    """Every part; `kept` is read for what was done before, and written after each part.

    `tell` takes a line when a part begins and when it is done; `counting(name)` gives a context with a `Progress`. A
    part that the folder lacks data for is listed with the reason. OptionError where `kept` is no such file.
    """
    said = tell or (lambda line: None)
    before = _read(kept)
    rows: list[Mapping[str, Any]] = []
    done: dict[str, Mapping[str, Any]] = {}
    for number, part in enumerate(parts):
        key = _key(part, data, sample)
        old = before.parts.get(part.name) if before is not None else None
        if before is not None and old is not None and old["key"] == key and not old["reason"]:
            done[part.name] = old
            rows += [row for row in before.rows if row[PART] == part.name]
            said(f"{part.name}: kept from the run before ({number + 1} of {len(parts)})")
            continue
        said(f"{part.name}: begins ({number + 1} of {len(parts)})")
        done[part.name], own = _evaluated(
            part, {"data": data, "sample": sample, "cache": cache, "workers": workers}, key, counting
        )
        rows += own
        said(f"{part.name}: {done[part.name]['reason'] or 'done'}, {done[part.name]['seconds']:.0f} s")
        if kept is not None:
            _write(kept, whole_of(rows, done))
    whole = whole_of(rows, done)
    if kept is not None:
        _write(kept, whole)
    return whole


def _evaluated(
    part: Part, words: Mapping[str, Any], key: str, counting: Callable[[str], Any] | None
) -> tuple[dict[str, Any], list[Mapping[str, Any]]]:
    began = time.monotonic()
    base = {"command": part.command, "key": key, "reason": "", "facts": {}, "tables": {}, "notes": []}
    base["data_hash"] = data_hash(words["data"], part.folders) if part.folders else "none"
    try:
        if counting is None:
            found = _run(part, words, None)
        else:
            with counting(part.name) as progress:
                found = _run(part, words, progress)
    except SurferError as error:
        return {**base, "reason": str(error), "seconds": time.monotonic() - began}, []
    summary = plain(found.summary)
    tables, notes = summary.pop("tables"), summary.pop("notes")
    rows: list[Mapping[str, Any]] = [{**plain(case.as_row()), PART: part.name} for case in found.cases]
    return {**base, "seconds": time.monotonic() - began, "facts": summary, "tables": tables, "notes": notes}, rows


def _run(part: Part, words: Mapping[str, Any], progress: Progress | None) -> Evaluation:
    offered = {**words, "progress": progress}
    asked = {name: offered[name] for name in part.takes if offered[name] is not None}
    return part.function(**asked, **dict(part.words))


def _key(part: Part, data: Path, sample: int | None) -> str:
    words = ",".join(f"{name}={getattr(value, 'value', value)}" for name, value in part.words)
    return f"{code_hash()} {data_hash(data, part.folders)} {words} sample={sample}"


def _read(kept: Path | None) -> Whole | None:
    if kept is None or not kept.is_file():
        return None
    try:
        content = orjson.loads(kept.read_bytes())
        return Whole(rows=tuple(content["cases"]), parts=content["summary"]["parts"], tables=())
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise OptionError(
            f"{kept} is there and was not written by `surfer evaluate all`", remedy="another file, or remove it"
        ) from error


def _write(kept: Path, whole: Whole) -> None:
    """Whole or not at all: an interrupt leaves the file of the part before."""
    beside = kept.with_name(f"{kept.name}.{os.getpid()}.part")
    try:
        beside.write_bytes(whole.as_json())
        beside.replace(kept)
    except OSError as error:
        raise OptionError(f"{kept} cannot be written ({error.strerror})", remedy="another path") from error
    finally:
        beside.unlink(missing_ok=True)
