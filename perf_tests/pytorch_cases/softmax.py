# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""softmax and softmax_grad."""
import torch

from .common import NAMES, Case, compile_once, count


def formula(x, axis):
    return torch.softmax(x, axis)


def gradient_formula(out, out_grad, axis):
    product = out * out_grad
    return product - out * product.sum(axis, keepdim=True)


class Softmax(Case):
    """The extents of x, and the axis."""

    def __init__(self, op, dtype, x, axis=-1):
        super().__init__(op, dtype, ["x_grad"] if op.endswith("_grad") else ["out"])
        self.x, self.axis = tuple(x), axis

    def name(self):
        return f"{self.op} {self.dtype} {list(self.x)} axis {self.axis}"

    def tensors(self, device):
        if not self.is_gradient():
            return {"x": self.random(self.x, device), "axis": self.axis, "out": self.poison(self.x, device)}
        # Of x only the extents are needed.
        x = torch.empty((1,), device=device, dtype=NAMES[self.dtype]).expand(self.x)
        out = torch.softmax(self.random(self.x, device), self.axis)
        return {"x": x, "out": out, "out_grad": self.random(self.x, device), "axis": self.axis,
                "x_grad": self.poison(self.x, device)}

    def bytes(self):
        return self.element_size() * count(self.x) * (3 if self.is_gradient() else 2)

    def expected(self, values):
        if not self.is_gradient():
            result = torch.softmax(values["x"].double(), self.axis)
            return {"out": (result, result)}
        out, out_grad = values["out"].double(), values["out_grad"].double()
        total = (out * out_grad).abs().sum(self.axis, keepdim=True)
        return {"x_grad": (gradient_formula(out, out_grad, self.axis), out * (out_grad.abs() + total))}

    def torch_call(self, values, compiled):
        v, axis = values, self.axis
        if not self.is_gradient():
            if compiled:
                function = compile_once(formula, self.name())
                return lambda: function(v["x"], axis)
            return lambda: torch.softmax(v["x"], axis, out=v["out"])
        if compiled:
            function = compile_once(gradient_formula, self.name())
            return lambda: function(v["out"], v["out_grad"], axis)
        return lambda: torch.ops.aten._softmax_backward_data(v["out_grad"], v["out"], axis % len(self.x),
                                                             NAMES[self.dtype])


def cases(device):
    shapes = (((16384, 4096),), ((65536, 1000),), ((4096, 32000),), ((1 << 20, 50),), ((16, 21, 512, 512), 1),
              ((4, 1 << 22),),
              # Short rows; the last four were not looked at while threads took several.
              ((5333333, 3),), ((8000000, 2),), ((3000001, 6),), ((1500000, 11),), ((1000000, 16),), ((500000, 32),),
              ((3333337, 4),), ((2500001, 5),), ((555555, 28),), ((222223, 72),))
    types = ("f32",) if device == "cpu" else NAMES
    return [Softmax(op, dtype, *shape) for dtype in types for shape in shapes for op in ("softmax", "softmax_grad")]
