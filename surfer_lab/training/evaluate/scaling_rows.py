"""Which published measurements on several GPUs are there, and as which step is each to be predicted?

Rows of deeplearningexamples.csv and llm_foundry.csv, and the figures of papers and benchmark rounds that are listed
here with their source. What a row leaves out (batch of a run, which parts of a run it times) is taken from the
repository's own scripts and said here. Tables of models without a reference workload are listed with that reason.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from surfer_lab.engine.precision import Precision

__all__ = ["Kind", "Published", "Run", "published_rows", "without_workload"]


class Kind:
    """What a figure says; words of the JSON cases."""

    SCALING: Final = "ddp_scaling"  # throughput on n GPUs over that on fewer
    LINK: Final = "link_gain"
    STRATEGY: Final = "strategy_step"  # ms of a step
    PRECISION: Final = "precision_gain"
    COMPILE: Final = "compile_gain"


@dataclass(frozen=True, kw_only=True)
class Run:
    """One configuration that ran: what a throughput belongs to. `batch` is a GPU's, of one micro-step."""

    machine: str
    num_gpus: int
    batch: int
    precision: Precision
    accumulation: int = 1
    strategy: str = "ddp"
    gradient_scale: float = 1.0
    bucket_mib: float | None = None  # None: torch's; larger than the model: nothing is sent before the last gradient
    compiled: bool = False
    channels_last: bool = False
    dense_on_one: str = ""  # beginnings of module paths, as Tuning has them
    tables: str = ""


@dataclass(frozen=True, kw_only=True)
class Published:
    """One figure. Ratios compare `run` with `base`: throughput by throughput; a step's is `run`'s, in ms."""

    kind: str
    model: str
    workload: str
    run: Run
    base: Run | None
    measured: float
    source: str
    sizes: Mapping[str, Any] = field(default_factory=dict)
    is_uneven: bool = False  # samples differ in length or size
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class _Example:
    """One folder of NVIDIA's examples. Batches by (precision, row); None: not one of the tables wanted."""

    model: str
    workload: str
    path: str
    batch: Callable[[Mapping[str, str], str, str], int | None]  # of (row, precision's column word, machine)
    sizes: Callable[[Mapping[str, str]], Mapping[str, Any]] = lambda row: {}
    accumulation: Callable[[Mapping[str, str], str], int] = lambda row, word: 1
    is_uneven: bool = False
    strategy: str = "ddp"


_DLE: Final = "NVIDIA/DeepLearningExamples"
_MACHINES: Final = (
    (re.compile(r"DGX A100.*40GB"), "DGX A100 40GB"),
    (re.compile(r"DGX A100"), "DGX A100"),
    (re.compile(r"DGX-2"), "DGX-2"),
    (re.compile(r"DGX-1.*32"), "DGX-1 V100 32GB"),
    (re.compile(r"DGX-1"), "DGX-1 V100"),
)
_FP16_GRADIENTS: Final = 0.5  # the examples of that time keep the model in fp16 (apex O2) and send what it has
_SENTENCE: Final = 50  # tokens of a sentence pair's side, as the workload has it


def _is_channels_last(model: str, is_mixed: bool) -> bool:
    # resnet50v1.5: `memory_format: nhwc` stands in the configurations of AMP only
    return model == "ResNet-50" and is_mixed


def _resnet_batch(row: Mapping[str, str], word: str, machine: str) -> int:
    # resnet50v1.5/README.md, training commands: 256 a GPU with AMP and on the A100, 128 in FP32 on the DGX-1
    return 256 if word != "FP32" else 128


def _bert_batch(row: Mapping[str, str], word: str, machine: str) -> int | None:
    at = 1 if word == "mixed" else 0
    micro = row.get("Batch size / GPU (TF32 and FP16)") or row.get("Batch size / GPU (FP32 and FP16)") or ""
    values = [int(one) for one in re.findall(r"\d+", micro)]
    if len(values) != 2:
        return None
    if "Accumulation steps (FP32 and FP16)" in row:  # this table's batch is that of a whole step
        steps = [int(one) for one in re.findall(r"\d+", row["Accumulation steps (FP32 and FP16)"])]
        return values[at] // steps[at]
    return values[at]


