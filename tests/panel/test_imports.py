"""Does loading the extension in a kernel stay light? torch, Bokeh and widgets come with what needs them."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
import surfer_lab.panel.registration
print(sorted({"torch", "ray", "bokeh", "pandas", "ipywidgets", "nbconvert"} & set(sys.modules)))
"""


def test_setting_the_panel_up_loads_nothing_heavy():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
