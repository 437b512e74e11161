# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""concat, split and their gradients over a grid of shapes, axes, lengths, types and layouts.

torch.cat and torch.split give the same elements; every one of portops' must be equal to them. What is meant to differ
and not compared: tensors of extents [0], which torch.cat passes over, and mixed types, which it converts.
"""
import itertools

import torch
from pytorch_cases.common import NAMES, laid_out

from .common import Check

SHAPES = ((1,), (64,), (1, 1), (5, 7), (33, 16), (2, 3, 4), (7, 1, 32), (3, 4, 5, 6))
LENGTHS = ((3,), (4, 4, 4), (1, 0, 5, 2), (0, 64, 1), (1,) * 40, tuple(k % 4 for k in range(500)), (8,) * 1000)
LAYOUTS = ("contiguous", "strided", "cut", "transposed")


class ConcatCheck(Check):
    def all(self, device):
        for dtype, shape, lengths in itertools.product(NAMES, SHAPES, LENGTHS):
            for axis in (*range(len(shape)), -1):
                pairs = list(itertools.product(LAYOUTS, LAYOUTS))
                # Many tensors take PyTorch long.
                for layouts in pairs if len(lengths) <= 100 else [("contiguous", "contiguous"), ("cut", "transposed")]:
                    self.check(device, dtype, shape, axis, lengths, layouts)

    def check(self, device, dtype, shape, axis, lengths, layouts):
        name = f"{dtype} {list(shape)} axis {axis} in {len(lengths)} parts from {lengths[0]}, {' and '.join(layouts)}"
        if not self.wants(name):
            return
        whole_shape, sections = list(shape), list(lengths)
        whole_shape[axis] = sum(lengths)
        joined = laid_out(torch.randn(whole_shape, device=device).to(NAMES[dtype]), layouts[0])
        parts = [laid_out(part, layouts[1]) for part in torch.split(joined, sections, axis)]
        empty = [laid_out(torch.zeros_like(part), layouts[1]) for part in parts]
        target = laid_out(torch.zeros_like(joined), layouts[0])
        common = {"axis": axis}
        cut = {**common, "sections": tuple(sections)}
        if self.run(f"concat {name}", "concat", {"x": parts, "out": target, **common}):
            self.compare(f"concat {name}", target, torch.cat(parts, axis))
        target.zero_()
        if self.run(f"split_grad {name}", "split_grad", {"out_grad": parts, "x_grad": target, **cut}):
            self.compare(f"split_grad {name}", target, torch.cat(parts, axis))
        for op, values in (("split", {"x": joined, "out": empty, **cut}),
                           ("concat_grad", {"x": parts, "out_grad": joined, "x_grad": empty, **common})):
            for part in empty:
                part.zero_()
            if self.run(f"{op} {name}", op, values):
                self.compare(f"{op} {name}", torch.cat(empty, axis), joined)

    def compare(self, name, actual, expected):
        self.judge(name, actual, expected, actual != expected)
