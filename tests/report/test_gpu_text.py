"""Does the table of GPUs answer names that mean several?"""

from __future__ import annotations

import pytest

from surfer_lab.errors import UnknownGpuError
from surfer_lab.report.gpu_text import gpu_text


def test_a_name_of_several_cards_lists_them() -> None:
    listed = gpu_text("A100")
    assert "A100 PCIe 40GB" in listed
    assert "A100 SXM4 80GB" in listed
    assert "V100" not in listed


def test_a_name_of_none_is_refused() -> None:
    with pytest.raises(UnknownGpuError):
        gpu_text("Voodoo 2")
