"""LeNet as Caffe trains it on MNIST: two convolutions, two fully connected layers.

LeCun et al. 1998, "Gradient-based learning applied to document recognition"; sizes of Caffe's examples/mnist/lenet.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from surfer_lab.workloads.models.resnet import image_inputs
from surfer_lab.workloads.published import PublishedCount, Quantity
from surfer_lab.workloads.workload import Batch, Device, Workload, one_model_step

__all__ = ["lenet"]


def lenet(*, device: Device = "cpu", classes: int = 10) -> Workload:
    """LeNet, SGD with momentum. Inputs: `image` (N, 1, 28, 28), `label` (N,)."""
    with torch.device(device):
        model = nn.Sequential(
            nn.Conv2d(1, 20, 5), nn.MaxPool2d(2),
            nn.Conv2d(20, 50, 5), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(800, 500), nn.ReLU(inplace=True), nn.Linear(500, classes),
        )  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4, foreach=True)

    def loss(batch: Batch) -> Tensor:
        return F.cross_entropy(model(batch["image"]), batch["label"])

    pruning = "Han et al., Learning both Weights and Connections, arXiv 1506.02626, table 4"
    return Workload(
        name="lenet",
        title="LeNet, 28 x 28",
        paper="LeCun et al., Gradient-Based Learning Applied to Document Recognition, 1998",
        device=torch.device(device),
        models={"model": model},
        optimizers={"sgd": optimizer},
        inputs=image_inputs(28, classes, channels=1),
        training=one_model_step(optimizer, loss),
        inference=lambda batch: model(batch["image"]),
        default_batch_size=64,
        studied_batch_sizes=(64,),  # Caffe's examples/mnist/lenet_train_test.prototxt
        sample_unit="images",
        left_out=("reading images",),
        published=(
            PublishedCount(
                quantity=Quantity.PARAMETERS, value=431e3, rounding_fraction=0.001, source=f"{pruning}: 431K weights"
            ),
            PublishedCount(
                quantity=Quantity.FORWARD_MACS,
                value=2_293e3,
                rounding_fraction=0.001,
                source=f"{pruning}: 4586K FLOP",
            ),
        ),
        sizes={"classes": classes},
    )
