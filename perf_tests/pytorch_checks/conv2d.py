# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""conv2d and conv2d_grad over a grid of attributes, types and layouts, beside PyTorch's convolution and its gradients in
float64."""
import functools
import itertools
import random

import torch
from pytorch_cases.common import NAMES, laid_out
from pytorch_cases.conv2d import gradient
from torch.nn import functional

from .common import Check, poison

STRIDES = ((1, 1), (2, 1), (2, 3), (5, 4))
PADDINGS = ((0, 0), (1, 2), (4, 3))
DILATIONS = ((1, 1), (2, 3))
KERNELS = ((1, 1), (3, 3), (2, 5))
GROUPS = (1, 2, 4)
# The extents of x, and the channels of out.
SIZES = (((2, 8, 9, 16), 12), ((1, 64, 20, 33), 96), ((3, 40, 17, 15), 24), ((5, 16, 14, 14), 8), ((1, 128, 19, 34), 128),
         ((3, 4, 30, 30), 4))
LAYOUTS = ("contiguous", "channels last", "strided", "transposed")
GRADIENTS = ("x_grad", "weight_grad", "bias_grad")


def random_tensor(dtype, device, shape):
    return torch.randn(shape, device=device).to(NAMES[dtype])


def convolved(v, *settings):
    return {"out": functional.conv2d(v["x"], v["weight"], v["bias"], *settings)}


def gradients(v, *settings):
    return dict(zip(GRADIENTS, gradient(v["out_grad"], v["x"], v["weight"], *settings)))


def in_layout(tensor, layout):
    return laid_out(tensor, layout if tensor.dim() == 4 else "contiguous")


class Conv2dCheck(Check):
    def compare(self, name, op, given, attributes, compute, layout):
        """`compute` gives the results by name of the operands in float64 and the attributes."""
        wide = {key: value.double() for key, value in given.items()}
        expected, sums = compute(wide, *attributes.values()), compute(
            {key: value.abs() for key, value in wide.items()}, *attributes.values())
        like = given["x"]
        outputs = {out: in_layout(poison(t.shape, like, "contiguous"), layout) for out, t in expected.items()}
        operands = {key: in_layout(value, layout) for key, value in given.items()}
        if self.run(name, op, {**operands, **outputs, **attributes}):
            for out, actual in outputs.items():
                self.judge_sums(f"{name}: {out}", actual, expected[out], sums[out])

    def all(self, device):
        draw = random.Random(1)
        for window in itertools.product(STRIDES, PADDINGS, DILATIONS, KERNELS, GROUPS):
            (stride, padding, dilation, kernel, groups), dtype = window, draw.choice(list(NAMES))
            (x, out_channels), layout = draw.choice(SIZES), draw.choice(LAYOUTS)
            if any(n + 2 * p < d * (k - 1) + 1 for n, p, d, k in zip(x[2:], padding, dilation, kernel)):
                continue  # PyTorch refuses it
            random_of = functools.partial(random_tensor, dtype, device)
            given = {"x": random_of(x), "weight": random_of((out_channels, x[1] // groups, *kernel))}
            attributes = {"stride": list(stride), "padding": list(padding), "dilation": list(dilation), "groups": groups}
            name = f"{dtype} {list(x)} to {out_channels} {kernel} {stride} {padding} {dilation} {groups} {layout}"
            if self.wants(f"conv2d {name}"):
                self.compare(f"conv2d {name}", "conv2d", {**given, "bias": random_of((out_channels,))}, attributes,
                             convolved, layout)
            if self.wants(f"conv2d_grad {name}"):
                out = functional.conv2d(given["x"].double(), given["weight"].double(), None, *attributes.values()).shape
                self.compare(f"conv2d_grad {name}", "conv2d_grad", {**given, "out_grad": random_of(out)}, attributes,
                             gradients, layout)
