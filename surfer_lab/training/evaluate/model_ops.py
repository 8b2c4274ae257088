"""Which operations does a measured model of e2e/ run, as work that the engine predicts? One entry an operation.

A table holds one layer; rows of the repeated layer count as often as the model has layers. Views and what only the host
does (sizes, dtypes that are already right) cost no GPU time and are left out; dropout does nothing in inference.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pandas as pd

from surfer_lab.errors import OptionError
from surfer_lab.trace.tables import ArgShapes

__all__ = ["ModelCase", "ModelOp", "read_cases"]

Shape = tuple[int, ...]

_ELEMENTWISE: Final = {
    "VECadd": "aten::add", "VECmul": "aten::mul", "VECdiv": "aten::div", "VECaddu": "aten::add", "VECmulu": "aten::mul",
    "VECdivu": "aten::div", "VECpowu": "aten::pow", "VECrelu": "aten::relu", "VECgelu": "aten::gelu",
    "VECtanh": "aten::tanh", "VECsoftmax": "aten::_softmax", "where": "aten::where", "contiguous": "aten::clone",
}  # fmt: skip
# parts of a target's name that say: no kernel of its own
_HOST_ONLY: Final = (
    "size", "view", "permute", "transpose", "dim", "expand", "unsqueeze", "split", "getattr", "getitem", "finfo",
    "type", "to", "float", "bool", "long", "tensor",
)  # fmt: skip
_NO_NODE: Final = ("placeholder", "output", "get_attr")
_TWO_OPERANDS: Final = ("VECadd", "VECmul", "VECdiv", "VECsoftmax", "VECln")


@dataclass(frozen=True, kw_only=True)
class ModelOp:
    """One operation, its times of running in a step, and its time where it was measured."""

    name: str
    shapes: ArgShapes
    repeats: int
    measured_ms: float


@dataclass(frozen=True, kw_only=True)
class ModelCase:
    """A model on a GPU. `step_ms` is measured end to end, `sum_ms` the sum of its measured operations."""

    gpu: str  # as the table spells it
    model: str
    mode: str
    seq: int
    batch: int
    step_ms: float
    sum_ms: float
    ops: tuple[ModelOp, ...]
    columns: Mapping[str, Any] = field(default_factory=dict)  # the row of the index

    @property
    def key(self) -> tuple[str, str, int, int]:
        """Equal for the same case on several GPUs."""
        return self.model, self.mode, self.seq, self.batch


def read_cases(data: Path) -> tuple[list[ModelCase], list[tuple[dict[str, Any], str]]]:
    """The eager cases with op times, and all other rows of the index with the reason why they are not predicted."""
    path = data / "e2e" / "index.csv"
    if not path.is_file():
        raise OptionError(f"there is no table of measured models: {path}", remedy="a folder with e2e/index.csv")
    cases, left_out = [], []
    for row in _records(pd.read_csv(path)):
        reason = _reason(row, data)
        if reason:
            left_out.append((row, reason))
            continue
        table = pd.read_parquet(data / "e2e" / str(row["trace_path"]))
        ops = [op for node in _records(table) for op in _node_ops(node, row)]
        cases.append(
            ModelCase(
                gpu=str(row["gpu"]), model=str(row["model"]), mode=str(row["mode"]), seq=int(row["seq"]),
                batch=int(row["batch"]), step_ms=float(row["e2e_ms"]),
                sum_ms=sum(float(row[f"sum_ops_{part}_ms"]) for part in ("fw", "bw", "acc")), ops=tuple(ops),
                columns=row,
            )
        )  # fmt: skip
    return cases, left_out


def _reason(row: dict[str, Any], data: Path) -> str:
    if isinstance(row["option"], str):
        return f"ran with {row['option']} (compiled): no operations were recorded"
    if not isinstance(row["trace_path"], str):
        return "no operations were published"
    if not (data / "e2e" / row["trace_path"]).is_file():
        return f"its operations are missing: {row['trace_path']}"
    if not row["e2e_ms"] > 0:
        return "no time of the whole step was measured"
    return ""


def _node_ops(node: dict[str, Any], case: dict[str, Any]) -> list[ModelOp]:
    if node["op"] in _NO_NODE:
        return []
    layers = case["num_layer"]
    repeats = int(layers) if node["in_repeated_layer"] and layers > 0 else 1
    found = [(work, float(node["fw_ms"])) for work in _forward(node, case["mode"] == "train")]
    if case["mode"] == "train":
        for column, time in (("bw_ops", "bw_ms"), ("acc_ops", "acc_ms")):
            listed = [_listed(entry) for entry in ast.literal_eval(node[column] or "[]")]
            found += [(work, float(node[time]) / len(listed)) for work in listed]
    return [
        ModelOp(name=name, shapes=shapes, repeats=repeats, measured_ms=time) for (name, shapes), time in found if name
    ]


Work = tuple[str, ArgShapes]


def _forward(node: dict[str, Any], is_training: bool) -> list[Work]:
    kind, target = str(node["op_kind"]), str(node["target"])
    inputs = [tuple(shape) for shape in ast.literal_eval(node["input_shapes"]) if tuple(shape) not in ((), (1,))]
    output = _first_shape(ast.literal_eval(node["output_shape"]))
    if kind in ("Linear", "BMM"):
        return [_listed(entry) for entry in ast.literal_eval(node["fw_ops"])]
    if "drop" in target or kind == "dropout":
        return [("aten::native_dropout", (output,))] if is_training else []
    if kind == "VECln":
        return [("aten::layer_norm", (inputs[0], (inputs[0][-1],), (inputs[0][-1],)))]
    if kind in _ELEMENTWISE:
        return [(_ELEMENTWISE[kind], tuple(inputs))] if inputs else []
    if _is_host_only(kind, target) or math.prod(output) <= 1:
        return []
    if "max" in target:
        return [("aten::maximum", (*inputs, output)[:2])]
    return [("aten::clone", (output,))]


def _is_host_only(kind: str, target: str) -> bool:
    name = target.replace("<built-in function ", "").replace("<built-in method ", "").replace("<class 'torch.", "")
    return kind == "getitem" or any(name.startswith(one) for one in _HOST_ONLY)


def _listed(entry: Any) -> Work:
    """An operation as the tables' own lists have it: a kind and dimensions."""
    kind, dims = entry[0], entry[1]
    if kind == "Linear":
        m, k, n = dims
        return "aten::mm", ((m, k), (k, n))
    if kind == "BMM":
        batch, m, k, n = dims
        return "aten::bmm", ((batch, m, k), (batch, k, n))
    if kind == "MEM":  # each tensor is read or written once
        return "aten::fill_", ((sum(math.prod(shape) for shape in dims),),)
    shape: Shape = tuple(dims)
    return _ELEMENTWISE.get(kind, "aten::mul"), (shape,) * (2 if kind in _TWO_OPERANDS else 1)


def _first_shape(stored: Any) -> Shape:
    if stored and isinstance(stored[0], (tuple, list)):
        return tuple(stored[0])
    return tuple(stored)


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]
