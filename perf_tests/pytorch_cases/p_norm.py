# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""p_norm and p_norm_grad."""
import math

import torch

from .common import Case, compile_once, count


class PNorm(Case):
    """The extents of x, the axis of the norm (None: all of them) and its order."""

    def __init__(self, op, dtype, x, axis, porder):
        super().__init__(op, dtype, ["out"] if op == "p_norm" else ["x_grad"])
        self.x, self.axis, self.porder = tuple(x), axis, float(porder)
        reduced = range(len(x)) if axis is None else [axis % len(x)]
        self.out = tuple(extent for k, extent in enumerate(x) if k not in reduced)
        self.kept = tuple(1 if k in reduced else extent for k, extent in enumerate(x))

    def name(self):
        where = "asvector" if self.axis is None else f"axis {self.axis}"
        return f"{self.op} {self.dtype} {list(self.x)} {where} p {self.porder:g}"

    def tensors(self, device):
        values = {"x": self.random(self.x, device), "porder": self.porder}
        values.update({"asvector": True} if self.axis is None else {"axis": [self.axis]})
        if not self.is_gradient():
            return {**values, "out": self.poison(self.out, device)}
        return {**values, "out": self.norm(values["x"]), "out_grad": self.random(self.out, device),
                "x_grad": self.poison(self.x, device)}

    def bytes(self):
        passes = 2 if self.is_gradient() else 1
        return passes * self.element_size() * (count(self.x) + count(self.out))

    def norm(self, x):
        return torch.linalg.vector_norm(x, self.porder, self.axis)

    def expected(self, values):
        """The gradient is one of `out` too, as it was rounded. epsilon is far below rounding here."""
        if not self.is_gradient():
            norm = self.norm(values["x"].double())
            return {"out": (norm, norm.max())}
        wide = {name: values[name].double() for name in ("x", "out", "out_grad")}
        result = self.formula()(wide["x"], wide["out"].reshape(self.kept), wide["out_grad"].reshape(self.kept))
        return {"x_grad": (result, result.abs().max())}

    def formula(self):
        """The gradient as a function of x and, with the reduced axes kept, out and out_grad."""
        axes = tuple(range(len(self.x))) if self.axis is None else (self.axis,)
        porder = self.porder

        def shared_by_ties(x, out, out_grad):
            ties = x.abs() == out
            return torch.where(ties, x.sgn() * (out_grad / ties.sum(axes, keepdim=True)), 0.0)

        def scale(out, out_grad):
            return torch.where(out == 0, 0.0, out_grad * out ** (1.0 - porder))

        if math.isinf(porder):
            return shared_by_ties
        if porder == 2:
            return lambda x, out, out_grad: x * scale(out, out_grad)
        if porder == 3:
            return lambda x, out, out_grad: x * x.abs() * scale(out, out_grad)
        return lambda x, out, out_grad: x.sgn() * x.abs() ** (porder - 1.0) * scale(out, out_grad)

    def torch_call(self, values, compiled):
        x, out = values["x"], values["out"]
        if not self.is_gradient():
            if compiled:
                function = compile_once(lambda x: torch.linalg.vector_norm(x, self.porder, self.axis), self.name())
                return lambda: function(x)
            return lambda: torch.linalg.vector_norm(x, self.porder, self.axis, out=out)
        out_grad = values["out_grad"]
        if compiled:
            gradient = compile_once(self.formula(), (self.op, self.x, self.axis, self.porder, self.dtype))
            out, out_grad = out.reshape(self.kept), out_grad.reshape(self.kept)
            return lambda: gradient(x, out, out_grad)
        x = x.detach().requires_grad_()
        out = self.norm(x)
        return lambda: torch.autograd.grad(out, x, out_grad, retain_graph=True)


def cases(device):
    block, rows, columns, short_rows = (300, 250, 250), (64, 1000000), (1000000, 64), (1000000, 7)
    if device == "cpu":
        return [PNorm("p_norm", "f32", block, -1, 2), PNorm("p_norm", "f32", block, 1, 2),
                PNorm("p_norm", "f32", block, 0, 2), PNorm("p_norm", "f16", block, -1, 2),
                PNorm("p_norm", "f32", block, -1, 3),
                PNorm("p_norm_grad", "f32", block, -1, 2), PNorm("p_norm_grad", "f32", block, -1, 3),
                PNorm("p_norm_grad", "f64", block, -1, 2), PNorm("p_norm_grad", "bf16", block, -1, 2),
                *(PNorm(op, "f32", x, axis, 1.7) for op in ("p_norm", "p_norm_grad")
                  for x, axis in ((block, -1), ((1000, 1000, 10), 1), ((300000, 7), -1)))]
    listed = [PNorm("p_norm", "f32", block, -1, p) for p in (2, 3, 2.5, 2.3, math.inf)]
    listed += [PNorm("p_norm", "f16", block, -1, 2), PNorm("p_norm", "f16", block, -1, 3),
               PNorm("p_norm", "f32", block, 1, 2), PNorm("p_norm", "f32", block, 0, 2),
               PNorm("p_norm", "f64", block, -1, 2), PNorm("p_norm", "bf16", block, -1, 2),
               PNorm("p_norm", "f32", rows, -1, 2), PNorm("p_norm", "f32", columns, 0, 2),
               PNorm("p_norm", "f32", short_rows, -1, 2), PNorm("p_norm", "f32", (1 << 26,), None, 2)]
    listed += [PNorm("p_norm_grad", t, block, -1, p) for t in ("f32", "f16") for p in (2, 3, math.inf, 2.5)]
    listed += [PNorm("p_norm_grad", "f32", block, axis, p) for axis in (1, 0) for p in (2, 3)]
    listed += [PNorm("p_norm_grad", "f32", block, -1, 2.3),
               PNorm("p_norm_grad", "f64", block, -1, 2), PNorm("p_norm_grad", "bf16", block, -1, 2),
               PNorm("p_norm_grad", "f32", rows, -1, 2), PNorm("p_norm_grad", "f32", columns, 0, 2),
               PNorm("p_norm_grad", "f32", short_rows, -1, 2)]
    # Rows of odd length; the last two were not looked at while the ends of rows were read by packs.
    listed += [PNorm("p_norm", "f16", x, -1, 2) for x in ((75000, 251), (4000, 4097), (33000, 377), (11000, 1603))]
    listed += [PNorm("p_norm", "f32", x, axis, p) for x, axis in (((128, 3, 5000), 1), ((100000, 33), -1))
               for p in (2, 1.7)]
    listed += [PNorm("p_norm", t, x, 1, p) for t, x, p in (("f16", (300, 5, 2048), 1.7), ("f32", (77, 2, 9001), 2))]
    return listed
