"""ResNet-50 v1.5 and its trunk, which the detectors use too.

He et al. 2015, arXiv 1512.03385; v1.5 puts the stride of a bottleneck into its 3 x 3 convolution, as torchvision,
NVIDIA's examples and MLPerf do. Activations are in place, as there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from surfer_lab.workloads.published import PublishedCount, Quantity
from surfer_lab.workloads.workload import Batch, Device, Workload, one_model_step

__all__ = ["BasicBlock", "Bottleneck", "FrozenBatchNorm", "ResNet", "ResNetTrunk", "image_inputs", "resnet50"]

STAGE_BLOCKS: Final[dict[str, tuple[int, ...]]] = {
    "resnet34": (3, 4, 6, 3),
    "resnet50": (3, 4, 6, 3),
}

Norm = Callable[[int], nn.Module]


class FrozenBatchNorm(nn.Module):
    """Batch normalisation with fixed statistics and no parameters, as detectors keep their pretrained trunks."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.register_buffer("weight", torch.ones(channels))
        self.register_buffer("bias", torch.zeros(channels))
        self.register_buffer("running_mean", torch.zeros(channels))
        self.register_buffer("running_var", torch.ones(channels))
        self.weight: Tensor
        self.bias: Tensor
        self.running_mean: Tensor
        self.running_var: Tensor

    def forward(self, x: Tensor) -> Tensor:
        """One multiply and one add a channel."""
        scale = self.weight * (self.running_var + 1e-5).rsqrt()
        shift = self.bias - self.running_mean * scale
        return x * scale.view(1, -1, 1, 1) + shift.view(1, -1, 1, 1)


def _convolution(inputs: int, outputs: int, kernel: int, *, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, kernel, stride=stride, padding=kernel // 2, bias=False)


class _Residual(nn.Module):
    """A chain of convolutions with a shortcut around it."""

    def __init__(self, layers: Sequence[nn.Module], shortcut: nn.Module | None) -> None:
        super().__init__()
        self.layers = nn.Sequential(*layers)
        self.shortcut = shortcut
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        """(N, C, H, W) to (N, C', H', W')."""
        out = self.layers(x)
        out += x if self.shortcut is None else self.shortcut(x)
        return self.relu(out)  # type: ignore[no-any-return]


class Bottleneck(_Residual):
    """1 x 1, 3 x 3 (strided), 1 x 1 to four times the width."""

    expansion: Final = 4

    def __init__(self, inputs: int, width: int, stride: int, norm: Norm) -> None:
        outputs = width * self.expansion
        relu = nn.ReLU(inplace=True)
        layers = [
            _convolution(inputs, width, 1), norm(width), relu,
            _convolution(width, width, 3, stride=stride), norm(width), relu,
            _convolution(width, outputs, 1), norm(outputs),
        ]  # fmt: skip
        super().__init__(layers, _shortcut(inputs, outputs, stride, norm))


class BasicBlock(_Residual):
    """Two 3 x 3."""

    expansion: Final = 1

    def __init__(self, inputs: int, width: int, stride: int, norm: Norm) -> None:
        layers = [
            _convolution(inputs, width, 3, stride=stride), norm(width), nn.ReLU(inplace=True),
            _convolution(width, width, 3), norm(width),
        ]  # fmt: skip
        super().__init__(layers, _shortcut(inputs, width, stride, norm))


def _shortcut(inputs: int, outputs: int, stride: int, norm: Norm) -> nn.Module | None:
    if stride == 1 and inputs == outputs:
        return None
    return nn.Sequential(_convolution(inputs, outputs, 1, stride=stride), norm(outputs))


class ResNetTrunk(nn.Module):
    """Stem and one stage for each of `strides`; `channels` are the stages' outputs."""

    def __init__(
        self,
        name: str = "resnet50",
        *,
        width: int = 64,
        strides: Sequence[int] = (1, 2, 2, 2),
        norm: Norm = nn.BatchNorm2d,
    ) -> None:
        super().__init__()
        block: type[Bottleneck | BasicBlock] = BasicBlock if name == "resnet34" else Bottleneck
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False), norm(width), nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2, padding=1),
        )  # fmt: skip
        stages: list[nn.Module] = []
        self.channels: list[int] = []
        inputs = width
        for index, (count, stride) in enumerate(zip(STAGE_BLOCKS[name], strides, strict=False)):
            inner = width << index
            blocks = []
            for position in range(count):
                blocks.append(block(inputs, inner, stride if position == 0 else 1, norm))
                inputs = inner * block.expansion
            stages.append(nn.Sequential(*blocks))
            self.channels.append(inputs)
        self.stages = nn.ModuleList(stages)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, images: Tensor) -> list[Tensor]:
        """The outputs of all stages: strides 4, 8, 16, 32 by default."""
        x = self.stem(images)
        outputs = []
        for stage in self.stages:
            x = stage(x)
            outputs.append(x)
        return outputs


class ResNet(nn.Module):
    """Trunk, mean over the image, one linear layer."""

    def __init__(self, *, width: int, classes: int) -> None:
        super().__init__()
        self.trunk = ResNetTrunk("resnet50", width=width)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(self.trunk.channels[-1], classes)

    def forward(self, images: Tensor) -> Tensor:
        """(N, 3, H, W) to (N, classes)."""
        return self.head(torch.flatten(self.pool(self.trunk(images)[-1]), 1))  # type: ignore[no-any-return]


def image_inputs(image: int, classes: int, *, channels: int = 3) -> Callable[[int, torch.device], Batch]:
    """`image` (N, channels, H, W) float and `label` (N,) int64."""

    def make(batch_size: int, device: torch.device) -> Batch:
        return {
            "image": torch.randn(batch_size, channels, image, image, device=device),
            "label": torch.randint(classes, (batch_size,), device=device),
        }

    return make


def resnet50(*, device: Device = "cpu", width: int = 64, image: int = 224, classes: int = 1000) -> Workload:
    """ResNet-50 v1.5, SGD with momentum. Inputs: `image` (N, 3, image, image), `label` (N,)."""
    with torch.device(device):
        model = ResNet(width=width, classes=classes)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4, foreach=True)

    def loss(batch: Batch) -> Tensor:
        return F.cross_entropy(model(batch["image"]), batch["label"])

    return Workload(
        name="resnet50",
        title=f"ResNet-50 v1.5, {image} x {image}",
        paper="He et al., Deep Residual Learning for Image Recognition, arXiv 1512.03385",
        device=torch.device(device),
        models={"model": model},
        optimizers={"sgd": optimizer},
        inputs=image_inputs(image, classes),
        training=one_model_step(optimizer, loss),
        inference=lambda batch: model(batch["image"]),
        default_batch_size=32,
        studied_batch_sizes=(16, 32, 64),  # Yu et al., USENIX ATC'21, experiments/run_experiment.py
        sample_unit="images",
        left_out=("reading and augmenting images",),
        published=(
            PublishedCount(
                quantity=Quantity.PARAMETERS,
                value=25_557_032,
                source="torchvision, ResNet50_Weights.IMAGENET1K_V1, num_params",
            ),
            PublishedCount(
                quantity=Quantity.FORWARD_MACS,
                value=4.089e9,
                rounding_fraction=0.0005,
                source="torchvision, ResNet50_Weights.IMAGENET1K_V1, GFLOPS (one a multiply-accumulate)",
            ),
        ),
        sizes={"width": width, "image": image, "classes": classes},
    )
