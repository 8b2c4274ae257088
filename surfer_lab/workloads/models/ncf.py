"""NCF: NeuMF, a product of factors beside a small network, on MovieLens 20M.

He et al. 2017, arXiv 1708.05031; sizes of NVIDIA's example and MLPerf v0.5 (64 factors; 256, 256, 128, 64). Dense Adam
over all embeddings, as there.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from surfer_lab.workloads.published import PublishedCount, Quantity
from surfer_lab.workloads.workload import Batch, Device, Workload, one_model_step

__all__ = ["NeuMf", "ncf"]


class NeuMf(nn.Module):
    """Users and items (N,) to one logit each (N,)."""

    def __init__(self, *, users: int, items: int, factors: int, hidden: Sequence[int], dropout: float) -> None:
        super().__init__()
        self.user_factors = nn.Embedding(users, factors)
        self.item_factors = nn.Embedding(items, factors)
        self.user_hidden = nn.Embedding(users, hidden[0] // 2)
        self.item_hidden = nn.Embedding(items, hidden[0] // 2)
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(hidden):
            layers += [nn.Linear(inputs, outputs), nn.ReLU(), nn.Dropout(dropout)]
        self.network = nn.Sequential(*layers)
        self.output = nn.Linear(factors + hidden[-1], 1)
        for module in self.modules():
            if isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=0.01)

    def forward(self, user: Tensor, item: Tensor) -> Tensor:
        product = self.user_factors(user) * self.item_factors(item)
        hidden = self.network(torch.cat((self.user_hidden(user), self.item_hidden(item)), dim=1))
        return self.output(torch.cat((product, hidden), dim=1)).squeeze(1)  # type: ignore[no-any-return]


def ncf(
    *,
    device: Device = "cpu",
    users: int = 138_493,
    items: int = 26_744,
    factors: int = 64,
    hidden: Sequence[int] = (256, 256, 128, 64),
    dropout: float = 0.5,
) -> Workload:
    """NeuMF, Adam. Inputs: `user`, `item` (N,) int64, `label` (N,) float, 0 or 1."""
    with torch.device(device):
        model = NeuMf(users=users, items=items, factors=factors, hidden=hidden, dropout=dropout)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.0045, betas=(0.25, 0.5), foreach=True)

    def inputs(batch_size: int, device: torch.device) -> Batch:
        return {
            "user": torch.randint(users, (batch_size,), device=device),
            "item": torch.randint(items, (batch_size,), device=device),
            "label": torch.randint(2, (batch_size,), device=device).float(),
        }

    def loss(batch: Batch) -> Tensor:
        return F.binary_cross_entropy_with_logits(model(batch["user"], batch["item"]), batch["label"])

    return Workload(
        name="ncf",
        title="NCF (NeuMF), MovieLens 20M",
        paper="He et al., Neural Collaborative Filtering, arXiv 1708.05031",
        device=torch.device(device),
        models={"model": model},
        optimizers={"adam": optimizer},
        inputs=inputs,
        training=one_model_step(optimizer, loss),
        inference=lambda batch: torch.sigmoid(model(batch["user"], batch["item"])),
        default_batch_size=1_048_576,
        studied_batch_sizes=(1_048_576,),  # NVIDIA DeepLearningExamples, NCF, one GPU
        sample_unit="user-item pairs",
        left_out=("drawing negative examples",),
        published=(
            PublishedCount(
                quantity=Quantity.PARAMETERS,
                value=31_832_577,
                source="public gradient-compression runs of NVIDIA's NCF on ML-20M: density computed over 31832577",
            ),
        ),
        sizes={"users": users, "items": items, "factors": factors, "hidden": tuple(hidden), "dropout": dropout},
    )
