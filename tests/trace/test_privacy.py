"""Does anything private of a file reach the Trace, a save or a message? And is the user told that the file holds it?"""

from __future__ import annotations

import pytest

from surfer_lab.trace import read_bytes, to_bytes
from surfer_lab.trace.privacy import allowed_environment, is_allowed, private_kinds
from tests.trace.written import ERAS, Written

SECRETS = [
    "hf_abcdefghijklmnopqrst",
    "s3cretpassword",
    "alice",
    "lab-7.example.org",
    "/home/alice/project",
    "alice@example.org",
    "10.1.2.3",
]
METADATA = {
    "host_name": "lab-7.example.org",
    "username": "alice",
    "traceName": "/home/alice/project/trace.json",
    "metadata": {
        "env": {"HF_TOKEN": "hf_abcdefghijklmnopqrst", "DB_PASSWORD": "s3cretpassword", "PWD": "/home/alice/project"},
        "system": {"ip_addr": "10.1.2.3", "contact": "alice@example.org", "torch_version": "2.6.0+cu124"},
    },
    "cuda_runtime_version": 12040,
}


def leaky() -> Written:
    written = Written().steps(1)
    written.event("python_function", "/home/alice/project/train.py(3): s3cretpassword", 0, 900)
    written.op("aten::save", 905, 5, **{
        "Concrete Inputs": ["/home/alice/project/x.pt", "1", "hf_abcdefghijklmnopqrst"],
        "Input Dims": [[], [], []], "Input type": ["", "Scalar", ""],
    })  # fmt: skip
    written.op(
        "aten::mul", 915, 5, **{"Call stack": "/home/alice/project/train.py(9): f;/home/alice/project/m.py(1): g"}
    )
    written.annotation("copy /home/alice/project/data with hf_abcdefghijklmnopqrst for alice@example.org", 930, 5)
    written.op("triton_fused", 925, 5, kernel_file="/home/alice/project/k.py", stream=0)
    return written


def everything(trace) -> str:
    """All text of a trace: its repr in full, and what a save holds."""
    texts = [repr(trace.environment), repr(trace.warnings), repr(trace.device)]
    for name in ("ops", "host_calls", "kernels", "spans", "memory", "tensors"):
        table = getattr(trace, name)
        texts += [repr(column.values) for column in vars(table).values() if hasattr(column, "values")]
    return "\n".join(texts)


def test_nothing_private_reaches_the_trace():
    trace = read_bytes(leaky().text(**METADATA))
    text = everything(trace)
    assert not [secret for secret in SECRETS if secret in text]
    assert "copy ~/project/data with <token> for <e-mail>" in text
    assert "train.py:3" in text, "the user's own line stays, without its folder"


def test_the_warning_names_kinds_and_no_values():
    trace = read_bytes(leaky().text(**METADATA))
    warning = next(warning for warning in trace.warnings if "private" in warning.seen)
    for kind in ("access tokens", "environment variables", "host names", "user names", "home folder", "e-mail"):
        assert kind in warning.seen
    assert "share" in warning.consequence


def test_only_versions_and_switches_travel():
    trace = read_bytes(leaky().text(**METADATA))
    assert dict(trace.environment) == {"cuda": "12.4", "gpu_count": "1", "torch": "2.6.0+cu124"}


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize(
    "key", ["torch_version", "cuda_driver_version", "nccl_version", "backend", "world_size", "rank"]
)
def test_a_secret_under_an_allowed_name_does_not_travel_either(key, secret):
    assert secret not in allowed_environment({key: secret}).values()


def test_a_saved_file_with_more_in_its_environment_loses_it_on_loading():
    trace = read_bytes(Written().step(1).text())
    assert not is_allowed("HOME", "/home/alice") and all(is_allowed(*item) for item in trace.environment.items())
    assert b"alice" not in to_bytes(trace)


def test_a_file_without_private_things_gives_no_such_warning():
    trace = read_bytes(Written(ERAS["torch 2.3"]).steps(2).text())
    assert not any("private" in warning.seen for warning in trace.warnings)


@pytest.mark.parametrize(
    ("metadata", "kinds"),
    [
        ({"host_name": "lab"}, ("host names",)),
        ({"host_name": ""}, ()),
        ({"deep": {"er": [{"api_key": "x"}]}}, ("access tokens",)),
        ({"note": "run by bob@corp.example"}, ("e-mail addresses",)),
        ({"path": "C:\\Users\\bob\\x"}, ("paths in somebody's home folder",)),
        ({"mast_job_name": "x"}, ("job names",)),
        ({"deviceProperties": [{"name": "Tesla T4"}], "schemaVersion": 1, "record_shapes": 1}, ()),
    ],
)
def test_kinds_of_private_things(metadata, kinds):
    assert private_kinds(metadata) == kinds


def test_a_monstrous_metadata_tree_is_looked_at_within_bounds():
    tree: dict = {}
    at = tree
    for _ in range(2000):
        at["a"] = {"b": ["x"] * 50}
        at = at["a"]
    assert private_kinds(tree) == ()