def _bert_accumulation(row: Mapping[str, str], word: str) -> int:
    steps = row.get("Accumulation steps (TF32 and FP16)") or row.get("Accumulation steps (FP32 and FP16)")
    return 1 if not steps else int(re.findall(r"\d+", steps)[1 if word == "mixed" else 0])


def _bert_sizes(row: Mapping[str, str]) -> dict[str, int]:
    return {"sequence": int(row.get("Sequence length") or 384)}  # fine-tuning on SQuAD: 384


def _tokens(row: Mapping[str, str], word: str, machine: str) -> int:
    # "5120/2560": mixed precision and FP32 (Transformer/README.md)
    values = [int(one) for one in row["Batch size / GPU"].split("/")]
    return max(1, values[0 if word == "mixed" else -1] // _SENTENCE)


def _stated(row: Mapping[str, str], word: str, machine: str) -> int:
    return int(row["Batch size / GPU"])


_EXAMPLES: Final = (
    _Example(model="ResNet-50", workload="resnet50", path="Classification/ConvNets/resnet50v1.5", batch=_resnet_batch),
    _Example(model="SSD", workload="ssd300", path="Detection/SSD", batch=_stated),
    _Example(model="Mask R-CNN", workload="mask_rcnn", path="Segmentation/MaskRCNN", batch=_stated),
    _Example(
        model="BERT", workload="bert_large", path="LanguageModeling/BERT", batch=_bert_batch, sizes=_bert_sizes,
        accumulation=_bert_accumulation,
    ),
    _Example(
        model="Transformer", workload="transformer_big", path="Translation/Transformer", batch=_tokens, is_uneven=True
    ),
    _Example(model="NCF", workload="ncf", path="Recommendation/NCF", batch=_stated),
)  # fmt: skip
# SSD of MLPerf v2.0 (1.38 by link) is a RetinaNet on ResNeXt-50 (its ssd/implementations), for which no workload stands
_WITHOUT_WORKLOAD: Final = {
    "LanguageModeling/Transformer-XL": "Transformer-XL", "SpeechRecognition/Jasper": "Jasper", "Forecasting/TFT": "TFT",
}  # fmt: skip

_V100: Final = "DGX-1 V100"
_A100: Final = "DGX A100"
_FP32, _TF32, _AMP = Precision.FP32, Precision.TF32, Precision.AMP_FP16


# BERT of MLPerf v2.0 (NVIDIA's code, which vendors run: mlcommons/training_results_v2.0, bert/implementations/pytorch)
# clips by the norm of all gradients before it reduces them (optim/distributed_fused_lamb.py): no reduction begins
# before the backward pass has ended. It leaves padding out (--unpad): half of a Wikipedia sequence's 512 tokens
# (Krell et al. 2021, arXiv 2107.02027).
_AFTER_BACKWARD: Final[dict[str, Any]] = {"bucket_mib": 1e6}
_UNPADDED: Final[dict[str, Any]] = {"sequence": 256}
# DLRM/README.md, "Embedding table placement and load balancing": the bottom network is on one GPU, which holds no
# table; tables go from the largest on to the GPU with the most memory left; the top network is data-parallel
_DLRM: Final[dict[str, Any]] = {"dense_on_one": "bottom", "tables": "tables"}


def published_rows(data: Path) -> tuple[Published, ...]:
    """All figures that have a workload, from the tables of a data folder and from the list here."""
    return (*_example_rows(data / "scaling" / "deeplearningexamples.csv"), *_listed(), *_foundry(data))


def without_workload(data: Path) -> tuple[tuple[str, int], ...]:
    """Models of the tables that no workload stands for, with the number of rows of theirs."""
    counted: dict[str, int] = {}
    for path, _, _, _ in _tables(data / "scaling" / "deeplearningexamples.csv"):
        for folder, model in _WITHOUT_WORKLOAD.items():
            if f"PyTorch/{folder}/" in path:
                counted[model] = counted.get(model, 0) + 1
    return tuple(counted.items())


def _tables(file: Path) -> Iterator[tuple[str, int, str, dict[str, str]]]:
    rows: dict[tuple[str, int, str], dict[str, str]] = {}
    with file.open(encoding="utf-8", newline="") as lines:
        for cell in csv.DictReader(lines):
            rows.setdefault((cell["path"], int(cell["line"]), cell["hardware"]), {})[cell["column"]] = cell["value"]
    for (path, line, hardware), row in rows.items():
        yield path, line, hardware, row


def _example_rows(file: Path) -> Iterator[Published]:
    """Each row against the one of its table with the fewest GPUs; weak scaling has the same batch, strong may not."""
    bases: dict[tuple[object, ...], tuple[Run, float]] = {}
    rows = []
    for path, line, hardware, row in _tables(file):
        example = next((one for one in _EXAMPLES if f"PyTorch/{one.path}/" in path), None)
        machine = next((name for pattern, name in _MACHINES if pattern.search(hardware)), None)
        if example is not None and machine is not None:
            rows += [(example, path, line, hardware, machine, row, *one) for one in _throughputs(row)]
    rows.sort(key=lambda one: _gpus(one[5]))
    for example, path, line, hardware, machine, row, word, value in rows:
        batch = example.batch(row, word, machine)
        if batch is None:
            continue
        run = Run(
            machine=machine,
            num_gpus=_gpus(row),
            batch=batch,
            precision={"FP32": _FP32, "TF32": _TF32}.get(word, _AMP),
            accumulation=example.accumulation(row, word),
            strategy=example.strategy,
            gradient_scale=_FP16_GRADIENTS if word == "mixed" and example.model != "ResNet-50" else 1.0,
            channels_last=_is_channels_last(example.model, word == "mixed"),
        )
        sizes = example.sizes(row)
        group = "strong" if example.model == "NCF" or "Nodes" in row else batch
        key = (path, hardware, tuple(sorted(row)), word, tuple(sizes.items()), group)
        if key not in bases:
            bases[key] = (run, value)
            continue
        base, base_value = bases[key]
        if base.num_gpus == run.num_gpus:
            continue
        yield Published(
            kind=Kind.SCALING, model=example.model, workload=example.workload, run=run, base=base,
            measured=value / base_value, sizes=sizes, is_uneven=example.is_uneven,
            source=f"{_DLE} {path}, line {line} ({hardware})",
        )  # fmt: skip


def _gpus(row: Mapping[str, str]) -> int:
    if "Nodes" in row:
        return int(row["Nodes"]) * int(row.get("GPUs / node") or 8)
    return int(row["GPUs"])


def _throughputs(row: Mapping[str, str]) -> Iterator[tuple[str, float]]:
    for column, value in row.items():
        if "hroughput" not in column or "speedup" in column.lower() or "scaling" in column.lower():
            continue
        number = re.match(r"[\d.,]+", value)
        if number is None:
            continue
        word = next((one for one in ("FP32", "TF32") if one in column), "mixed")
        yield word, float(number.group().replace(",", ""))


def _listed() -> Iterator[Published]:
    """Figures that stand in no table of the data folder."""
    yield from _gains()
    example = "NVIDIA/DeepLearningExamples, PyTorch README"
    gnmt: dict[str, Any] = {"batch": 128, "precision": _AMP, "gradient_scale": _FP16_GRADIENTS}
    yield Published(
        kind=Kind.SCALING, model="GNMT", workload="gnmt", measured=5.86, is_uneven=True,
        source=f"{example} (GNMT, DGX-1)",
        run=Run(machine=_V100, num_gpus=8, **gnmt), base=Run(machine=_V100, num_gpus=1, **gnmt),
    )  # fmt: skip
    for precision, factor in ((_FP32, 4.74 / 3.33), (_AMP, 10.8 / 7.93)):
        for_all: dict[str, Any] = {"machine": "DGX-2", "precision": precision, "strategy": "tables", **_DLRM}
        yield Published(
            kind=Kind.SCALING, model="DLRM", workload="dlrm", measured=factor,
            source=f"{_DLE} PyTorch/Recommendation/DLRM/README.md, lines 970 and 971 (DGX-2, large model)",
            run=Run(num_gpus=16, batch=4096, **for_all), base=Run(num_gpus=8, batch=8192, **for_all),
        )  # fmt: skip
    for model, workload, batch, grows, uneven, factor in (
        ("ResNet-50", "resnet50", 208, True, False, 1.82), ("SSD", "ssd300_resnet34", 128, False, False, 1.69),
        ("GNMT", "gnmt", 128, True, True, 1.75), ("Transformer", "transformer_big", 102, True, True, 1.54),
        ("NCF", "ncf", 131_072, False, False, 1.17),
    ):  # fmt: skip
        yield Published(
            kind=Kind.SCALING, model=model, workload=workload, measured=factor, is_uneven=uneven,
            source="MLPerf training v0.5, 8 x V100 to 16 x V100",
            note="time to train: more samples are needed at a larger batch",
            run=Run(machine="DGX-2", num_gpus=16, batch=batch if grows else batch // 2, **_mlperf(model)),
            base=Run(machine=_V100, num_gpus=8, batch=batch, **_mlperf(model)),
        )  # fmt: skip
    for model, workload, sizes, batch, own, gain in (
        ("DLRM", "dlrm", {}, 8192, {"strategy": "tables", **_DLRM}, 3.3),
        ("BERT", "bert_large", _UNPADDED, 56, _AFTER_BACKWARD, 1.50), ("ResNet-50", "resnet50", {}, 408, {}, 1.11),
        ("Mask R-CNN", "mask_rcnn", {}, 12, {}, 1.11),
    ):  # fmt: skip
        both = {"num_gpus": 8, "batch": batch, **_mlperf(model), **own}
        yield Published(
            kind=Kind.LINK, model=model, workload=workload, sizes=sizes, measured=gain,
            source="MLPerf training v2.0, 8 x A100 80GB, SXM against PCIe, one vendor",
            note="taken to be H3C's R5500 G5 and R5300 G5, entered with eight cards of each kind",
            run=Run(machine="DGX A100", **both), base=Run(machine="PCIe server 8 x A100 (Xeon)", **both),
        )  # fmt: skip
    for strategy, ms in (("ddp", 452.0), ("tp:4", 485.0), ("pp:4:1", 1598.0)):
        yield Published(
            kind=Kind.STRATEGY, model="GPT-2 Large", workload="gpt2_large", measured=ms, base=None,
            source="sitar-lab/NeuSight artifact, 4 x A100 40GB SXM, global batch 4, FP32",
            note="a pipeline of one micro-batch" if strategy.startswith("pp") else "",
            run=Run(machine="DGX A100 40GB", num_gpus=4, batch=1, precision=_FP32, strategy=strategy),
            sizes={"attention": "math"},
        )  # fmt: skip
    fsdp: dict[str, Any] = {
        "machine": "DGX H100",
        "num_gpus": 8,
        "batch": 1,
        "precision": Precision.AMP_BF16,
        "strategy": "fsdp",
    }
    yield Published(
        kind=Kind.COMPILE, model="Llama-3 8B", workload="llama3_8b", measured=1.16, sizes={"sequence": 8192},
        source="pytorch/torchtitan, torch.compile on H100, FSDP",
        run=Run(compiled=True, **fsdp), base=Run(**fsdp),
    )  # fmt: skip


def _mlperf(model: str) -> dict[str, Any]:
    """What runs of those rounds have in common."""
    return {
        "precision": _AMP, "gradient_scale": _FP16_GRADIENTS, "channels_last": _is_channels_last(model, is_mixed=True),
    }  # fmt: skip


def _gains() -> Iterator[Published]:
    """Mixed precision on one GPU (Mask R-CNN: on eight), NVIDIA's examples: V100 from FP32, A100 from TF32."""
    for machine, plain, figures in (
        (_V100, _FP32, (3.26, 2.76, 3.50, 3.77, 2.1, 1.59)),
        (_A100, _TF32, (2.63, 1.85, 1.69, 1.60, 1.5, 1.08)),
    ):
        batches = {  # (plain, mixed); of the tables' own rows
            "ResNet-50": ("resnet50", 128 if plain is _FP32 else 256, 256), "SSD": ("ssd300", 32, 32),
            "GNMT": ("gnmt", 128, 128),
            "Transformer": ("transformer_big", *((51, 102) if plain is _FP32 else (204, 204))),
            "NCF": ("ncf", 1_048_576, 1_048_576), "Mask R-CNN": ("mask_rcnn", 12, 12),
        }  # fmt: skip
        for (model, (workload, before, after)), gain in zip(batches.items(), figures, strict=True):
            count = 8 if model == "Mask R-CNN" else 1
            yield Published(
                kind=Kind.PRECISION, model=model, workload=workload, measured=gain,
                is_uneven=model in ("GNMT", "Transformer"), source=f"{_DLE}, {machine}, {count} GPU",
                run=Run(machine=machine, num_gpus=count, batch=after, precision=_AMP,
                        channels_last=_is_channels_last(model, is_mixed=True)),
                base=Run(machine=machine, num_gpus=count, batch=before, precision=plain),
            )  # fmt: skip


# layers, width, heads of MosaicML's MPT models (scripts/train/yamls/pretrain): GPT-2's form at these sizes
_MPT: Final = {
    "125m": (12, 768, 12), "350m": (24, 1024, 16), "760m": (24, 1536, 12), "1b": (24, 2048, 16), "3b": (32, 2560, 20),
    "7b": (32, 4096, 32), "13b": (40, 5120, 40), "30b": (48, 7168, 56), "70b": (80, 8192, 64),
}  # fmt: skip
_MPT_VOCABULARY: Final = 50_368
_FOUNDRY_MACHINES: Final = {
    "h100_80gb": "DGX H100", "a100_80gb": "RoCE cluster A100 80GB", "a100_40gb": "RoCE cluster A100 40GB",
}  # fmt: skip


def _foundry(data: Path) -> Iterator[Published]:
    """Steps of MPT models under FSDP in ms: rows of 2,048 tokens without checkpointed activations, bf16 autocast."""
    with (data / "scaling" / "llm_foundry.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            if (
                row["SeqLen (T)"] != "2048"
                or row["Precision"] != "amp_bf16"
                or row["Activation Checkpointing"] == "True"
            ):
                continue
            layers, width, heads = _MPT[row["Model"]]
            count, micro, steps = (int(row[name]) for name in ("# GPUs", "MicroBatchSize", "GradAccum"))
            tokens = float(row["Throughput (T/s/GPU)"])
            yield Published(
                kind=Kind.STRATEGY, model=f"MPT {row['Model']}", workload="gpt2", base=None,
                measured=1e3 * micro * steps * 2048 / tokens,
                source=f"mosaicml/llm-foundry scripts/train/benchmarking, {row['section']}",
                sizes={"layers": layers, "width": width, "heads": heads, "sequence": 2048, "dropout": 0.0,
                       "vocabulary": _MPT_VOCABULARY},
                run=Run(
                    machine=_FOUNDRY_MACHINES[row["GPU"]], num_gpus=count, batch=micro, accumulation=steps,
                    precision=Precision.AMP_BF16, gradient_scale=1.0,
                    strategy="fsdp" if row["Sharding Strategy"] == "FULL_SHARD" else "zero2",
                ),
            )  # fmt: skip
