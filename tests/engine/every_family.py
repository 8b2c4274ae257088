"""One training step that runs work of every family, from shapes alone: for the tests of sanity."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import torch
from torch import nn
from torch.nn import functional as F

from surfer_lab.capture import trace_symbolic
from surfer_lab.engine.lowering import Family
from surfer_lab.trace.model import Trace

# kinds known from a kernel's name only, made by the compile what-if, of several GPUs, over the host link, generic
NOT_IN_A_STEP: Final = frozenset(
    {
        Family.CONV, Family.DGRAD, Family.WGRAD, Family.FUSED_POINTWISE, Family.FUSED_REDUCTION, Family.COMMUNICATION,
        Family.MEMCPY, Family.OTHER,
    }
)  # fmt: skip
SIDE: Final = 32
CHANNELS: Final = 64
WORDS: Final = 64
WIDTH: Final = 256


class _Everything(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, CHANNELS, 3, padding=1)
        self.patch = nn.Conv2d(CHANNELS, CHANNELS, 2, stride=2)
        self.convolutions = nn.ModuleList(
            [
                nn.Conv2d(CHANNELS, CHANNELS, 1), nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1),
                nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1, groups=4),
                nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1, groups=CHANNELS),
                nn.ConvTranspose2d(CHANNELS, CHANNELS, 3, padding=1),
            ]
        )  # fmt: skip
        self.norms = nn.ModuleList([nn.BatchNorm2d(CHANNELS), nn.GroupNorm(8, CHANNELS)])
        self.words = nn.Embedding(1024, WIDTH)
        self.lstm = nn.LSTM(WIDTH, WIDTH, batch_first=True)
        self.norm = nn.LayerNorm(WIDTH)
        self.into = nn.Linear(WIDTH, 3 * WIDTH)
        self.head = nn.Linear(CHANNELS, 16)
        self.vocabulary = nn.Linear(WIDTH // 4, 128)

    def forward(self, images: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        x = self.patch(self.stem(images.clone()).half().float().to(images.dtype))
        for convolution in self.convolutions:
            x = F.relu(convolution(x)) + x
        for norm in self.norms:
            x = F.dropout(norm(x), 0.1)
        x = F.avg_pool2d(F.max_pool2d(F.interpolate(x, scale_factor=2.0), 2), 2)
        x = torch.cat([x, x.permute(0, 1, 3, 2).contiguous()], dim=2)
        picture = self.head(x.float().mean((2, 3)).to(x.dtype))
        y, _ = self.lstm(self.words(words))
        q, k, v = self.into(self.norm(y)).view(len(y), WORDS, 3, 4, WIDTH // 4).permute(2, 0, 3, 1, 4).unbind(0)
        attended = F.scaled_dot_product_attention(q, k, v)
        scores = torch.softmax(q @ k.transpose(-1, -2), -1) @ v
        sentence = (attended + scores).cumsum(2).mean((1, 2))[:, :16]
        numbers = sentence.float()
        spectrum = torch.fft.rfft(y.detach().float()).abs()
        ordered = torch.sort(y.detach().float(), dim=-1).values
        roots = torch.linalg.cholesky(torch.bmm(ordered.transpose(1, 2), ordered))
        noise = torch.rand_like(spectrum).sum() + ordered.sum() + roots.sum()
        noise = noise + torch.zeros_like(ordered).sum()
        told = self.vocabulary(attended).float().flatten(0, 2)
        guessed = F.cross_entropy(told, words.repeat(1, 4).flatten() % 128)
        named = F.cross_entropy((picture + numbers.to(picture.dtype)).float(), words[:, 0] % 16)
        loss: torch.Tensor = guessed + named + 0.0 * noise
        return loss


@cache
def training_step(batch: int, dtype: str = "float32") -> Trace:
    """The step at a batch size, nothing run; parameters and images of the dtype."""
    kind: torch.dtype = getattr(torch, dtype)

    def build() -> Any:
        model = _Everything().to(kind)
        return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(made: Any) -> None:
        model, optimizer = made
        optimizer.zero_grad()
        images = torch.randn(batch, 3, 2 * SIDE, 2 * SIDE, dtype=kind, requires_grad=True)
        words = torch.randint(0, 1024, (batch, WORDS))
        model(images, words).backward()
        optimizer.step()

    return trace_symbolic(step, build=build)
