#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a detector's backbone twice, side by side: with torchvision's deformable convolution and with portops'.

The backbone is torchvision's ResNet, whose last two stages have modulated deformable layers (DCNv2) for their 3 × 3
convolutions, and whose normalisation is frozen, as in torchvision's detectors: with small batches it would make every rounding
grow from step to step. Weights and images are random. Says how far the losses, and the weights in the end, are from each other, and how
long a step takes on the clock. Needs portops (PYTHONPATH=BUILD/python), PyTorch and torchvision.
"""

from __future__ import annotations

import argparse
import copy
import time
from typing import Callable

import portops.torch
import torch
import torchvision
from torch import Tensor, nn


class DeformableLayer(nn.Module):
    """A 3 × 3 convolution that says itself where it samples."""

    def __init__(self, layer: Callable[..., nn.Module], like: nn.Conv2d, spread: float) -> None:
        super().__init__()
        channels, stride = like.in_channels, like.stride
        self.offset = nn.Conv2d(channels, 27, 3, stride, 1)
        self.convolution = layer(channels, like.out_channels, 3, stride, 1, bias=False)
        nn.init.normal_(self.offset.weight, std=0.01 * spread)
        nn.init.uniform_(self.offset.bias, -spread, spread)

    def forward(self, x: Tensor) -> Tensor:
        down, across, mask = self.offset(x).chunk(3, 1)
        return self.convolution(x, torch.cat([down, across], 1), mask.sigmoid())


def backbone(name: str, layer: Callable[..., nn.Module], spread: float) -> nn.Module:
    norm = torchvision.ops.FrozenBatchNorm2d
    model = torchvision.models.get_model(name, weights=None, num_classes=10, norm_layer=norm)
    for stage in (model.layer3, model.layer4):
        for block in stage:
            for child, module in list(block.named_children()):
                if isinstance(module, nn.Conv2d) and module.kernel_size == (3, 3):
                    setattr(block, child, DeformableLayer(layer, module, spread))
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--images", type=int, default=8)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--dtype", default="float32", choices=("float32", "float64"))
    parser.add_argument("--rate", type=float, default=0.0005)
    parser.add_argument("--spread", type=float, default=0.5, help="of the offsets at the beginning, in pixels")
    given = parser.parse_args()
    dtype = getattr(torch, given.dtype)
    torch.backends.cudnn.allow_tf32 = False  # or the other convolutions would round more than the two differ
    torch.manual_seed(1)
    theirs = backbone(given.model, torchvision.ops.DeformConv2d, given.spread)
    torch.manual_seed(1)
    mine = backbone(given.model, portops.torch.DeformConv2d, given.spread)
    mine.load_state_dict(copy.deepcopy(theirs.state_dict()))
    models = {"torchvision": theirs.to(given.device, dtype), "portops": mine.to(given.device, dtype)}
    optimizers = {name: torch.optim.SGD(model.parameters(), given.rate, 0.9) for name, model in models.items()}
    times: dict[str, list[float]] = {name: [] for name in models}
    losses: dict[str, list[float]] = {name: [] for name in models}
    generator = torch.Generator().manual_seed(2)
    batches = []
    for _ in range(10):
        x = torch.randn(given.images, 3, given.size, given.size, generator=generator, dtype=torch.float64)
        target = torch.randint(10, (given.images,), generator=generator)
        batches.append((x.to(given.device, dtype), target.to(given.device)))
    for step in range(given.steps):
        x, target = batches[step % len(batches)]
        for name, model in models.items():
            begin = time.perf_counter()
            loss = nn.functional.cross_entropy(model(x), target)
            optimizers[name].zero_grad()
            loss.backward()
            optimizers[name].step()
            losses[name].append(loss.item())  # waits for the device
            times[name].append(time.perf_counter() - begin)
        if step == 0:
            gradients = [
                ((a.grad - b.grad).norm() / b.grad.norm().clamp_min(1e-12)).item()
                for a, b in zip(mine.parameters(), theirs.parameters())
            ]
            print(f"first step: gradients differ by {max(gradients):.1e} of their norm at most")
    apart = [abs(a - b) for a, b in zip(losses["portops"], losses["torchvision"])]
    for last in (1, 10, 50, given.steps):
        print(f"losses of the first {last:3} steps: at most {max(apart[:last]):.1e} apart")
    weights = max(
        ((a - b).norm() / b.norm()).item() for a, b in zip(mine.parameters(), theirs.parameters()) if b.norm() > 0
    )
    print(f"weights after {given.steps} steps: {weights:.1e} of their norm apart at most")
    for name in models:
        ordered = sorted(times[name])
        print(f"{name:12} {1e3 * ordered[len(ordered) // 2]:8.2f} ms a step, loss {sum(losses[name][-20:]) / 20:.4f} in the end")


if __name__ == "__main__":
    main()
