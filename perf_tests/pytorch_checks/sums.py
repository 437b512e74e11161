# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""sum, mean and their gradients over a grid of extents, axes, types and layouts, beside PyTorch's in float64."""
import itertools
import math

import torch
from pytorch_cases.common import NAMES, laid_out

from .common import Check, layouts_of, poison

SHAPES = ((), (1,), (0,), (70001,), (3, 5), (250, 33), (2, 300001), (300001, 2), (0, 4), (4, 0), (13, 250, 7),
          (2, 3, 70, 4))
MANY_ELEMENTS = 100000  # above, keepdim is not tried


class SumsCheck(Check):
    def compare(self, name, x, layout, axis, keepdim):
        attributes, wide = {"axis": list(axis), "keepdim": keepdim}, x.double()
        terms = math.prod(x.shape[a] for a in axis) if axis else x.numel()
        for op in ("sum", "mean"):
            torch_op = torch.sum if op == "sum" else torch.mean
            expected = torch_op(wide, axis, keepdim=keepdim)
            if self.wants(f"{op} {name}"):
                out = poison(expected.shape, x, layout)
                if self.run(f"{op} {name}", op, {"x": x, "out": out, **attributes}):
                    if expected.isnan().any():  # means of nothing
                        self.judge(f"{op} {name}", out, expected, ~out.isnan())
                    else:
                        magnitude = torch_op(wide.abs(), axis, keepdim=keepdim)
                        self.judge_sums(f"{op} {name}", out, expected, magnitude)
            if self.wants(f"{op}_grad {name}"):
                out_grad = torch.randn(expected.shape, device=x.device).to(x.dtype)
                # By a tensor: beside a number PyTorch multiplies by its inverse on a GPU, which rounds twice.
                divided = out_grad.double() / torch.full_like(out_grad, terms if op == "mean" and terms else 1,
                                                              dtype=torch.float64)
                if x.dtype != torch.float64:  # what the 16-bit types are rounded from
                    divided = divided.float()
                kept = [1 if not axis or a in axis else extent for a, extent in enumerate(x.shape)]
                x_grad = poison(x.shape, x, layout)
                if self.run(f"{op}_grad {name}", f"{op}_grad",
                            {"x": x, "out_grad": out_grad, "x_grad": x_grad, **attributes}):
                    self.judge_bits(f"{op}_grad {name}", x_grad, divided.to(x.dtype).reshape(kept).expand(x.shape))

    def all(self, device):
        for dtype, shape in itertools.product(NAMES, SHAPES):
            plain, rank = torch.randn(shape, device=device).to(NAMES[dtype]), len(shape)
            axes = [combination for size in range(rank + 1) for combination in itertools.combinations(range(rank), size)]
            for layout, axis, keepdim in itertools.product(
                    layouts_of(rank), axes, (False,) if plain.numel() > MANY_ELEMENTS else (False, True)):
                self.compare(f"{dtype} {list(shape)} {layout} axes {list(axis)} keepdim {keepdim}",
                             laid_out(plain, layout), layout, axis, keepdim)
