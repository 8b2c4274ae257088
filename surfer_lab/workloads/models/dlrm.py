"""DLRM on Criteo: 26 embedding tables, two small networks, products of all pairs.

Naumov et al. 2019, arXiv 1906.00091; table and layer sizes of its repository's scripts for Criteo Terabyte (MLPerf's
configuration, indices below 40 million) and Criteo Kaggle. Tables are updated where they were read, by plain SGD, as
there: a lookup's rows get the gradient, and the step subtracts it from those rows. (Written out rather than with sparse
gradients, whose kernels "meta" lacks.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from surfer_lab.errors import OptionError
from surfer_lab.workloads.published import PublishedCount, Quantity
from surfer_lab.workloads.workload import Batch, Device, StepPrecision, Workload

__all__ = ["Dlrm", "EmbeddingTables", "dlrm"]

_DENSE_FEATURES: Final = 13
_LEARNING_RATE: Final = 0.1


@dataclass(frozen=True, kw_only=True)
class _Size:
    title: str
    table_rows: tuple[int, ...]
    embedding: int
    bottom: tuple[int, ...]
    top: tuple[int, ...]
    batch_size: int
    published: PublishedCount


_SIZES: Final[dict[str, _Size]] = {
    "terabyte": _Size(
        title="Criteo Terabyte",
        table_rows=(
            39_884_406, 39_043, 17_289, 7_420, 20_263, 3, 7_120, 1_543, 63, 38_532_951, 2_953_546, 403_346, 10,
            2_208, 11_938, 155, 4, 976, 14, 39_979_771, 25_641_295, 39_664_984, 585_935, 12_972, 108, 36,
        ),
        embedding=128,
        bottom=(512, 256, 128),
        top=(1024, 1024, 512, 256, 1),
        batch_size=65_536,  # NVIDIA DeepLearningExamples, DLRM
        published=PublishedCount(
            quantity=Quantity.PARAMETERS,
            value=187_767_399 * 128,
            scope="embedding tables",
            without=("bottom", "top"),
            source="NVIDIA HugeCTR, benchmarks: 187,767,399 categories in MLPerf's Criteo Terabyte; 128 values each",
        ),
    ),
    "kaggle": _Size(
        title="Criteo Kaggle",
        table_rows=(
            1_460, 583, 10_131_227, 2_202_608, 305, 24, 12_517, 633, 3, 93_145, 5_683, 8_351_593, 3_194, 27, 14_992,
            5_461_306, 10, 5_652, 2_173, 4, 7_046_547, 18, 15, 286_181, 105, 142_572,
        ),
        embedding=16,
        bottom=(512, 256, 64, 16),
        top=(512, 256, 1),
        batch_size=128,
        published=PublishedCount(
            quantity=Quantity.PARAMETERS,
            value=33_762_577 * 16,
            scope="embedding tables",
            without=("bottom", "top"),
            source="ColossalAI, DLRM example: 33,762,577 categories in Criteo Kaggle; 16 values each (about 540M)",
        ),
    ),
}  # fmt: skip


class EmbeddingTables(nn.Module):
    """Rows by index, one index a table. After a backward pass `subtract_gradients` updates the rows that were read."""

    def __init__(self, rows: Sequence[int], width: int) -> None:
        super().__init__()
        self.tables = nn.ParameterList(
            nn.Parameter(torch.empty(count, width).uniform_(-(count**-0.5), count**-0.5), requires_grad=False)
            for count in rows
        )
        self._read: list[tuple[Tensor, Tensor, Tensor]] = []  # table, index, rows

    def forward(self, index: Tensor) -> list[Tensor]:
        """(N, tables) to one (N, width) a table, each a leaf that collects its gradient."""
        rows = [F.embedding(index[:, position], table) for position, table in enumerate(self.tables)]
        if torch.is_grad_enabled():
            for row in rows:
                row.requires_grad_()
            self._read = [(table, index[:, i], rows[i]) for i, table in enumerate(self.tables)]
        return rows

    @torch.no_grad()
    def subtract_gradients(self, learning_rate: float) -> None:
        """table[index] -= rate * gradient, repeated indices added up; forgets the lookup."""
        for table, index, rows in self._read:
            if rows.grad is not None:
                table.index_add_(0, index, rows.grad, alpha=-learning_rate)
        self._read = []


def _layers(sizes: Sequence[int], *, last_is_linear: bool) -> nn.Sequential:
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), nn.ReLU(inplace=True)]
    return nn.Sequential(*(layers[:-1] if last_is_linear else layers))


class Dlrm(nn.Module):
    """Dense features (N, 13) and indices (N, tables) to one logit each (N,)."""

    def __init__(self, *, rows: Sequence[int], embedding: int, bottom: Sequence[int], top: Sequence[int]) -> None:
        super().__init__()
        self.tables = EmbeddingTables(rows, embedding)
        self.bottom = _layers((_DENSE_FEATURES, *bottom), last_is_linear=False)
        vectors = len(rows) + 1
        self.register_buffer("pairs", torch.tril_indices(vectors, vectors, offset=-1), persistent=False)
        self.pairs: Tensor
        self.top = _layers((embedding + vectors * (vectors - 1) // 2, *top), last_is_linear=True)

    def forward(self, dense: Tensor, index: Tensor) -> Tensor:
        x = self.bottom(dense)
        vectors = torch.stack([x, *self.tables(index)], dim=1)
        products = torch.bmm(vectors, vectors.transpose(1, 2))
        interactions = products[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat((x, interactions), dim=1)).squeeze(1)  # type: ignore[no-any-return]


def dlrm(
    *,
    device: Device = "cpu",
    size: str = "terabyte",
    table_rows: Sequence[int] | None = None,
    embedding: int | None = None,
    bottom: Sequence[int] | None = None,
    top: Sequence[int] | None = None,
) -> Workload:
    """DLRM "terabyte" (24 billion parameters: device="meta" unless the machine holds 96 GB) or "kaggle", SGD.

    Inputs: `dense` (N, 13) float, `index` (N, tables) int64, `label` (N,) float. With a GradScaler the tables' update
    is unscaled and not skipped.
    """
    if size not in _SIZES:
        raise OptionError(f"dlrm has no size {size!r}", remedy=" or ".join(_SIZES))
    named = _SIZES[size]
    rows = tuple(table_rows or named.table_rows)
    shape = {
        "embedding": embedding or named.embedding,
        "bottom": tuple(bottom or named.bottom),
        "top": tuple(top or named.top),
    }
    with torch.device(device):
        model = Dlrm(rows=rows, **shape)  # type: ignore[arg-type]
    optimizer = torch.optim.SGD(
        [parameter for parameter in model.parameters() if parameter.requires_grad], lr=_LEARNING_RATE, foreach=True
    )

    def inputs(batch_size: int, device: torch.device) -> Batch:
        return {
            "dense": torch.rand(batch_size, _DENSE_FEATURES, device=device),
            "index": torch.stack([torch.randint(count, (batch_size,), device=device) for count in rows], dim=1),
            "label": torch.randint(2, (batch_size,), device=device).float(),
        }

    def training(batch: Batch, precision: StepPrecision) -> Tensor:
        optimizer.zero_grad(set_to_none=True)
        with precision.autocast():
            loss = F.binary_cross_entropy_with_logits(model(batch["dense"], batch["index"]), batch["label"])
        precision.backward(loss)
        scale = 1.0 if precision.scaler is None else precision.scaler.get_scale()
        model.tables.subtract_gradients(_LEARNING_RATE / scale)
        precision.update(optimizer)
        return loss.detach()

    return Workload(
        name="dlrm" if size == "terabyte" else f"dlrm_{size}",
        title=f"DLRM, {named.title}",
        paper="Naumov et al., Deep Learning Recommendation Model, arXiv 1906.00091",
        device=torch.device(device),
        models={"model": model},
        optimizers={"sgd": optimizer},
        inputs=inputs,
        training=training,
        inference=lambda batch: torch.sigmoid(model(batch["dense"], batch["index"])),
        default_batch_size=named.batch_size,
        studied_batch_sizes=(named.batch_size,),
        sample_unit="clicks",
        left_out=("bags of several indices a feature: Criteo has one each",),
        published=(named.published,),
        sizes={"size": size, "table_rows": rows, **shape},
    )
