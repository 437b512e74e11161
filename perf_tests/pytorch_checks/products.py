# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""matmul, linear and their gradients over a grid of extents, types, transpositions and layouts, beside torch.matmul in
float64."""
import functools
import itertools

import torch
from pytorch_cases.common import NAMES, laid_out

from .common import SUMMING, Check, layouts_of, poison

PRODUCTS = (((7,), (7,)), ((5, 7), (7,)), ((7,), (3, 7, 5)), ((33, 65), (65, 17)), ((1, 300), (300, 70)), ((70, 1), (1, 33)),
            ((4, 0), (0, 3)), ((0, 4), (4, 3)), ((3, 64, 128), (128, 96)), ((5, 33, 20), (1, 20, 7)), ((20, 9), (4, 9, 5)),
            ((2, 1, 9, 30), (3, 30, 8)), ((2, 3, 1, 40), (2, 3, 40, 16)), ((130, 700), (700, 140)))
LAYERS = (((7,), 5), ((33, 65), 17), ((4, 9, 128), 96), ((1, 300), 70), ((0, 5), 3), ((6, 0), 3), ((130, 260), 1))


def turned(tensor, is_turned):
    return tensor.mT if is_turned and tensor.dim() > 1 else tensor


def product(x, y, transpose_x, transpose_y):
    return turned(x, transpose_x) @ turned(y, transpose_y)


class ProductsCheck(Check):
    def judge_products(self, name, actual, expected, magnitude, terms):
        """That products are as near to those in float64 as the operators promise."""
        one = 2.0**-53 if actual.dtype == torch.float64 else 2.0**-24
        bound = 3 * max(terms, 1) * one * magnitude
        if actual.element_size() == 2:
            bound = bound + 2 * SUMMING[actual.dtype] * (expected.abs() + magnitude * 1e-3) + 2.0**-25
        self.judge(name, actual, expected, ~((actual.double() - expected).abs() <= bound))

    def compare(self, name, op, function, operands, attributes, layout, inner):
        """`inner` products, and a bias where there is one, are the terms of an element of the result."""
        wide = {key: value.double().requires_grad_() for key, value in operands.items()}
        sizes = {key: value.detach().abs().requires_grad_() for key, value in wide.items()}
        expected, magnitude = function(**wide), function(**sizes)
        like = next(iter(operands.values()))
        if self.wants(f"{op} {name}"):
            out = poison(expected.shape, like, layout)
            if self.run(f"{op} {name}", op, {**operands, **attributes, "out": out}):
                self.judge_products(f"{op} {name}", out, expected.detach(), magnitude.detach(), inner + 1)
        if self.wants(f"{op}_grad {name}"):
            out_grad = torch.randn(expected.shape, device=like.device).to(like.dtype)
            results = torch.autograd.grad(expected, list(wide.values()), out_grad.double())
            bounds = torch.autograd.grad(magnitude, list(sizes.values()), out_grad.double().abs())
            grads = {f"{key}_grad": poison(value.shape, like, layout) for key, value in operands.items()}
            given = {key: value for key, value in operands.items() if key != "bias"}
            if self.run(f"{op}_grad {name}", f"{op}_grad", {**given, **attributes, "out_grad": out_grad, **grads}):
                for key, result, bound in zip(grads, results, bounds):
                    products = out_grad.numel() * (1 if key == "bias_grad" else inner)
                    self.judge_products(f"{op}_grad {name} {key}", grads[key], result, bound,
                                        products // max(result.numel(), 1))

    def all(self, device):
        for dtype, (x, y) in itertools.product(NAMES, PRODUCTS):
            plain = [torch.randn(shape, device=device).to(NAMES[dtype]) for shape in (x, y)]
            for transpose_x, transpose_y in itertools.product((False, True), repeat=2):
                given = turned(plain[0], transpose_x), turned(plain[1], transpose_y)
                for layout in layouts_of(min(len(x), len(y))):
                    operands = dict(zip("xy", (laid_out(each, layout) for each in given)))
                    attributes = {"transpose_x": transpose_x, "transpose_y": transpose_y}
                    self.compare(f"{dtype} {list(x)} {list(y)} {transpose_x} {transpose_y} {layout}", "matmul",
                                 functools.partial(product, **attributes), operands, attributes, layout,
                                 x[-1])
        for dtype, (x, outputs), layout in itertools.product(NAMES, LAYERS, layouts_of(2)):
            shapes = {"x": x, "weight": (x[-1], outputs), "bias": (outputs,)}
            operands = {name: laid_out(torch.randn(shape, device=device).to(NAMES[dtype]),
                                       layout if layout in layouts_of(len(shape)) else "contiguous")
                        for name, shape in shapes.items()}
            self.compare(f"{dtype} {list(x)} {outputs} {layout}", "linear", lambda x, weight, bias: x @ weight + bias,
                         operands, {}, layout, x[-1])
