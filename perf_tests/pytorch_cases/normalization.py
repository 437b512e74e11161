# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""layer_norm, over the last axis, and batch_norm, in both layouts of images, and their gradients."""
import torch
from torch.nn import functional

from .common import NAMES, Case, compile_once, count


class Norm(Case):
    """The extents of x. What the gradient takes of the forward pass is PyTorch's in float64, rounded."""

    axes = kept = ()

    def __init__(self, op, dtype, x):
        self.forward_outputs = self.statistics_names
        outputs = ["x_grad", "scale_grad", "bias_grad"] if op.endswith("_grad") else ["out", *self.forward_outputs]
        super().__init__(op, dtype, outputs)
        self.x = tuple(x)
        self.parameters = self.parameters_of(self.x)

    def name(self):
        return f"{self.op} {self.dtype} {list(self.x)}"

    def spread(self, tensor):
        """A tensor of statistics or parameters, with the axes of x."""
        raise NotImplementedError

    def sums(self):
        return torch.float64 if self.dtype == "f64" else torch.float32

    def statistics(self, x):
        mean = x.mean(self.axes)
        return mean, (x.var(self.axes, unbiased=False) + 1e-5).rsqrt()

    def tensors(self, device):
        x = self.random(self.x, device)
        values = {"x": x, "scale": self.random(self.parameters, device), "bias": self.random(self.parameters, device)}
        statistics = [each.to(self.sums()) for each in self.statistics(x.double())]
        if not self.is_gradient():
            empty = {name: torch.full_like(each, float("nan")) for name, each in zip(self.forward_outputs, statistics)}
            return {**values, **self.others(device), "out": self.poison(self.x, device), **empty}
        return {**values, **dict(zip(self.forward_outputs, statistics)), "out_grad": self.random(self.x, device),
                "x_grad": self.poison(self.x, device), "scale_grad": self.poison(self.parameters, device),
                "bias_grad": self.poison(self.parameters, device)}

    def others(self, device):
        return {}

    def expected(self, values):
        x, scale, bias = (values[name].double() for name in ("x", "scale", "bias"))
        if not self.is_gradient():
            mean, inv_std = self.statistics(x)
            normal = (x - self.spread(mean)) * self.spread(inv_std)
            scale, bias = self.spread_parameters(scale), self.spread_parameters(bias)
            return {"out": (normal * scale + bias, (normal * scale).abs() + bias.abs() + scale.abs()),
                    self.forward_outputs[0]: (mean, x.abs().amax()), self.forward_outputs[1]: (inv_std, inv_std)}
        mean, inv_std = (self.spread(values[name].double()) for name in self.forward_outputs)
        out_grad, normal = values["out_grad"].double(), (x - mean) * inv_std
        g = out_grad * self.spread_parameters(scale)
        means = [each.mean(self.axes, keepdim=True) for each in (g, g.abs(), g * normal, (g * normal).abs())]
        product = out_grad * normal
        return {"x_grad": (inv_std * (g - means[0] - normal * means[2]),
                           inv_std * (g.abs() + means[1] + normal.abs() * means[3])),
                "scale_grad": (product.sum(self.kept), product.abs().sum(self.kept)),
                "bias_grad": (out_grad.sum(self.kept), out_grad.abs().sum(self.kept))}


class LayerNorm(Norm):
    axes, kept = (-1,), (0,)
    statistics_names = ("mean", "inv_std")

    @staticmethod
    def parameters_of(x):
        return x[-1:]

    def spread(self, tensor):
        return tensor[:, None]

    def spread_parameters(self, tensor):
        return tensor

    def bytes(self):
        return self.element_size() * count(self.x) * (3 if self.is_gradient() else 2)

    def torch_call(self, values, compiled):
        v, shape = values, list(self.parameters)
        if not self.is_gradient():
            if compiled:
                function = compile_once(lambda x, w, b: functional.layer_norm(x, shape, w, b), self.name())
                return lambda: function(v["x"], v["scale"], v["bias"])
            return lambda: torch.native_layer_norm(v["x"], shape, v["scale"], v["bias"], 1e-5)
        if compiled:
            return None
        mean, inv_std = v["mean"][:, None], v["inv_std"][:, None]
        return lambda: torch.ops.aten.native_layer_norm_backward(v["out_grad"], v["x"], shape, mean, inv_std, v["scale"],
                                                                 v["bias"], [True] * 3)


class BatchNorm(Norm):
    statistics_names = ("saved_mean", "saved_inv_std")

    def __init__(self, op, dtype, x, channels_last=False):
        self.axes = self.kept = (0, *range(2, len(x)))
        self.channels_last = channels_last
        super().__init__(op, dtype, x)

    def name(self):
        return super().name() + (" channels last" if self.channels_last else "")

    def tensors(self, device):
        values = super().tensors(device)
        laid = {"x", "out", "out_grad", "x_grad"} if self.channels_last else set()
        return {name: value.contiguous(memory_format=torch.channels_last) if name in laid else value
                for name, value in values.items()}

    @staticmethod
    def parameters_of(x):
        return x[1:2]

    def spread(self, tensor):
        return tensor.reshape(-1, *[1] * (len(self.x) - 2))

    def spread_parameters(self, tensor):
        return self.spread(tensor)

    def others(self, device):
        return {name: torch.ones(self.parameters, device=device, dtype=self.sums()) for name in ("mean", "variance")}

    def bytes(self):
        return self.element_size() * count(self.x) * (5 if self.is_gradient() else 3)

    def torch_call(self, values, compiled):
        v = values
        if not self.is_gradient():
            if compiled:
                function = compile_once(lambda x, w, b: functional.batch_norm(x, None, None, w, b, True), self.name())
                return lambda: function(v["x"], v["scale"], v["bias"])
            return lambda: torch.native_batch_norm(v["x"], v["scale"], v["bias"], None, None, True, 0.1, 1e-5)
        if compiled:
            return None
        return lambda: torch.ops.aten.native_batch_norm_backward(v["out_grad"], v["x"], v["scale"], None, None,
                                                                 v["saved_mean"], v["saved_inv_std"], True, 1e-5,
                                                                 [True] * 3)


def cases(device):
    types = ("f32",) if device == "cpu" else NAMES
    rows = ((16384, 4096), (262144, 256), (65536, 1000), (4096, 16384), (8, 1 << 22))
    images = ((32, 64, 128, 128), (64, 256, 56, 56), (256, 2048, 7, 7))
    # What few columns, a number of them that is no power of two, and few rows of many columns come to.
    channels_last = () if device == "cpu" else (*images, (1024, 32, 28, 28), (128, 96, 56, 56), (64, 1280, 7, 7))
    return [*(LayerNorm(op, dtype, x) for dtype in types for x in rows for op in ("layer_norm", "layer_norm_grad")),
            *(BatchNorm(op, dtype, x) for dtype in types for x in images for op in ("batch_norm", "batch_norm_grad")),
            *(BatchNorm(op, dtype, x, True) for dtype in types for x in channels_last
              for op in ("batch_norm", "batch_norm_grad"))]
