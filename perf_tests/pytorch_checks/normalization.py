# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""layer_norm and batch_norm and their gradients over a grid of extents, types, layouts and kinds of elements, beside
PyTorch's in float64; batch_norm in training, with the running statistics that it leaves, and by given ones."""
import functools
import itertools
import math
import typing

import torch
from pytorch_cases.common import NAMES, laid_out
from torch.nn import functional

from .common import SUMMING, Check, layouts_of, poison

SHAPES = ((7, 5), (3, 4096), (300, 64), (2, 4099), (3, 9000), (2, 300001), (70, 130), (2, 12, 7, 7), (4, 3, 33, 70),
          (2, 300, 5, 3))
MANY_ELEMENTS = 100000  # above, there are plain ones alone
KINDS = ("plain", "offset", "small")
EPSILON = 1e-5
OPERANDS = ("x", "scale", "bias")
MOMENTUM = 0.75  # the share that stays
# The error of a mean, relative to its magnitude and the largest distance from it, and of PyTorch's in float64.
MEAN = {torch.float64: 1.2e-15, torch.float32: 2e-7}
MEAN_OF_PYTORCH = 1e-14


def elements(kind, shape, device):
    x = torch.randn(shape, dtype=torch.float64, device=device)
    return x + 1000 if kind == "offset" else x * 1e-4 if kind == "small" else x


def sums_of(x):
    return torch.float64 if x.dtype == torch.float64 else torch.float32


class Spread(typing.NamedTuple):
    """By what x is normalised, in float64, and what else is known of it."""
    mean: torch.Tensor
    inv_std: torch.Tensor
    distance: torch.Tensor  # the largest one from the mean
    variance: torch.Tensor  # the unbiased one


class Norm(typing.NamedTuple):
    op: str
    attributes: dict
    saved: tuple  # the names of mean and inv_std
    function: typing.Callable  # PyTorch's, of x, scale and bias, and of the running statistics
    running: dict  # mean and variance, as they are before the call

    def is_test(self):
        return self.attributes.get("is_test", False)


def spread_of(x, axes):
    # In two passes: PyTorch's mean, and its variance of a GPU, lose digits where the mean is large.
    first = x.mean(axes, keepdim=True)
    mean = first + (x - first).mean(axes, keepdim=True)
    deviations, mean = x - mean, mean.squeeze(axes)
    squares, count = deviations.square().sum(axes), x.numel() // mean.numel()
    return Spread(mean, (squares / count + EPSILON).rsqrt(), deviations.abs().amax(axes), squares / (count - 1))


def spread_by(running):
    mean, variance = running["mean"].double(), running["variance"].double()
    return Spread(mean, (variance + EPSILON).rsqrt(), torch.zeros_like(mean), variance)


def layer_norm(normalized, x, scale, bias):
    return functional.layer_norm(x, normalized, scale, bias, EPSILON)


def batch_norm(axis, is_test, x, scale, bias, mean, variance):
    """In training, mean and variance become those of the next step."""
    return functional.batch_norm(x.movedim(axis, 1), mean, variance, scale, bias, not is_test, 1 - MOMENTUM,
                                 EPSILON).movedim(1, axis)


def unwritten(tensors):
    return [torch.full_like(each, math.nan) for each in tensors]


