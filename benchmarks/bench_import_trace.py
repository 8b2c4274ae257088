"""How fast is a profiler trace imported, and in how much memory, beside orjson and HolisticTraceAnalysis?

The recorded traces of SURFER_LAB_DATA, and the largest of them tiled to TILED_MB. Each measurement runs in a process of
its own and takes the shortest CPU time of a few, so that neither another's garbage nor a busy machine counts; all
readers here use one thread, so CPU time is wall time on an idle machine. orjson reads the uncompressed bytes from
memory, HolisticTraceAnalysis and this package read the same file from disk.
"""

from __future__ import annotations

import gzip
import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import orjson

from benchmarks.figure import Figure, NotAtHand

DATA_VARIABLE: Final = "SURFER_LAB_DATA"
PEER: Final = "HolisticTraceAnalysis"
TILED_MB: Final = 500
MOST_OF_ORJSON: Final = 1.5
MOST_OF_HTA: Final = 1 / 3
MOST_MEMORY: Final = 3.0
# Smaller files take milliseconds each; they are measured together
SMALLEST_BYTES: Final = 5_000_000

_MEASURE: Final = """
import gc, json, resource, sys, time
path, repeats = sys.argv[1], int(sys.argv[2])
{prepare}
gc.collect()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
times = []
for _ in range(repeats):
    began = time.process_time()
    result = {work}
    times.append(time.process_time() - began)
    del result
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([min(times), 1024 * (after - before)]))
"""
_READERS: Final = {
    "surfer_lab": ("from surfer_lab.trace import read", "read(path)"),
    "orjson": (
        "import gzip, orjson, pathlib; data = pathlib.Path(path).read_bytes()\n"
        "data = gzip.decompress(data) if path.endswith('.gz') else data",
        "orjson.loads(data)",
    ),
    PEER: (
        "import logging, warnings; logging.disable(50); warnings.simplefilter('ignore')\n"
        "from hta.common.trace import parse_trace_file",
        "parse_trace_file(path)",
    ),
}


class Cost(msgspec.Struct, array_like=True):
    """What one reader took for one file."""

    time_s: float
    memory_bytes: int


def cost(reader: str, path: Path, *, repeats: int = 5) -> Cost:
    """Measure a reader on a file, in a fresh process."""
    prepare, work = _READERS[reader]
    program = _MEASURE.format(prepare=prepare, work=work)
    done = subprocess.run(
        [sys.executable, "-c", program, str(path), str(repeats)], stdout=subprocess.PIPE, text=True, check=True
    )
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=Cost)


def tiled(source: Path, target: Path, size_bytes: int) -> None:
    """Write `source` again and again, each time later and with other ids, until the file has `size_bytes`."""
    document: dict[str, Any] = orjson.loads(gzip.decompress(source.read_bytes()))
    events = document["traceEvents"]
    timed = [event for event in events if event.get("ph") == "X"]
    span_us = max(e["ts"] + e["dur"] for e in timed) - min(e["ts"] for e in timed) + 1000
    head, tail = orjson.dumps(document | {"traceEvents": []}).split(b'"traceEvents":[]')
    with target.open("wb") as stream:
        stream.write(head + b'"traceEvents":[')
        while stream.tell() < size_bytes:
            if stream.tell() > len(head) + len(b'"traceEvents":['):
                stream.write(b",")
                for event in events:
                    _move(event, span_us)
            stream.write(orjson.dumps(events)[1:-1])
        stream.write(b"]" + tail)


def _move(event: dict[str, Any], span_us: float) -> None:
    if "ts" in event:
        event["ts"] += span_us
    if "id" in event:
        event["id"] += 10_000_000
    arguments = event.get("args") or {}
    for key in ("correlation", "External id", "Sequence number"):
        if isinstance(arguments.get(key), int):
            arguments[key] += 10_000_000
    name = event.get("name", "")
    if name.startswith("ProfilerStep#"):
        event["name"] = f"ProfilerStep#{int(name.removeprefix('ProfilerStep#')) + 1000}"


def figures() -> Iterator[Figure]:
    """Every recorded trace of some size, then the tiled one."""
    folder = Path(os.environ.get(DATA_VARIABLE, "")) / "traces"
    if DATA_VARIABLE not in os.environ or not folder.is_dir():
        raise NotAtHand(f"{DATA_VARIABLE} names no folder with traces")
    has_peer = importlib.util.find_spec("hta") is not None
    sizes = {path: len(gzip.decompress(path.read_bytes())) for path in sorted(folder.glob("*.json.gz"))}
    with tempfile.TemporaryDirectory() as scratch:
        small = [path for path, size_bytes in sizes.items() if size_bytes < SMALLEST_BYTES]
        yield from _of_small_files(small, has_peer=has_peer)
        for packed, size_bytes in sizes.items():
            if size_bytes < SMALLEST_BYTES:
                continue
            plain = Path(scratch) / packed.name.removesuffix(".gz")
            plain.write_bytes(gzip.decompress(packed.read_bytes()))
            short = packed.name.split(".")[0][:28]
            yield from _of_file(f"import {short} ({size_bytes / 1e6:.0f} MB)", plain, packed, has_peer=has_peer)
            plain.unlink()
        largest = max(sizes, key=lambda path: sizes[path])
        big = Path(scratch) / "tiled.json"
        tiled(largest, big, TILED_MB * 1_000_000)
        name = f"import {TILED_MB} MB, tiled from {largest.name.split('.')[0][:16]}"
        yield from _of_file(name, big, big, has_peer=has_peer, repeats=1)
        yield Figure(
            name=f"memory of {name}",
            measured=cost("surfer_lab", big, repeats=1).memory_bytes / 1e6,
            unit="MB",
            target=MOST_MEMORY,
            target_is_ratio=True,
            peer_name="the file",
            peer=big.stat().st_size / 1e6,
        )


def _of_small_files(paths: list[Path], *, has_peer: bool) -> Iterator[Figure]:
    name = f"import {len(paths)} files below {SMALLEST_BYTES / 1e6:g} MB, together"
    ours = sum(cost("surfer_lab", path).time_s for path in paths)
    peers = [("orjson", "orjson.loads", MOST_OF_ORJSON)] + [(PEER, PEER, MOST_OF_HTA)] * has_peer
    for reader, shown, target in peers:
        peer = sum(cost(reader, path, repeats=1).time_s for path in paths)
        yield Figure(
            name=name, measured=ours, unit="s", target=target, target_is_ratio=True, peer_name=shown, peer=peer
        )


def _of_file(name: str, plain: Path, packed: Path, *, has_peer: bool, repeats: int = 5) -> Iterator[Figure]:
    """`plain` beside orjson; `packed` (the same file as it is kept) beside HolisticTraceAnalysis."""
    ours = cost("surfer_lab", plain, repeats=repeats)
    yield Figure(
        name=name,
        measured=ours.time_s,
        unit="s",
        target=MOST_OF_ORJSON,
        target_is_ratio=True,
        peer_name="orjson.loads",
        peer=cost("orjson", plain, repeats=repeats).time_s,
    )
    if has_peer:
        yield Figure(
            name=name,
            measured=cost("surfer_lab", packed, repeats=repeats).time_s,
            unit="s",
            target=MOST_OF_HTA,
            target_is_ratio=True,
            peer_name=PEER,
            peer=cost(PEER, packed, repeats=1).time_s,
        )
