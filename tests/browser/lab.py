"""How does a test drive JupyterLab? `LabServer` is one running server, `LabPage` one page of a browser in it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import nbformat
from playwright.sync_api import Error, Locator, Page

START_LIMIT_S = 90
CELLS_LIMIT_MS = 240_000

_OPEN_NOTEBOOK = """async path => {
    const app = window.jupyterapp;
    await app.restored;
    const panel = await app.commands.execute('docmanager:open', { path });
    await panel.context.ready;
    await panel.sessionContext.ready;
    await panel.sessionContext.session.kernel.info;
}"""
BASE_URL = "/user/x/"  # as behind JupyterHub: an absolute address in the front end would miss it
_OPEN_WITHOUT_KERNEL = """async path => {
    const app = window.jupyterapp;
    await app.restored;
    const kernelPreference = { shouldStart: false, canStart: true, autoStartDefault: false };
    const panel = await app.commands.execute('docmanager:open', { path, kernelPreference });
    await panel.context.ready;
}"""
# what a command returns may be a widget: nothing to send to a test
_RUN_COMMAND = "async ([id, options]) => { await window.jupyterapp.commands.execute(id, options); }"


@dataclass(frozen=True)
class LabServer:
    """A JupyterLab server of the tests: `url` without a closing slash, `root` the folder it serves,
    `settings` where it keeps what users set."""

    url: str
    root: Path
    settings: Path

    def forget_settings(self) -> None:
        """Take away what a page has set in Surfer Lab (pins, prices): the next page starts as a new user's."""
        shutil.rmtree(self.settings / "surfer-lab", ignore_errors=True)

    def add_notebook(self, name: str, cells: Sequence[nbformat.NotebookNode]) -> str:
        """Write a Python notebook of these cells into the served folder and return its path there."""
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        notebook = nbformat.v4.new_notebook(cells=list(cells), metadata={"kernelspec": kernel})
        nbformat.write(notebook, self.root / name)
        return name


@contextlib.contextmanager
def serving(python: Path, folder: Path, *, application: str = "jupyterlab", without: str = "") -> Iterator[LabServer]:
    """A JupyterLab run by `python`: settings of its own below `folder`, only its own programs on PATH.

    `application` is the module that is run (`notebook` is Notebook 7); `without` names an extension of
    which it has no files.
    """
    root = folder / "notebooks"
    root.mkdir()
    # nobody is asked about news, in a box that lies over the panel
    notices = folder / "settings" / "@jupyterlab" / "apputils-extension" / "notification.jupyterlab-settings"
    notices.parent.mkdir(parents=True)
    notices.write_text('{"fetchNews": "false"}', encoding="utf-8")
    if without:
        extensions = folder / "labextensions"
        extensions.mkdir()
        for one in (python.parents[1] / "share" / "jupyter" / "labextensions").iterdir():
            if one.name != without:
                (extensions / one.name).symlink_to(one)
        config = folder / "config"
        config.mkdir()
        # disabledExtensions would not start it, and load its scripts all the same
        (config / "jupyter_lab_config.py").write_text(
            f"c.LabServerApp.labextensions_path = c.LabApp.labextensions_path = [{str(extensions)!r}]\n",
            encoding="utf-8",
        )
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "PYTHON", "COVERAGE"))
    }
    environment |= {
        "PATH": str(python.parent),
        "HOME": str(folder),
        "IPYTHONDIR": str(folder / "ipython"),
        "JUPYTER_PLATFORM_DIRS": "1",
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_DATA_DIR": str(folder / "data"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces"),
    }
    options = [
        "--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=0", "--IdentityProvider.token=",
        "--expose-app-in-browser", f"--ServerApp.root_dir={root}", "--LabApp.news_url=None",
        f"--ServerApp.base_url={BASE_URL}",
    ]  # fmt: skip
    log_path = folder / "server.log"
    with log_path.open("wb") as log:
        server = subprocess.Popen(
            [str(python), "-m", application, *options], cwd=root, env=environment, stdout=log, stderr=log
        )
        try:
            yield LabServer(
                url=_url_when_up(server, folder / "runtime", log_path), root=root, settings=folder / "settings"
            )
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _url_when_up(server: subprocess.Popen[bytes], runtime: Path, log_path: Path) -> str:
    deadline = time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline and server.poll() is None:
        for facts in runtime.glob("jpserver-*.json"):
            with contextlib.suppress(OSError, ValueError):
                url = str(json.loads(facts.read_text(encoding="utf-8"))["url"]).rstrip("/")
                with urlopen(f"{url}/api/status", timeout=5):
                    return url
        time.sleep(0.2)
    raise RuntimeError(
        f"JupyterLab did not start in {START_LIMIT_S} s:\n{log_path.read_text(encoding='utf-8')[-4000:]}"
    )


def is_ours(error: Error) -> bool:
    """Whether a script error passed through our extension's scripts.

    JupyterLab and other extensions have errors of their own: ipywidgets reads the kernel of a session that a notebook
    without a kernel does not have, 4.2 does not expect what a newer server leaves out.
    """
    return "/extensions/surfer-lab/" in (error.stack or "")


class LabPage:
    """JupyterLab in one page, and what went wrong in it."""

    def __init__(self, page: Page, server: LabServer) -> None:
        self.page = page
        self.server = server
        self.errors: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)) if is_ours(error) else None)

    def open(self) -> None:
        """Load JupyterLab, empty."""
        self.page.goto(f"{self.server.url}/lab?reset", wait_until="domcontentloaded")
        self.page.wait_for_function("() => window.jupyterapp !== undefined", timeout=60_000)
        self.page.evaluate("() => window.jupyterapp.restored")

    def open_notebook(self, path: str) -> None:
        """Open a notebook; on return its kernel answers."""
        self.page.evaluate(_OPEN_NOTEBOOK, path)

    def open_without_kernel(self, path: str) -> None:
        """Open a notebook as it was saved; no kernel is started."""
        self.page.evaluate(_OPEN_WITHOUT_KERNEL, path)

    def run_command(self, command: str, options: dict[str, Any] | None = None) -> None:
        """Run a command of JupyterLab and wait for its end."""
        self.page.evaluate(_RUN_COMMAND, [command, options or {}])

    def run_all_cells(self) -> None:
        """Run the open notebook and wait until its last cell has ended."""
        self.page.set_default_timeout(CELLS_LIMIT_MS)
        self.run_command("notebook:run-all-cells")

    def show_panel(self) -> Locator:
        """Open the panel in its sidebar."""
        self.run_command("surfer-lab:open-panel")
        return self.page.locator("#surfer-lab-panel")

    def has_plugin(self, plugin: str) -> bool:
        """Whether a plugin is active."""
        return bool(self.page.evaluate("id => window.jupyterapp.isPluginActivated(id)", plugin))

    def outputs(self) -> Locator:
        """Predictions drawn by our renderer in the open notebook."""
        return self.page.locator(".jp-Notebook:visible .jp-SurferOutput")
