# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""trace and trace_grad."""
import torch

from .common import NAMES, Case, count


class Trace(Case):
    """The extents of x, and the axes of its matrices."""

    def __init__(self, op, dtype, x, axis1=0, axis2=1, offset=0):
        super().__init__(op, dtype, ["out"] if op == "trace" else ["x_grad"])
        self.x, self.axis1, self.axis2, self.offset = tuple(x), axis1, axis2, offset
        self.diagonals = tuple(torch.empty(self.x, device="meta").diagonal(offset, axis1, axis2).shape)
        self.out = self.diagonals[:-1]

    def name(self):
        text = f"{self.op} {self.dtype} {list(self.x)} axes {self.axis1} {self.axis2}"
        return text + (f" offset {self.offset}" if self.offset else "")

    def tensors(self, device):
        attributes = {"offset": self.offset, "axis1": self.axis1, "axis2": self.axis2}
        # The gradient needs only the extents of x.
        x = torch.empty((1,), device=device, dtype=NAMES[self.dtype]).expand(self.x) if self.is_gradient() \
            else self.random(self.x, device)
        if not self.is_gradient():
            return {"x": x, **attributes, "out": self.poison(self.out, device)}
        return {"x": x, "out_grad": self.random(self.out, device), **attributes, "x_grad": self.poison(self.x, device)}

    def bytes(self):
        moved = count(self.x) if self.is_gradient() else count(self.diagonals)
        return self.element_size() * (moved + count(self.out))

    def expected(self, values):
        if not self.is_gradient():
            diagonals = values["x"].double().diagonal(self.offset, self.axis1, self.axis2)
            return {"out": (diagonals.sum(-1), diagonals.abs().sum(-1).max())}
        result = torch.zeros(self.x, dtype=torch.float64, device=values["out_grad"].device)
        result.diagonal(self.offset, self.axis1, self.axis2).copy_(values["out_grad"].double()[..., None])
        return {"x_grad": (result, 1.0)}

    def torch_call(self, values, compiled):
        v = values
        if not self.is_gradient():
            diagonals = v["x"].diagonal(self.offset, self.axis1, self.axis2)
            return lambda: torch.sum(diagonals, -1, out=v["out"])
        spread = v["out_grad"][..., None].expand(self.diagonals)
        return lambda: torch.ops.aten.diagonal_backward(spread, self.x, self.offset, self.axis1, self.axis2)


def cases(device):
    large = (8192, 8192)
    listed = [Trace(op, "f32", *shape) for op in ("trace", "trace_grad")
              for shape in ((large,), ((64, 1024, 1024), 1, 2), ((256, 256, 1024),))]
    if device == "cpu":
        return listed
    listed += [Trace(op, t, large) for op in ("trace", "trace_grad") for t in NAMES if t != "f32"]
    listed += [Trace(op, "f32", (1 << 20, 7, 7), 1, 2) for op in ("trace", "trace_grad")]
    listed += [Trace("trace", "f32", (300000, 13, 13), 1, 2), Trace("trace", "f16", (1 << 20, 9, 9), 1, 2)]
    return listed + [Trace("trace_grad", "f16", (64, 1024, 1024), 1, 2, 3)]
