#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the files of exports/: networks exported by PyTorch, with an input and what PyTorch computes of it.

    make_exports.py [FOLDER]

NAME.onnx has the input x and the output y; NAME.x.npy and NAME.y.npy are theirs. Names end with the operator set; those
with "script" were exported by the exporter that traces, the others by the one that torch.export stands behind. Needs
torch, torchvision and onnxscript; nothing else here does. The files in the tree were made with PyTorch 2.14.1,
torchvision 0.27.0 and onnxscript 0.7.2."""

from __future__ import annotations

import pathlib
import sys

import numpy as np
import torch
import torchvision.ops
from torch import nn
from torch.nn import functional


class Convolutional(nn.Module):
    """With a gate and a residue, groups, strides, pools with and without padding."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.depthwise = nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=8)
        self.pointwise = nn.Conv2d(8, 8, 1)
        self.dropout = nn.Dropout(0.5)
        self.head = nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = functional.relu(self.norm(self.first(x)))
        x = functional.max_pool2d(x, 3, stride=2, padding=1)
        x = x * torch.sigmoid(self.pointwise(self.depthwise(x)).mean((2, 3), keepdim=True)) + x
        x = functional.avg_pool2d(x, 2)
        x = functional.adaptive_avg_pool2d(x, 1).flatten(1)
        return functional.softmax(self.head(self.dropout(x)), dim=1)


class Inverted(nn.Module):
    """An inverted residual with ReLU6, as MobileNet has them, and other bounds."""

    def __init__(self) -> None:
        super().__init__()
        self.wide = nn.Conv2d(3, 12, 1, bias=False)
        self.norm = nn.BatchNorm2d(12)
        self.depthwise = nn.Conv2d(12, 12, 3, padding=1, groups=12)
        self.narrow = nn.Conv2d(12, 3, 1)
        self.head = nn.Linear(3, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = functional.relu6(8 * self.norm(self.wide(x)))
        y = functional.relu6(self.depthwise(y))
        x = torch.clamp(x + self.narrow(y), min=-0.5, max=0.75)
        return self.head(torch.clamp(x, max=0.5).mean((2, 3)))


class Deformable(nn.Module):
    """Deformable convolutions of both versions, whose offsets convolutions compute."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.offset = nn.Conv2d(8, 2 * 2 * 9, 3, padding=1)
        self.mask = nn.Conv2d(8, 2 * 9, 3, padding=1)
        self.weight = nn.Parameter(torch.randn(8, 4, 3, 3) / 6)
        self.bias = nn.Parameter(torch.randn(8) / 6)
        self.second_offset = nn.Conv2d(8, 2 * 9, 3, stride=2, padding=1)
        self.second_weight = nn.Parameter(torch.randn(8, 8, 3, 3) / 8)
        self.head = nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.tanh(self.stem(x))
        x = torchvision.ops.deform_conv2d(
            x, self.offset(x), self.weight, self.bias, padding=1, mask=torch.sigmoid(self.mask(x))
        )
        x = functional.relu(x)
        x = torchvision.ops.deform_conv2d(x, self.second_offset(x), self.second_weight, stride=2, padding=1)
        return self.head(functional.relu(x).mean((2, 3)))


class Transformer(nn.Module):
    """A block with two heads, with tokens from a table and a position added to each."""

    def __init__(self) -> None:
        super().__init__()
        self.position = nn.Parameter(torch.randn(7, 12))
        self.first_norm, self.second_norm = nn.LayerNorm(12), nn.LayerNorm(12)
        self.qkv, self.proj = nn.Linear(12, 36), nn.Linear(12, 12)
        self.up, self.down = nn.Linear(12, 24), nn.Linear(24, 12)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.position
        batch, tokens, width = x.shape
        q, k, v = self.qkv(self.first_norm(x)).reshape(batch, tokens, 3, 2, width // 2).permute(2, 0, 3, 1, 4).unbind(0)
        attention = functional.softmax(q @ k.transpose(-2, -1) * (width // 2) ** -0.5, dim=-1)
        x = x + self.proj((attention @ v).transpose(1, 2).reshape(batch, tokens, width))
        x = x + self.down(functional.gelu(self.up(self.second_norm(x))))
        return x[:, 0] + x[:, 1:].mean(1)


class Tokens(nn.Module):
    """Integers in, by way of a table."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(11, 6)
        self.layer = nn.Linear(6, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.table(x)
        first, second = x.split([2, 4], dim=2)
        x = torch.cat((second, first), 2)
        return functional.silu(self.layer(x)).sum(1, keepdim=True).squeeze(1)


IMAGES = torch.Size((2, 3, 16, 16))
NETWORKS = {
    "convolutional_11_script": (Convolutional, IMAGES, 11),
    "convolutional_13_script": (Convolutional, IMAGES, 13),
    "convolutional_18": (Convolutional, IMAGES, 18),
    "inverted_11_script": (Inverted, IMAGES, 11),
    "inverted_18": (Inverted, IMAGES, 18),
    "deformable_19": (Deformable, IMAGES, 19),
    "deformable_22": (Deformable, IMAGES, 22),
    "transformer_11_script": (Transformer, torch.Size((2, 7, 12)), 11),
    "transformer_17_script": (Transformer, torch.Size((2, 7, 12)), 17),
    "transformer_18": (Transformer, torch.Size((2, 7, 12)), 18),
    "transformer_20": (Transformer, torch.Size((2, 7, 12)), 20),
    "tokens_18": (Tokens, torch.Size((3, 5)), 18),
}


def make(name: str, folder: pathlib.Path) -> None:
    kind, shape, version = NETWORKS[name]
    torch.manual_seed(7)
    network = kind().eval()
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.uniform_(-0.5, 0.5)
            module.running_var.uniform_(0.5, 2)
    x = torch.randint(0, 11, shape) if kind is Tokens else torch.randn(shape)
    with torch.no_grad():
        y = network(x)
    options = {"input_names": ["x"], "output_names": ["y"], "opset_version": version}
    if name.endswith("_script"):
        torch.onnx.export(network, (x,), folder / f"{name}.onnx", dynamo=False, dynamic_axes={"x": {0: "batch"}}, **options)
    else:
        program = torch.onnx.export(network, (x,), dynamo=True, verbose=False, **options)
        for node in program.model.graph:  # where they came from: most of the file
            node.metadata_props.clear()
            node.doc_string = None
        program.save(folder / f"{name}.onnx", external_data=False)
    np.save(folder / f"{name}.x.npy", x.numpy())
    np.save(folder / f"{name}.y.npy", y.numpy())


def main() -> None:
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "exports"
    for name in NETWORKS:
        try:
            make(name, folder)
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr)


if __name__ == "__main__":
    main()
