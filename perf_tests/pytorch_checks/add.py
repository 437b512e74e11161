# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""add and add_grad over a grid of broadcast patterns, types and layouts. Sums of two elements must have PyTorch's bits,
and so must gradients of operands that were not broadcast."""
import itertools

import torch
from pytorch_cases.common import NAMES, laid_out

from .common import Check, layouts_of, poison

SHAPES = ((), (1,), (0,), (7,), (250,), (1000003,), (33, 250), (0, 5), (2, 70000), (70001, 3), (13, 250, 7),
          (3, 64, 512), (2, 5, 33, 64))


def patterns(shape):
    """The extents that an operand may have, with leading axes of extent 1 left out."""
    for kept in itertools.product((True, False), repeat=len(shape)):
        extents = [extent if keep else 1 for extent, keep in zip(shape, kept)]
        while extents and extents[0] == 1:
            extents.pop(0)
        yield tuple(extents)


class AddCheck(Check):
    op = "add"

    def out_grad(self, x, y, layout):
        return laid_out(torch.randn(torch.broadcast_shapes(x.shape, y.shape), device=x.device).to(x.dtype),
                        layout if layout in layouts_of(max(x.dim(), y.dim())) else "contiguous")

    def compare(self, name, x, y, layout):
        expected = x + y
        out = poison(expected.shape, x, layout)
        if self.run(name, "add", {"x": x, "y": y, "out": out}):
            self.judge_bits(name, out, expected)

    def compare_gradients(self, name, x, y, layout):
        out_grad = self.out_grad(x, y, layout)
        for wanted in ("xy", "x", "y"):
            gradients = {key: poison(operand.shape, operand, layout) for key, operand in (("x", x), ("y", y))
                         if key in wanted}
            values = {"x": x, "y": y, "out_grad": out_grad, **{f"{key}_grad": t for key, t in gradients.items()}}
            if not self.run(f"{name} -> {wanted}", "add_grad", values):
                continue
            for key, found in gradients.items():
                if found.shape == out_grad.shape:
                    self.judge_bits(f"{name} -> {wanted}: {key}_grad", found, out_grad)
                else:
                    wide = out_grad.double()
                    self.judge_sums(f"{name} -> {wanted}: {key}_grad", found, wide.sum_to_size(found.shape),
                                    wide.abs().sum_to_size(found.shape))

    def all(self, device):
        for dtype, shape in itertools.product(NAMES, SHAPES):
            for x_shape, y_shape in itertools.product(patterns(shape), repeat=2):
                x, y = (torch.randn(extents, device=device).to(NAMES[dtype]) for extents in (x_shape, y_shape))
                for layout in layouts_of(max(x.dim(), y.dim())):
                    spread = [laid_out(t, layout if layout in layouts_of(t.dim()) else "contiguous") for t in (x, y)]
                    name = f"{dtype} {list(x_shape)} {list(y_shape)} {layout}"
                    if self.wants(f"{self.op} {name}"):
                        self.compare(f"{self.op} {name}", *spread, layout)
                    if self.wants(f"{self.op}_grad {name}"):
                        self.compare_gradients(f"{self.op}_grad {name}", *spread, layout)
