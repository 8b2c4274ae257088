"""DCGAN on 64 x 64 images: a generator and a discriminator, two optimizers, three backward passes a step.

Radford et al. 2015, arXiv 1511.06434, with the channel counts of PyTorch's example, which the first paper ran. The
discriminator returns logits (its sigmoid is in the loss), so that autocast may be used.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from surfer_lab.workloads.published import PublishedCount, Quantity
from surfer_lab.workloads.workload import Batch, Device, StepPrecision, Workload

__all__ = ["Discriminator", "Generator", "dcgan"]

_CHANNELS = (8, 4, 2, 1)  # times the width, deepest first


def _initialised(model: nn.Module) -> None:
    for module in model.modules():
        if isinstance(module, nn.Conv2d | nn.ConvTranspose2d):
            nn.init.normal_(module.weight, 0.0, 0.02)
        elif isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.weight, 1.0, 0.02)


class Generator(nn.Sequential):
    """Noise (N, latent, 1, 1) to images (N, 3, 64, 64) in [-1, 1]."""

    def __init__(self, *, latent: int, width: int) -> None:
        layers: list[nn.Module] = []
        inputs, stride, padding = latent, 1, 0
        for times in _CHANNELS:
            outputs = times * width
            layers += [
                nn.ConvTranspose2d(inputs, outputs, 4, stride, padding, bias=False),
                nn.BatchNorm2d(outputs),
                nn.ReLU(inplace=True),
            ]
            inputs, stride, padding = outputs, 2, 1
        super().__init__(*layers, nn.ConvTranspose2d(inputs, 3, 4, 2, 1, bias=False), nn.Tanh())
        _initialised(self)


class Discriminator(nn.Sequential):
    """Images (N, 3, 64, 64) to a logit each, (N,)."""

    def __init__(self, *, width: int) -> None:
        layers: list[nn.Module] = [nn.Conv2d(3, width, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True)]
        inputs = width
        for times in reversed(_CHANNELS[:-1]):
            outputs = times * width
            layers += [
                nn.Conv2d(inputs, outputs, 4, 2, 1, bias=False),
                nn.BatchNorm2d(outputs),
                nn.LeakyReLU(0.2, inplace=True),
            ]
            inputs = outputs
        super().__init__(*layers, nn.Conv2d(inputs, 1, 4, 1, 0, bias=False), nn.Flatten(0))
        _initialised(self)


def dcgan(*, device: Device = "cpu", latent: int = 100, width: int = 64) -> Workload:
    """DCGAN, two Adams. Inputs: `image` (N, 3, 64, 64), `noise` (N, latent, 1, 1). The loss is the sum of all three.

    A step is: discriminator on real images, on generated ones, its update; then the generator's, through it.
    """
    with torch.device(device):
        generator = Generator(latent=latent, width=width)
        discriminator = Discriminator(width=width)
    optimize_generator = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999), foreach=True)
    optimize_discriminator = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999), foreach=True)

    def inputs(batch_size: int, device: torch.device) -> Batch:
        return {
            "image": torch.rand(batch_size, 3, 64, 64, device=device) * 2 - 1,
            "noise": torch.randn(batch_size, latent, 1, 1, device=device),
        }

    def judged(images: Tensor, is_real: bool) -> Tensor:
        logits = discriminator(images)
        target = torch.ones_like(logits) if is_real else torch.zeros_like(logits)
        return F.binary_cross_entropy_with_logits(logits, target)

    def training(batch: Batch, precision: StepPrecision) -> Tensor:
        optimize_discriminator.zero_grad(set_to_none=True)
        with precision.autocast():
            on_real = judged(batch["image"], is_real=True)
        precision.backward(on_real)
        with precision.autocast():
            generated = generator(batch["noise"])
            on_generated = judged(generated.detach(), is_real=False)
        precision.backward(on_generated)
        precision.update(optimize_discriminator)
        optimize_generator.zero_grad(set_to_none=True)
        with precision.autocast():
            fooled = judged(generated, is_real=True)
        precision.backward(fooled)
        precision.update(optimize_generator)
        return (on_real + on_generated + fooled).detach()

    example = "PyTorch examples, dcgan/main.py (nz = 100, ngf = ndf = 64), counts as torchsummary prints them"
    return Workload(
        name="dcgan",
        title="DCGAN, 64 x 64",
        paper="Radford et al., Unsupervised Representation Learning with DCGAN, arXiv 1511.06434",
        device=torch.device(device),
        models={"generator": generator, "discriminator": discriminator},
        optimizers={"generator": optimize_generator, "discriminator": optimize_discriminator},
        inputs=inputs,
        training=training,
        inference=lambda batch: generator(batch["noise"]),
        default_batch_size=64,
        studied_batch_sizes=(64, 96, 128),  # Yu et al., USENIX ATC'21, experiments/run_experiment.py
        sample_unit="images",
        left_out=("reading images",),
        published=(
            PublishedCount(
                quantity=Quantity.PARAMETERS,
                value=3_576_704,
                scope="generator",
                without=("discriminator",),
                source=example,
            ),
            PublishedCount(
                quantity=Quantity.PARAMETERS,
                value=2_765_568,
                scope="discriminator",
                without=("generator",),
                source=example,
            ),
        ),
        sizes={"latent": latent, "width": width},
    )
