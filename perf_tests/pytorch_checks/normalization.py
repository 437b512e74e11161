# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""layer_norm and batch_norm and their gradients over a grid of extents, types, layouts and kinds of elements, beside
PyTorch's in float64."""
import itertools
import math

import torch
from pytorch_cases.common import NAMES, laid_out
from torch.nn import functional

from .common import SUMMING, Check, layouts_of, poison

SHAPES = ((7, 5), (3, 4096), (300, 64), (2, 4099), (3, 9000), (2, 300001), (70, 130), (2, 12, 7, 7), (4, 3, 33, 70),
          (2, 300, 5, 3))
MANY_ELEMENTS = 100000  # above, there are plain ones alone
KINDS = ("plain", "offset", "small")


def elements(kind, shape, device):
    x = torch.randn(shape, dtype=torch.float64, device=device)
    return x + 1000 if kind == "offset" else x * 1e-4 if kind == "small" else x


class NormalizationCheck(Check):
    def near(self, name, actual, expected, error):
        self.judge(name, actual, expected, ~((actual.double() - expected).abs() <= error))

    def compare(self, name, op, x, layout, attributes, statistics, shape, function):
        """`shape` is that of the parameters, `statistics` the names and the axes; function(x, scale, bias) is PyTorch's."""
        if not (self.wants(f"{op} {name}") or self.wants(f"{op}_grad {name}")):
            return
        names, axes = statistics
        sums = torch.float64 if x.dtype is torch.float64 else torch.float32
        wide, unit = x.double().requires_grad_(), SUMMING[sums]
        scale, bias = (torch.rand(shape, device=x.device).to(x.dtype) + 0.5 for _ in range(2))
        wide_scale, wide_bias = scale.double().requires_grad_(), bias.double().requires_grad_()
        expected = function(wide, wide_scale, wide_bias)
        mean = wide.detach().mean(axes)
        # In two passes: PyTorch's variance of a GPU loses digits where the mean is large.
        deviations = wide.detach() - wide.detach().mean(axes, keepdim=True)
        inv_std = (deviations.square().mean(axes) + 1e-5).rsqrt()
        given = {"x": x, "scale": scale, "bias": bias, **attributes}
        saved = {names[0]: torch.full_like(mean, math.nan, dtype=sums), names[1]: torch.full_like(inv_std, math.nan, dtype=sums)}
        rounding = SUMMING[x.dtype] * expected.detach().abs()
        if self.wants(f"{op} {name}"):
            out = poison(x.shape, x, layout)
            running = {key: torch.ones_like(mean, dtype=sums) for key in ("mean", "variance")} if op == "batch_norm" else {}
            if self.run(f"{op} {name}", op, {**given, **running, **saved, "out": out}):
                large = (mean.abs() * inv_std).amax() * 1.5 * unit / 16 + unit * (expected.detach().abs() + 4)
                self.near(f"{op} {name}: out", out, expected.detach(), rounding + large)
                self.near(f"{op} {name}: inv_std", saved[names[1]], inv_std, unit * inv_std)
        if self.wants(f"{op}_grad {name}"):
            out_grad = torch.randn(x.shape, device=x.device).to(x.dtype)
            gradients = torch.autograd.grad(expected, (wide, wide_scale, wide_bias), out_grad.double())
            x_grad, scale_grad, bias_grad = poison(x.shape, x, layout), *(torch.full_like(each, math.nan) for each in (scale, bias))
            values = {**given, names[0]: mean.to(sums), names[1]: inv_std.to(sums), "out_grad": out_grad, "x_grad": x_grad,
                      "scale_grad": scale_grad, "bias_grad": bias_grad}
            if self.run(f"{op}_grad {name}", f"{op}_grad", values):
                # The saved mean is rounded, and so is x̂ where it is large.
                off = unit * (1 + (mean.abs() * inv_std).amax()) * 30
                for key, actual, right in zip(("x", "scale", "bias"), (x_grad, scale_grad, bias_grad), gradients):
                    size = right.abs().amax() + (inv_std.amax() if key == "x" else math.sqrt(x.numel() / right.numel()))
                    self.near(f"{op}_grad {name}: {key}_grad", actual, right, (SUMMING[x.dtype] + off) * size)

    def all(self, device):
        for dtype, shape, kind in itertools.product(NAMES, SHAPES, KINDS):
            if math.prod(shape) > MANY_ELEMENTS and kind != "plain" or kind == "offset" and dtype == "bf16":
                continue
            plain, rank = elements(kind, shape, device).to(NAMES[dtype]), len(shape)
            for layout in layouts_of(rank):
                x, name = laid_out(plain, layout), f"{dtype} {list(shape)} {kind} {layout}"
                for axis in range(1, rank):
                    normalized = shape[axis:]
                    self.compare(f"{name} axis {axis}", "layer_norm", x, layout, {"begin_norm_axis": axis},
                                 (("mean", "inv_std"), tuple(range(axis, rank))), normalized,
                                 lambda x, scale, bias, over=normalized: functional.layer_norm(x, over, scale, bias))
                for data_layout, axis in (("NCHW", 1), ("NHWC", rank - 1)):
                    axes = tuple(each for each in range(rank) if each != axis)
                    self.compare(f"{name} {data_layout}", "batch_norm", x, layout, {"data_layout": data_layout},
                                 (("saved_mean", "saved_inv_std"), axes), shape[axis : axis + 1],
                                 lambda x, scale, bias, axis=axis: functional.batch_norm(
                                     x.movedim(axis, 1), None, None, scale, bias, True).movedim(1, axis))
