# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""p_norm and p_norm_grad over a grid of shapes, axes, orders, types and layouts.

torch.linalg.vector_norm and its gradient by autograd are computed in float64 from the same elements; every element of
portops' results must agree with them up to the rounding of its type. epsilon is 0, where both mean the same. A result
beyond the largest number of its type must be Inf.

What is meant to differ, and how it is compared nevertheless:

- Axes without elements: PyTorch refuses them for p = ±inf and p < 0. portops must give 0, as for every other p.
- A NaN for p = 1 and ±inf: PyTorch's gradient is 0 there, portops' must be NaN. For p = 0, where no element is needed,
  the gradient at a NaN is not compared.
- p_norm_grad depends on `out` as it was rounded, PyTorch's gradient on the norm itself: the latter is multiplied by
  (norm / out)^(p - 1). Where `out` is Inf or 0 because its type holds no such norm, the gradient is not compared.
- A finite element beside an Inf, for p < 1: its ratio to the norm is 0, and so is portops' gradient; PyTorch's is Inf.
- Overflow on the way: PyTorch would overflow even in float64. Elements near the ends of their type's range are divided
  by a power of two for it, and its norm is multiplied by it.
"""
import itertools
import math

import torch
from pytorch_cases.common import NAMES, laid_out

from .common import Check, layouts_of

OPERATORS = ("p_norm", "p_norm_grad")
ORDERS = (0.0, 1.0, 2.0, 3.0, 4.0, 0.5, 1.5, 2.5, 2.3, -1.0, -2.0, math.inf, -math.inf)
SHAPES = ((), (1,), (0,), (7,), (250,), (1000003,),
          (1, 250), (250, 1), (0, 5), (5, 0), (33, 250), (2, 1000003), (1000003, 2),
          (1, 1, 250), (2, 0, 5), (13, 250, 7), (40, 3, 250), (250, 3, 40),
          (2, 1, 3, 70), (3, 4, 250, 5))
# Elements that need care, each in all of these shapes.
KINDS = ("ties", "zeros", "nothing", "nan", "inf", "huge", "tiny")
SHAPES_OF_KINDS = ((1,), (250,), (33, 250), (250, 33), (13, 250, 7), (2, 70001))
# `huge` and `tiny` elements are multiplied by 2 to this power, or divided by it.
EXPONENTS = {"f64": 600, "f32": 90, "f16": 10, "bf16": 90}
# The largest relative differences of an element: for the 16-bit types one rounding of a result in f32.
TOLERANCE = {"f64": 1e-12, "f32": 4e-6, "f16": 5e-4, "bf16": 4e-3}
MANY_ELEMENTS = 100000  # above, keepdim is not tried


def axes_of(rank):
    """Each axis, all pairs, all axes; None: as a vector."""
    axes = range(max(rank, 1))
    return [*itertools.combinations(axes, 1), *itertools.combinations(axes, 2),
            *([tuple(axes)] if rank > 2 else []), None]


def as_given(axes, rank):
    """The axes in another order, the odd ones counted from the last."""
    return [axis - max(rank, 1) if axis % 2 == 1 or rank == 0 else axis for axis in reversed(axes)]


def elements(kind, shape, dtype, device):
    """The elements, and the power of two that they were multiplied by."""
    x, scale = torch.randn(shape, dtype=torch.float64, device=device), 1.0
    flat = x.view(-1)
    if kind == "ties":
        x = torch.randint(1, 4, shape, device=device).double().copysign(x)
    elif kind == "zeros":
        x = x * (torch.rand(shape, device=device) < 0.7)
        x[0] = x[..., 0] = 0.0
    elif kind == "nothing":
        x = torch.zeros_like(x)
    elif kind == "nan":
        flat[len(flat) // 2] = flat[-1] = math.nan
    elif kind == "inf":
        flat[len(flat) // 3], flat[len(flat) // 2] = math.inf, -math.inf
        if len(shape) > 1:
            x[0], x[..., -1] = math.inf, -math.inf
    elif kind in ("huge", "tiny"):
        scale = 2.0 ** (EXPONENTS[dtype] if kind == "huge" else -EXPONENTS[dtype])
    return (x * scale).to(NAMES[dtype]), scale


def kept_shape(shape, axes):
    return tuple(1 if axes is None or axis in axes else extent for axis, extent in enumerate(shape))


def reference(x, axes, order, out_grad):
    """PyTorch's norm and gradient; x and out_grad are float64."""
    reduced = [extent for axis, extent in enumerate(x.shape) if axes is None or axis in axes]
    if math.prod(reduced) == 0 and (order < 0 or math.isinf(order)):
        return torch.zeros_like(out_grad), torch.zeros_like(x)
    norm = torch.linalg.vector_norm(x.requires_grad_(), order, axes)
    gradient, = torch.autograd.grad(norm, x, out_grad, allow_unused=True)
    if gradient is None:  # for p = 0
        gradient = torch.zeros_like(x)
    if order == 1 or math.isinf(order):
        gradient = gradient.masked_fill(x.isnan(), math.nan)
    return norm.detach(), gradient.detach()


