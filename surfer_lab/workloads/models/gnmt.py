"""GNMT v2: LSTM encoder and decoder with attention from the decoder's first layer, as in NVIDIA's example and MLPerf.

Wu et al. 2016, arXiv 1609.08144, with 4 layers a side (8 in all) and normalised additive attention (Bahdanau et al.
2014, arXiv 1409.0473), whose context is joined to the input of every later decoder layer. Time first, batch second.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from surfer_lab.workloads.published import PublishedCount, Quantity
from surfer_lab.workloads.workload import Batch, Device, Workload, one_model_step

__all__ = ["Gnmt", "gnmt"]


class AdditiveAttention(nn.Module):
    """Scores g * v/|v| . tanh(W q + U k + b), softmax over the source, mean of the keys by them."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.direction = nn.Parameter(torch.empty(width).uniform_(-0.1, 0.1))
        self.gain = nn.Parameter(torch.full((1,), width**-0.5))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        """(T, N, width) and (S, N, width) to the context (T, N, width)."""
        queries, keys = queries.transpose(0, 1), keys.transpose(0, 1)
        sums = self.query(queries)[:, :, None] + self.key(keys)[:, None] + self.bias  # (N, T, S, width)
        scores = torch.tanh(sums) @ (self.direction / self.direction.norm() * self.gain)
        return torch.bmm(F.softmax(scores, dim=-1), keys).transpose(0, 1)


class Gnmt(nn.Module):
    """Source (S, N) and target (T, N) tokens to scores (T, N, vocabulary); one embedding for both."""

    def __init__(self, *, layers: int, width: int, vocabulary: int, dropout: float) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.dropout = nn.Dropout(dropout)
        self.encoder_first = nn.LSTM(width, width, bidirectional=True)
        self.encoder = nn.ModuleList(nn.LSTM(width * (2 if i == 0 else 1), width) for i in range(layers - 1))
        self.decoder_first = nn.LSTM(width, width)
        self.attention = AdditiveAttention(width)
        self.decoder = nn.ModuleList(nn.LSTM(2 * width, width) for _ in range(layers - 1))
        self.output = nn.Linear(width, vocabulary)
        for name, parameter in self.named_parameters():
            if not name.startswith("attention."):
                nn.init.uniform_(parameter, -0.1, 0.1)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return self.decode(target, self.encode(source))

    def encode(self, source: Tensor) -> Tensor:
        """(S, N) to (S, N, width), residual from the third layer on."""
        x, _ = self.encoder_first(self.dropout(self.embedding(source)))
        for index, layer in enumerate(self.encoder):
            out, _ = layer(self.dropout(x))
            x = out if index == 0 else out + x
        return x  # type: ignore[no-any-return]

    def decode(self, target: Tensor, memory: Tensor) -> Tensor:
        """Teacher-forced: all target places at once."""
        x, _ = self.decoder_first(self.dropout(self.embedding(target)))
        context = self.attention(x, memory)
        for index, layer in enumerate(self.decoder):
            out, _ = layer(torch.cat((self.dropout(x), context), dim=2))
            x = out if index == 0 else out + x
        return self.output(x)  # type: ignore[no-any-return]


def gnmt(
    *,
    device: Device = "cpu",
    layers: int = 4,
    width: int = 1024,
    vocabulary: int = 32_320,
    sequence: int = 50,
    dropout: float = 0.2,
) -> Workload:
    """GNMT v2, Adam, label smoothing 0.1, gradients clipped to 5. Inputs: `source`, `target`, `label` (sequence, N)."""
    with torch.device(device):
        model = Gnmt(layers=layers, width=width, vocabulary=vocabulary, dropout=dropout)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, foreach=True)

    def inputs(batch_size: int, device: torch.device) -> Batch:
        return {
            name: torch.randint(vocabulary, (sequence, batch_size), device=device)
            for name in ("source", "target", "label")
        }

    def loss(batch: Batch) -> Tensor:
        scores = model(batch["source"], batch["target"])
        return F.cross_entropy(scores.flatten(0, 1), batch["label"].flatten(), label_smoothing=0.1)

    return Workload(
        name="gnmt",
        title=f"GNMT v2, {layers} + {layers} layers, {sequence} tokens a sentence",
        paper="Wu et al., Google's Neural Machine Translation System, arXiv 1609.08144",
        device=torch.device(device),
        models={"model": model},
        optimizers={"adam": optimizer},
        inputs=inputs,
        training=one_model_step(optimizer, loss, max_gradient_norm=5.0),
        inference=lambda batch: model(batch["source"], batch["target"]),
        default_batch_size=32,
        studied_batch_sizes=(16, 32, 48),  # Yu et al., USENIX ATC'21, experiments/run_experiment.py
        sample_unit="sentence pairs",
        tokens_per_sample=2 * sequence,
        left_out=(
            "sentences of different lengths (packing, the attention's mask)",
            "beam search: inference scores a given target",
        ),
        published=(
            PublishedCount(
                quantity=Quantity.PARAMETERS,
                value=160_671_297,
                source="NVIDIA apex, tests of its distributed optimizers: MLPerf GNMT has 160671297 parameters",
            ),
        ),
        sizes={
            "layers": layers, "width": width, "vocabulary": vocabulary, "sequence": sequence, "dropout": dropout,
        },
    )  # fmt: skip