class NormalizationCheck(Check):
    def near(self, name, actual, expected, error):
        self.judge(name, actual, expected, ~((actual.double() - expected).abs() <= error))

    def compare_forward(self, name, norm, given, spread, layout, expected, after):
        """`expected` is PyTorch's result, `after` its running statistics after the call."""
        x, sums, means = given["x"], sums_of(given["x"]), spread.mean.abs()
        saved = [torch.full_like(spread.mean, math.nan, dtype=sums) for _ in range(2)]
        updated = {} if norm.is_test() else dict(zip(norm.running, unwritten(norm.running.values())))
        out = poison(x.shape, x, layout)
        if not self.run(name, norm.op, {**given, **norm.running, **dict(zip(norm.saved, saved)), "out": out,
                                        **{f"{key}_out": each for key, each in updated.items()}}):
            return
        unit, of_mean = SUMMING[sums], MEAN[sums] * (means + spread.distance)
        large = (means * spread.inv_std).amax() * 1.5 * unit / 16 + unit * (expected.abs() + 4)
        self.near(f"{name}: out", out, expected, SUMMING[x.dtype] * expected.abs() + large)
        self.near(f"{name}: mean", saved[0], spread.mean, of_mean)
        self.near(f"{name}: inv_std", saved[1], spread.inv_std, unit * spread.inv_std)
        if updated:
            # PyTorch's own, which lose digits where the mean is large.
            of_mean = of_mean + MEAN_OF_PYTORCH * (means + spread.distance)
            bounds = {"mean": (1 - MOMENTUM) * of_mean + torch.finfo(sums).eps * after["mean"].abs(),
                      "variance": unit * after["variance"] + 1e-15 * means.square()}
            for key, actual in updated.items():
                self.near(f"{name}: {key}_out", actual, after[key], bounds[key])

    def compare_gradient(self, name, norm, given, spread, layout, out_grad, gradients):
        """`gradients` are PyTorch's of x, scale and bias."""
        x, sums = given["x"], sums_of(given["x"])
        saved = dict(zip(norm.saved, (spread.mean.to(sums), spread.inv_std.to(sums))))
        results = (poison(x.shape, x, layout), *unwritten((given["scale"], given["bias"])))
        if not self.run(name, f"{norm.op}_grad", {**given, **saved, "out_grad": out_grad,
                                                  **{f"{key}_grad": each for key, each in zip(OPERANDS, results)}}):
            return
        # The saved mean is rounded, and so is x̂ where it is large.
        off = SUMMING[sums] * (1 + (spread.mean.abs() * spread.inv_std).amax()) * 30
        for key, actual, right in zip(OPERANDS, results, gradients):
            size = right.abs().amax() + (spread.inv_std.amax() if key == "x" else math.sqrt(x.numel() / right.numel()))
            self.near(f"{name}: {key}_grad", actual, right, (SUMMING[x.dtype] + off) * size)

    def compare(self, name, norm, x, layout, shape, spread):
        """`shape` is that of the parameters."""
        forward, backward = f"{norm.op} {name}", f"{norm.op}_grad {name}"
        if not (self.wants(forward) or self.wants(backward)):
            return
        scale, bias = (torch.rand(shape, device=x.device).to(x.dtype) + 0.5 for _ in range(2))
        given = {**dict(zip(OPERANDS, (x, scale, bias))), **norm.attributes}
        wide = {key: given[key].to(torch.float64, copy=True).requires_grad_() for key in OPERANDS}
        after = {key: each.to(torch.float64, copy=True) for key, each in norm.running.items()}
        expected = norm.function(**wide, **after)
        if self.wants(forward):
            self.compare_forward(forward, norm, given, spread, layout, expected.detach(), after)
        if self.wants(backward):
            out_grad = torch.randn(x.shape, device=x.device).to(x.dtype)
            gradients = torch.autograd.grad(expected, list(wide.values()), out_grad.double())
            self.compare_gradient(backward, norm, given, spread, layout, out_grad, gradients)

    def layer_norms(self, name, x, layout):
        for axis in range(1, x.dim()):
            normalized = x.shape[axis:]
            norm = Norm("layer_norm", {"begin_norm_axis": axis}, ("mean", "inv_std"),
                        functools.partial(layer_norm, normalized), {})
            self.compare(f"{name} axis {axis}", norm, x, layout, normalized, spread_of(x.double(), tuple(range(axis, x.dim()))))

    def batch_norms(self, name, x, layout):
        for (data_layout, axis), is_test in itertools.product((("NCHW", 1), ("NHWC", x.dim() - 1)), (False, True)):
            spread = spread_of(x.double(), tuple(each for each in range(x.dim()) if each != axis))
            running = {"mean": spread.mean + torch.randn_like(spread.mean) / spread.inv_std,
                       "variance": spread.variance * (0.5 + torch.rand_like(spread.mean))}
            running = {key: each.to(sums_of(x)) for key, each in running.items()}
            norm = Norm("batch_norm", {"data_layout": data_layout, "is_test": is_test, "momentum": MOMENTUM},
                        ("saved_mean", "saved_inv_std"), functools.partial(batch_norm, axis, is_test), running)
            self.compare(f"{name} {data_layout}{' is_test' if is_test else ''}", norm, x, layout, x.shape[axis : axis + 1],
                         spread_by(running) if is_test else spread)

    def all(self, device):
        for dtype, shape, kind in itertools.product(NAMES, SHAPES, KINDS):
            if math.prod(shape) > MANY_ELEMENTS and kind != "plain" or kind == "offset" and dtype == "bf16":
                continue
            plain = elements(kind, shape, device).to(NAMES[dtype])
            for layout in layouts_of(len(shape)):
                x, name = laid_out(plain, layout), f"{dtype} {list(shape)} {kind} {layout}"
                self.layer_norms(name, x, layout)
                self.batch_norms(name, x, layout)
