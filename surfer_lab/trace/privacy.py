"""What of a file's metadata may travel on, and what kinds of private things does the file hold?

Public traces were found to carry the recorder's whole environment, tokens included (USERS complaint 18). So nothing
passes but an allow-list of versions and switches, and of those only values that look like one. What else is in the
file is named by kind, never by value, so that the user can be warned before sharing it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

__all__ = ["allowed_environment", "holds_secret", "is_allowed", "private_kinds", "without_private_parts"]

_MOST_NODES: Final = 20_000
_DEEPEST: Final = 16
_LONGEST_SEARCHED: Final = 4_096

_VERSION: Final = re.compile(
    r"\d{1,9}(?:\.\d{1,9}){0,2}(?:[+.-](?:cu|cpu|xpu|rocm|git|dev|post|rc|a|b)[0-9a-f.]{0,20})*$"
)
_SMALL_NUMBER: Final = re.compile(r"\d{1,7}$")
_BACKEND: Final = re.compile(r"(?:nccl|gloo|mpi|ucc|rccl|xccl)$")

# environment key -> (names under which files hold it, what a value must look like)
_ALLOWED: Final[dict[str, tuple[tuple[str, ...], re.Pattern[str]]]] = {
    "torch": (("torch_version", "pytorch_version"), _VERSION),
    "cuda": (("cuda_runtime_version", "cuda_compiled_version"), _VERSION),
    "cuda_driver": (("cuda_driver_version",), _VERSION),
    "driver": (("nvidia_driver_version", "driver_version"), _VERSION),
    "cupti": (("cupti_version",), _VERSION),
    "hip": (("hip_runtime_version", "hip_compiled_version"), _VERSION),
    "hip_driver": (("hip_driver_version",), _VERSION),
    "roctracer": (("roctracer_version", "rocprofiler_version"), _VERSION),
    "nccl": (("nccl_version",), _VERSION),
    "backend": (("backend",), _BACKEND),
    "world_size": (("world_size",), _SMALL_NUMBER),
    "rank": (("rank",), _SMALL_NUMBER),
    "gpu_count": ((), _SMALL_NUMBER),
    "record_shapes": (("record_shapes",), _SMALL_NUMBER),
    "profile_memory": (("profile_memory",), _SMALL_NUMBER),
    "with_stack": (("with_stack",), _SMALL_NUMBER),
    "with_flops": (("with_flops",), _SMALL_NUMBER),
    "with_modules": (("with_modules",), _SMALL_NUMBER),
}
_KEY_BY_NAME: Final = {name: key for key, (names, _) in _ALLOWED.items() for name in names}

_KIND_BY_KEY: Final = (
    (re.compile(r"token|secret|passw|api_?key|credential|private_?key|auth", re.IGNORECASE), "access tokens"),
    (re.compile(r"^env$|environ|env_?vars", re.IGNORECASE), "environment variables"),
    (re.compile(r"user|login|owner|attribution|e_?mail", re.IGNORECASE), "user names"),
    (re.compile(r"host|^node|node_?name|fqdn|domain|cluster|ip_?addr|^ip$|mac_?addr", re.IGNORECASE), "host names"),
    (re.compile(r"job|task_?group|trace_?id|logical_server|experiment_?id|run_?id", re.IGNORECASE), "job names"),
    (re.compile(r"^packages$|pip_?freeze|conda", re.IGNORECASE), "installed packages"),
)
_HOME: Final = re.compile(r"(?:/home/|/Users/|/root/|[A-Za-z]:[\\/]+Users[\\/]|/data/users/|/mnt/users/)[^/\\\s]+")
_TOKEN: Final = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|sk-[A-Za-z0-9_-]{16,}|AKIA[0-9A-Z]{12,}|xox[abp]-[A-Za-z0-9-]{10,}"
    r"|glpat-[A-Za-z0-9_-]{10,}|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,})"
)
_EMAIL: Final = re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}\.[\w.]{2,32}")
_KIND_BY_VALUE: Final = (
    (_TOKEN, "access tokens"),
    (_HOME, "paths in somebody's home folder"),
    (_EMAIL, "e-mail addresses"),
)
_MAY_BE_PRIVATE: Final = re.compile(r"/home/|/root/|[\\/](?:[Uu]sers)[\\/]|hf_|gh[pousr]_|sk-|AKIA|xox|glpat-|eyJ|@")
_EMPTY: Final[tuple[Any, ...]] = (None, "", 0, "0", "None", "null", "unknown", [], {})


def is_allowed(key: str, value: str) -> bool:
    """Whether an environment entry is one of those that may travel.

    >>> is_allowed("torch", "2.6.0+cu124"), is_allowed("torch", "hf_abcdef"), is_allowed("HOME", "1")
    (True, False, False)
    """
    rule = _ALLOWED.get(key)
    return rule is not None and len(value) <= 64 and rule[1].match(value) is not None


def allowed_environment(metadata: Mapping[str, Any]) -> dict[str, str]:
    """The allow-listed facts, wherever in the metadata they stand; keys in sorted order.

    >>> allowed_environment({"cuda_runtime_version": 12040, "host_name": "x", "any": {"torch_version": "2.6.0+cu124"}})
    {'cuda': '12.4', 'torch': '2.6.0+cu124'}
    """
    found: dict[str, str] = {}
    for name, value in _walk(metadata):
        key = _KEY_BY_NAME.get(name)
        if key is None or key in found or isinstance(value, (dict, list)):
            continue
        text = _readable_version(name, value)
        if is_allowed(key, text):
            found[key] = text
    devices = metadata.get("deviceProperties")
    if isinstance(devices, list) and devices:
        found["gpu_count"] = str(len(devices))
    return dict(sorted(found.items()))


def holds_secret(text: str) -> bool:
    """Whether a text holds what looks like an access token.

    >>> holds_secret("hf_abcdefghijklmnopqrst"), holds_secret("[1, 1]")
    (True, False)
    """
    return _TOKEN.search(text) is not None


def without_private_parts(name: str) -> str:
    """A name of an event as it may be shown: people put paths, and once in a while a token, into their annotations.

    >>> without_private_parts("load /home/someone/data/x.pt"), without_private_parts("void at::native::copy<1>(float*)")
    ('load ~/data/x.pt', 'void at::native::copy<1>(float*)')
    """
    if not _MAY_BE_PRIVATE.search(name):
        return name
    return _EMAIL.sub("<e-mail>", _TOKEN.sub("<token>", _HOME.sub("~", name)))


def private_kinds(metadata: Mapping[str, Any], texts: Iterable[str] = ()) -> tuple[str, ...]:
    """The kinds of private things in the metadata and in `texts` (names of frames, values of events), sorted.

    >>> private_kinds({"host_name": "lab-7", "env": {"HF_TOKEN": "x"}})
    ('access tokens', 'environment variables', 'host names')
    """
    kinds: set[str] = set()
    for name, value in _walk(metadata):
        if value in _EMPTY:
            continue
        kinds.update(kind for pattern, kind in _KIND_BY_KEY if name not in _KEY_BY_NAME and pattern.search(name[:128]))
        if isinstance(value, str):
            kinds.update(kind for pattern, kind in _KIND_BY_VALUE if pattern.search(value[:_LONGEST_SEARCHED]))
    for text in texts:
        if _MAY_BE_PRIVATE.search(text, 0, _LONGEST_SEARCHED):
            kinds.update(kind for pattern, kind in _KIND_BY_VALUE if pattern.search(text[:_LONGEST_SEARCHED]))
    return tuple(sorted(kinds))


def _walk(metadata: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """All (key, value) pairs, outer before inner; bounded, whatever the nesting. Items of a list have its key."""
    level: list[tuple[str, Any]] = [(str(key), value) for key, value in metadata.items()]
    seen_count = 0
    for _ in range(_DEEPEST):
        deeper: list[tuple[str, Any]] = []
        for name, value in level:
            seen_count += 1
            if seen_count > _MOST_NODES:
                return
            yield name, value
            if isinstance(value, Mapping):
                deeper.extend((str(key), inner) for key, inner in value.items())
            elif isinstance(value, list):
                deeper.extend((name, inner) for inner in value)
        level = deeper


def _readable_version(name: str, value: Any) -> str:
    """CUDA prints 12040 for 12.4, HIP 60443483 for 6.4."""
    if isinstance(value, int) and name in ("cuda_runtime_version", "cuda_driver_version"):
        return f"{value // 1000}.{value % 1000 // 10}"
    if isinstance(value, int) and name in ("hip_runtime_version", "hip_driver_version"):
        return f"{value // 10_000_000}.{value // 100_000 % 100}"
    return str(value)[:65]
