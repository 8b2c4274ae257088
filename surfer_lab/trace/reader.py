"""How does any trace file become a Trace? The one door for files: profiler JSON, plain or gzip, and our own format.

Refuses (TraceError, one sentence with the remedy): no such file, an empty one, one that is no trace, one without GPU
work. Everything else is read as far as it is sound, with warnings. A KeyboardInterrupt leaves nothing behind: nothing
is written, and the file is closed.
"""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from surfer_lab.errors import OptionError, TraceError
from surfer_lab.trace.assembly import assemble
from surfer_lab.trace.byte_source import ByteSource, Progress
from surfer_lab.trace.event_frames import EventFrames
from surfer_lab.trace.gather import gather
from surfer_lab.trace.invariants import check
from surfer_lab.trace.model import Trace
from surfer_lab.trace.storage import MAGIC, from_bytes, is_saved

__all__ = ["read", "read_bytes"]


def read(path: str | Path, *, progress: Progress | None = None, batch_size: int | None = None) -> Trace:
    """Read a trace file. `progress(bytes_done, bytes_in_all)` is called about every MB of the file.

    `batch_size`: samples in a recorded step, which no profiler writes down.
    """
    path = Path(path)
    try:
        total_bytes = path.stat().st_size
        with path.open("rb") as stream:
            return _read(stream, total_bytes, name=path.name, progress=progress, batch_size=batch_size)
    except FileNotFoundError as error:
        raise TraceError(f"there is no file {path.name}", remedy="check the path") from error
    except IsADirectoryError as error:
        raise TraceError(f"{path.name} is a folder", remedy="name one trace file in it") from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise TraceError(f"{path.name} cannot be read ({reason})", remedy="check its permissions") from error


def read_bytes(
    data: bytes, *, name: str = "the trace", progress: Progress | None = None, batch_size: int | None = None
) -> Trace:
    """As `read`, of a file's bytes."""
    return _read(io.BytesIO(data), len(data), name=name, progress=progress, batch_size=batch_size)


def _read(stream: BinaryIO, total_bytes: int, *, name: str, progress: Progress | None, batch_size: int | None) -> Trace:
    if batch_size is not None and (type(batch_size) is not int or batch_size < 1):
        raise OptionError(f"a batch size of {batch_size!r}", remedy="a whole number of samples, 1 or more")
    head = stream.read(len(MAGIC))
    if is_saved(head):
        trace = from_bytes(head + stream.read(), name=name)
        if progress is not None:
            progress(total_bytes, total_bytes)
        return trace if batch_size is None else replace(trace, batch_size=batch_size)
    stream.seek(0)
    frames = EventFrames(ByteSource(stream, total_bytes, progress), name=name)
    trace = assemble(gather(frames), name=name, batch_size=batch_size)
    check(trace)
    return trace
