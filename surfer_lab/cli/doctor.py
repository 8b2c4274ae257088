"""Does this installation work, and if not, what is to be done? One finding a line: what was looked at, seen, to do.

Looks, changes nothing. What is merely absent (a GPU, JupyterLab in this environment) is no fault; a broken torch, an
extension of another version, an unreadable file of the user's is.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from surfer_lab import __version__
from surfer_lab.errors import SurferError
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.hardware.configuration import configuration_folder
from surfer_lab.report.text import Ink, Paint

__all__ = ["Finding", "State", "findings", "text_of_findings"]

EXTENSION_NAME: Final = "surfer-lab"
_LABEL_WIDTH: Final = 20


class State(Enum):
    GOOD = "ok"
    ABSENT = "--"  # not there, and not needed for what else works
    FAULT = "!!"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing looked at. `remedy` is empty where there is nothing to do."""

    what: str
    state: State
    seen: str
    remedy: str = ""

    @property
    def is_fault(self) -> bool:
        """Whether something that should work does not."""
        return self.state is State.FAULT


def findings() -> list[Finding]:
    """All checks, in the order in which one would ask. A check that fails by itself is a finding, not the end."""
    checks: tuple[Callable[[], list[Finding]], ...] = (_versions, _torch, _gpus, _extension, _configuration, _example)
    found = []
    for check in checks:
        try:
            found += check()
        except (SurferError, OSError, ValueError, ImportError) as error:
            found.append(Finding(what=check.__name__.strip("_"), state=State.FAULT, seen=str(error)))
    return found


def text_of_findings(found: list[Finding], *, paint: Paint) -> str:
    """One finding a line, its remedy below it, and a closing sentence."""
    lines = []
    inks = {State.GOOD: Ink.STRONG, State.ABSENT: Ink.FAINT, State.FAULT: Ink.WARNING}
    for finding in found:
        lines.append(f"{paint(finding.state.value, inks[finding.state])}  {finding.what:<{_LABEL_WIDTH}}{finding.seen}")
        if finding.remedy:
            lines.append(" " * (_LABEL_WIDTH + 4) + paint(f"-> {finding.remedy}", Ink.LABEL))
    faults = sum(finding.is_fault for finding in found)
    closing = "Everything that is needed works." if not faults else f"{faults} to mend, marked {State.FAULT.value}."
    return "\n".join([*lines, "", paint(closing, Ink.TITLE)])


def _versions() -> list[Finding]:
    python = f"{platform.python_version()} at {Path(sys.prefix).name}, {platform.system()} {platform.machine()}"
    return [
        Finding(what="surfer-lab", state=State.GOOD, seen=__version__),
        Finding(what="Python", state=State.GOOD, seen=python),
    ]


def _torch() -> list[Finding]:
    if importlib.util.find_spec("torch") is None:
        remedy = "pip install torch (https://pytorch.org/get-started), then %%predict works; trace files work without"
        return [Finding(what="torch", state=State.FAULT, seen="not installed", remedy=remedy)]
    try:
        import torch  # only here: the command line works without it
    except (ImportError, OSError) as error:
        seen = f"does not import ({error})"
        return [Finding(what="torch", state=State.FAULT, seen=seen, remedy="install torch again")]
    build = (
        f"CUDA {torch.version.cuda}"
        if torch.version.cuda
        else f"ROCm {torch.version.hip}"
        if torch.version.hip
        else "CPU"
    )
    return [Finding(what="torch", state=State.GOOD, seen=f"{torch.__version__} ({build} build)")]


def _gpus() -> list[Finding]:
    try:
        import torch  # a missing torch is a finding of its own
    except (ImportError, OSError):
        return []
    if not torch.cuda.is_available():
        seen = "none that torch can use"
        if torch.version.cuda or torch.version.hip:
            remedy = "with a GPU in this machine: check its driver (nvidia-smi, rocm-smi)"
        else:
            remedy = "nothing to do without one; with a GPU, install a CUDA or ROCm build of torch"
        works = f"{seen}; cells are recorded on the CPU and predicted from their operations"
        return [Finding(what="GPU", state=State.ABSENT, seen=works, remedy=remedy)]
    found = []
    catalog = load_catalog()
    for index in range(torch.cuda.device_count()):
        facts = torch.cuda.get_device_properties(index)
        target = str(getattr(facts, "gcnArchName", ""))
        capability = target if torch.version.hip and target else f"{facts.major}.{facts.minor}"
        try:
            gpu = catalog.find(
                facts.name,
                sm_count=facts.multi_processor_count,
                memory_bytes=facts.total_memory,
                compute_capability=capability,
            )
        except SurferError as error:
            found.append(
                Finding(what=f"GPU {index}", state=State.FAULT, seen=f"{facts.name}: {error.seen}", remedy=error.remedy)
            )
            continue
        known = "put together from what it says of itself" if gpu.estimated else f"in the catalogue as {gpu.name}"
        found.append(Finding(what=f"GPU {index}", state=State.GOOD, seen=f"{facts.name}, {known}"))
    return found


