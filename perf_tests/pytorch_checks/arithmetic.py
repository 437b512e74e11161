# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operators of two broadcast operands and their gradients, over a grid of broadcast patterns, types and layouts.
Results of two elements must have PyTorch's bits, and so must gradients of operands that were not broadcast, where their
terms are one operation."""
import itertools

import torch
from pytorch_cases.arithmetic import GRADIENTS, Binary
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


def spread(values, layout):
    return laid_out(values, layout if layout in layouts_of(values.dim()) else "contiguous")


class ArithmeticCheck(Check):
    def compare(self, kind, name, x, y, layout):
        expected = kind.function(x, y)
        out = poison(expected.shape, x, layout)
        if self.run(name, kind.operator, {"x": x, "y": y, "out": out}):
            self.judge_bits(name, out, expected)

    def compare_gradients(self, kind, name, x, y, layout):
        shape = torch.broadcast_shapes(x.shape, y.shape)
        out_grad = spread(torch.randn(shape, device=x.device).to(x.dtype), layout)
        operands = {"x": x, "y": y}
        for wanted in ("xy", "x", "y"):
            gradients = {key: poison(operands[key].shape, x, layout) for key in wanted}
            named = {GRADIENTS[key]: gradient for key, gradient in gradients.items()}
            if not self.run(f"{name} -> {wanted}", f"{kind.operator}_grad", {**operands, "out_grad": out_grad, **named}):
                continue
            case = kind(f"{kind.operator}_grad", "f32", x.shape, y.shape, wanted)
            for key, found in gradients.items():
                judged = f"{name} -> {wanted}: {GRADIENTS[key]}"
                if found.shape == out_grad.shape and kind.is_exact:
                    self.judge_bits(judged, found, case.term(key, x, y, out_grad))
                else:
                    terms = case.term(key, x.double(), y.double(), out_grad.double())
                    self.judge_sums(judged, found, terms.sum_to_size(found.shape), terms.abs().sum_to_size(found.shape))

    def all(self, device):
        for kind, dtype, shape in itertools.product(Binary.__subclasses__(), NAMES, SHAPES):
            for x_shape, y_shape in itertools.product(patterns(shape), repeat=2):
                x, y = (torch.randn(extents, device=device).to(NAMES[dtype]) for extents in (x_shape, y_shape))
                y = kind.right(y)
                for layout in layouts_of(max(x.dim(), y.dim())):
                    name = f"{dtype} {list(x_shape)} {list(y_shape)} {layout}"
                    if self.wants(f"{kind.operator} {name}"):
                        self.compare(kind, f"{kind.operator} {name}", spread(x, layout), spread(y, layout), layout)
                    if self.wants(f"{kind.operator}_grad {name}"):
                        self.compare_gradients(kind, f"{kind.operator}_grad {name}", spread(x, layout),
                                               spread(y, layout), layout)
