# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""full_like over a grid of extents, types, layouts and numbers, which are given as such and as tensors: the elements must
be the number as PyTorch converts it, to the bit."""
import itertools
import math

import torch
from pytorch_cases.common import NAMES

from .common import Check, layouts_of, poison

SHAPES = ((), (1,), (0,), (7,), (250,), (1000003,), (33, 250), (0, 5), (70001, 3), (13, 250, 7), (2, 5, 33, 64))
# What f16 cannot hold is infinite in it, or 0.
NUMBERS = (0.0, 1.0, 0.3, -2.5, 1e-7, 1e-9, 70000.0, math.inf, -math.inf)


class FullLikeCheck(Check):
    def compare(self, name, out, number, is_tensor):
        sums = torch.float64 if out.dtype == torch.float64 else torch.float32
        value = torch.full((), number, dtype=sums if is_tensor else torch.float64, device=out.device)
        given = value if is_tensor else number
        if self.run(name, "full_like", {"x": out, "fill_value": given, "out": out}):
            # torch.full_like refuses a number that f16 cannot hold.
            self.judge_bits(name, out, value.to(out.dtype).expand(out.shape))

    def all(self, device):
        for dtype, shape, number, is_tensor in itertools.product(NAMES, SHAPES, NUMBERS, (False, True)):
            like = torch.empty((), dtype=NAMES[dtype], device=device)
            for layout in layouts_of(len(shape)):
                name = f"full_like {dtype} {list(shape)} {layout} {'tensor of ' if is_tensor else ''}{number}"
                if self.wants(name):
                    self.compare(name, poison(shape, like, layout), number, is_tensor)
