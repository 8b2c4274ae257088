"""Mask R-CNN on ResNet-50 with a feature pyramid: a stand-in with fixed shapes.

He et al. 2017, arXiv 1703.06870; parameters and layers of torchvision's maskrcnn_resnet50_fpn. What depends on the data
is replaced by its fixed-size counterpart, so that a step has the same shapes whatever the images hold: the best
proposals of each pyramid level are taken instead of the survivors of non-maximum suppression, each level sends a fixed
share of them to the heads, and targets come already assigned. `left_out` lists it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from surfer_lab.workloads.models.resnet import FrozenBatchNorm, ResNetTrunk
from surfer_lab.workloads.published import PublishedCount, Quantity
from surfer_lab.workloads.workload import Batch, Device, Output, Workload, one_model_step

__all__ = ["MaskRcnn", "level_shares", "mask_rcnn", "roi_align"]

_STRIDES: Final = (4, 8, 16, 32, 64)
_ANCHOR_SIDES: Final = (32, 64, 128, 256, 512)
_ASPECT_RATIOS: Final = (0.5, 1.0, 2.0)
_LEVEL_FRACTIONS: Final = (1 / 2, 1 / 4, 1 / 8, 1 / 16)  # of the regions, finest level first; the last takes the rest
_FROZEN_STAGES: Final = 1  # stem and first stage keep their pretrained weights
_MASK_SIDE: Final = 28


@dataclass(frozen=True, kw_only=True)
class _Shape:
    width: int
    pyramid: int
    hidden: int
    classes: int
    image_height: int
    image_width: int
    proposals_per_level: int
    rois_train: int
    rois_infer: int
    detections: int


def level_shares(count: int) -> tuple[int, ...]:
    """How many of `count` regions come from each of the five pyramid levels.

    >>> level_shares(512)
    (256, 128, 64, 32, 32)
    """
    shares = [max(1, int(count * fraction)) for fraction in _LEVEL_FRACTIONS]
    return (*shares, max(1, count - sum(shares)))


def _anchors(height: int, width: int) -> list[Tensor]:
    """(cells * 3, 4) a level: left, top, right, bottom in pixels; on the default device."""
    levels = []
    for stride, side in zip(_STRIDES, _ANCHOR_SIDES, strict=True):
        ratios = torch.tensor(_ASPECT_RATIOS)
        half_w, half_h = side / ratios.sqrt() / 2, side * ratios.sqrt() / 2
        shapes = torch.stack((-half_w, -half_h, half_w, half_h), dim=1)
        rows, columns = (torch.arange(-(-pixels // stride)) * stride for pixels in (height, width))
        y, x = torch.meshgrid(rows, columns, indexing="ij")
        centres = torch.stack((x, y, x, y), dim=-1).reshape(-1, 1, 4)
        levels.append((centres + shapes).reshape(-1, 4))
    return levels


def _moved(boxes: Tensor, deltas: Tensor, height: int, width: int) -> Tensor:
    """Boxes (..., 4) moved by (dx, dy, log dw, log dh) and cut at the image."""
    sides = boxes[..., 2:] - boxes[..., :2]
    centres = boxes[..., :2] + 0.5 * sides + deltas[..., :2] * sides
    sides = sides * deltas[..., 2:].clamp(max=4.0).exp()
    moved = torch.cat((centres - 0.5 * sides, centres + 0.5 * sides), dim=-1)
    limits = torch.tensor((width, height, width, height), device=boxes.device)
    return torch.minimum(moved.clamp(min=0.0), limits)


def roi_align(features: Tensor, boxes: Tensor, side: int, image: tuple[int, int]) -> Tensor:
    """Bilinear samples, two a bin and axis, averaged: (N, C, H, W) and boxes (N, R, 4) to (N * R, C, side, side)."""
    regions = boxes.shape[1]
    points = (torch.arange(2 * side, device=boxes.device) + 0.5) / (2 * side)
    height, width = image
    corner, extent = boxes[..., :2], boxes[..., 2:] - boxes[..., :2]
    x = (corner[..., :1] + extent[..., :1] * points) * (2 / width) - 1  # (N, R, 2 side)
    y = (corner[..., 1:] + extent[..., 1:] * points) * (2 / height) - 1
    shape = (-1, -1, 2 * side, 2 * side)
    grid = torch.stack((x[:, :, None, :].expand(shape), y[:, :, :, None].expand(shape)), dim=-1)
    sampled = F.grid_sample(features, grid.flatten(1, 2).to(features.dtype), align_corners=False)
    pooled = F.avg_pool2d(sampled, 2)  # (N, C, R * side, side)
    return torch.unflatten(pooled, 2, (regions, side)).transpose(1, 2).flatten(0, 1)


class _Pyramid(nn.Module):
    """Four stages to five maps of equal width, the coarse added to the fine."""

    def __init__(self, channels: Sequence[int], width: int) -> None:
        super().__init__()
        self.lateral = nn.ModuleList(nn.Conv2d(inputs, width, 1) for inputs in channels)
        self.smooth = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in channels)

    def forward(self, stages: Sequence[Tensor]) -> list[Tensor]:
        merged = [layer(stage) for layer, stage in zip(self.lateral, stages, strict=True)]
        for fine in range(len(merged) - 2, -1, -1):
            merged[fine] = merged[fine] + F.interpolate(merged[fine + 1], size=merged[fine].shape[-2:])
        maps = [layer(x) for layer, x in zip(self.smooth, merged, strict=True)]
        return [*maps, F.max_pool2d(maps[-1], 1, stride=2)]


class _ProposalHead(nn.Module):
    """Objectness and box deltas of every anchor, a level at a time: (N, A) and (N, A, 4)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.shared = nn.Conv2d(width, width, 3, padding=1)
        self.objectness = nn.Conv2d(width, len(_ASPECT_RATIOS), 1)
        self.deltas = nn.Conv2d(width, 4 * len(_ASPECT_RATIOS), 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = F.relu(self.shared(x), inplace=True)
        objectness = self.objectness(x).permute(0, 2, 3, 1).flatten(1)
        deltas = self.deltas(x).permute(0, 2, 3, 1).reshape(len(x), -1, 4)
        return objectness, deltas


class _BoxHead(nn.Module):
    """Regions (R, C, 7, 7) to class scores (R, classes) and deltas (R, classes, 4)."""

    def __init__(self, inputs: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Flatten(), nn.Linear(inputs * 49, hidden), nn.ReLU(inplace=True),
            nn.Linear(hidden, hidden), nn.ReLU(inplace=True),
        )  # fmt: skip
        self.scores = nn.Linear(hidden, classes)
        self.deltas = nn.Linear(hidden, 4 * classes)

    def forward(self, regions: Tensor) -> tuple[Tensor, Tensor]:
        x = self.layers(regions)
        return self.scores(x), self.deltas(x).unflatten(1, (-1, 4))


class _MaskHead(nn.Sequential):
    """Regions (R, C, 14, 14) to a mask a class (R, classes, 28, 28)."""

    def __init__(self, width: int, classes: int) -> None:
        layers: list[nn.Module] = []
        for _ in range(4):
            layers += [nn.Conv2d(width, width, 3, padding=1), nn.ReLU(inplace=True)]
        super().__init__(
            *layers, nn.ConvTranspose2d(width, width, 2, stride=2), nn.ReLU(inplace=True), nn.Conv2d(width, classes, 1)
        )


class MaskRcnn(nn.Module):
    """Trunk, pyramid, proposals, heads. A call gives the loss in training, else boxes, scores and masks."""

    def __init__(self, shape: _Shape) -> None:
        super().__init__()
        self.shape = shape
        self.image = (shape.image_height, shape.image_width)
        self.trunk = ResNetTrunk("resnet50", width=shape.width, norm=FrozenBatchNorm)
        for frozen in (self.trunk.stem, *self.trunk.stages[:_FROZEN_STAGES]):
            frozen.requires_grad_(False)
        self.pyramid = _Pyramid(self.trunk.channels, shape.pyramid)
        self.proposal_head = _ProposalHead(shape.pyramid)
        self.box_head = _BoxHead(shape.pyramid, shape.hidden, shape.classes)
        self.mask_head = _MaskHead(shape.pyramid, shape.classes)
        for level, anchors in enumerate(_anchors(*self.image)):
            self.register_buffer(f"anchors{level}", anchors, persistent=False)

    @property
    def anchor_count(self) -> int:
        """Anchors of an image, all levels."""
        return sum(self._anchors(level).shape[0] for level in range(len(_STRIDES)))

    def forward(self, batch: Batch) -> Output:
        return self.losses(batch) if self.training else self.detect(batch["image"])

    def losses(self, batch: Batch) -> Tensor:
        """Sum of the five losses of the paper, each averaged over what it weighs."""
        maps = self.pyramid(self.trunk(batch["image"]))
        proposed = [self.proposal_head(x) for x in maps]
        objectness, deltas = (torch.cat(parts, dim=1) for parts in zip(*proposed, strict=True))
        weight = batch["anchor_weight"]
        sampled = weight.sum().clamp(min=1.0)
        proposal_loss = F.binary_cross_entropy_with_logits(
            objectness, batch["anchor_label"], weight=weight, reduction="sum"
        )
        is_object = (weight * batch["anchor_label"])[..., None]
        proposal_loss = proposal_loss + (_smooth_l1(deltas, batch["anchor_target"]) * is_object).sum()

        regions = self._regions(proposed, self.shape.rois_train)
        scores, moves = self.box_head(self._pooled(maps, regions, 7))
        label = batch["roi_label"].flatten()
        own = moves.gather(1, label[:, None, None].expand(-1, 1, 4)).squeeze(1)
        is_foreground = (label > 0)[:, None]
        box_error = _smooth_l1(own, batch["roi_target"].flatten(0, 1)) * is_foreground
        box_loss = F.cross_entropy(scores, label) + box_error.sum() / label.numel()

        positive = [region[:, : max(1, region.shape[1] // 4)] for region in regions]
        masks = self.mask_head(self._pooled(maps, positive, 14))
        chosen = batch["mask_label"].flatten()[:, None, None, None].expand(-1, 1, _MASK_SIDE, _MASK_SIDE)
        mask = masks.gather(1, chosen).squeeze(1)
        mask_loss = F.binary_cross_entropy_with_logits(mask, batch["mask_target"].flatten(0, 1))
        return proposal_loss / sampled + box_loss + mask_loss

    def detect(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Boxes (N, D, 4), their scores (N, D) and masks (N * D, classes, 28, 28)."""
        maps = self.pyramid(self.trunk(images))
        regions = self._regions([self.proposal_head(x) for x in maps], self.shape.rois_infer)
        scores, moves = self.box_head(self._pooled(maps, regions, 7))
        best, label = F.softmax(scores, dim=1)[:, 1:].max(dim=1)
        own = moves.gather(1, (label + 1)[:, None, None].expand(-1, 1, 4)).squeeze(1)
        counts = [region.shape[1] for region in regions]
        best_by_level = torch.split(best.view(len(images), -1), counts, dim=1)
        moved = _moved(torch.cat(regions, 1), own.view(len(images), -1, 4), *self.image)
        boxes = torch.split(moved, counts, dim=1)
        kept_boxes, kept_scores = [], []
        for share, level_best, level_boxes in zip(
            level_shares(self.shape.detections), best_by_level, boxes, strict=True
        ):
            top = level_best.topk(min(share, level_best.shape[1]), dim=1)
            kept_scores.append(top.values)
            kept_boxes.append(level_boxes.gather(1, top.indices[..., None].expand(-1, -1, 4)))
        masks = self.mask_head(self._pooled(maps, kept_boxes, 14))
        return torch.cat(kept_boxes, 1), torch.cat(kept_scores, 1), masks

    def _anchors(self, level: int) -> Tensor:
        anchors: Tensor = getattr(self, f"anchors{level}")
        return anchors

    @torch.no_grad()
    def _regions(self, proposed: Sequence[tuple[Tensor, Tensor]], count: int) -> list[Tensor]:
        """The best anchors of each level, moved: the level's share of `count`, (N, share, 4)."""
        regions = []
        for level, (share, (objectness, deltas)) in enumerate(zip(level_shares(count), proposed, strict=True)):
            anchors = self._anchors(level)
            best = objectness.topk(min(self.shape.proposals_per_level, anchors.shape[0]), dim=1).indices
            moved = _moved(anchors[best], deltas.gather(1, best[..., None].expand(-1, -1, 4)), *self.image)
            regions.append(moved[:, :share])
        return regions

    def _pooled(self, maps: Sequence[Tensor], regions: Sequence[Tensor], side: int) -> Tensor:
        """Regions of the coarsest level are read from the last map but one, as the paper's assignment by size does."""
        levels = [min(level, len(maps) - 2) for level in range(len(maps))]
        pooled = [
            roi_align(maps[level], region, side, self.image)
            for level, region in zip(levels, regions, strict=True)
        ]  # fmt: skip
        return torch.cat(pooled)


def _smooth_l1(predicted: Tensor, target: Tensor) -> Tensor:
    return F.smooth_l1_loss(predicted, target, beta=1 / 9, reduction="none")


def mask_rcnn(
    *,
    device: Device = "cpu",
    width: int = 64,
    pyramid: int = 256,
    hidden: int = 1024,
    classes: int = 91,
    image_height: int = 800,
    image_width: int = 1344,
    proposals_per_level: int = 2000,
    rois_train: int = 512,
    rois_infer: int = 1000,
    detections: int = 100,
) -> Workload:
    """Mask R-CNN with fixed shapes, SGD with momentum on all but stem and first stage.

    Inputs: `image` (N, 3, height, width); of all anchors `anchor_label`, `anchor_weight` (N, A) float and
    `anchor_target` (N, A, 4); of the regions `roi_label` (N, R), `roi_target` (N, R, 4); of their first quarters
    `mask_label` (N, M), `mask_target` (N, M, 28, 28). Images of 800 x 1333 pixels are padded to 1344.
    """
    shape = _Shape(
        width=width,
        pyramid=pyramid,
        hidden=hidden,
        classes=classes,
        image_height=image_height,
        image_width=image_width,
        proposals_per_level=proposals_per_level,
        rois_train=rois_train,
        rois_infer=rois_infer,
        detections=detections,
    )
    with torch.device(device):
        model = MaskRcnn(shape)
    optimizer = torch.optim.SGD(
        [parameter for parameter in model.parameters() if parameter.requires_grad],
        lr=0.005,
        momentum=0.9,
        weight_decay=1e-4,
        foreach=True,
    )
    anchors = model.anchor_count
    regions = sum(level_shares(rois_train))
    masks = sum(max(1, share // 4) for share in level_shares(rois_train))

    def inputs(batch_size: int, device: torch.device) -> Batch:
        def uniform(*sizes: int) -> Tensor:
            return torch.rand(batch_size, *sizes, device=device)

        return {
            "image": torch.randn(batch_size, 3, image_height, image_width, device=device),
            "anchor_label": (uniform(anchors) < 0.01).float(),
            "anchor_weight": (uniform(anchors) < 256 / anchors).float(),
            "anchor_target": uniform(anchors, 4) - 0.5,
            "roi_label": torch.randint(classes, (batch_size, regions), device=device),
            "roi_target": uniform(regions, 4) - 0.5,
            "mask_label": torch.randint(1, classes, (batch_size, masks), device=device),
            "mask_target": uniform(masks, _MASK_SIDE, _MASK_SIDE).round(),
        }

    def loss(batch: Batch) -> Tensor:
        value: Tensor = model(batch)
        return value

    torchvision = "torchvision, MaskRCNN_ResNet50_FPN_Weights.COCO_V1"
    return Workload(
        name="mask_rcnn",
        title=f"Mask R-CNN R50-FPN (fixed shapes), {image_height} x {image_width}",
        paper="He et al., Mask R-CNN, arXiv 1703.06870",
        device=torch.device(device),
        models={"model": model},
        optimizers={"sgd": optimizer},
        inputs=inputs,
        training=one_model_step(optimizer, loss),
        inference=model,
        default_batch_size=4,
        studied_batch_sizes=(4,),  # NVIDIA DeepLearningExamples, Mask R-CNN: 4 images a GPU and more
        sample_unit="images",
        left_out=(
            "non-maximum suppression: the best anchors of each level are taken, without it",
            "assigning regions to pyramid levels by their size: each level sends a fixed share",
            "matching anchors and regions to ground truth and sampling them: targets come assigned",
            "cutting and resizing of the ground-truth masks",
            "images of different sizes: all are padded to one",
        ),
        published=(
            PublishedCount(quantity=Quantity.PARAMETERS, value=44_401_393, source=f"{torchvision}, num_params"),
            PublishedCount(
                quantity=Quantity.FORWARD_MACS,
                value=134.38e9,
                rounding_fraction=0.0005,
                scope="800 x 800, 1,000 regions, without the mask head",
                without=("mask_head",),
                sizes={"image_height": 800, "image_width": 800},
                source=f"{torchvision}, GFLOPS (one a multiply-accumulate)",
            ),
        ),
        sizes={name: getattr(shape, name) for name in shape.__dataclass_fields__},
    )
