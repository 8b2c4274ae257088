"""Which folder holds the user's files, when what names it is wrong."""

from __future__ import annotations

import pytest

from surfer_lab.errors import GpuError
from surfer_lab.hardware.configuration import FOLDER_VARIABLE, configuration_folder


def test_the_home_of_nobody_is_refused_with_the_variable_that_named_it(monkeypatch):
    monkeypatch.setenv(FOLDER_VARIABLE, "~there-is-no-such-user/surfer")
    with pytest.raises(GpuError, match=FOLDER_VARIABLE):
        configuration_folder()
