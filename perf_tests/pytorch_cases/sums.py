# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""sum, mean and their gradients."""
import torch

from .common import NAMES, Case, compile_once, count


class Sums(Case):
    """The extents of x, and the axes; none are all."""

    def __init__(self, op, dtype, x, axis):
        super().__init__(op, dtype, ["x_grad"] if op.endswith("_grad") else ["out"])
        self.x, self.axis = tuple(x), list(axis)
        self.out = tuple(torch.empty(self.x, device="meta").sum(self.axis).shape)
        self.divisor = count(self.x) / count(self.out) if op.startswith("mean") else 1.0

    def name(self):
        return f"{self.op} {self.dtype} {list(self.x)} axes {self.axis or 'all'}"

    def tensors(self, device):
        attributes = {"axis": self.axis}
        if not self.is_gradient():
            return {"x": self.random(self.x, device), **attributes, "out": self.poison(self.out, device)}
        # Of x only the extents are needed.
        x = torch.empty((1,), device=device, dtype=NAMES[self.dtype]).expand(self.x)
        return {"x": x, "out_grad": self.random(self.out, device), **attributes, "x_grad": self.poison(self.x, device)}

    def bytes(self):
        return self.element_size() * (count(self.x) + count(self.out))

    def spread(self, sums):
        """A tensor of the extents of out as one of the extents of x."""
        kept = [1 if not self.axis or axis in [a % len(self.x) for a in self.axis] else extent
                for axis, extent in enumerate(self.x)]
        return sums.reshape(kept).expand(self.x)

    def expected(self, values):
        if not self.is_gradient():
            x = values["x"].double() / self.divisor
            return {"out": (x.sum(self.axis), x.abs().sum(self.axis).max())}
        result = self.spread(values["out_grad"].double()) / self.divisor
        return {"x_grad": (result, result.abs().max())}

    def torch_call(self, values, compiled):
        v = values
        if not self.is_gradient():
            function = torch.mean if self.op == "mean" else torch.sum
            if compiled:
                function = compile_once(function, self.name())
                return lambda: function(v["x"], self.axis)
            return lambda: function(v["x"], self.axis, out=v["out"])
        if compiled:
            function = compile_once(lambda out_grad: (self.spread(out_grad) / self.divisor).contiguous(), self.name())
            return lambda: function(v["out_grad"])
        if self.op == "sum_grad":
            return lambda: v["x_grad"].copy_(self.spread(v["out_grad"]))
        return lambda: torch.div(self.spread(v["out_grad"]), self.divisor, out=v["x_grad"])


def cases(device):
    shapes = (((32, 64, 128, 128), (0, 2, 3)), ((16384, 4096), (-1,)), ((16384, 4096), (0,)), ((32, 64, 128, 128), ()))
    types = ("f32",) if device == "cpu" else NAMES
    ops = ("sum", "mean", "sum_grad", "mean_grad")
    return [Sums(op, dtype, *shape) for dtype in types for shape in shapes for op in ops]
