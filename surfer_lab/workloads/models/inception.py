"""Inception v3 with its auxiliary classifier.

Szegedy et al. 2015, arXiv 1512.00567; channel counts as in torchvision, whose weights are the ported original.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from surfer_lab.workloads.models.resnet import image_inputs
from surfer_lab.workloads.published import PublishedCount, Quantity
from surfer_lab.workloads.workload import Batch, Device, Workload, one_model_step

__all__ = ["InceptionV3", "inception_v3"]

Kernel = int | tuple[int, int]


class Branches(nn.Module):
    """Modules side by side, their outputs joined along the channels."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: Tensor) -> Tensor:
        """(N, C, H, W) to (N, sum of the branches' channels, H', W')."""
        return torch.cat([branch(x) for branch in self.branches], 1)


def _unit(inputs: int, outputs: int, kernel: Kernel, *, stride: int = 1, padding: Kernel = 0) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride=stride, padding=padding, bias=False),
        nn.BatchNorm2d(outputs, eps=0.001),
        nn.ReLU(inplace=True),
    )


def _pooled(inputs: int, outputs: int) -> nn.Module:
    return nn.Sequential(nn.AvgPool2d(3, stride=1, padding=1), _unit(inputs, outputs, 1))


def _row(inputs: int, outputs: int, length: int = 7) -> nn.Module:
    return _unit(inputs, outputs, (1, length), padding=(0, length // 2))


def _column(inputs: int, outputs: int, length: int = 7) -> nn.Module:
    return _unit(inputs, outputs, (length, 1), padding=(length // 2, 0))


class _Blocks:
    """The five block types of the paper at a fraction of their width. Each returns the block and its channels."""

    def __init__(self, width: Callable[[int], int]) -> None:
        self.width = width

    def grid35(self, inputs: int, pool: int) -> tuple[nn.Module, int]:
        w = self.width
        block = Branches(
            _unit(inputs, w(64), 1),
            nn.Sequential(_unit(inputs, w(48), 1), _unit(w(48), w(64), 5, padding=2)),
            nn.Sequential(
                _unit(inputs, w(64), 1), _unit(w(64), w(96), 3, padding=1), _unit(w(96), w(96), 3, padding=1)
            ),
            _pooled(inputs, w(pool)),
        )
        return block, w(64) + w(64) + w(96) + w(pool)

    def to_grid17(self, inputs: int) -> tuple[nn.Module, int]:
        w = self.width
        block = Branches(
            _unit(inputs, w(384), 3, stride=2),
            nn.Sequential(_unit(inputs, w(64), 1), _unit(w(64), w(96), 3, padding=1), _unit(w(96), w(96), 3, stride=2)),
            nn.MaxPool2d(3, stride=2),
        )
        return block, w(384) + w(96) + inputs

    def grid17(self, inputs: int, inner: int) -> tuple[nn.Module, int]:
        w, c, out = self.width, self.width(inner), self.width(192)
        block = Branches(
            _unit(inputs, out, 1),
            nn.Sequential(_unit(inputs, c, 1), _row(c, c), _column(c, out)),
            nn.Sequential(_unit(inputs, c, 1), _column(c, c), _row(c, c), _column(c, c), _row(c, out)),
            _pooled(inputs, w(192)),
        )
        return block, 4 * out

    def to_grid8(self, inputs: int) -> tuple[nn.Module, int]:
        w, c = self.width, self.width(192)
        block = Branches(
            nn.Sequential(_unit(inputs, c, 1), _unit(c, w(320), 3, stride=2)),
            nn.Sequential(_unit(inputs, c, 1), _row(c, c), _column(c, c), _unit(c, c, 3, stride=2)),
            nn.MaxPool2d(3, stride=2),
        )
        return block, w(320) + c + inputs

    def grid8(self, inputs: int) -> tuple[nn.Module, int]:
        w, c = self.width, self.width(384)
        block = Branches(
            _unit(inputs, w(320), 1),
            nn.Sequential(_unit(inputs, c, 1), Branches(_row(c, c, 3), _column(c, c, 3))),
            nn.Sequential(
                _unit(inputs, w(448), 1), _unit(w(448), c, 3, padding=1), Branches(_row(c, c, 3), _column(c, c, 3))
            ),
            _pooled(inputs, w(192)),
        )
        return block, w(320) + 4 * c + w(192)


class InceptionV3(nn.Module):
    """Stem, eleven blocks, head; the auxiliary classifier sits on the last 17 x 17 grid and is used in training."""

    def __init__(self, *, width_fraction: float, classes: int) -> None:
        super().__init__()

        def width(channels: int) -> int:
            return ceil(channels * width_fraction)

        blocks = _Blocks(width)
        w = width
        self.stem = nn.Sequential(
            _unit(3, w(32), 3, stride=2), _unit(w(32), w(32), 3), _unit(w(32), w(64), 3, padding=1),
            nn.MaxPool2d(3, stride=2),
            _unit(w(64), w(80), 1), _unit(w(80), w(192), 3),
            nn.MaxPool2d(3, stride=2),
        )  # fmt: skip
        channels = w(192)
        before: list[nn.Module] = []
        for pool in (32, 64, 64):
            block, channels = blocks.grid35(channels, pool)
            before.append(block)
        block, channels = blocks.to_grid17(channels)
        before.append(block)
        for inner in (128, 160, 160, 192):
            block, channels = blocks.grid17(channels, inner)
            before.append(block)
        self.before_aux = nn.Sequential(*before)
        self.aux = nn.Sequential(
            nn.AvgPool2d(5, stride=3), _unit(channels, w(128), 1), _unit(w(128), w(768), 5),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(w(768), classes),
        )  # fmt: skip
        block, channels = blocks.to_grid8(channels)
        after = [block]
        for _ in range(2):
            block, channels = blocks.grid8(channels)
            after.append(block)
        self.after_aux = nn.Sequential(*after)
        self.head = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Dropout(0.5), nn.Flatten(), nn.Linear(channels, classes)
        )  # fmt: skip
        for module in self.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor | None]:
        """(N, 3, 299, 299) to the classes' scores and, in training, the auxiliary ones."""
        x = self.before_aux(self.stem(images))
        auxiliary = self.aux(x) if self.training else None
        return self.head(self.after_aux(x)), auxiliary


def inception_v3(
    *, device: Device = "cpu", width_fraction: float = 1.0, image: int = 299, classes: int = 1000
) -> Workload:
    """Inception v3, SGD with momentum. Inputs: `image` (N, 3, image, image), `label` (N,); image of 299 or more."""
    with torch.device(device):
        model = InceptionV3(width_fraction=width_fraction, classes=classes)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.045, momentum=0.9, foreach=True)

    def loss(batch: Batch) -> Tensor:
        scores, auxiliary = model(batch["image"])
        main = F.cross_entropy(scores, batch["label"])
        return main + 0.4 * F.cross_entropy(auxiliary, batch["label"])

    torchvision = "torchvision, Inception_V3_Weights.IMAGENET1K_V1"
    return Workload(
        name="inception_v3",
        title=f"Inception v3, {image} x {image}",
        paper="Szegedy et al., Rethinking the Inception Architecture for Computer Vision, arXiv 1512.00567",
        device=torch.device(device),
        models={"model": model},
        optimizers={"sgd": optimizer},
        inputs=image_inputs(image, classes),
        training=one_model_step(optimizer, loss),
        inference=lambda batch: model(batch["image"])[0],
        default_batch_size=32,
        studied_batch_sizes=(16, 32, 64),  # Yu et al., USENIX ATC'21, experiments/run_experiment.py
        sample_unit="images",
        left_out=("reading and augmenting images",),
        published=(
            PublishedCount(quantity=Quantity.PARAMETERS, value=27_161_264, source=f"{torchvision}, num_params"),
            PublishedCount(
                quantity=Quantity.PARAMETERS,
                value=23.8e6,
                rounding_fraction=0.002,
                scope="without the auxiliary classifier",
                without=("aux",),
                source="OpenVINO Open Model Zoo, googlenet-v3-pytorch: 23.817 MParams",
            ),
            PublishedCount(
                quantity=Quantity.FORWARD_MACS,
                value=5.713e9,
                rounding_fraction=0.001,
                scope="evaluation, without the auxiliary classifier",
                source=f"{torchvision}, GFLOPS (one a multiply-accumulate)",
            ),
        ),
        sizes={"width_fraction": width_fraction, "image": image, "classes": classes},
    )
