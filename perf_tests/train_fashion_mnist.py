#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The network of portops_train in PyTorch and torchvision, trained alike: Adam, the same learning rates, batches and epochs.

Prints what portops_train prints of each epoch, or, with --timing, the time of a training step and of a batch of inference on the clock and
the most memory that PyTorch's tensors took; --compile does so by torch.compile. f16 is autocast with a GradScaler. Needs PyTorch and torchvision,
and reads the same folder.
"""

from __future__ import annotations

import argparse
import gzip
import math
import os
import time
from typing import Callable

import torch
import torchvision
from torch import Tensor, nn

Batch = tuple[Tensor, Tensor]


class Deformable(nn.Module):
    """A 3 × 3 deformable convolution with the convolution beside it that gives it offsets and masks."""

    def __init__(self, channels: int, out_channels: int) -> None:
        super().__init__()
        self.conv_offset = nn.Conv2d(channels, 27, 3, padding=1)
        self.deform = torchvision.ops.DeformConv2d(channels, out_channels, 3, padding=1, bias=False)
        nn.init.zeros_(self.conv_offset.weight)
        nn.init.zeros_(self.conv_offset.bias)

    def forward(self, x: Tensor) -> Tensor:
        offset, mask = self.conv_offset(x).split((18, 9), 1)
        return self.deform(x, offset, mask.sigmoid())


def network(width: float, classes: int) -> nn.Module:
    def channels(at_full_width: int) -> int:
        return max(4 * math.floor(width * at_full_width / 4 + 0.5), 4)

    a, b, c, d = (channels(n) for n in (32, 64, 128, 256))

    # Maxima come before the ReLU, which they commute with: what is kept for its gradient is then a quarter.
    def block(layer: nn.Module, out_channels: int, *pool: nn.Module) -> list[nn.Module]:
        return [layer, nn.BatchNorm2d(out_channels), *pool, nn.ReLU(inplace=True)]

    return nn.Sequential(
        *block(nn.Conv2d(1, a, 3, padding=1, bias=False), a),
        *block(nn.Conv2d(a, b, 3, padding=1, bias=False), b, nn.MaxPool2d(2)),
        *block(Deformable(b, c), c),
        *block(Deformable(c, c), c, nn.MaxPool2d(2)),
        *block(Deformable(c, d), d),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(d, classes),
    )


def read(folder: str, part: str, device: str) -> Batch:
    """The images, [N, 1, H, W] from 0 to 1, and their labels."""

    def content(name: str) -> bytes:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            with open(path, "rb") as file:
                return file.read()
        with gzip.open(path + ".gz") as file:
            return file.read()

    def array(data: bytes) -> Tensor:
        shape = [int.from_bytes(data[4 * i : 4 * i + 4], "big") for i in range(1, data[3] + 1)]
        return torch.frombuffer(bytearray(data[4 + 4 * data[3] :]), dtype=torch.uint8).reshape(shape).to(device)

    images = array(content(f"{part}-images-idx3-ubyte"))
    return images.unsqueeze(1).float() / 255, array(content(f"{part}-labels-idx1-ubyte")).long()


def moved(images: Tensor) -> Tensor:
    """Shifted by up to 2 pixels and mirrored, by chance, each for itself."""
    n, _, height, width = images.shape
    padded = nn.functional.pad(images, (2, 2, 2, 2))
    shifts = torch.randint(5, (2, n, 1), device=images.device)
    rows = shifts[0] + torch.arange(height, device=images.device)
    columns = torch.arange(width, device=images.device).expand(n, width)
    is_mirrored = torch.rand((n, 1), device=images.device) < 0.5
    columns = shifts[1] + torch.where(is_mirrored, width - 1 - columns, columns)
    item = torch.arange(n, device=images.device)
    return padded[item[:, None, None], 0, rows[:, :, None], columns[:, None, :]].unsqueeze(1)


def schedule(step: int, steps: int, rate: float) -> float:
    rising = steps // 20
    if step < rising:
        return rate * (step + 1) / (rising + 1)
    return rate * (1 + math.cos(math.pi * (step - rising) / max(steps - rising, 1))) / 2


class Training:
    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        torch.manual_seed(given.seed)
        self.model = network(given.width, given.classes).to(given.device)
        self.forward: Callable[[Tensor], Tensor] = torch.compile(self.model) if given.compile else self.model
        self.optimizer = torch.optim.Adam(self.model.parameters(), given.learning_rate)
        self.type = {"f32": None, "f16": torch.float16}[given.dtype]
        self.scaler = torch.amp.GradScaler(given.device, enabled=given.dtype == "f16")

    def logits(self, images: Tensor) -> Tensor:
        with torch.autocast(self.given.device, self.type, enabled=self.type is not None):
            return self.forward(images)

    def step(self, images: Tensor, labels: Tensor) -> Tensor:
        logits = self.logits(moved(images) if self.given.augment else images)
        loss = nn.functional.cross_entropy(logits.float(), labels)
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return logits.detach()

    def train(self, train: Batch, test: Batch) -> None:
        images, labels = train
        batch, total = self.given.batch, -(-len(images) // self.given.batch) * self.given.epochs
        step = 0
        print("epoch     loss  accuracy  test loss  accuracy     time")
        for epoch in range(1, self.given.epochs + 1):
            begin = time.perf_counter()
            self.model.train()
            order = torch.randperm(len(images), device=images.device)
            logits = []
            for first in range(0, len(images), batch):
                for group in self.optimizer.param_groups:
                    group["lr"] = schedule(step, total, self.given.learning_rate)
                chosen = order[first : first + batch]
                logits.append(self.step(images[chosen], labels[chosen]))
                step += 1
            loss, accuracy = self.measures(torch.cat(logits), labels[order])
            seconds = time.perf_counter() - begin
            test_loss, test_accuracy = self.measures(self.test(test[0]), test[1])
            print(f"{epoch:5}  {loss:7.4f}  {accuracy:6.2f} %    {test_loss:7.4f}  {test_accuracy:6.2f} %  {seconds:5.1f} s")
        print(f"\nresult   {test_accuracy:.2f} % of the {len(test[0])} test images are told rightly")

    def test(self, images: Tensor) -> Tensor:
        self.model.eval()
        with torch.no_grad():
            return torch.cat([self.logits(part) for part in images.split(max(self.given.batch, 256))])

    @staticmethod
    def measures(logits: Tensor, labels: Tensor) -> tuple[float, float]:
        loss = nn.functional.cross_entropy(logits.double(), labels)
        return loss.item(), 100 * (logits.argmax(1) == labels).double().mean().item()

    def time(self, what: str, call: Callable[[int], None]) -> None:
        """Prints the time of one call among many, of which the first ones are not counted."""
        on_gpu = self.given.device == "cuda"

        def wait() -> None:
            if on_gpu:
                torch.cuda.synchronize()

        for i in range(20):
            call(i)
        wait()
        if on_gpu:
            torch.cuda.reset_peak_memory_stats()
        begin = time.perf_counter()
        for i in range(self.given.timing):
            call(i)
        enqueued = time.perf_counter() - begin
        wait()
        elapsed = time.perf_counter() - begin
        memory = "unknown"
        if on_gpu:
            memory = f"{(torch.cuda.max_memory_allocated() - self.image_bytes) / 2**20:.1f} MiB"
        each = 1e3 / self.given.timing
        print(f"{what:8} {elapsed * each:8.3f} ms, of which the host took {enqueued * each:.3f}; memory at most {memory} beside the images")

    def measure_times(self, train: Batch, test: Batch) -> None:
        batch = self.given.batch
        self.image_bytes = sum(part[0].nbytes for part in (train, test))
        whole = max(len(train[0]) // batch, 1)
        order = torch.randperm(len(train[0]), device=train[0].device)

        def step(i: int) -> None:
            chosen = order[i % whole * batch : (i % whole + 1) * batch]
            self.step(train[0][chosen], train[1][chosen])

        def infer(_: int) -> None:
            with torch.no_grad():
                self.logits(test[0][:batch])

        self.model.train()
        self.time("step", step)
        self.model.eval()
        self.time("infer", infer)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist")
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--items", type=int, default=0)
    parser.add_argument("--test-items", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--learning-rate", type=float, default=0.002)
    parser.add_argument("--width", type=float, default=1.0)
    parser.add_argument("--augment", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dtype", default="f32", choices=("f32", "f16"))
    parser.add_argument("--math", default="ieee", choices=("ieee", "tf32"))
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--timing", type=int, default=0, help="measure so many steps, and as many batches of inference")
    parser.add_argument("--compile", action="store_true", help="by torch.compile")
    given = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = given.math == "tf32"
    data = [
        tuple(part[: items or None] for part in read(given.data, name, given.device))
        for name, items in (("train", given.items), ("t10k", given.test_items))
    ]
    training = Training(given)
    if given.timing:
        training.measure_times(*data)
    else:
        training.train(*data)


if __name__ == "__main__":
    main()
