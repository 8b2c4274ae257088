"""SSD300: a single-shot detector on ResNet-50 (NVIDIA's example) or ResNet-34 (MLPerf v0.5, the second paper).

Liu et al. 2015, arXiv 1512.02325, with the trunk's stages 1 to 3, the third unstrided, instead of VGG: six feature maps
from 38 x 38 to 1 x 1, 8,732 default boxes, hard negatives mined 3 to 1. Matching ground truth to default boxes is the
data loader's work: targets come matched.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import ceil, sqrt
from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from surfer_lab.errors import OptionError
from surfer_lab.workloads.models.resnet import ResNetTrunk
from surfer_lab.workloads.published import PublishedCount, Quantity
from surfer_lab.workloads.workload import Batch, Device, Output, Workload, one_model_step

__all__ = ["Ssd300", "default_boxes", "ssd300"]

_IMAGE: Final = 300
_GRIDS: Final = (38, 19, 10, 5, 3, 1)
_STEPS: Final = (8, 16, 32, 64, 100, 300)  # pixels between cells
_SCALES: Final = (21, 45, 99, 153, 207, 261, 315)  # pixels
_RATIOS: Final = ((2,), (2, 3), (2, 3), (2, 3), (2,), (2,))
_BOXES_PER_CELL: Final = (4, 6, 6, 6, 4, 4)
_EXTRA_OUTPUTS: Final = (512, 512, 256, 256, 256)
_EXTRA_INNER: Final = (256, 256, 128, 128, 128)
_VARIANCE_CENTRE: Final = 0.1
_VARIANCE_SIZE: Final = 0.2
_BACKBONES: Final = ("resnet50", "resnet34")


def default_boxes() -> Tensor:
    """(4, 8732): centre x, centre y, width, height in fractions of the image; a tensor of the default device."""
    boxes: list[tuple[float, float, float, float]] = []
    for grid, step, scale, larger, ratios in zip(_GRIDS, _STEPS, _SCALES, _SCALES[1:], _RATIOS, strict=False):
        small, between = scale / _IMAGE, sqrt(scale * larger) / _IMAGE
        sides = [(small, small), (between, between)]
        for ratio in ratios:
            wide, narrow = small * sqrt(ratio), small / sqrt(ratio)
            sides += [(wide, narrow), (narrow, wide)]
        cells = _IMAGE / step
        boxes += [
            ((column + 0.5) / cells, (row + 0.5) / cells, width, height)
            for width, height in sides
            for row, column in product(range(grid), repeat=2)
        ]
    return torch.tensor(boxes).clamp(0.0, 1.0).T.contiguous()


def _extra(inputs: int, inner: int, outputs: int, *, strided: bool) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(inputs, inner, 1, bias=False), nn.BatchNorm2d(inner), nn.ReLU(inplace=True),
        nn.Conv2d(inner, outputs, 3, stride=2 if strided else 1, padding=1 if strided else 0, bias=False),
        nn.BatchNorm2d(outputs), nn.ReLU(inplace=True),
    )  # fmt: skip


class Ssd300(nn.Module):
    """Images (N, 3, 300, 300) to box offsets (N, 4, 8732) and class scores (N, classes, 8732)."""

    def __init__(self, *, backbone: str, width: int, extra_width_fraction: float, classes: int) -> None:
        super().__init__()
        self.classes = classes
        self.trunk = ResNetTrunk(backbone, width=width, strides=(1, 2, 1))
        channels = [self.trunk.channels[-1]]
        extras: list[nn.Module] = []
        for index, (inner, outputs) in enumerate(zip(_EXTRA_INNER, _EXTRA_OUTPUTS, strict=True)):
            sizes = [ceil(value * extra_width_fraction) for value in (inner, outputs)]
            extras.append(_extra(channels[-1], *sizes, strided=index < 3))
            channels.append(sizes[1])
        self.extras = nn.ModuleList(extras)
        self.box_heads = self._heads(channels, 4)
        self.class_heads = self._heads(channels, classes)
        for module in (self.extras, self.box_heads, self.class_heads):
            for parameter in module.parameters():
                if parameter.dim() > 1:
                    nn.init.xavier_uniform_(parameter)

    @staticmethod
    def _heads(channels: Sequence[int], values: int) -> nn.ModuleList:
        return nn.ModuleList(
            nn.Conv2d(inputs, boxes * values, 3, padding=1)
            for inputs, boxes in zip(channels, _BOXES_PER_CELL, strict=True)
        )

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        x = self.trunk(images)[-1]
        maps = [x]
        for extra in self.extras:
            x = extra(x)
            maps.append(x)
        offsets = [head(x).reshape(len(x), 4, -1) for head, x in zip(self.box_heads, maps, strict=True)]
        scores = [head(x).reshape(len(x), self.classes, -1) for head, x in zip(self.class_heads, maps, strict=True)]
        return torch.cat(offsets, 2), torch.cat(scores, 2)


class SsdLoss(nn.Module):
    """Smooth L1 on matched boxes, cross-entropy on them and on three times as many hardest negatives."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("boxes", default_boxes()[None], persistent=False)
        self.boxes: Tensor

    def forward(self, offsets: Tensor, scores: Tensor, box: Tensor, label: Tensor) -> Tensor:
        """`box` (N, 4, 8732) is the matched ground truth of each default box, `label` (N, 8732), 0 = none."""
        centre = (box[:, :2] - self.boxes[:, :2]) / self.boxes[:, 2:] / _VARIANCE_CENTRE
        size = (box[:, 2:] / self.boxes[:, 2:]).log() / _VARIANCE_SIZE
        is_matched = label > 0
        matched = is_matched.sum(dim=1)
        box_error = F.smooth_l1_loss(offsets, torch.cat((centre, size), 1), reduction="none").sum(dim=1)
        class_error = F.cross_entropy(scores, label, reduction="none")
        rank = class_error.detach().masked_fill(is_matched, 0.0).sort(dim=1, descending=True).indices.argsort(dim=1)
        is_hard = rank < (3 * matched).clamp(max=label.shape[1])[:, None]
        counted = (box_error * is_matched).sum(1) + (class_error * (is_matched | is_hard)).sum(1)
        return (counted * (matched > 0) / matched.clamp(min=1)).mean()


