# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""trace and trace_grad over a grid of extents, axes, offsets, types and layouts, beside the sum over torch.diagonal and
its gradient."""
import itertools

import torch
from pytorch_cases.common import NAMES, laid_out

from .common import Check, layouts_of, poison

SHAPES = ((1, 1), (3, 5), (5, 3), (64, 64), (1, 70001), (1500, 1600), (0, 4), (2, 3, 4), (33, 7, 18), (64, 5, 64),
          (40, 40, 64), (0, 3, 3), (3, 3, 0), (2, 5, 4, 6))
OFFSETS = (0, 1, -1, 2, -3, 63, -63, 100000)


class TraceCheck(Check):
    def compare(self, name, x, layout, offset, axis1, axis2):
        attributes = {"offset": offset, "axis1": axis1, "axis2": axis2}
        wide = x.double().diagonal(offset, axis1, axis2)
        if self.wants(f"trace {name}"):
            out = poison(wide.shape[:-1], x, layout)
            if self.run(f"trace {name}", "trace", {"x": x, "out": out, **attributes}):
                self.judge_sums(f"trace {name}", out, wide.sum(-1), wide.abs().sum(-1))
        if self.wants(f"trace_grad {name}"):
            out_grad = torch.randn(wide.shape[:-1], device=x.device).to(x.dtype)
            expected = torch.zeros_like(x)
            expected.diagonal(offset, axis1, axis2).copy_(out_grad[..., None].expand(wide.shape))
            x_grad = poison(x.shape, x, layout)
            if self.run(f"trace_grad {name}", "trace_grad",
                        {"x": x, "out_grad": out_grad, "x_grad": x_grad, **attributes}):
                self.judge_bits(f"trace_grad {name}", x_grad, expected)

    def all(self, device):
        for dtype, shape in itertools.product(NAMES, SHAPES):
            plain, rank = torch.randn(shape, device=device).to(NAMES[dtype]), len(shape)
            for layout, axes, offset in itertools.product(layouts_of(rank), itertools.permutations(range(rank), 2), OFFSETS):
                axis1, axis2 = axes[0], axes[1] - rank
                self.compare(f"{dtype} {list(shape)} {layout} axes {axis1} {axis2} offset {offset}",
                             laid_out(plain, layout), layout, offset, axis1, axis2)
