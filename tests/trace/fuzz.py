"""Mutated traces, thousands of them: the importer may only raise the project's own errors or return a sound Trace.

A mutant is made from its seed alone, so `python -m tests.trace.fuzz --seed N` reproduces a failure. The whole run:

    python -m tests.trace.fuzz --count 5000 [--data FOLDER]

`--data` adds the smaller recorded traces as raw material. Each mutant has LIMIT_S; an address-space limit bounds it,
so that a mutant that would eat the machine fails instead.
"""

from __future__ import annotations

import argparse
import copy
import gzip
import json
import random
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from surfer_lab.errors import SurferError
from surfer_lab.trace import check, differences, from_bytes, read_bytes, to_bytes
from surfer_lab.trace.storage import is_saved
from tests.trace.written import ERAS, Written, dumped

LIMIT_S = 10
MEMORY_BYTES = 3 << 30
LARGEST_MATERIAL_BYTES = 150_000  # of a recorded trace, packed

HOSTILE_NAMES = [
    "", "\x00", "\x00" * 50, "a" * 300_000, '},{"ph":"X","cat":"kernel"', '"traceEvents":[', "]}", '"}],"x":', "\\",
    "\\u0000", "\ud800", "ProfilerStep#99999999999999999999999", "ProfilerStep#-1", "ProfilerStep#", "Optimizer.step#",
    "nn.Module: ", "nn.Module: " + "x" * 5000, "(1): f", "/home/me/.ssh/id_rsa(1): <module>", "(((((((((((((((",
    "nccl", "ncclDevKernel_", "<script>alert(1)</script>", "%s%n%x", "{0.__class__}", "\u202eevil\u202c", "🦈" * 1000,
    "autograd::engine::evaluate_function: ", "Backward" * 3000, "a(" * 20_000, "x;" * 50_000, "__proto__",
    "../../etc/passwd", "Memcpy DtoH (Device -> Pageable)", "cudaGraphLaunch", "enumerate(DataLoader)#",
]  # fmt: skip
HUGE = [
    1e308, -1e308, 1e-320, 10**18, 10**19, 2**63, 2**63 - 1, -(2**63), 2**64, 10**400, -(10**400), 0, -0.0, -1, 2**31,
    2**32 - 1, float("nan"), float("inf"), float("-inf"), 9007199254740993, 1.5, True, 4e15, 8.8e12,
]  # fmt: skip
OTHER_TYPES: list[Any] = [None, True, False, "", "17", "x", [], {}, [[]], [1, "a", None], {"a": {"b": [1]}}, 3.25, -7]

Document = dict[str, Any]
Mutation = Callable[[random.Random, Document], None]
TextMutation = Callable[[random.Random, bytes], bytes]


def _events(document: Document) -> list[Any]:
    events = document.get("traceEvents")
    return events if isinstance(events, list) else []


def _some_event(rng: random.Random, document: Document) -> dict[str, Any]:
    events = [event for event in _events(document) if isinstance(event, dict)]
    return rng.choice(events) if events else {}


def _some_place(rng: random.Random, document: Document) -> tuple[dict[str, Any], str]:
    """A dictionary of the document and one of its keys: an event, its args, the top."""
    event = _some_event(rng, document)
    args = event.get("args")
    place = rng.choice([document, event, event, args, args, args])
    if not isinstance(place, dict) or not place:
        place = document
    return place, rng.choice(list(place) or ["traceEvents"])


def drop_key(rng: random.Random, document: Document) -> None:
    place, key = _some_place(rng, document)
    place.pop(key, None)


def swap_type(rng: random.Random, document: Document) -> None:
    place, key = _some_place(rng, document)
    place[key] = copy.deepcopy(rng.choice(OTHER_TYPES))


def huge_number(rng: random.Random, document: Document) -> None:
    place, key = _some_place(rng, document)
    place[rng.choice([key, "ts", "dur", "pid", "tid", "correlation", "stream", "device", "bytes"])] = rng.choice(HUGE)


def nest_deeply(rng: random.Random, document: Document) -> None:
    place, key = _some_place(rng, document)
    depth = rng.choice([50, 400])
    value: Any = 1
    for _ in range(depth):
        value = [value] if rng.random() < 0.5 else {"a": value}
    place[key] = value