def _extension() -> list[Finding]:
    try:
        lab = importlib.metadata.version("jupyterlab")
    except importlib.metadata.PackageNotFoundError:
        seen = "not in this environment; the notebook output shows as HTML there all the same"
        remedy = "where JupyterLab itself runs: pip install surfer-lab"
        return [Finding(what="JupyterLab", state=State.ABSENT, seen=seen, remedy=remedy)]
    found = [Finding(what="JupyterLab", state=State.GOOD, seen=lab)]
    package = next((path for path in _extension_files() if path.is_file()), None)
    if package is None:
        remedy = "pip install surfer-lab in this environment, then reload JupyterLab's page"
        return [*found, Finding(what="its extension", state=State.FAULT, seen="not installed", remedy=remedy)]
    version = str(json.loads(package.read_text(encoding="utf-8")).get("version", "without a version"))
    if version != __version__:
        seen = f"{version}, but the package is {__version__}"
        remedy = "pip install --force-reinstall surfer-lab, then reload JupyterLab's page"
        return [*found, Finding(what="its extension", state=State.FAULT, seen=seen, remedy=remedy)]
    disabled = _disabled()
    if disabled:
        remedy = f"jupyter labextension enable {EXTENSION_NAME}"
        return [*found, Finding(what="its extension", state=State.FAULT, seen=f"{version}, disabled", remedy=remedy)]
    return [*found, Finding(what="its extension", state=State.GOOD, seen=f"{version}, installed and enabled")]


def _extension_files() -> list[Path]:
    from jupyter_core.paths import jupyter_path  # present wherever JupyterLab is

    folders = [*jupyter_path("labextensions"), str(Path(sys.prefix) / "share" / "jupyter" / "labextensions")]
    return [Path(folder) / EXTENSION_NAME / "package.json" for folder in folders]


def _disabled() -> bool:
    from jupyter_core.paths import jupyter_config_path  # present wherever JupyterLab is

    for folder in jupyter_config_path():
        file = Path(folder) / "labconfig" / "page_config.json"
        if file.is_file():
            told = json.loads(file.read_text(encoding="utf-8")).get("disabledExtensions", {})
            if told.get(EXTENSION_NAME) if isinstance(told, dict) else EXTENSION_NAME in told:
                return True
    return False


def _configuration() -> list[Finding]:
    folder = configuration_folder()
    warnings = load_catalog().warnings
    if warnings:
        return [Finding(what="your own files", state=State.FAULT, seen=warning) for warning in warnings]
    if not folder.is_dir():
        seen = f"none yet ({folder}: own GPUs, prices and calibrations are kept there)"
        return [Finding(what="your own files", state=State.ABSENT, seen=seen)]
    if not os.access(folder, os.W_OK):
        remedy = "make the folder writable, or name another in SURFER_LAB_CONFIG_DIR"
        return [Finding(what="your own files", state=State.FAULT, seen=f"{folder} is not writable", remedy=remedy)]
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.toml"))
    seen = f"{folder}" + (f": {', '.join(names)}" if names else ", empty")
    return [Finding(what="your own files", state=State.GOOD, seen=seen)]


def _example() -> list[Finding]:
    from surfer_lab.planner.options import PredictOptions
    from surfer_lab.report.example import example_trace
    from surfer_lab.report.prediction import predict_as_asked

    prediction = predict_as_asked(example_trace(), PredictOptions(), name="bundled example")
    seen = f"the bundled example on {len(prediction.outcomes)} GPUs, fastest {prediction.gpus[0]}"
    return [Finding(what="predicting", state=State.GOOD, seen=seen)]
