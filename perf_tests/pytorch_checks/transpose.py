# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""transpose and transpose_grad over a grid of extents, orders of axes, types and layouts of both sides: the elements must
have the bits of torch.permute's."""
import itertools

import torch
from pytorch_cases.common import NAMES, laid_out

from .common import Check, layouts_of, poison

SHAPES = ((), (1,), (0,), (250,), (1, 1), (33, 250), (0, 5), (250, 1), (70001, 3), (700, 513), (13, 250, 7), (3, 64, 512), (1, 5, 1),
          (2, 5, 33, 64), (4, 0, 3, 5), (64, 3, 17, 19), (2, 3, 4, 5, 6))


class TransposeCheck(Check):
    def compare(self, name, op, x, perm, layout):
        """The gradient goes the other way: its x_grad has the extents of `x` here with the axes in that order."""
        expected = x.permute(perm)
        found = poison(expected.shape, x, layout)
        if op == "transpose":
            values = {"x": x, "perm": list(perm), "out": found}
        else:
            back = sorted(range(x.dim()), key=lambda axis: perm[axis] % x.dim())
            values = {"x": expected, "out_grad": x, "perm": back, "x_grad": found}
        if self.run(name, op, values):
            self.judge_bits(name, found, expected)

    def all(self, device):
        for dtype, shape in itertools.product(NAMES, SHAPES):
            plain, rank = torch.randn(shape, device=device).to(NAMES[dtype]), len(shape)
            for perm, layout, out_layout in itertools.product(itertools.permutations(range(rank)), layouts_of(rank),
                                                              layouts_of(rank)):
                # Some axes are counted from the last.
                perm = [axis - rank if axis % 2 else axis for axis in perm]
                for op in ("transpose", "transpose_grad"):
                    name = f"{op} {dtype} {list(shape)} {layout} by {perm} {out_layout}"
                    if self.wants(name):
                        self.compare(name, op, laid_out(plain, layout), perm, out_layout)