def ssd300(
    *,
    device: Device = "cpu",
    backbone: str = "resnet50",
    width: int = 64,
    extra_width_fraction: float = 1.0,
    classes: int = 81,
) -> Workload:
    """SSD300, SGD with momentum. Inputs: `image` (N, 3, 300, 300), `box` (N, 4, 8732), `label` (N, 8732).

    `backbone` is "resnet50" or "resnet34".
    """
    if backbone not in _BACKBONES:
        raise OptionError(f"ssd300 has no backbone {backbone!r}", remedy=" or ".join(_BACKBONES))
    with torch.device(device):
        model = Ssd300(backbone=backbone, width=width, extra_width_fraction=extra_width_fraction, classes=classes)
        criterion = SsdLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=2.6e-3, momentum=0.9, weight_decay=5e-4, foreach=True)
    box_count = criterion.boxes.shape[-1]

    def inputs(batch_size: int, device: torch.device) -> Batch:
        is_matched = torch.rand(batch_size, box_count, device=device) < 0.01
        return {
            "image": torch.randn(batch_size, 3, _IMAGE, _IMAGE, device=device),
            "box": torch.rand(batch_size, 4, box_count, device=device) * 0.5 + 0.25,
            "label": torch.randint(1, classes, (batch_size, box_count), device=device) * is_matched,
        }

    def loss(batch: Batch) -> Tensor:
        value: Tensor = criterion(*model(batch["image"]), batch["box"], batch["label"])
        return value

    def inference(batch: Batch) -> Output:
        offsets, scores = model(batch["image"])
        return offsets, F.softmax(scores, dim=1)

    return Workload(
        name="ssd300" if backbone == "resnet50" else f"ssd300_{backbone}",
        title=f"SSD300, {'ResNet-' + backbone.removeprefix('resnet')}, 300 x 300",
        paper="Liu et al., SSD: Single Shot MultiBox Detector, arXiv 1512.02325",
        device=torch.device(device),
        models={"model": model},
        optimizers={"sgd": optimizer},
        inputs=inputs,
        training=one_model_step(optimizer, loss),
        inference=inference,
        default_batch_size=32,
        studied_batch_sizes=(32, 64, 128),  # NVIDIA DeepLearningExamples, SSD; MLPerf v0.5 ran 152 on 8 GPUs
        sample_unit="images",
        left_out=(
            "reading, augmenting and cropping images",
            "matching ground truth to default boxes (targets come matched)",
            "non-maximum suppression after inference (its size depends on the data)",
        ),
        published=(
            PublishedCount(
                quantity=Quantity.PARAMETERS,
                value=8_543_296 if backbone == "resnet50" else 8_170_304,
                scope="trunk: the first three stages of torchvision's model",
                without=("extras", "box_heads", "class_heads"),
                source=f"torchvision, {backbone}: num_params less stage 4 and classifier, as NVIDIA's SSD cuts it",
            ),
        ),
        sizes={
            "backbone": backbone, "width": width, "extra_width_fraction": extra_width_fraction, "classes": classes,
        },
    )  # fmt: skip
