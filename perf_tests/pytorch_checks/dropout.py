# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""dropout and dropout_grad over a grid of extents, probabilities, types and layouts.

Which elements are dropped is portops' own affair, and tested there. Here a call on ones tells it, contiguous ones in f64:
every other call with the same seed and sequence must drop the same elements, of any type and layout, and so must the
gradient. The share that is kept must be 1 - p as far as chance goes; what is kept must be PyTorch's quotient in float64
up to rounding, and the rest 0, whatever it was.
"""
import itertools
import math
import random

import torch
from pytorch_cases.common import NAMES, laid_out

from .common import Check, layouts_of, poison

SHAPES = ((), (1,), (0,), (7,), (250,), (1000003,), (33, 250), (0, 5), (2, 70000), (70001, 3), (13, 250, 7), (2, 5, 33, 64))
PROBABILITIES = (0.0, 0.1, 0.5, 0.9, 1.0)
SPECIAL = (math.inf, -math.inf, math.nan)
DEVIATIONS = 6  # as many of a binomial distribution as a share may be off
# The arguments of calls by what they must have in common: seed and the sum of offset and step.
SEQUENCES = ({"seed": 1, "offset": 7}, {"seed": -(1 << 40) - 3, "offset": 1 << 35})
STEP = 4


class DropoutCheck(Check):
    def kept(self, name, shape, p, sequence, device):
        """Which elements a call on ones keeps; None where it failed."""
        ones = torch.ones(shape, dtype=torch.float64, device=device)
        out = torch.full_like(ones, math.nan)
        if not self.run(name, "dropout", {"x": ones, "p": p, **sequence, "out": out}):
            return None
        kept = out != 0
        count = kept.numel()
        if count > 0:
            share, expected = kept.double().mean(), torch.tensor(1 - p, dtype=torch.float64, device=device)
            self.judge(f"{name}: share", share, expected,
                       (share - expected).abs() > DEVIATIONS * math.sqrt(p * (1 - p) / count))
        return kept

    def compare(self, name, op, values, kept, p, sequence, layout, in_place):
        source, target = ("x", "out") if op == "dropout" else ("out_grad", "x_grad")
        wide, info = values.double(), torch.finfo(values.dtype)
        given = laid_out(values, layout)
        found = given if in_place else poison(values.shape, values, layout)
        if not self.run(name, op, {source: given, "p": p, **sequence, target: found}):
            return
        expected = torch.where(kept, wide / (1 - p), 0)
        # The factor and the product are rounded in f32 or f64, and once more to 16 bits.
        computed = 2.0**-53 if values.dtype == torch.float64 else 2.0**-24
        bound = 1.001 * 2 * computed * expected.abs()
        if values.element_size() == 2:
            bound = bound + 1.001 * info.eps / 2 * expected.abs().clamp(min=info.smallest_normal)
        actual = found.double()
        near = (actual == expected) | (actual.isnan() & expected.isnan()) | (
            (actual - expected).abs() <= torch.where(expected.isfinite() & (p > 0), bound, 0))
        self.judge(name, found, expected, ~near)

    def all(self, device):
        draw = random.Random(1)
        for shape, p, sequence in itertools.product(SHAPES, PROBABILITIES, SEQUENCES):
            label = f"{list(shape)} p {p} seed {sequence['seed']}"
            kept = self.kept(f"dropout of ones {label}", shape, p, sequence, device)
            stepped = {**sequence, "offset": sequence["offset"] - STEP,
                       "step": torch.tensor(STEP, dtype=torch.int64, device=device)}
            for dtype, layout, op in itertools.product(NAMES, layouts_of(len(shape)), ("dropout", "dropout_grad")):
                in_place, with_step = draw.random() < 0.5, draw.random() < 0.5
                name = (f"{op} {dtype} {label} {layout}{' in place' if in_place else ''}"
                        f"{' by a step' if with_step else ''}")
                if kept is None or not self.wants(name):
                    continue
                values = torch.randn(shape, device=device).to(NAMES[dtype])
                if values.dim() > 0:  # at the end of the rows
                    values[..., -len(SPECIAL):] = values.new_tensor(SPECIAL)[:values.shape[-1]]
                self.compare(name, op, values, kept, p, stepped if with_step else sequence, layout, in_place)
