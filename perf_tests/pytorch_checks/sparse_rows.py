# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""merge_rows, and the steps sparse_sgd, sparse_momentum and sparse_adam by gradients that are merged and that are not,
over a grid of numbers of rows, distributions of their places, extents, types and layouts.

The places that merge_rows finds must be those of torch.unique; out_values must be left as it is behind them. Sums are
made by index_add and steps by their formulas on whole tables, in float64 from the same elements: portops' must be as
near as rounding explains. Rows of a table that no row of the gradient belongs to must keep their bits.

Nothing is compared with torch.optim, from which two things are meant to differ: sparse_momentum leaves the velocity of
other rows as it is, and sparse_adam adds epsilon to the root of the corrected moment.
"""
import itertools
import math

import torch
from pytorch_cases.common import NAMES
from pytorch_cases.sparse_rows import places

from .common import Check, layouts_of
from .sequence import apart, beside, in_layout, layouts_for, random, sums, unwritten

ROWS = (0, 1, 63, 64, 65, 1000, 100000)
ROWS_OF_STEPS = (0, 1, 65, 1000, 100000)
EXTENTS = ((), (1,), (7,), (64,), (3, 5))  # of a row
# The table's rows for so many of a gradient, by the distribution of their places.
HEIGHTS = {"uniform": lambda rows: rows // 3 + 5, "one": lambda rows: 7, "distinct": lambda rows: rows + rows // 2 + 5,
           "zipf": lambda rows: rows + 5}
FAR = 1 << 40  # a height beyond 32 bits, which no table has
# Layouts of the tables, and whether a step writes to the tables that it reads.
VARIANTS = (("contiguous", True), ("contiguous", False), ("cut", True), ("strided", False), ("transposed", True))
LEARNING_RATE, MOMENTUM, BETAS, EPSILON, STEP = 0.1, 0.9, (0.9, 0.999), 1e-8, 3


# Each step gives for each table the elements after it, and the magnitudes that were summed: `magnitude` is that of g.
def sgd(tables, g, magnitude):
    param = tables["param"]
    return {"param": (param - LEARNING_RATE * g, param.abs() + LEARNING_RATE * magnitude)}


def momentum(tables, g, magnitude, use_nesterov=False):
    param, velocity = tables["param"], MOMENTUM * tables["velocity"] + g
    of_velocity = MOMENTUM * tables["velocity"].abs() + magnitude
    step, of_step = velocity, of_velocity
    if use_nesterov:
        step, of_step = g + MOMENTUM * velocity, magnitude + MOMENTUM * of_velocity
    return {"param": (param - LEARNING_RATE * step, param.abs() + LEARNING_RATE * of_step),
            "velocity": (velocity, of_velocity)}


def nesterov(tables, g, magnitude):
    return momentum(tables, g, magnitude, use_nesterov=True)


def adam(tables, g, magnitude):
    param = tables["param"]
    moment1 = BETAS[0] * tables["moment1"] + (1 - BETAS[0]) * g
    moment2 = BETAS[1] * tables["moment2"] + (1 - BETAS[1]) * g ** 2
    of_moment1 = BETAS[0] * tables["moment1"].abs() + (1 - BETAS[0]) * magnitude
    # A difference of g counts twice in its square.
    of_moment2 = BETAS[1] * tables["moment2"] + (1 - BETAS[1]) * g.abs() * (g.abs() + 2 * magnitude)
    by = (1 - BETAS[0] ** STEP) * ((moment2 / (1 - BETAS[1] ** STEP)).sqrt() + EPSILON)
    step = moment1 / by
    of_step = of_moment1 / by + step.abs() * of_moment2 / moment2
    return {"param": (param - LEARNING_RATE * step, param.abs() + LEARNING_RATE * of_step),
            "moment1": (moment1, of_moment1), "moment2": (moment2, of_moment2)}


RATE = {"learning_rate": LEARNING_RATE}
STEPS = (("sparse_sgd", sgd, ("param",), RATE),
         ("sparse_momentum", momentum, ("param", "velocity"), {**RATE, "mu": MOMENTUM}),
         ("sparse_momentum", nesterov, ("param", "velocity"), {**RATE, "mu": MOMENTUM, "use_nesterov": True}),
         ("sparse_adam", adam, ("param", "moment1", "moment2"),
          {**RATE, "beta1": BETAS[0], "beta2": BETAS[1], "beta1_pow": BETAS[0] ** STEP, "beta2_pow": BETAS[1] ** STEP,
           "epsilon": EPSILON}))


def merged(rows, values, height):
    """The gradient as merge_rows gives it, with NaN behind the merged rows."""
    unique, inverse = rows.unique(return_inverse=True)
    rest = len(rows) - len(unique)
    total = sums(inverse, values.double(), len(unique)).to(values.dtype)
    return {"rows": torch.cat([unique, unique.new_full((rest,), height)]),
            "values": torch.cat([total, total.new_full((rest, *values.shape[1:]), math.nan)]),
            "count": torch.tensor(len(unique), device=rows.device)}


class SparseRowsCheck(Check):
    def merge(self, label, rows, values, height):
        unique, inverse = rows.unique(return_inverse=True)
        count, wide = len(unique), values.double()
        total, magnitude = sums(inverse, wide, count), sums(inverse, wide.abs(), count)
        expected = {"out_rows": torch.cat([unique, unique.new_full((len(rows) - count,), height)]),
                    "count": torch.tensor(count, device=rows.device)}
        for layout in layouts_for((rows, values)):
            name = f"merge_rows {label} {layout}"
            if not self.wants(name):
                continue
            found = {key: unwritten(want, values, layout) for key, want in {**expected, "out_values": values}.items()}
            given = {"rows": in_layout(rows, layout), "values": in_layout(values, layout), "height": height}
            if not self.run(name, "merge_rows", {**given, **found}):
                continue
            for key, want in expected.items():
                self.judge_bits(f"{name}: {key}", found[key], want)
            first, rest = found["out_values"][:count], found["out_values"][count:]
            self.judge(f"{name}: out_values", first, total, apart(first, total, magnitude))
            self.judge(f"{name}: out_values behind them", rest, torch.full_like(rest, math.nan), ~rest.isnan())

    def step(self, name, op, values, tables, expected, layout, in_place):
        """`expected`: which rows the step touches, and for each table what its formula gives."""
        given = {key: in_layout(value, layout) if isinstance(value, torch.Tensor) else value
                 for key, value in {**values, **tables}.items()}
        found = {table: given[table] if in_place else unwritten(before, before, layout)
                 for table, before in tables.items()}
        if not self.run(name, op, {**given, **{f"{table}_out": out for table, out in found.items()}}):
            return
        touched, formula = expected
        for table, before in tables.items():
            after, magnitude = formula[table]
            wrong = torch.where(touched, apart(found[table], after, magnitude), found[table] != before)
            self.judge(f"{name}: {table}_out", found[table], torch.where(touched, after, before.double()), wrong)

    def steps(self, label, gradient, tables):
        """All steps by the gradient in all variants."""
        height, count = len(tables["param"]), gradient.get("count")
        rows, values = (gradient[key] if count is None else gradient[key][:count] for key in ("rows", "values"))
        wide = values.double()
        g, magnitude = sums(rows, wide, height), sums(rows, wide.abs(), height)
        touched = torch.zeros(height, dtype=torch.bool, device=rows.device)
        touched[rows] = True
        for op, formula, names, attributes in STEPS:
            before = {table: tables[table] for table in names}
            after = formula({table: t.double() for table, t in before.items()}, g, magnitude)
            for layout, in_place in VARIANTS:
                name = f"{op} {label} {formula.__name__} {layout} {'in place' if in_place else 'out of place'}"
                if layout in layouts_of(values.dim()) and self.wants(name):
                    self.step(name, op, {**gradient, **attributes}, before, (beside(touched, values), after), layout,
                              in_place)

    def all(self, device):
        for dtype, extents, rows in itertools.product(NAMES, EXTENTS, ROWS):
            values = random((rows, *extents), NAMES[dtype], device)
            label = f"{dtype} {[rows, *extents]}"
            for spread, height_of in HEIGHTS.items():
                height = height_of(rows)
                self.merge(f"{label} {spread}", places(rows, height, spread).to(device), values, height)
            self.merge(f"{label} far", places(rows, FAR, "uniform").to(device), values, FAR)
        for dtype, extents, rows, (spread, height_of) in itertools.product(NAMES, EXTENTS, ROWS_OF_STEPS,
                                                                           HEIGHTS.items()):
            values = random((rows, *extents), NAMES[dtype], device)
            height = height_of(rows)
            at = places(rows, height, spread).to(device)
            tables = {table: random((height, *extents), NAMES[dtype], device)
                      for table in ("param", "velocity", "moment1", "moment2")}
            tables["moment2"] = tables["moment2"].abs() + 0.5
            label = f"{dtype} {[rows, *extents]} {spread}"
            self.steps(label, {"rows": at, "values": values}, tables)
            self.steps(f"{label} merged", merged(at, values, height), tables)