def repeat_ids(rng: random.Random, document: Document) -> None:
    key = rng.choice(["correlation", "External id", "Sequence number", "stream", "device"])
    value = rng.choice([0, 1, 9_001, 9_002, 5, -3])
    for event in _events(document):
        if isinstance(event, dict) and isinstance(event.get("args"), dict) and rng.random() < 0.7:
            event["args"][key] = value


def repeat_events(rng: random.Random, document: Document) -> None:
    for _ in range(rng.choice([1, 5, 200])):
        event = _some_event(rng, document)
        if event:
            _events(document).append(copy.deepcopy(event))


def hostile_name(rng: random.Random, document: Document) -> None:
    event = _some_event(rng, document)
    name = rng.choice(HOSTILE_NAMES)
    where = rng.choice(["name", "name", "cat", "ph", "tid", "pid", "args", "key"])
    if where == "key":
        event[name] = name
    elif where == "args":
        event["args"] = {rng.choice(["Call stack", "Input Dims", "Collective name", name]): name}
    else:
        event[where] = name


def hostile_metadata(rng: random.Random, document: Document) -> None:
    name = rng.choice(HOSTILE_NAMES)
    document[rng.choice(["deviceProperties", "distributedInfo", "metadata", name, "cuda_driver_version"])] = rng.choice(
        [name, [name], {name: name}, {"env": {name: name}}, [{"id": name, "name": name, "numSms": name}], 10**30]
    )


def shuffle(rng: random.Random, document: Document) -> None:
    rng.shuffle(_events(document))


def same_time(rng: random.Random, document: Document) -> None:
    for event in _events(document):
        if isinstance(event, dict) and rng.random() < 0.8:
            event["ts"] = 1_700_000_000_000_000
            if rng.random() < 0.5:
                event["dur"] = rng.choice([0, 0, 1, 100])


def not_events(rng: random.Random, document: Document) -> None:
    events = _events(document)
    for _ in range(rng.randint(1, 20)):
        events.insert(rng.randint(0, len(events)), copy.deepcopy(rng.choice(OTHER_TYPES)))


def many_threads(rng: random.Random, document: Document) -> None:
    for index, event in enumerate(_events(document)):
        if isinstance(event, dict):
            event[rng.choice(["tid", "pid"])] = rng.choice([index, f"t{index}", -index, [index]])


MUTATIONS: list[Mutation] = [
    drop_key, swap_type, huge_number, nest_deeply, repeat_ids, repeat_events, hostile_name, hostile_metadata, shuffle,
    same_time, not_events, many_threads,
]  # fmt: skip


def truncate(rng: random.Random, text: bytes) -> bytes:
    return text[: rng.randint(0, len(text))]


def flip_bytes(rng: random.Random, text: bytes) -> bytes:
    data = bytearray(text)
    for _ in range(rng.choice([1, 3, 30, 300])):
        if data:
            data[rng.randrange(len(data))] = rng.choice(b'{}[]",:\\0-e.\x00\xff\x1f\x8bn')
    return bytes(data)


def delete_stretch(rng: random.Random, text: bytes) -> bytes:
    start = rng.randint(0, len(text))
    return text[:start] + text[start + rng.choice([1, 2, 10, 100, 5000]) :]


def insert_stretch(rng: random.Random, text: bytes) -> bytes:
    start = rng.randint(0, len(text))
    stretch = rng.choice(
        [b"{" * 3000, b"[" * 100_000, b"}" * 3000, b'"', b"\x00" * 500, b",,,,", b"]", b"null", b'{"ph":' * 2000,
         b"1e999", b"\\u", b'},{"ph":"X","name":"', b" " * 10_000, b'"traceEvents":[' * 500, bytes(range(256))]
    )  # fmt: skip
    return text[:start] + stretch + text[start:]


def nest_in_text(rng: random.Random, text: bytes) -> bytes:
    """Balanced nesting, as deep as a decoder still takes it and deeper."""
    braces = [place for place in range(len(text)) if text[place : place + 1] == b"{"]
    if not braces:
        return text
    place, depth = rng.choice([braces[0], rng.choice(braces)]) + 1, rng.choice([300, 700, 950, 5000])
    opening, closing = rng.choice([(b"[", b"]"), (b'{"a":', b"}")])
    return text[:place] + b'"deep":' + opening * depth + b"1" + closing * depth + b"," + text[place:]


