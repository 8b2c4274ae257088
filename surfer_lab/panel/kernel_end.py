"""Who speaks for the kernel? One comm target; comms from any number of front ends; each request answered once.

Messages may come on the main thread or, while a cell runs, on a subshell's: short requests are answered where they
arrive, long ones by the worker. Nothing here runs torch or measures anything.
"""

from __future__ import annotations

import json
import os
import threading
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from surfer_lab import __version__
from surfer_lab.errors import SurferError
from surfer_lab.panel.answers import LONG_REQUESTS, Asked, answer
from surfer_lab.panel.book import Book
from surfer_lab.panel.messages import (
    MOST_BYTES,
    PROTOCOL_VERSION,
    TARGET_NAME,
    Announcement,
    Answer,
    AskHello,
    Cancel,
    Cancelled,
    Failure,
    Progress,
    Request,
)
from surfer_lab.panel.worker import Duty, Job, Stopped, Worker

__all__ = ["Channel", "KernelEnd"]

_MOST_OPEN: Final = 32  # front ends at once; a tab that is reloaded opens a new comm, and may not close the old one
_MOST_WAITING: Final = 64  # long requests of one front end
_PROGRESS_STEPS: Final = 50


class Channel(Protocol):
    """What is used of a comm."""

    comm_id: str

    def send(self, data: Mapping[str, Any]) -> object: ...

    def on_msg(self, callback: Callable[[dict[str, Any]], None]) -> None: ...

    def on_close(self, callback: Callable[[dict[str, Any]], None]) -> None: ...

    def close(self) -> None: ...


class _Link:
    """One front end: its channel, its notebook, the long requests that it waits for."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.notebook = os.environ.get("JPY_SESSION_NAME", "")
        self.jobs: dict[str, Job] = {}
        self.has_greeted = False


class KernelEnd:
    """The kernel's end of all comms."""

    def __init__(self, book: Book, worker: Worker) -> None:
        self.book = book
        self.worker = worker
        self._lock = threading.RLock()
        self._links: dict[str, _Link] = {}

    @property
    def is_watched(self) -> bool:
        """Whether a front end has greeted and listens."""
        with self._lock:
            return any(link.has_greeted for link in self._links.values())

    @property
    def link_count(self) -> int:
        """Comms that are open."""
        with self._lock:
            return len(self._links)

    @property
    def notebook(self) -> str:
        """The notebook of the front end that came last; "" where none is known."""
        with self._lock:
            named = [link.notebook for link in self._links.values() if link.notebook]
        return named[-1] if named else os.environ.get("JPY_SESSION_NAME", "")

    def open(self, channel: Channel, _message: object = None) -> None:
        """A comm of the target was opened, from either side."""
        link = _Link(channel)
        with self._lock:
            self._links[channel.comm_id] = link
            crowded = list(self._links.values())[:-_MOST_OPEN]
        for old in crowded:
            self._close(old)
            old.channel.close()
        channel.on_msg(lambda message: self._received(link, message))
        channel.on_close(lambda _message: self._close(link))

    def greet(self, make_channel: Callable[..., Channel]) -> None:
        """Open a comm to front ends that wait for this kernel to know the package; they answer with a hello."""
        channel = make_channel(
            target_name=TARGET_NAME,
            data={"kind": "loaded", "protocol": PROTOCOL_VERSION, "version": __version__},
        )
        self.open(channel)

    def close(self) -> None:
        """Close all comms: the package is unloaded."""
        with self._lock:
            links = list(self._links.values())
        for link in links:
            self._close(link)
            link.channel.close()

    def announce(self, announcement: Announcement) -> None:
        """Tell all front ends. One that is too large to be sent is left out: they can ask for it."""
        data = msgspec.to_builtins(announcement)
        if _size(data) > MOST_BYTES:
            return
        with self._lock:
            links = list(self._links.values())
        for link in links:
            self._send(link, data)

    def _close(self, link: _Link) -> None:
        with self._lock:
            self._links.pop(link.channel.comm_id, None)
            jobs, link.jobs = list(link.jobs.values()), {}
        for job in jobs:
            job.stop()

    def _received(self, link: _Link, message: Mapping[str, Any]) -> None:
        data = _data_of(message)
        name = _id_of(data)
        request = _request(data, name)
        if isinstance(request, Failure):
            self._reply(link, request)
        elif isinstance(request, Cancel):
            self._reply(link, self._cancel(link, request))
        elif isinstance(request, LONG_REQUESTS):
            self._answer_later(link, request)
        else:
            if isinstance(request, AskHello):
                link.notebook = request.notebook or link.notebook
                link.has_greeted = True
            self._reply(link, self._answer(link, request, None))

    def _answer_later(self, link: _Link, request: Request) -> None:
        with self._lock:
            is_waiting = request.id in link.jobs
            is_full = len(link.jobs) >= _MOST_WAITING
        if is_waiting or is_full:
            seen = "a request with this id is being answered" if is_waiting else "too many requests wait already"
            self._reply(link, Failure(id=request.id, error="refused", seen=seen, remedy="wait for an answer"))
            return

        def work(job: Job) -> None:
            reply = self._answer(link, request, job)
            with self._lock:
                link.jobs.pop(request.id, None)
            self._reply(link, reply)

        with self._lock:  # the worker must not finish it before it is noted
            link.jobs[request.id] = self.worker.submit(Duty.REQUEST, work)

    def _cancel(self, link: _Link, request: Cancel) -> Cancelled:
        with self._lock:
            job = link.jobs.get(request.request)
        if job is not None:
            job.stop()
        return Cancelled(id=request.id, was_running=job is not None)

    def _answer(self, link: _Link, request: Request, job: Job | None) -> Answer:
        asked = Asked(
            book=self.book,
            notebook=link.notebook,
            progress=_Steps(lambda progress: self._reply(link, progress), request.id),
            breathe=(lambda: self.worker.breathe(job)) if job is not None else (lambda: None),
        )
        try:
            if job is not None:
                asked.breathe()
            return answer(request, asked)
        except Stopped:
            return Failure(id=request.id, error="cancelled", seen="it was cancelled", remedy="ask again")
        except SurferError as error:
            return Failure(id=request.id, error="refused", seen=error.seen, remedy=error.remedy)
        except Exception as error:  # noqa: BLE001 # every request is answered, and a fault of ours ends no kernel
            return _fault(request.id, error)

    def _reply(self, link: _Link, reply: Answer | Progress) -> None:
        data = msgspec.to_builtins(reply)
        size = _size(data)
        if size > MOST_BYTES:
            seen = f"the answer has {size:,} bytes, more than {MOST_BYTES:,}"
            too_large = Failure(id=reply.id, error="too-large", seen=seen, remedy="ask for less at once")
            data = msgspec.to_builtins(too_large)
        self._send(link, data)

    def _send(self, link: _Link, data: Mapping[str, Any]) -> None:
        try:
            link.channel.send(data)
            # ipykernel 7.4 remembers from which loop a comm spoke last, and delivers the front end's next messages
            # there: to the main one, busy with a cell, once we have announced something from it
            vars(link.channel).pop("_reply_subshell_id", None)
        except Exception:  # noqa: BLE001 # the front end went away while it was answered: nobody is left to be told
            self._close(link)


