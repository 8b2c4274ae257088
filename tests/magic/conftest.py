"""A real IPython shell with the extension loaded, a fresh namespace and an empty history for each test."""

from __future__ import annotations

import pytest
from IPython.core.interactiveshell import InteractiveShell

from surfer_lab.magic import history as history_module


class Shell:
    """Runs cells as a notebook does and keeps what they displayed."""

    def __init__(self, shell, capsys):
        self.ip = shell
        self._capsys = capsys
        self.displayed = []
        shell.display_pub.publish = lambda data, **_options: self.displayed.append(data)

    def run(self, cell):
        """The cell's result; its text is in `out` and `err`."""
        self._capsys.readouterr()
        self.displayed.clear()
        result = self.ip.run_cell(cell, store_history=True)
        self.out, self.err = self._capsys.readouterr()
        return result

    def __getitem__(self, name):
        return self.ip.user_ns[name]


@pytest.fixture
def shell(capsys, monkeypatch):
    InteractiveShell.clear_instance()
    ip = InteractiveShell.instance(colors="nocolor", history_length=0)
    ip.history_manager.enabled = False
    monkeypatch.setattr(history_module.history, "_predictions", {})
    ip.run_line_magic("load_ext", "surfer_lab")
    yield Shell(ip, capsys)
    ip.run_line_magic("unload_ext", "surfer_lab")
    InteractiveShell.clear_instance()
