# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The activations and their gradients, over a grid of shapes, types and layouts, against PyTorch's in float64."""
import itertools

import torch
from pytorch_cases.activations import ATTRIBUTES, KINDS
from pytorch_cases.common import NAMES, laid_out

from .common import Check, layouts_of, poison

SHAPES = ((), (1,), (0,), (7,), (250,), (1000003,), (33, 250), (0, 5), (2, 70000), (13, 250, 7), (2, 5, 33, 64))
# In units of the last place of the largest magnitude near by: PyTorch's own gradients cancel where terms do.
ROUNDING = {torch.float64: 1e-14, torch.float32: 2e-6, torch.float16: 6e-4, torch.bfloat16: 4.5e-3}


class ActivationsCheck(Check):
    def judge_near(self, name, found, expected, scale):
        near = (found.double() - expected).abs() <= ROUNDING[found.dtype] * scale + torch.finfo(found.dtype).smallest_normal
        self.judge(name, found, expected, ~near)  # a NaN is not near

    def compare(self, op, variant, dtype, shape, layout, device):
        kind, attributes = KINDS[op, variant], ATTRIBUTES[variant]
        name = f"{op} {dtype} {list(shape)} {variant} {layout}"
        if not self.wants(name):
            return
        x = laid_out((3 * torch.randn(shape, device=device)).to(NAMES[dtype]), layout)
        out_grad = laid_out(torch.randn(shape, device=device).to(NAMES[dtype]), layout)
        out, x_grad = poison(shape, x, layout), poison(shape, x, layout)
        expected = kind.exact(x.double())
        if self.run(name, op, {"x": x, **attributes, "out": out}):
            # The rounding of an exponent, which is computed in f32 or f64, counts as often as that is large.
            computed = ROUNDING[torch.float64 if dtype == "f64" else torch.float32] / ROUNDING[x.dtype]
            exponents = 1 + computed * x.double().square() / 16 if kind.is_gaussian else 1
            self.judge_near(name, out, expected, expected.abs().clamp(min=kind.terms) * exponents)
        kept = x if kind.keeps == "x" else laid_out(kind.function(x), layout)
        if self.run(f"{name} gradient", f"{op}_grad",
                    {kind.keeps: kept, **attributes, "out_grad": out_grad, "x_grad": x_grad}):
            slope = kind.gradient(out_grad.double(), kept.double())
            self.judge_near(f"{name} gradient", x_grad, slope, torch.maximum(out_grad.double().abs(), slope.abs()))

    def all(self, device):
        for (op, variant), dtype, shape in itertools.product(KINDS, NAMES, SHAPES):
            for layout in layouts_of(len(shape)):
                self.compare(op, variant, dtype, shape, layout, device)
