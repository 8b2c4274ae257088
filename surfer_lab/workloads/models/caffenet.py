"""CaffeNet: AlexNet in one tower of grouped convolutions, pooling before normalisation.

Krizhevsky et al. 2012; layers and sizes of Caffe's bvlc_reference_caffenet (Jia et al. 2014, arXiv 1408.5093).
"""

from __future__ import annotations

from math import ceil

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from surfer_lab.workloads.models.resnet import image_inputs
from surfer_lab.workloads.published import PublishedCount, Quantity
from surfer_lab.workloads.workload import Batch, Device, Workload, one_model_step

__all__ = ["caffenet"]

_IMAGE = 227


def _network(width_fraction: float, classes: int) -> nn.Sequential:
    def width(channels: int) -> int:
        return 2 * ceil(channels * width_fraction / 2)  # even: two groups

    def normalised() -> nn.Module:
        return nn.LocalResponseNorm(5, alpha=1e-4, beta=0.75)

    w = width
    return nn.Sequential(
        nn.Conv2d(3, w(96), 11, stride=4), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2), normalised(),
        nn.Conv2d(w(96), w(256), 5, padding=2, groups=2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2), normalised(),
        nn.Conv2d(w(256), w(384), 3, padding=1), nn.ReLU(inplace=True),
        nn.Conv2d(w(384), w(384), 3, padding=1, groups=2), nn.ReLU(inplace=True),
        nn.Conv2d(w(384), w(256), 3, padding=1, groups=2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2),
        nn.Flatten(),
        nn.Linear(w(256) * 36, w(4096)), nn.ReLU(inplace=True), nn.Dropout(0.5),
        nn.Linear(w(4096), w(4096)), nn.ReLU(inplace=True), nn.Dropout(0.5),
        nn.Linear(w(4096), classes),
    )  # fmt: skip


def caffenet(*, device: Device = "cpu", width_fraction: float = 1.0, classes: int = 1000) -> Workload:
    """CaffeNet, SGD with momentum. Inputs: `image` (N, 3, 227, 227), `label` (N,)."""
    with torch.device(device):
        model = _network(width_fraction, classes)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4, foreach=True)

    def loss(batch: Batch) -> Tensor:
        return F.cross_entropy(model(batch["image"]), batch["label"])

    return Workload(
        name="caffenet",
        title="CaffeNet (AlexNet), 227 x 227",
        paper="Krizhevsky et al., ImageNet Classification with Deep Convolutional Neural Networks, 2012",
        device=torch.device(device),
        models={"model": model},
        optimizers={"sgd": optimizer},
        inputs=image_inputs(_IMAGE, classes),
        training=one_model_step(optimizer, loss),
        inference=lambda batch: model(batch["image"]),
        default_batch_size=256,
        studied_batch_sizes=(256,),  # Caffe's solver; Hadjis et al., arXiv 1606.04487
        sample_unit="images",
        left_out=("reading and cropping images",),
        published=(
            PublishedCount(
                quantity=Quantity.PARAMETERS,
                value=61e6,
                rounding_fraction=0.005,
                source="Han et al., Learning both Weights and Connections, arXiv 1506.02626, table 1: 61M",
            ),
            PublishedCount(
                quantity=Quantity.FORWARD_MACS,
                value=720e6,
                rounding_fraction=0.01,
                source="Howard et al., MobileNets, arXiv 1704.04861, table 9: 720 million multiply-adds",
            ),
        ),
        sizes={"width_fraction": width_fraction, "classes": classes},
    )
