# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lerp and lerp_grad."""
import torch

from .common import NAMES, Case, compile_once, count

GRADIENTS = {"x": "x_grad", "y": "y_grad", "w": "weight_grad"}


def broadcast(*shapes):
    return tuple(torch.broadcast_shapes(*shapes))


class Lerp(Case):
    """The extents of x, y and weight (None: the number 0.3), and the gradients wanted."""

    def __init__(self, op, dtype, x, y=None, weight=(), wanted="xy", strided=False):
        super().__init__(op, dtype, ["out"] if op == "lerp" else [GRADIENTS[key] for key in wanted])
        self.x, self.y = tuple(x), tuple(x if y is None else y)
        self.weight = tuple(x) if weight == () else weight
        self.wanted, self.strided = wanted, strided
        self.out = broadcast(self.x, self.y, *([self.weight] if self.weight is not None else []))

    def name(self):
        text = f"{self.op} {self.dtype} {list(self.x)}"
        if self.y != self.x:
            text += f" y {list(self.y)}"
        if self.weight is None:
            text += " w 0.3"
        elif self.weight != self.x:
            text += f" w {list(self.weight)}"
        if self.is_gradient():
            text += " -> " + ",".join(self.wanted)
        return text + (" transposed" if self.strided else "")

    def tensors(self, device):
        x = self.random(self.x, device)
        values = {"x": x.mT.contiguous().mT if self.strided and x.dim() > 1 else x, "y": self.random(self.y, device)}
        values["weight"] = 0.3 if self.weight is None else torch.rand(self.weight, device=device).to(NAMES[self.dtype])
        if not self.is_gradient():
            return {**values, "out": self.poison(self.out, device)}
        values["out_grad"] = self.random(self.out, device)
        shapes = {"x": self.x, "y": self.y, "w": self.weight}
        return {**values, **{GRADIENTS[key]: self.poison(shapes[key], device) for key in self.wanted}}

    def bytes(self):
        total = {"x": count(self.x), "y": count(self.y), "w": 0 if self.weight is None else count(self.weight),
                 "out": count(self.out)}
        if not self.is_gradient():
            return self.element_size() * sum(total.values())
        read = total["out"] + total["w"] + (total["x"] + total["y"] if "w" in self.wanted else 0)
        return self.element_size() * (read + sum(total[key] for key in self.wanted))

    def expected(self, values):
        return {name: (result, self.magnitudes(values, name).max()) for name, result in self.results(values).items()}

    def results(self, values):
        wide = {k: t.double() if isinstance(t, torch.Tensor) else t for k, t in values.items()}
        x, y, w = wide["x"], wide["y"], wide["weight"]
        if not self.is_gradient():
            return {"out": x + w * (y - x)}
        og = wide["out_grad"]
        terms = {"x": og - w * og, "y": w * og}
        if "w" in self.wanted:
            terms["w"] = og * (y - x)
        return {GRADIENTS[k]: terms[k].sum_to_size(wide[GRADIENTS[k]].shape) for k in self.wanted}

    def magnitudes(self, values, name):
        """The sums of magnitudes."""
        wide = {k: t.double().abs() if isinstance(t, torch.Tensor) else t for k, t in values.items()}
        if not self.is_gradient():
            return (wide["x"] + wide["weight"] * (wide["y"] + wide["x"]))
        og, w = wide["out_grad"], wide["weight"]
        term = {"x_grad": og + w * og, "y_grad": w * og}.get(name)
        term = og * (wide["x"] + wide["y"]) if term is None else term
        return term.sum_to_size(values[name].shape)

    def torch_call(self, values, compiled):
        v = values
        if not self.is_gradient():
            if compiled:
                function = compile_once(torch.lerp, self.name())
                return lambda: function(v["x"], v["y"], v["weight"])
            return lambda: torch.lerp(v["x"], v["y"], v["weight"], out=v["out"])
        shapes = {"x": self.x, "y": self.y, "w": self.weight}

        def gradient(x, y, w, og):
            terms = []
            if "x" in self.wanted:
                terms.append((og - w * og).sum_to_size(shapes["x"]))
            if "y" in self.wanted:
                terms.append((w * og).sum_to_size(shapes["y"]))
            if "w" in self.wanted:
                terms.append((og * (y - x)).sum_to_size(shapes["w"]))
            return tuple(terms)

        if compiled:
            gradient = compile_once(gradient, (self.op, self.wanted, tuple(shapes.values()), self.dtype))
            return lambda: gradient(v["x"], v["y"], v["weight"], v["out_grad"])
        inputs = [v[k].detach().requires_grad_(k in self.wanted) for k in ("x", "y")]
        weight = v["weight"]
        if isinstance(weight, torch.Tensor):
            weight = weight.detach().requires_grad_("w" in self.wanted)
        wanted = [t for t in (*inputs, weight) if isinstance(t, torch.Tensor) and t.requires_grad]
        out = torch.lerp(*inputs, weight)
        return lambda: torch.autograd.grad(out, wanted, v["out_grad"], retain_graph=True)


