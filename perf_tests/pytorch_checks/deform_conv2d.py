# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""deform_conv2d and deform_conv2d_grad over a grid of attributes, types, layouts and modes.

torchvision's operator and its gradients by autograd are computed in float64 from the same elements; every element of
portops' results must agree with them up to a few roundings of its type, relative to the sum of the magnitudes of its
terms, or to a few halves of what lies between two numbers below the normal ones: gradients of columns are rounded to the
type before they meet differences of samples. Deterministic calls must give the same bits twice. The first grid is one of attributes, with the rest drawn at
random; the second is one of the rest. The third one has shapes that go ways of their own: depthwise, few channels,
many groups, many output channels, many images.

Where derivatives by the offset jump, at whole positions, the same elements may mean different neighbours in float32 and
float64. Random offsets are rounded so that a position is exact in both and never whole. `whole` offsets are all whole:
there too both take the neighbours below the jump and above it alike.

Offsets that are NaN or infinite are not compared: torchvision converts them to integers.
"""
import itertools
import math
import random
import typing

import torch
from pytorch_cases.common import NAMES, TOLERANCE, laid_out, relative_errors
from pytorch_cases.deform_conv2d import INPUTS, Shape, inputs, magnitudes, results

from .common import Check

OPERATORS = ("deform_conv2d", "deform_conv2d_grad")
STRIDES = ((1, 1), (2, 1), (2, 3))
PADDINGS = ((0, 0), (1, 2), (2, 0, 1, 3))
DILATIONS = ((1, 1), (2, 3))
KERNELS = ((1, 1), (3, 3), (2, 5))
GROUPS = ((1, 1), (2, 1), (1, 2), (4, 4), (2, 4))  # and deformable groups
# The extents of x, and the channels of out.
SIZES = (((2, 8, 9, 16), 12), ((1, 64, 20, 33), 96), ((3, 40, 17, 15), 24), ((5, 16, 14, 14), 8),
         ((1, 128, 19, 34), 128))
# The extents of x, the channels of out, the kernel, groups and deformable groups.
WAYS = (((2, 32, 13, 14), 32, (3, 3), 32, 1), ((2, 24, 9, 11), 24, (5, 5), 24, 24), ((1, 3, 20, 31), 3, (1, 1), 3, 1),
        ((2, 1, 19, 23), 1, (1, 1), 1, 1), ((2, 3, 20, 30), 32, (3, 3), 1, 1), ((2, 256, 9, 10), 256, (3, 3), 16, 16),
        ((1, 64, 12, 13), 192, (3, 3), 1, 1), ((1, 96, 12, 13), 256, (3, 3), 1, 1), ((20, 16, 6, 7), 24, (3, 3), 1, 1))
SPREADS = {"small": 0.5, "medium": 3.0, "large": 30.0, "whole": 3.0}
LAYOUTS = ("contiguous", "channels last", "strided", "transposed")
STEPS = (64, 2, 1)  # im2col_step


class Mode(typing.NamedTuple):
    name: str
    dtype: str
    math: str
    deterministic: bool


def modes(dtype, device):
    maths = ("ieee", "tf32") if dtype == "f32" and device == "cuda" else ("ieee",)
    return [Mode(f"{kind} deterministic" if deterministic else kind, dtype, kind, deterministic)
            for kind in maths for deterministic in (False, True)]


def text(numbers):
    return ",".join(map(str, numbers))


def name_of(shape, offsets, layout, step):
    return (f"{text(shape.x)} -> {shape.out_channels} kernel {text(shape.kernel)} stride {text(shape.stride)} "
            f"padding {text(shape.padding)} dilation {text(shape.dilation)} groups {shape.groups} "
            f"deformable {shape.deformable_groups}{' mask' if shape.mask else ''}{' bias' if shape.bias else ''} "
            f"offsets {offsets} {layout} step {step}")


def in_layout(tensor, layout):
    return laid_out(tensor, layout if tensor.dim() == 4 else "contiguous")


def variants():
    """Shapes, offsets, layouts and steps."""
    draw = random.Random(1)
    for stride, padding, dilation, kernel, (groups, deformable) in itertools.product(STRIDES, PADDINGS, DILATIONS,
                                                                                     KERNELS, GROUPS):
        shape = Shape("", *draw.choice(SIZES), kernel, stride, padding, dilation, groups, deformable,
                      draw.random() < 0.5, draw.random() < 0.5)
        yield shape, draw.choice(list(SPREADS)), draw.choice(LAYOUTS), draw.choice(STEPS)
    for size, mask, bias, offsets, layout in itertools.product(SIZES, (True, False), (True, False), SPREADS, LAYOUTS):
        yield Shape("", *size, mask=mask, bias=bias), offsets, layout, draw.choice(STEPS)
    for (x, out_channels, kernel, *groups), mask, layout in itertools.product(WAYS, (True, False), LAYOUTS):
        padding = tuple(extent // 2 for extent in kernel)
        shape = Shape("", x, out_channels, kernel, (1, 1), padding, (1, 1), *groups, mask, draw.random() < 0.5)
        yield shape, draw.choice(list(SPREADS)), layout, draw.choice(STEPS)


def arguments(op, shape, dtype, device, offsets):
    values = inputs(shape, dtype, device, SPREADS[offsets])
    if offsets == "whole":
        values["offset"].floor_()
    if op == "deform_conv2d_grad":
        values.pop("bias", None)
        values["out_grad"] = torch.randn(shape.out(), device=device).to(NAMES[dtype])
    return values


class DeformConv2dCheck(Check):
    def outputs_of(self, name, op, values, expected, layout):
        """What a call leaves in poisoned outputs; nothing where it failed."""
        dtype = values["x"].dtype
        outputs = {out: in_layout(torch.full_like(t, math.nan, dtype=dtype), layout) for out, t in expected.items()}
        return outputs if self.run(name, op, {**values, **outputs}) else {}

    def compare(self, name, op, values, expected, sums, mode, layout):
        """All outputs of a call; if it is deterministic, those of a second one too."""
        self.portops.set_context(mode.math, mode.deterministic)
        tolerance = TOLERANCE["tf32" if mode.math == "tf32" else mode.dtype]
        outputs = self.outputs_of(name, op, values, expected, layout)
        for out, actual in outputs.items():
            errors = relative_errors(actual, expected[out], sums[out])
            info = torch.finfo(actual.dtype)
            near = (actual.double() - expected[out]).abs() <= 8 * (info.smallest_normal * info.eps / 2)
            self.judge(f"{name}: {out}", actual, expected[out], ~((errors <= tolerance) | near))
        if mode.deterministic:
            for out, again in self.outputs_of(name, op, values, expected, layout).items():
                self.judge(f"{name}: {out} again", again, outputs[out], again != outputs[out])

    def variant(self, op, dtype, shape, offsets, layout, step, device):
        """The same call in all modes."""
        label = f"{op} {dtype} {name_of(shape, offsets, layout, step)}"
        wanted = [mode for mode in modes(dtype, device) if self.wants(f"{label} {mode.name}")]
        if not wanted:
            return
        values = arguments(op, shape, dtype, device, offsets)
        expected, sums = results(values), magnitudes(values)
        values = {name: in_layout(v, layout) if name in INPUTS else v for name, v in values.items()}
        values["im2col_step"] = step
        for mode in wanted:
            self.compare(f"{label} {mode.name}", op, values, expected, sums, mode, layout)

    def all(self, device):
        for (shape, *rest), dtype, op in itertools.product(variants(), NAMES, OPERATORS):
            self.variant(op, dtype, shape, *rest, device)
