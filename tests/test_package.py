"""Is importing the package free, and do its two halves carry the same version?"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import surfer_lab

ROOT = Path(__file__).resolve().parents[1]


def modules_loaded_by(statement: str) -> set[str]:
    listing = f"import sys, json\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_importing_the_package_loads_nothing_heavy():
    loaded = modules_loaded_by("import surfer_lab")
    heavy = {"torch", "IPython", "numpy", "pandas", "bokeh", "msgspec", "orjson", "typer", "rich", "ipywidgets"}
    assert not heavy & loaded


def test_naming_a_public_name_in_dir_loads_nothing_heavy():
    loaded = modules_loaded_by("import surfer_lab\nassert 'record' in dir(surfer_lab)")
    assert not {"torch", "IPython", "numpy"} & loaded


@pytest.mark.parametrize("name", sorted(surfer_lab.__all__))
def test_every_public_name_resolves(name):
    assert getattr(surfer_lab, name) is not None


def test_an_unknown_name_is_an_attribute_error_that_names_it():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = surfer_lab.no_such_name


def test_front_end_and_package_carry_one_version():
    package = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))
    assert package["version"] == surfer_lab.__version__


def test_the_public_names_are_the_lazy_ones_and_the_extension_hooks():
    here = {"__version__", "load_ipython_extension", "unload_ipython_extension"}
    assert set(surfer_lab.__all__) == here | set(surfer_lab._HOMES)