class _Steps:
    """Passes progress on, at most a few dozen times a request."""

    def __init__(self, send: Callable[[Progress], None], name: str) -> None:
        self._send = send
        self._name = name
        self._last: tuple[str, int] | None = None

    def __call__(self, done: int, total: int, text: str) -> None:
        step = done * _PROGRESS_STEPS // total if total > 0 else done
        if (text, step) != self._last:
            self._last = (text, step)
            self._send(Progress(id=self._name, done=done, total=total, text=text))


def _data_of(message: Mapping[str, Any]) -> Mapping[str, Any]:
    content = message.get("content")
    data = content.get("data") if isinstance(content, Mapping) else None
    return data if isinstance(data, Mapping) else {}


def _id_of(data: Mapping[str, Any]) -> str:
    name = data.get("id")
    return name[:200] if isinstance(name, str) else ""


def _request(data: Mapping[str, Any], name: str) -> Request | Failure:
    """The request, or why it is none."""
    if _size(data) > MOST_BYTES:
        return Failure(id=name, error="too-large", seen="the request is too large", remedy="ask for less at once")
    try:
        request: Request = msgspec.convert(data, Request)
    except (msgspec.ValidationError, RecursionError) as error:
        remedy = "reload the page: extension and package may differ in version"
        return Failure(id=name, error="unknown", seen=f"the request is not understood ({error})", remedy=remedy)
    if isinstance(request, AskHello) and request.protocol != PROTOCOL_VERSION:
        return Failure(
            id=name,
            error="version",
            seen=f"the extension speaks protocol {request.protocol}, Surfer Lab {__version__} in this kernel "
            f"{PROTOCOL_VERSION}",
            remedy="install the same version of surfer-lab for JupyterLab and for the kernel, then reload",
        )
    return request


def _fault(name: str, error: Exception) -> Failure:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return Failure(
        id=name,
        error="fault",
        seen=f"{type(error).__name__}: {error}"[:400],
        remedy="report this; the notebook is not affected",
        detail=f"Surfer Lab {__version__}, {Path(place.filename).name}:{place.lineno}",
    )


def _size(data: object) -> int:
    try:
        return len(msgspec.json.encode(data))
    except (msgspec.MsgspecError, TypeError, UnicodeEncodeError, RecursionError):
        return len(json.dumps(data, default=str))