def expectations(x, scale, axes, order, out_grad):
    """The norm and the gradient, which of its elements to look at, and `out` for p_norm_grad."""
    norm, gradient = reference(x.double() / scale, axes, order, out_grad.double())
    if order == 0:
        return norm, gradient, ~x.isnan(), norm.to(x.dtype)
    norm = norm * scale
    out = norm.to(x.dtype)
    compared = torch.ones((), dtype=torch.bool, device=x.device)
    if math.isfinite(order) and order != 1:
        given, kept = out.double(), kept_shape(x.shape, axes)
        lost = (given.isinf() & norm.isfinite()) | ((given == 0) & (norm != 0))
        usable = norm.isfinite() & (norm != 0) & ~lost
        gradient = gradient * (torch.where(usable, norm / given, 1.0) ** (order - 1.0)).reshape(kept)
        compared = ~lost.reshape(kept)
        if 0 < order < 1:
            compared = compared & ~(norm.isinf().reshape(kept) & x.isfinite())
    return norm, gradient, compared, out


def disagreeing(actual, expected, dtype):
    """The elements that are further from the expected ones than rounding explains."""
    info, tolerance = torch.finfo(NAMES[dtype]), TOLERANCE[dtype]
    actual = actual.double()
    expected = torch.where(expected.abs() > info.max * (1.0 + tolerance), expected.sign() * math.inf, expected)
    subnormal = info.smallest_normal * info.eps
    difference = (actual.clamp(-info.max, info.max) - expected.clamp(-info.max, info.max)).abs()
    near = ~expected.isinf() & (difference <= tolerance * expected.abs() + subnormal)
    return ~(near | (actual == expected) | (actual.isnan() & expected.isnan()))


class PNormCheck(Check):
    def compare(self, name, op, values, output, expected, compared, dtype):
        if self.run(name, op, values):
            actual = values[output]
            self.judge(name, actual, expected, disagreeing(actual, expected, dtype) & compared)

    def variants(self, label, laid_out_x):
        """The operators, layouts and values of keepdim that are asked for, and their names."""
        many = laid_out_x["contiguous"].numel() > MANY_ELEMENTS
        for layout, keepdim, op in itertools.product(laid_out_x, (False,) if many else (False, True), OPERATORS):
            name = f"{op} {label} {layout}{' keepdim' if keepdim else ''}"
            if self.wants(name):
                yield name, op, layout, keepdim

    def norms(self, label, laid_out_x, scale, axes, order, dtype):
        """The same norms from all layouts of the same elements."""
        x = laid_out_x["contiguous"]
        axis = {"asvector": True} if axes is None else {"axis": as_given(axes, x.dim())}
        attributes = {"porder": order, "epsilon": 0.0, **axis}
        label += " asvector" if axes is None else f" axis {axis['axis']}"
        variants = list(self.variants(f"{label} p {order:g}", laid_out_x))
        if not variants:
            return
        shape = tuple(extent for k, extent in enumerate(x.shape) if axes is not None and k not in axes)
        out_grad = torch.randn(shape, device=x.device).to(x.dtype)
        norm, gradient, compared, out = expectations(x, scale, axes, order, out_grad)
        everywhere = torch.ones((), dtype=torch.bool, device=x.device)
        for name, op, layout, keepdim in variants:
            extents = kept_shape(x.shape, axes) if keepdim else shape
            out_layout = layout if layout in layouts_of(len(extents)) else "contiguous"
            spread = lambda t, extents=extents, layout=out_layout: laid_out(t.reshape(extents), layout)
            values = {"x": laid_out_x[layout], "keepdim": keepdim, **attributes}
            if op == "p_norm":
                values["out"] = spread(torch.full_like(out, math.nan))
                self.compare(name, op, values, "out", norm.reshape(extents), everywhere, dtype)
            else:
                values.update(out=spread(out), out_grad=spread(out_grad))
                values["x_grad"] = laid_out(torch.full_like(x, math.nan), layout)
                self.compare(name, op, values, "x_grad", gradient, compared, dtype)

    def all(self, device):
        kinds = [("plain", SHAPES), *((kind, SHAPES_OF_KINDS) for kind in KINDS)]
        for dtype, (kind, shapes) in itertools.product(NAMES, kinds):
            for shape in shapes:
                x, scale = elements(kind, shape, dtype, device)
                laid_out_x = {layout: laid_out(x, layout) for layout in layouts_of(len(shape))}
                for axes, order in itertools.product(axes_of(len(shape)), ORDERS):
                    self.norms(f"{dtype} {list(shape)} {kind}", laid_out_x, scale, axes, order, dtype)
