# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""softmax and softmax_grad over a grid of extents, axes, types, layouts and kinds of elements, beside PyTorch's in
float64."""
import itertools
import math

import torch
from pytorch_cases.common import NAMES, laid_out

from .common import SUMMING, Check, layouts_of, poison

SHAPES = ((1,), (0,), (7,), (70001,), (3, 5), (33, 250), (250, 1000), (3, 4096), (3, 4099), (300, 9000), (2, 300001),
          (300001, 2), (20001, 3), (10007, 5), (10007, 7), (0, 4), (4, 0), (13, 250, 6), (2, 3, 70, 4))
MANY_ELEMENTS = 100000  # above, there are plain ones alone
KINDS = ("plain", "huge", "wide", "nan", "infinities")


def elements(kind, shape, device):
    x = torch.randn(shape, dtype=torch.float64, device=device)
    flat = x.view(-1)
    if kind == "huge":
        x = x * 1e4
    elif kind == "wide":
        x = x * 30
    elif kind == "nan" and x.numel() > 0:
        flat[len(flat) // 2] = math.nan
    elif kind == "infinities" and x.numel() > 0:
        flat[::3], flat[len(flat) // 2] = -math.inf, math.inf
        x[0] = -math.inf
    return x


class SoftmaxCheck(Check):
    def agree(self, name, actual, expected, error):
        near = ((actual.double() - expected).abs() <= error) | (actual.isnan() & expected.isnan())
        self.judge(name, actual, expected, ~near)

    def compare(self, name, x, layout, axis):
        wide, info, summing = x.double(), torch.finfo(x.dtype), SUMMING[x.dtype]
        expected = torch.softmax(wide, axis)
        least = info.smallest_normal * info.eps
        if self.wants(f"softmax {name}"):
            out = poison(x.shape, x, layout)
            if self.run(f"softmax {name}", "softmax", {"x": x, "out": out, "axis": axis}):
                below = (wide.amax(axis, keepdim=True) - wide).nan_to_num(0.0, 0.0) if x.numel() > 0 else wide
                self.agree(f"softmax {name}", out, expected, (summing + 1.2e-7 * below) * expected + least)
        if self.wants(f"softmax_grad {name}"):
            out, out_grad = expected.to(x.dtype), torch.randn(x.shape, device=x.device).to(x.dtype)
            product = out.double() * out_grad.double()
            magnitude = product.abs() + out.double() * product.abs().sum(axis, keepdim=True)
            x_grad = poison(x.shape, x, layout)
            values = {"x": x, "out": out, "out_grad": out_grad, "x_grad": x_grad, "axis": axis}
            if self.run(f"softmax_grad {name}", "softmax_grad", values):
                self.agree(f"softmax_grad {name}", x_grad, product - out.double() * product.sum(axis, keepdim=True),
                           summing * magnitude + least)

    def all(self, device):
        for dtype, shape, kind in itertools.product(NAMES, SHAPES, KINDS):
            if math.prod(shape) > MANY_ELEMENTS and kind != "plain":
                continue
            plain, rank = elements(kind, shape, device).to(NAMES[dtype]), len(shape)
            for layout, axis in itertools.product(layouts_of(rank), range(-rank, rank)):
                self.compare(f"{dtype} {list(shape)} {kind} {layout} axis {axis}", laid_out(plain, layout), layout, axis)
