"""A program that runs on shapes leaves torch's settings, the environment, the user's classes and modules unchanged."""

from __future__ import annotations

import importlib
import os
import sys
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from surfer_lab.capture import trace_symbolic
from surfer_lab.capture.symbolic.left_as_found import _SETTINGS, LeftAsFound, _read
from surfer_lab.errors import CaptureError

MODULE = """
import torch
count = 0
cache = {"a": 1}
seen = []
model = None

class Base:
    made = 0
    registry = {}
    def __init_subclass__(cls):
        Base.registry[cls.__name__] = cls

class Own(Base):
    def __init__(self):
        Own.made += 1
        Base.made += 1

def step():
    global count, late
    count += 1
    late = torch.ones(2) + 1
    cache["b"] = late
    cache["a"] = late
    seen.append(late)
    Own()
    class Child(Base): pass
    Own.run = lambda self: None
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A package of the user's, with a submodule that nobody has imported."""
    package = tmp_path / "mine_left_as_found"
    package.mkdir()
    (package / "__init__.py").write_text(MODULE, encoding="utf-8")
    (package / "sub.py").write_text("from . import cache\ncache['sub'] = 'registered'\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module(package.name)
    for name in [name for name in sys.modules if name.startswith(package.name)]:
        del sys.modules[name]


def _as_found(module: Any) -> bool:
    return (
        module.count == 0 and module.cache == {"a": 1} and module.seen == [] and not hasattr(module, "late")
        and module.Own.made == module.Base.made == 0 and set(module.Base.registry) == {"Own"}
        and not hasattr(module.Own, "run")
    )  # fmt: skip


def test_the_users_modules_and_classes_keep_what_they_hold(mine: Any) -> None:
    trace_symbolic(lambda: mine.step())  # noqa: PLW0108 # by its module: not a copy
    assert _as_found(mine)


def test_they_keep_it_where_the_program_fails(mine: Any) -> None:
    def step() -> None:
        mine.step()
        raise ValueError

    with pytest.raises(CaptureError):
        trace_symbolic(step)
    assert _as_found(mine)


def test_a_class_of_a_notebook_keeps_its_attributes() -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    source = """
class Counted:
    count, all = 0, []
    def __init__(self):
        Counted.count += 1
        self.all.append(self)
"""
    exec(compile(source, "<ipython-input-3-abc>", "exec"), names)
    counted = names["Counted"]

    def step(made: type) -> None:
        made()
        torch.ones(2) + 1

    trace_symbolic(step, counted)
    assert counted.count == 0
    assert counted.all == []


def test_a_submodule_imported_meanwhile_stays_whole(mine: Any) -> None:
    name = f"{mine.__name__}.sub"

    def step() -> None:
        importlib.import_module(name)
        mine.count = 5
        mine.cache["a"] = 2
        torch.ones(2) + 1

    trace_symbolic(step)
    assert mine.sub is sys.modules[name]
    assert mine.cache == {"a": 1, "sub": "registered"}  # the import is not executed again
    assert mine.count == 0


def test_modules_are_let_be_while_another_thread_runs_the_users_code(mine: Any) -> None:
    begun, over = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        over.wait()

    thread = threading.Thread(target=wait)
    thread.start()
    try:
        begun.wait()
        left = LeftAsFound()
        mine.seen.append("by the thread")
        left.put_back()
    finally:
        over.set()
        thread.join()
    assert mine.seen == ["by the thread"]


def test_a_module_that_imports_when_asked_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lazy(types.ModuleType):
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(name)

    monkeypatch.setitem(sys.modules, "lazy_left_as_found", Lazy("lazy_left_as_found"))
    LeftAsFound().put_back()


def test_what_a_module_holds_much_of_is_data_and_let_be(mine: Any) -> None:
    mine.rows = list(range(20_000))
    left = LeftAsFound()
    mine.rows.append(1)
    left.put_back()
    assert len(mine.rows) == 20_001


CHANGES: dict[str, Callable[[], object]] = {
    "dtype": lambda: torch.set_default_dtype(torch.float64),
    "device": lambda: torch.set_default_device("cuda"),
    "grad": lambda: torch.set_grad_enabled(False),
    "anomaly": lambda: torch.autograd.set_detect_anomaly(True),
    "deterministic": lambda: torch.use_deterministic_algorithms(True, warn_only=True),
    "threads": lambda: torch.set_num_threads(2),
    "printing": lambda: (torch.set_printoptions(precision=2), np.set_printoptions(precision=2)),
    "cudnn": lambda: setattr(torch.backends.cudnn, "benchmark", True),
    "attention": lambda: torch.backends.cuda.enable_math_sdp(False),
    "tf32": lambda: torch.set_float32_matmul_precision("high"),
    "tf32, old name": lambda: setattr(torch.backends.cuda.matmul, "allow_tf32", True),
    "tf32, new name": lambda: setattr(torch.backends.cuda.matmul, "fp32_precision", "tf32"),
    "tf32 everywhere": lambda: setattr(torch.backends, "fp32_precision", "tf32"),
}


def _settings() -> list[Any]:
    return [_read(read) for read, _ in _SETTINGS]


@pytest.mark.parametrize("name", CHANGES)
def test_torchs_and_numpys_settings_are_put_back(name: str) -> None:
    before = _settings()

    def step() -> None:
        CHANGES[name]()
        torch.ones(2) + 1

    if name == "threads":
        assert torch.get_num_threads() != 2
    trace_symbolic(step)
    assert _settings() == before
    assert torch._C._len_torch_function_stack() == 0


def test_hooks_on_all_modules_and_optimizers_are_taken_off() -> None:
    def step() -> None:
        torch.nn.modules.module.register_module_forward_hook(lambda *args: None)
        register_optimizer_step_post_hook(lambda *args: None)
        torch.nn.Linear(2, 2)(torch.ones(1, 2))

    trace_symbolic(step)
    assert not torch.nn.modules.module._global_forward_hooks
    assert not sys.modules[torch.optim.Optimizer.__module__]._global_optimizer_post_hooks


def test_the_environment_the_folder_and_the_import_path_are_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SURFER_TEST_KEPT", "before")
    monkeypatch.setenv("SURFER_TEST_GONE", "before")
    environment, folder, path = dict(os.environ), Path.cwd(), list(sys.path)

    def step() -> None:
        os.environ["SURFER_TEST_NEW"] = "1"
        os.environ["SURFER_TEST_KEPT"] = "after"
        del os.environ["SURFER_TEST_GONE"]
        os.chdir(tmp_path)
        sys.path.insert(0, "elsewhere")
        torch.ones(2) + 1

    trace_symbolic(step)
    assert dict(os.environ) == environment
    assert Path.cwd() == folder
    assert sys.path == path


def test_a_folder_that_was_removed_is_no_reason_to_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    trace_symbolic(lambda: torch.ones(2) + 1)
