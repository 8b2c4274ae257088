from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surfer_lab.errors import GpuError
from surfer_lab.hardware.catalog import load_catalog
from surfer_lab.hardware.limits import LIMITS_BY_CAPABILITY, limits_of
from surfer_lab.hardware.occupancy import blocks_per_sm, wave_blocks

KIB = 1024
CAPABILITIES = st.sampled_from(sorted(LIMITS_BY_CAPABILITY))
THREADS = st.integers(1, 1024)
REGS = st.integers(1, 255)
SMEM = st.integers(0, 48 * KIB)


# capability, threads, registers a thread, shared bytes -> blocks; the arithmetic of each on its line
@pytest.mark.parametrize(
    ("capability", "threads", "regs", "smem", "blocks"),
    [
        ("7.0", 256, 32, 0, 8),  # 8 warps of 64: threads limit
        ("7.0", 256, 64, 0, 4),  # 64 x 32 = 2048 a warp, 16384 / 2048 = 8 a partition, 32 warps / 8
        ("7.0", 128, 40, 0, 12),  # 40 x 32 = 1280, 16384 / 1280 = 12, 48 warps / 4
        ("7.0", 32, 16, 0, 32),  # 64 warps would fit: block limit
        ("7.0", 64, 32, 48 * KIB, 2),  # 96 KiB / 48 KiB
        ("8.0", 128, 255, 0, 2),  # 8160 -> 8192 a warp, 2 a partition, 8 warps / 4
        ("8.0", 256, 32, 48 * KIB, 3),  # 164 KiB / (48 + 1 reserved) KiB = 3.3
        ("8.0", 128, 32, 163 * KIB, 1),  # the largest a block may have
        ("8.0", 128, 32, 164 * KIB, 0),  # one KiB more cannot be launched
        ("7.5", 1024, 32, 0, 1),  # 32 warps: all of a Turing SM
        ("7.5", 64, 32, 0, 16),  # 32 warps / 2
        ("8.6", 256, 40, 0, 6),  # 48 warps by registers and by warps
        ("8.6", 32, 16, 0, 16),  # block limit of GA10x
        ("8.9", 64, 16, 0, 24),  # 48 warps / 2, block limit 24
        ("9.0", 384, 168, 0, 1),  # 5376 a warp, 3 a partition, 12 warps / 12
        ("6.0", 64, 112, 0, 9),  # two partitions: 32768 / 3584 = 9, 18 warps / 2
        ("6.1", 64, 112, 0, 8),  # four: 16384 / 3584 = 4, 16 warps / 2
        ("8.0", 1024, 65, 0, 0),  # 72 x 32 x 32 warps > 65536: the block does not fit
        ("gfx90a", 256, 128, 0, 4),  # 512 / 128 = 4 waves a SIMD, 16 / 4
        ("gfx90a", 64, 32, 0, 32),  # one wave needs no barrier: 8 waves x 4 SIMDs
        ("gfx90a", 128, 32, 0, 16),  # two waves: 16 barriers
        ("gfx908", 64, 24, 0, 40),  # 10 waves x 4 SIMDs
        ("gfx942", 256, 64, 32 * KIB, 2),  # 64 KiB of LDS / 32
        ("gfx950", 256, 64, 32 * KIB, 4),  # 160 KiB / 32.5 (26 granules of 1280 bytes)
    ],
)
def test_blocks_follow_the_occupancy_calculator(
    capability: str, threads: int, regs: int, smem: int, blocks: int
) -> None:
    assert blocks_per_sm(limits_of(capability), threads, regs, smem) == blocks


@given(CAPABILITIES, THREADS, REGS, SMEM)
def test_what_is_resident_fits_into_the_sm(capability: str, threads: int, regs: int, smem: int) -> None:
    limits = limits_of(capability)
    blocks = blocks_per_sm(limits, threads, regs, smem)
    warps = -(-threads // limits.warp_size)
    assert 0 <= blocks <= max(limits.max_blocks, limits.max_single_warp_blocks or 0)
    assert blocks * warps * limits.warp_size <= limits.max_threads
    assert blocks * warps * regs * limits.warp_size <= limits.registers
    assert blocks * smem <= limits.shared_memory_bytes


@given(CAPABILITIES, THREADS, REGS, SMEM, st.integers(0, 64), st.integers(0, 16 * KIB))
def test_more_registers_or_shared_memory_never_give_more_blocks(
    capability: str, threads: int, regs: int, smem: int, more_regs: int, more_smem: int
) -> None:
    limits = limits_of(capability)
    assert blocks_per_sm(limits, threads, regs + more_regs, smem) <= blocks_per_sm(limits, threads, regs, smem)
    assert blocks_per_sm(limits, threads, regs, smem + more_smem) <= blocks_per_sm(limits, threads, regs, smem)


@given(CAPABILITIES, st.lists(st.tuples(THREADS, REGS, SMEM), min_size=1, max_size=20))
def test_arrays_give_what_scalars_give(capability: str, launches: list[tuple[int, int, int]]) -> None:
    limits = limits_of(capability)
    threads, regs, smem = (np.array(column) for column in zip(*launches, strict=True))
    together = blocks_per_sm(limits, threads, regs, smem)
    assert list(np.asarray(together)) == [blocks_per_sm(limits, *launch) for launch in launches]


def test_what_was_not_recorded_limits_nothing() -> None:
    limits = limits_of("8.0")
    assert blocks_per_sm(limits, 256, -1, -1) == blocks_per_sm(limits, 256) == 8
    assert blocks_per_sm(limits, 0) == 0  # no block was recorded


def test_a_wave_has_at_least_one_block_an_sm() -> None:
    catalog = load_catalog()
    t4, v100 = catalog.find("T4"), catalog.find("V100 SXM2 16GB")
    assert wave_blocks(v100, 256, 64) == 4 * 80
    assert wave_blocks(t4, 128, 32, 96 * KIB) == 40  # 96 KiB do not fit on Turing


def test_capabilities_without_limits_are_refused_with_the_known_ones() -> None:
    with pytest.raises(GpuError, match=r"'5\.2'.*compute capability.*7\.0"):
        limits_of("5.2")


CAPABILITY_OF = {"V100": "7.0", "A100": "8.0", "2080": "7.5", "H100": "9.0"}


def test_occupancy_agrees_with_what_profilers_recorded(traces_dir: Path) -> None:
    checked = 0
    for path in sorted(traces_dir.glob("*.json.gz")):
        trace = json.loads(gzip.decompress(path.read_bytes()))
        devices = trace.get("deviceProperties") or [{}] if isinstance(trace, dict) else [{}]
        capability = next((cc for word, cc in CAPABILITY_OF.items() if word in devices[0].get("name", "")), None)
        if capability is None:
            continue
        limits, sms = limits_of(capability), devices[0].get("numSms", 80)
        launches = {
            (np.prod(args["block"]), np.prod(args["grid"]), args.get("registers per thread"), args["shared memory"],
             args["est. achieved occupancy %"])
            for event in trace["traceEvents"]
            if "est. achieved occupancy %" in (args := event.get("args") or {}) and "block" in args
        }  # fmt: skip
        for threads, blocks, regs, smem, occupancy in launches:
            if smem > 48 * KIB:  # the profiler does not know of the opt-in: it wrote 0
                continue
            warps = -(-threads // 32)
            resident = min(blocks_per_sm(limits, int(threads), int(regs), int(smem)), blocks / sms) * warps
            assert 100 * resident / limits.max_warps == pytest.approx(occupancy, abs=1.0)
            checked += 1
    assert checked > 1000