def cases(device):
    big = (4, 16, 1024, 1024)
    if device == "cpu":
        return [Lerp("lerp", "f32", big), Lerp("lerp", "f32", big, weight=None), Lerp("lerp", "f16", big),
                Lerp("lerp", "bf16", big), Lerp("lerp", "f64", big),
                Lerp("lerp", "f32", (16384, 4096), (4096,)),
                Lerp("lerp_grad", "f32", big), Lerp("lerp_grad", "f32", big, wanted="xyw"),
                Lerp("lerp_grad", "f32", (16384, 4096), (4096,)),
                Lerp("lerp_grad", "f32", (16384, 4096), (16384, 1)),
                Lerp("lerp_grad", "f32", (32, 64, 128, 128), weight=(64, 1, 1), wanted="xyw"),
                Lerp("lerp_grad", "bf16", big)]
    listed = [Lerp("lerp", t, big) for t in NAMES]
    listed += [Lerp("lerp", "f32", big, weight=None), Lerp("lerp", "f32", (16, 102400)),
               Lerp("lerp", "f64", (16, 204800)), Lerp("lerp", "f16", (16, 102400)),
               Lerp("lerp", "f32", (16384, 4096), (4096,)), Lerp("lerp", "f32", (16384, 4096), (16384, 1)),
               Lerp("lerp", "f16", (16384, 4096), (4096,), (16384, 1)),
               Lerp("lerp", "f32", (32, 64, 128, 128), weight=(64, 1, 1)),
               Lerp("lerp", "f32", (3, 5, 197, 175)), Lerp("lerp", "f32", (1 << 20, 67), (67,)),
               Lerp("lerp", "f32", (1 << 20, 67), (1 << 20, 1)),
               Lerp("lerp", "f32", (1 << 24, 3), (3,), None), Lerp("lerp", "f32", (8192, 8192), strided=True)]
    listed += [Lerp("lerp_grad", "f32", (16, 102400)), Lerp("lerp_grad", "f64", (16, 204800)),
               Lerp("lerp_grad", "f32", big, wanted="xyw"), Lerp("lerp_grad", "f32", (16384, 4096), (4096,)),
               Lerp("lerp_grad", "f32", (16384, 4096), (4096,), wanted="xyw"),
               Lerp("lerp_grad", "f32", (16384, 4096), (16384, 1)),
               Lerp("lerp_grad", "f32", (16384, 4096), (16384, 1), wanted="xyw"),
               Lerp("lerp_grad", "f32", (32, 64, 128, 128), weight=(64, 1, 1), wanted="xyw"),
               Lerp("lerp_grad", "f16", (16384, 4096), (4096,)), Lerp("lerp_grad", "bf16", big, wanted="xyw"),
               Lerp("lerp_grad", "bf16", (16384, 4096), (16384, 1)),
               Lerp("lerp_grad", "f64", (8192, 4096), (4096,)),
               Lerp("lerp_grad", "f32", (1 << 20, 67), (67,)), Lerp("lerp_grad", "f32", (1 << 20, 67), (1 << 20, 1)),
               Lerp("lerp_grad", "f32", (1 << 24, 3), (3,)),
               Lerp("lerp_grad", "f32", (16384, 4096), weight=(1,), wanted="xyw"),
               Lerp("lerp_grad", "f32", (64, 1 << 20), (1 << 20,)), Lerp("lerp_grad", "f32", (64, 1 << 20), (64, 1))]
    for dtype in ("f32", "f16"):  # rows of odd length, and sums of several kinds
        listed += [Lerp("lerp_grad", dtype, (7, 1000003), (1000003,), (1,)),
                   Lerp("lerp_grad", dtype, (29, 300007), (300007,), (1,)),
                   Lerp("lerp_grad", dtype, (5001, 1003), (1003,), (1,)),
                   Lerp("lerp_grad", dtype, (128, 3, 5000), (3, 1), (128, 1, 5000), wanted="xyw"),
                   Lerp("lerp_grad", dtype, (96, 5, 7001), (5, 1), (96, 1, 7001), wanted="xyw")]
    return listed
