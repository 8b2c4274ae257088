"""Measuring a link: two processes talk over gloo, what they say is fitted and kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from surfer_lab.errors import GpuError
from surfer_lab.hardware.machines import load_machines
from surfer_lab.training import links


@pytest.mark.skipif(not __import__("torch").distributed.is_available(), reason="this torch has no torch.distributed")
def test_two_processes_measure_a_link_that_is_kept_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(links, "SIZES", (4096, 4_194_304))
    monkeypatch.setattr(links, "ROUNDS", 1)
    run = links.calibrate_links(name="loopback of a test", folder=tmp_path)
    assert [sample.size_bytes for sample in run.samples] == [4096, 4_194_304]
    assert run.link.bus_bytes_per_s(2) > 0
    assert load_machines(tmp_path).link("loopback of a test").group_count == 2
    with pytest.raises(GpuError, match="did not come to an end"):
        links.run_ranks(_fails, 2, backend="gloo", words={})


def _fails(rank: int, ranks: int, backend: str) -> None:
    raise RuntimeError("a rank that fails")
