# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""reshape and reshape_grad over a grid of extents, types and layouts of both sides, and of axes in every order: the
elements must have PyTorch's bits."""
import itertools

import torch
from pytorch_cases.common import NAMES, laid_out

from .common import Check, layouts_of, poison

# Extents of as many elements each.
SHAPES = (((), (1,), (1, 1, 1)),
          ((24,), (6, 4), (8, 3), (2, 3, 4), (4, 3, 2), (3, 1, 8)),
          ((64, 60), (60, 64), (3840,), (16, 24, 10), (15, 256), (2, 3, 5, 128)),
          ((1000003,), (1, 1000003)),
          ((300, 700), (700, 300), (210000,), (7, 3, 100, 100), (175, 1200)),
          ((33, 70, 96), (70, 33, 96), (2310, 96), (33, 6720), (96, 2310)))
MANY_ELEMENTS = 10000  # above, axes stay in their order


class ReshapeCheck(Check):
    def compare(self, name, x, out_shape, layout):
        for op in ("reshape", "reshape_grad"):
            if not self.wants(f"{op} {name}"):
                continue
            # The gradient goes the other way: from a tensor of the extents `shape` to one of those of x.
            given = {"reshape": "x", "reshape_grad": "out_grad"}[op]
            result = {"reshape": "out", "reshape_grad": "x_grad"}[op]
            found = poison(out_shape, x, layout)
            values = {"x": x, "shape": list(out_shape)} if op == "reshape" else \
                {"x": torch.empty(out_shape, dtype=x.dtype, device=x.device), "shape": list(x.shape)}
            if self.run(f"{op} {name}", op, {**values, given: x, result: found}):
                self.judge_bits(f"{op} {name}", found, x.reshape(out_shape))

    def all(self, device):
        for dtype, shapes in itertools.product(NAMES, SHAPES):
            for x_shape, out_shape in itertools.product(shapes, repeat=2):
                plain = torch.randn(x_shape, device=device).to(NAMES[dtype])
                orders = itertools.permutations(range(len(x_shape))) if plain.numel() < MANY_ELEMENTS else \
                    [tuple(range(len(x_shape))), tuple(reversed(range(len(x_shape))))]
                for order, layout, out_layout in itertools.product(orders, layouts_of(len(x_shape)),
                                                                   layouts_of(len(out_shape))):
                    x = laid_out(plain, layout).permute(order)
                    self.compare(f"{dtype} {list(x_shape)} {layout} axes {list(order)} as {list(out_shape)} {out_layout}",
                                 x, out_shape, out_layout)
