# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the operators of two broadcast operands share, and their gradients: see Binary."""
import torch

from .common import NAMES, Case, compile_once, count

GRADIENTS = {"x": "x_grad", "y": "y_grad"}
IMAGE, MATRIX, BIG = ((32, 64, 128, 128), (64, 1, 1)), ((16384, 4096), (4096,)), ((4, 16, 1024, 1024),)


class Binary(Case):
    """The extents of x and y (None: the number 0.3), and the gradients wanted. A subclass says what is computed:

    operator      its name
    function      PyTorch's function of x and y
    term          the term of a gradient, by its operand's name: a function of x, y and out_grad
    reads         the operands whose elements it reads, by the operand's name
    is_exact      whether a term is one operation, of which there is one rounding
    right         what is taken for random numbers as y
    """

    reads = {"x": "", "y": ""}
    is_exact = True

    def __init__(self, op, dtype, x, y=None, wanted="xy", number=False):
        super().__init__(op, dtype, [GRADIENTS[key] for key in wanted] if op.endswith("_grad") else ["out"])
        self.x, self.y = tuple(x), None if number else tuple(x if y is None else y)
        self.wanted = wanted
        self.out = tuple(torch.broadcast_shapes(self.x, self.y or ()))

    @staticmethod
    def right(y):
        return y

    def name(self):
        text = f"{self.op} {self.dtype} {list(self.x)}"
        if self.y is None:
            text += " y 0.3"
        elif self.y != self.x:
            text += f" y {list(self.y)}"
        return text + (" -> " + ",".join(self.wanted) if self.is_gradient() else "")

    def tensors(self, device):
        values = {"x": self.random(self.x, device), "y": 0.3 if self.y is None else self.right(self.random(self.y, device))}
        if not self.is_gradient():
            return {**values, "out": self.poison(self.out, device)}
        shapes = {"x": self.x, "y": self.y}
        gradients = {GRADIENTS[key]: self.poison(shapes[key], device) for key in self.wanted}
        return {**values, "out_grad": self.random(self.out, device), **gradients}

    def bytes(self):
        total = {"x": count(self.x), "y": 0 if self.y is None else count(self.y), "out": count(self.out)}
        if not self.is_gradient():
            return self.element_size() * sum(total.values())
        read = {operand for key in self.wanted for operand in self.reads[key]}
        return self.element_size() * (total["out"] + sum(total[key] for key in [*read, *self.wanted]))

    def gradients(self, x, y, out_grad, shapes):
        return tuple(self.term(key, x, y, out_grad).sum_to_size(shapes[key]) for key in self.wanted)

    def expected(self, values):
        wide = {k: t.double() if isinstance(t, torch.Tensor) else t for k, t in values.items()}
        x, y = wide["x"], wide["y"]
        if not self.is_gradient():
            out = self.function(x, y)
            return {"out": (out, out.abs().max())}
        shapes = {key: wide[GRADIENTS[key]].shape for key in self.wanted}
        found = self.gradients(x, y, wide["out_grad"], shapes)
        magnitudes = [self.term(key, x, y, wide["out_grad"]).abs().sum_to_size(shapes[key]) for key in self.wanted]
        return {GRADIENTS[key]: (value, magnitude.max())
                for key, value, magnitude in zip(self.wanted, found, magnitudes)}

    def torch_call(self, values, compiled):
        v = values
        if not self.is_gradient():
            if compiled:
                function = compile_once(self.function, self.name())
                return lambda: function(v["x"], v["y"])
            return lambda: self.function(v["x"], v["y"], out=v["out"])
        shapes = {key: v[GRADIENTS[key]].shape for key in self.wanted}

        def gradients(x, y, out_grad):
            # One that is out_grad itself gets memory of its own, as a gradient has here.
            return tuple(t.clone() if compiled or t.data_ptr() == out_grad.data_ptr() else t
                         for t in self.gradients(x, y, out_grad, shapes))

        call = compile_once(gradients, (self.op, self.wanted, self.x, self.y, self.dtype)) if compiled else gradients
        return lambda: call(v["x"], v["y"], v["out_grad"])


def usual_cases(kind, device):
    """An operator and its gradient: every type, y a row or one number a channel, both gradients."""
    ops = (kind.operator, f"{kind.operator}_grad")
    listed = [kind(op, t, *shapes) for t in NAMES for shapes in (IMAGE, MATRIX) for op in ops]
    return [case for case in listed if case.dtype == "f32"] if device == "cpu" else listed
