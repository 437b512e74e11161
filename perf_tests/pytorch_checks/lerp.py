# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lerp and lerp_grad over a grid of broadcast patterns of x, y and weight, types and layouts, beside the formula in
float64."""
import itertools

import torch
from pytorch_cases.common import NAMES
from pytorch_cases.lerp import Lerp

from .arithmetic import patterns, spread
from .common import Check, layouts_of, poison

SHAPES = ((), (1,), (0,), (7,), (250,), (1000003,), (33, 250), (0, 5), (2, 7001), (7001, 3), (13, 25, 7), (3, 8, 512))
WANTED = ("xyw", "xy", "x", "y", "w")


class LerpCheck(Check):
    def compare(self, name, case, values, layout):
        names = case.outputs
        shapes = {name: values["out_shape"] if name == "out" else values[name.removesuffix("_grad")].shape for name in names}
        outputs = {out: poison(shapes[out], values["x"], layout) for out in names}
        given = {key: value for key, value in values.items() if key != "out_shape"}
        if not self.run(name, case.op, {**given, **outputs}):
            return
        for out, result in case.results({**given, **outputs}).items():
            self.judge_sums(f"{name}: {out}", outputs[out], result, case.magnitudes({**given, **outputs}, out))

    def all(self, device):
        for dtype, shape in itertools.product(NAMES, SHAPES):
            for extents in itertools.product(patterns(shape), repeat=3):
                if torch.broadcast_shapes(*extents) != torch.Size(shape):
                    continue
                for layout in layouts_of(len(shape)):
                    name = f"{dtype} {' '.join(str(list(each)) for each in extents)} {layout}"
                    x, y, weight, out_grad = (spread(torch.randn(each, device=device).to(NAMES[dtype]), layout)
                                              for each in (*extents, shape))
                    values = {"x": x, "y": y, "weight": weight, "out_shape": shape}
                    if self.wants(f"lerp {name}"):
                        self.compare(f"lerp {name}", Lerp("lerp", dtype, *extents), values, layout)
                    for wanted in WANTED:
                        if self.wants(f"lerp_grad {name} -> {wanted}"):
                            case = Lerp("lerp_grad", dtype, *extents, wanted=wanted)
                            self.compare(f"lerp_grad {name} -> {wanted}", case, {**values, "out_grad": out_grad}, layout)
