# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""slice and slice_grad over a grid of extents, types and layouts of both sides, with axes, starts, ends and strides drawn
at random, forwards and backwards, and beyond the axes: the elements must have the bits of those that index_select takes
at the places of Python's slices."""
import itertools
import random

import torch
from pytorch_cases.common import NAMES, laid_out

from .common import Check, layouts_of, poison

SHAPES = ((1,), (0,), (7,), (1000003,), (33, 250), (0, 5), (300, 700), (70001, 3), (13, 25, 7), (3, 64, 512), (3, 4, 5, 6),
          (2, 5, 33, 64))
DRAWS = 12  # for each of the grid
STEPS = (1, 1, 1, 2, 3, 7, 1 << 40, -1, -1, -2, -5, -(1 << 40))
BEYOND = 3  # how far a start or an end may be beyond its axis


def drawn_place(draw, extent):
    """Two of three are on the axis, counted from its first element or its end."""
    return draw.randint(-extent - BEYOND, extent + BEYOND) if draw.random() < 0.33 else draw.randint(-extent, extent)


def drawn_slices(draw, shape):
    """Slices by axis: of some axes, in any order, some counted from the last."""
    slices = {}
    for axis in draw.sample(range(len(shape)), draw.randint(0, len(shape))):
        extent, step = shape[axis], draw.choice(STEPS)
        ends = [drawn_place(draw, extent) for _ in range(2)]
        if draw.random() < 0.8:  # most take some elements
            ends.sort(key=lambda place, extent=extent: place if place >= 0 else place + extent, reverse=step < 0)
        slices[axis - len(shape) if draw.random() < 0.3 else axis] = slice(*ends, step)
    return slices


def sliced(tensor, slices):
    for axis, taken in slices.items():
        places = range(*taken.indices(tensor.shape[axis]))
        tensor = tensor.index_select(axis, torch.arange(len(places), device=tensor.device) * places.step + places.start)
    return tensor


class SliceCheck(Check):
    def compare(self, name, x, slices, layouts):
        """`layouts` of what is read and of what is written."""
        attributes = {"axes": list(slices), "starts": [each.start for each in slices.values()],
                      "ends": [each.stop for each in slices.values()], "strides": [each.step for each in slices.values()]}
        if all(step == 1 for step in attributes["strides"]):
            del attributes["strides"]
        taken = sliced(x, slices)
        if self.wants(f"slice {name}"):
            out = poison(taken.shape, x, layouts[1])
            if self.run(f"slice {name}", "slice", {"x": laid_out(x, layouts[0]), "out": out, **attributes}):
                self.judge_bits(f"slice {name}", out, taken)
        if self.wants(f"slice_grad {name}"):
            expected = torch.zeros_like(x)
            places = sliced(torch.arange(x.numel(), device=x.device).reshape(x.shape), slices)
            expected.view(-1)[places.reshape(-1)] = taken.reshape(-1)
            x_grad = poison(x.shape, x, layouts[1])
            if self.run(f"slice_grad {name}", "slice_grad",
                        {"x": x, "out_grad": laid_out(taken, layouts[0]), "x_grad": x_grad, **attributes}):
                self.judge_bits(f"slice_grad {name}", x_grad, expected)

    def all(self, device):
        draw = random.Random(1)
        for dtype, shape in itertools.product(NAMES, SHAPES):
            plain = torch.randn(shape, device=device).to(NAMES[dtype])
            for layout, out_layout, _ in itertools.product(*[layouts_of(len(shape))] * 2, range(DRAWS)):
                slices = drawn_slices(draw, shape)
                text = ", ".join(f"{axis}: {s.start}:{s.stop}:{s.step}" for axis, s in slices.items())
                self.compare(f"{dtype} {list(shape)} {layout} to {out_layout} axes {{{text}}}", plain, slices,
                             (layout, out_layout))
