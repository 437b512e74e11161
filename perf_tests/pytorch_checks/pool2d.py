# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pool2d and pool2d_grad over a grid of extents, windows, types and layouts, beside max_pool2d with its indices and
avg_pool2d, and autograd's gradients of them in float64."""
import functools
import itertools

import torch
from pytorch_cases.common import NAMES, laid_out
from torch.nn import functional

from .common import Check, poison

SHAPES = ((2, 3, 8, 12), (1, 8, 9, 7), (3, 5, 33, 70), (1, 1, 1, 1), (2, 65, 6, 5), (2, 16, 16, 16))
# kernel, stride, padding
WINDOWS = (((1, 1), (1, 1), (0, 0)), ((2, 2), (2, 2), (0, 0)), ((2, 2), (1, 1), (1, 1)), ((3, 3), (2, 2), (1, 1)),
           ((3, 3), (1, 1), (1, 1)), ((3, 3), (4, 5), (0, 1)), ((5, 2), (2, 3), (2, 0)), ((13, 9), (1, 1), (6, 4)))
LAYOUTS = ("contiguous", "strided", "cut", "transposed", "channels last")


def turned(index, layout):
    if layout != "channels last":
        return index
    return index.contiguous(memory_format=torch.channels_last)


def averages(kernel, stride, padding, ceil_mode, count_include_pad, x):
    return functional.avg_pool2d(x, kernel, stride, padding, ceil_mode, count_include_pad), None


class Pool2dCheck(Check):
    def compare(self, name, plain, layout, attributes, pool):
        """`pool` gives of float64 images the results and, for max, the indices."""
        is_max = attributes["pooltype"] == "max"
        wide = plain.double().requires_grad_()
        expected, index = pool(wide)
        x = laid_out(plain, layout)
        laid_like = lambda shape: poison(shape, plain, "contiguous") if layout == "channels last" else poison(
            shape, plain, layout)
        if self.wants(f"pool2d {name}"):
            out = laid_out(laid_like(expected.shape), layout)
            found = turned(torch.full(expected.shape, -1, device=x.device), layout)
            given = {"x": x, "out": out, **attributes, **({"index": found} if is_max else {})}
            if self.run(f"pool2d {name}", "pool2d", given):
                if is_max:
                    self.judge_bits(f"pool2d {name}: out", out, expected.detach().to(plain.dtype))
                    self.judge_bits(f"pool2d {name}: index", found, index)
                else:
                    self.judge_sums(f"pool2d {name}: out", out, expected.detach(), pool(plain.double().abs())[0])
        if self.wants(f"pool2d_grad {name}"):
            out_grad = torch.randn(expected.shape, device=x.device).to(plain.dtype)
            gradient = lambda g: torch.autograd.grad(expected, wide, g, retain_graph=True)[0]
            x_grad = laid_out(laid_like(plain.shape), layout)
            given = {"x": x, "out_grad": laid_out(out_grad, layout), "x_grad": x_grad, **attributes,
                     **({"index": turned(index, layout)} if is_max else {})}
            if self.run(f"pool2d_grad {name}", "pool2d_grad", given):
                self.judge_sums(f"pool2d_grad {name}", x_grad, gradient(out_grad.double()),
                                gradient(out_grad.double().abs()))

    def all(self, device):
        for dtype, shape, layout in itertools.product(NAMES, SHAPES, LAYOUTS):
            # Few different numbers, so that maxima are equal.
            plain = (torch.randn(shape, device=device) * 4).round().to(NAMES[dtype]) / 4
            for (kernel, stride, padding), ceil_mode in itertools.product(WINDOWS, (False, True)):
                if any(n + 2 * p < k for n, p, k in zip(shape[2:], padding, kernel)):
                    continue  # PyTorch refuses it
                window = {"kernel_size": list(kernel), "stride": list(stride), "padding": list(padding),
                          "ceil_mode": ceil_mode}
                name = f"{dtype} {list(shape)} {layout} {kernel} {stride} {padding} {'ceil' if ceil_mode else 'floor'}"
                largest = functools.partial(functional.max_pool2d, kernel_size=kernel, stride=stride, padding=padding,
                                            ceil_mode=ceil_mode, return_indices=True)
                self.compare(f"{name} max", plain, layout, {**window, "pooltype": "max"}, largest)
                for exclusive in (True, False):
                    attributes = {**window, "pooltype": "avg", "exclusive": exclusive}
                    average = functools.partial(averages, kernel, stride, padding, ceil_mode, not exclusive)
                    self.compare(f"{name} avg {exclusive}", plain, layout, attributes, average)
            whole = {"global_pooling": True}
            self.compare(f"{dtype} {list(shape)} {layout} whole max", plain, layout, {**whole, "pooltype": "max"},
                         lambda x: functional.adaptive_max_pool2d(x, 1, return_indices=True))
            self.compare(f"{dtype} {list(shape)} {layout} whole avg", plain, layout, {**whole, "pooltype": "avg"},
                         lambda x: (functional.adaptive_avg_pool2d(x, 1), None))
