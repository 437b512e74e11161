# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""multiply and multiply_grad."""
import torch

from .add import GRADIENTS, Add
from .common import NAMES, compiled_gradient, count


def gradients(v, wanted, shapes):
    other = {"x": v["y"], "y": v["x"]}
    return tuple((v["out_grad"] * other[key]).sum_to_size(shapes[key]) for key in wanted)


class Multiply(Add):
    def __init__(self, op, *arguments, **options):
        super().__init__(op.replace("multiply", "add"), *arguments, **options)
        self.op = op

    def bytes(self):
        total = {"x": count(self.x), "y": 0 if self.y is None else count(self.y), "out": count(self.out)}
        moved = sum(total.values()) + (sum(total[key] for key in self.wanted) if self.is_gradient() else 0)
        return self.element_size() * moved

    def expected(self, values):
        wide = {k: t.double() if isinstance(t, torch.Tensor) else t for k, t in values.items()}
        if not self.is_gradient():
            out = wide["x"] * wide["y"]
            return {"out": (out, out.abs().max())}
        shapes = {key: wide[GRADIENTS[key]].shape for key in self.wanted}
        magnitudes = gradients({k: t.abs() for k, t in wide.items()}, self.wanted, shapes)
        return {GRADIENTS[key]: (value, magnitude.max())
                for key, value, magnitude in zip(self.wanted, gradients(wide, self.wanted, shapes), magnitudes)}

    def torch_call(self, values, compiled):
        v, wanted = values, self.wanted
        if not self.is_gradient():
            return lambda: torch.mul(v["x"], v["y"], out=v["out"])
        shapes = {key: v[GRADIENTS[key]].shape for key in wanted}
        if compiled:
            call = compiled_gradient(lambda x, y, og: gradients({"x": x, "y": y, "out_grad": og}, wanted, shapes),
                                     (self.op, wanted, self.x, self.y, self.dtype))
            return lambda: call(v["x"], v["y"], v["out_grad"])
        return lambda: gradients(v, wanted, shapes)


def cases(device):
    image, matrix = ((32, 64, 128, 128), (64, 1, 1)), ((16384, 4096), (4096,))
    listed = [Multiply(op, t, *shapes) for t in NAMES for shapes in (image, matrix) for op in ("multiply", "multiply_grad")]
    if device == "cpu":
        return [case for case in listed if case.dtype == "f32"]
    # Shapes that nobody looked at while the kernels were made.
    return listed + [Multiply(op, t, *shapes) for op in ("multiply", "multiply_grad")
                     for t, shapes in (("f32", ((4097, 777), (4097, 1))), ("f16", ((33, 65, 1023), (65, 1))),
                                       ("f32", ((5, 3, 640, 480), (5, 1, 640, 480))))]
