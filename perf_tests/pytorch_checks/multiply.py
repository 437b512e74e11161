# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""multiply and multiply_grad over a grid of broadcast patterns, types and layouts. Products of two elements must have
PyTorch's bits."""
from .add import AddCheck
from .common import poison


class MultiplyCheck(AddCheck):
    op = "multiply"

    def compare(self, name, x, y, layout):
        expected = x * y
        out = poison(expected.shape, x, layout)
        if self.run(name, "multiply", {"x": x, "y": y, "out": out}):
            self.judge_bits(name, out, expected)

    def compare_gradients(self, name, x, y, layout):
        out_grad = self.out_grad(x, y, layout)
        for wanted in ("xy", "x", "y"):
            found = {key: poison(operand.shape, operand, layout) for key, operand in (("x", x), ("y", y)) if key in wanted}
            values = {"x": x, "y": y, "out_grad": out_grad, **{f"{key}_grad": t for key, t in found.items()}}
            if not self.run(f"{name} -> {wanted}", "multiply_grad", values):
                continue
            for key, gradient in found.items():
                other = y if key == "x" else x
                if gradient.shape == out_grad.shape:
                    self.judge_bits(f"{name} -> {wanted}: {key}_grad", gradient, out_grad * other)
                else:
                    terms = out_grad.double() * other.double()
                    self.judge_sums(f"{name} -> {wanted}: {key}_grad", gradient, terms.sum_to_size(gradient.shape),
                                    terms.abs().sum_to_size(gradient.shape))
