# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""matmul, linear and their gradients."""
import torch

from .common import Case, count


class Matmul(Case):
    """The extents of x and y; with transpose_y, those of y as it lies."""

    def __init__(self, op, dtype, x, y, math="ieee", transpose_y=False):
        super().__init__(op, dtype, ["out"] if op == "matmul" else ["x_grad", "y_grad"], math)
        self.x, self.y, self.transpose_y = tuple(x), tuple(y), transpose_y
        right = torch.empty(self.y, device="meta")
        self.out = tuple(torch.matmul(torch.empty(self.x, device="meta"), right.mT if transpose_y else right).shape)

    def name(self):
        transposed = "ᵀ" if self.transpose_y else ""
        return f"{self.op} {self.math_name()} {list(self.x)} {list(self.y)}{transposed}"

    def tensors(self, device):
        values = {"x": self.random(self.x, device), "y": self.random(self.y, device), "transpose_y": self.transpose_y}
        if not self.is_gradient():
            return {**values, "out": self.poison(self.out, device)}
        return {**values, "out_grad": self.random(self.out, device), "x_grad": self.poison(self.x, device),
                "y_grad": self.poison(self.y, device)}

    def bytes(self):
        return self.element_size() * ((1 + self.is_gradient()) * (count(self.x) + count(self.y)) + count(self.out))

    def flops(self):
        return 2 * (1 + self.is_gradient()) * count(self.out) * self.x[-1]

    def product(self, x, y):
        return torch.matmul(x, y.mT if self.transpose_y else y)

    def expected(self, values):
        if not self.is_gradient():
            x, y = values["x"].double(), values["y"].double()
            return {"out": (self.product(x, y), self.product(x.abs(), y.abs()))}
        result, magnitude = (gradients(self.product, [change(values[name].double()) for name in ("x", "y", "out_grad")])
                             for change in (torch.clone, torch.abs))
        return dict(zip(self.outputs, zip(result, magnitude)))

    def torch_call(self, values, compiled):
        if compiled:
            return None
        v = values
        if not self.is_gradient():
            right = v["y"].mT if self.transpose_y else v["y"]
            return lambda: torch.matmul(v["x"], right, out=v["out"])
        operands = [v[name].detach().requires_grad_() for name in ("x", "y")]
        out = self.product(*operands)
        return lambda: torch.autograd.grad(out, operands, v["out_grad"], retain_graph=True)


class Linear(Case):
    """Rows, outputs and inputs of a layer with a bias."""

    def __init__(self, op, dtype, rows, outputs, inputs, math="ieee"):
        super().__init__(op, dtype, ["out"] if op == "linear" else ["x_grad", "weight_grad", "bias_grad"], math)
        self.rows, self.columns, self.inner = rows, outputs, inputs

    def name(self):
        return f"{self.op} {self.math_name()} [{self.rows}, {self.inner}] [{self.inner}, {self.columns}]"

    def tensors(self, device):
        x, weight, out = (self.rows, self.inner), (self.inner, self.columns), (self.rows, self.columns)
        values = {"x": self.random(x, device), "weight": self.random(weight, device)}
        if not self.is_gradient():
            return {**values, "bias": self.random((self.columns,), device), "out": self.poison(out, device)}
        return {**values, "out_grad": self.random(out, device), "x_grad": self.poison(x, device),
                "weight_grad": self.poison(weight, device), "bias_grad": self.poison((self.columns,), device)}

    def bytes(self):
        operands = self.rows * self.inner + self.inner * self.columns
        return self.element_size() * ((1 + self.is_gradient()) * operands + self.rows * self.columns)

    def flops(self):
        return 2 * (1 + self.is_gradient()) * self.rows * self.columns * self.inner

    def expected(self, values):
        if not self.is_gradient():
            x, weight, bias = (values[name].double() for name in ("x", "weight", "bias"))
            return {"out": (x @ weight + bias, x.abs() @ weight.abs() + bias.abs())}
        results = []
        for change in (torch.clone, torch.abs):
            x, weight, out_grad = (change(values[name].double()) for name in ("x", "weight", "out_grad"))
            results.append((out_grad @ weight.T, x.T @ out_grad, out_grad.sum(0)))
        return dict(zip(self.outputs, zip(*results)))

    def torch_call(self, values, compiled):
        if compiled:
            return None
        v = values
        if not self.is_gradient():
            return lambda: torch.addmm(v["bias"], v["x"], v["weight"], out=v["out"])
        operands = [v[name].detach().requires_grad_() for name in ("x", "weight")]
        operands.append(torch.zeros_like(v["bias_grad"]).requires_grad_())
        out = torch.addmm(operands[2], operands[0], operands[1])
        return lambda: torch.autograd.grad(out, operands, v["out_grad"], retain_graph=True)


def gradients(function, operands):
    """Of a function of two tensors, for the gradient of its result."""
    x, y, out_grad = operands
    x, y = x.requires_grad_(), y.requires_grad_()
    return torch.autograd.grad(function(x, y), [x, y], out_grad)


LAYERS = ((4096, 4096, 4096), (8192, 4096, 1024), (256, 1000, 512), (16384, 256, 256))
FEW_ROWS = ((1, 4096, 4096), (4, 4096, 4096), (8, 4096, 4096), (24, 4096, 4096), (48, 4096, 4096), (4, 1000, 2048))
PRODUCTS = (((64, 512, 64), (64, 512, 64), True), ((4096, 16, 16), (4096, 16, 16), False), ((4096, 4096), (4096,), False),
            ((4096,), (4096, 4096), False), ((64, 1, 128), (64, 128, 1024), False), ((8, 1, 256, 64), (1, 8, 64, 256), False),
            ((32, 8, 512, 64), (8, 64, 96), False))


def cases(device):
    kinds = [("f32", "ieee")] if device == "cpu" else [("f32", "ieee"), ("f32", "tf32"), ("f16", "ieee"), ("bf16", "ieee")]
    layers = LAYERS[2:] if device == "cpu" else LAYERS
    listed = [Linear(op, t, *layer, math) for t, math in kinds for op in ("linear", "linear_grad")
              for layer in layers + FEW_ROWS]
    listed += [Matmul(op, t, x, y, math, transpose_y) for t, math in kinds for op in ("matmul", "matmul_grad")
               for x, y, transpose_y in PRODUCTS]
    # A matrix for each of an inner batch.
    listed += [Matmul("matmul_grad", t, x, y, math) for t, math in kinds
               for x, y in (((16, 12, 197, 64), (12, 64, 64)), ((40, 3, 1000, 24), (3, 24, 40)))]
    # Shapes that nobody looked at while the kernels were made.
    listed += [Matmul(op, "f32", (33, 1001), (1001, 517)) for op in ("matmul", "matmul_grad")]
    listed += [Linear("linear", t, *layer, math) for t, math in kinds
               for layer in ((5, 10000, 1536), (3, 512, 12544), (20, 2560, 2560), (40, 11008, 1280))]
    return listed + [Matmul("matmul", t, x, y, "ieee", True) for t in ("f32", "f64", "f16")
                     for x, y in (((7, 2304), (5504, 2304)), ((2, 6000), (700, 6000)), ((24, 3072), (3072, 3072)),
                                  ((32, 1, 640), (32, 480, 640)))]
