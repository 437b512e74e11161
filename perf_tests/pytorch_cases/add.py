# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""add and add_grad."""
import torch

from .common import NAMES, Case, compiled_gradient, count

GRADIENTS = {"x": "x_grad", "y": "y_grad"}


class Add(Case):
    """The extents of x and y (None: the number 0.3), and the gradients wanted."""

    def __init__(self, op, dtype, x, y=None, wanted="xy", number=False):
        super().__init__(op, dtype, ["out"] if op == "add" else [GRADIENTS[key] for key in wanted])
        self.x, self.y = tuple(x), None if number else tuple(x if y is None else y)
        self.wanted = wanted
        self.out = tuple(torch.broadcast_shapes(self.x, self.y or ()))

    def name(self):
        text = f"{self.op} {self.dtype} {list(self.x)}"
        if self.y is None:
            text += " y 0.3"
        elif self.y != self.x:
            text += f" y {list(self.y)}"
        return text + (" -> " + ",".join(self.wanted) if self.is_gradient() else "")

    def tensors(self, device):
        values = {"x": self.random(self.x, device), "y": 0.3 if self.y is None else self.random(self.y, device)}
        if not self.is_gradient():
            return {**values, "out": self.poison(self.out, device)}
        shapes = {"x": self.x, "y": self.y}
        gradients = {GRADIENTS[key]: self.poison(shapes[key], device) for key in self.wanted}
        return {**values, "out_grad": self.random(self.out, device), **gradients}

    def bytes(self):
        total = {"x": count(self.x), "y": 0 if self.y is None else count(self.y), "out": count(self.out)}
        moved = total["out"] + sum(total[key] for key in self.wanted) if self.is_gradient() else sum(total.values())
        return self.element_size() * moved

    def expected(self, values):
        wide = {k: t.double() if isinstance(t, torch.Tensor) else t for k, t in values.items()}
        if not self.is_gradient():
            out = wide["x"] + wide["y"]
            return {"out": (out, out.abs().max())}
        og = wide["out_grad"]
        return {GRADIENTS[k]: (og.sum_to_size(wide[GRADIENTS[k]].shape),
                               og.abs().sum_to_size(wide[GRADIENTS[k]].shape).max()) for k in self.wanted}

    def torch_call(self, values, compiled):
        v = values
        if not self.is_gradient():
            return lambda: torch.add(v["x"], v["y"], out=v["out"])
        shapes = [v[GRADIENTS[key]].shape for key in self.wanted]
        if compiled:
            gradient = compiled_gradient(lambda og: tuple(og.sum_to_size(shape).clone() for shape in shapes),
                                         (self.op, self.wanted, self.x, self.y, self.dtype))
            return lambda: gradient(v["out_grad"])
        # Autograd gives out_grad itself where nothing was broadcast; here that gradient has memory of its own.
        return lambda: [v["out_grad"].clone() if shape == v["out_grad"].shape else v["out_grad"].sum_to_size(shape)
                        for shape in shapes]


def cases(device):
    image, matrix, big = ((32, 64, 128, 128), (64, 1, 1)), ((16384, 4096), (4096,)), (4, 16, 1024, 1024)
    listed = [Add("add", t, *shapes) for t in NAMES for shapes in (image, matrix)]
    listed += [Add("add_grad", t, *shapes, wanted=wanted) for t in NAMES for shapes in (image, matrix)
               for wanted in ("y", "xy")]
    if device == "cpu":
        return [case for case in listed if case.dtype == "f32"] + [Add("add", "f32", big)]
    listed += [Add("add", t, big) for t in NAMES]
    listed += [Add("add", "f32", big, number=True), Add("add", "f32", (16, 102400)),
               Add("add", "f32", (16384, 4096), (16384, 1)), Add("add", "f16", (8, 16, 1024, 1024), (8, 1, 1, 1024)),
               Add("add", "f32", (1 << 20, 67), (67,)),
               Add("add_grad", "f32", (16384, 4096), (16384, 1), wanted="y"),
               Add("add_grad", "f32", (16384, 4096), (1,), wanted="y"),
               Add("add_grad", "f16", (8, 16, 1024, 1024), (8, 1, 1, 1024), wanted="y"),
               Add("add_grad", "f32", (1 << 20, 67), (67,), wanted="y")]
    return listed
