# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The activations and their gradients."""
import math

import torch
import torch.nn.functional as F

from .common import NAMES, Case, compile_once, count

aten = torch.ops.aten


class Activation(Case):
    """The extents of x. `variant` says which attributes portops' operator is given."""

    def __init__(self, op, dtype, x, variant):
        super().__init__(op, dtype, ["x_grad" if op.endswith("_grad") else "out"])
        self.x, self.attributes = tuple(x), ATTRIBUTES[variant]
        self.kind = KINDS[op.removesuffix("_grad"), variant]

    def name(self):
        return f"{self.op} {self.dtype} {list(self.x)}" + "".join(f" {value}" for value in self.attributes.values())

    def tensors(self, device):
        x = self.random(self.x, device)
        if not self.is_gradient():
            return {"x": x, **self.attributes, "out": self.poison(self.x, device)}
        kept = {"x": x} if self.kind.keeps == "x" else {"out": self.kind.function(x)}
        gradients = {"out_grad": self.random(self.x, device), "x_grad": self.poison(self.x, device)}
        return {**kept, **self.attributes, **gradients}

    def bytes(self):
        return (3 if self.is_gradient() else 2) * count(self.x) * self.element_size()

    def expected(self, values):
        kept = values[self.kind.keeps if self.is_gradient() else "x"].double()
        if not self.is_gradient():
            out = self.kind.exact(kept)
            return {"out": (out, out.abs().max())}
        x_grad = self.kind.gradient(values["out_grad"].double(), kept)
        return {"x_grad": (x_grad, x_grad.abs().max())}

    def torch_call(self, values, compiled):
        if not self.is_gradient():
            call = self.kind.function
            if compiled:
                call = compile_once(call, (self.op, self.x, self.dtype, *self.attributes.values()))
            return lambda: call(values["x"])
        call = self.kind.gradient
        if compiled:
            call = compile_once(call, (self.op, self.x, self.dtype, *self.attributes.values()))
        return lambda: call(values["out_grad"], values[self.kind.keeps])


class Kind:
    """PyTorch's function, its gradient of out_grad and of what that keeps, x or out.

    `exact` is the function in float64, where PyTorch's is less; `terms` the largest of the terms that it adds up;
    `is_gaussian` whether it falls off as exp(−x²/2).
    """

    def __init__(self, function, gradient, keeps, exact=None, terms=0.0, is_gaussian=False):
        self.function, self.gradient, self.keeps = function, gradient, keeps
        self.exact, self.terms, self.is_gaussian = exact or function, terms, is_gaussian


KINDS = {
    ("relu", "none"): Kind(torch.relu, lambda g, out: aten.threshold_backward(g, out, 0), "out"),
    # PyTorch's own gradient is 0 at the bounds since 2.14.
    ("clip", "six"): Kind(lambda x: x.clamp(0, 6), lambda g, x: torch.where((x >= 0) & (x <= 6), g, 0), "x"),
    # Below 0 PyTorch's 1 + erf and 1 + tanh cancel.
    ("gelu", "none"): Kind(F.gelu, aten.gelu_backward, "x", lambda x: x * torch.special.erfc(-x * 0.5**0.5) / 2,
                           is_gaussian=True),
    ("gelu", "tanh"): Kind(lambda x: F.gelu(x, approximate="tanh"),
                           lambda g, x: aten.gelu_backward(g, x, approximate="tanh"), "x",
                           lambda x: x * torch.sigmoid((8 / math.pi)**0.5 * (x + 0.044715 * x**3)), is_gaussian=True),
    # PyTorch's sixth is that of f32 in float64 too. Its gradient of hardsigmoid takes x, and a 16-bit out does not tell of
    # all x that they are within the bounds.
    ("hard_sigmoid", "none"): Kind(F.hardsigmoid, lambda g, out: torch.where((out > 0) & (out < 1), g / 6, 0), "out",
                                   lambda x: (x + 3).clamp(0, 6) / 6, 0.5),
    ("hard_swish", "none"): Kind(F.hardswish, aten.hardswish_backward, "x", lambda x: x * (x + 3).clamp(0, 6) / 6),
    ("silu", "none"): Kind(F.silu, aten.silu_backward, "x"),
    ("sigmoid", "none"): Kind(torch.sigmoid, aten.sigmoid_backward, "out"),
    ("tanh", "none"): Kind(torch.tanh, aten.tanh_backward, "out"),
}
ATTRIBUTES = {"none": {}, "tanh": {"approximate": "tanh"}, "six": {"min": 0.0, "max": 6.0}}


def all_of(dtype, shape):
    return [Activation(op + ending, dtype, shape, variant) for op, variant in KINDS for ending in ("", "_grad")]


def cases(device):
    if device == "cpu":
        return all_of("f32", (4096, 4096)) + all_of("f32", (7, 1003)) + all_of("bf16", (4096, 4096))
    return [case for dtype in NAMES for case in all_of(dtype, (16384, 4096))] + all_of("f32", (5, 3, 641, 479))