def double(rng: random.Random, text: bytes) -> bytes:
    return text + text[rng.randint(0, len(text)) :]


def pack_and_damage(rng: random.Random, text: bytes) -> bytes:
    data = bytearray(gzip.compress(text, 1))
    choice = rng.randrange(3)
    if choice == 0:
        return bytes(data[: rng.randint(0, len(data))])
    if choice == 1:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data) + rng.choice([b"", b"\x00" * 20, b"\x1f\x8b", bytes(data[:50])])


TEXT_MUTATIONS: list[TextMutation] = [
    nest_in_text,
    truncate,
    flip_bytes,
    delete_stretch,
    insert_stretch,
    double,
    pack_and_damage,
]


def material(folder: Path | None = None) -> list[Document]:
    """Documents to mutate: a few steps of every era, and the smaller recorded traces."""
    documents = [Written(era).steps(2).document() for era in ERAS.values()]
    documents.append(Written().steps(6, marks=False).document())
    for path in sorted((folder / "traces").glob("*.json.gz")) if folder else ():
        if path.stat().st_size < LARGEST_MATERIAL_BYTES:
            documents += [json.loads(gzip.decompress(path.read_bytes()))]
    return documents


def mutant(seed: int, documents: Sequence[Document]) -> bytes:
    """The mutated file of a seed."""
    rng = random.Random(seed)
    document = copy.deepcopy(rng.choice(documents))
    if rng.random() < 0.04:
        return _mutated_save(rng, document)
    for _ in range(rng.choice([0, 1, 1, 2, 5, 20])):
        rng.choice(MUTATIONS)(rng, document)
    content: Any = document if rng.random() < 0.9 else _events(document)
    text = dumped(content, indent=rng.choice([None, None, None, 1]))
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        text = rng.choice(TEXT_MUTATIONS)(rng, text)
    return text


def _mutated_save(rng: random.Random, document: Document) -> bytes:
    try:
        data = to_bytes(read_bytes(dumped(document)))
    except SurferError:
        return b""
    return rng.choice([truncate, flip_bytes, delete_stretch, insert_stretch])(rng, data)


def attempt(data: bytes) -> str:
    """How one file went: "read", or the kind of the project's own error. Anything else is raised."""
    try:
        trace = read_bytes(data)
    except SurferError as error:
        if "\n" in str(error) or not error.seen:
            raise AssertionError(f"an error that is no sentence: {error!r}") from error
        if "contradicts itself" in str(error) and not is_saved(data):
            raise AssertionError(f"read, but not sound: {error}") from error
        return type(error).__name__
    check(trace)
    if differences(from_bytes(to_bytes(trace)), trace):
        raise AssertionError("a saved trace differs")
    return "read with warnings" if trace.warnings else "read"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run and print a summary; 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--seed", type=int, help="one mutant only, with its traceback")
    parser.add_argument("--data", type=Path)
    options = parser.parse_args(arguments)
    documents = material(options.data)
    if options.seed is not None:
        print(attempt(mutant(options.seed, documents)))
        return 0

    def out_of_time(signum: int, frame: object) -> None:
        raise TimeoutError(f"over {LIMIT_S} s")

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))
    signal.signal(signal.SIGALRM, out_of_time)
    outcomes: Counter[str] = Counter()
    failures, slowest_s, slowest_seed = [], 0.0, -1
    for seed in range(options.first_seed, options.first_seed + options.count):
        data = mutant(seed, documents)
        began = time.perf_counter()
        signal.alarm(LIMIT_S)
        try:
            outcomes[attempt(data)] += 1
        except Exception as error:  # noqa: BLE001 - finding these is the purpose
            outcomes["FAILED"] += 1
            failures.append((seed, error))
            where = traceback.extract_tb(error.__traceback__)[-1]
            print(
                f"seed {seed}: {type(error).__name__}: {str(error)[:200]} at {Path(where.filename).name}:{where.lineno}"
            )
        finally:
            signal.alarm(0)
        took_s = time.perf_counter() - began
        if took_s > slowest_s:
            slowest_s, slowest_seed = took_s, seed
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(f"{options.count} mutants: {dict(outcomes)}")
    print(f"slowest {slowest_s:.2f} s (seed {slowest_seed}); peak memory of the run {peak_mb:.0f} MB")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
