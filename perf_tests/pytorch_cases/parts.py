# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""concat, split and their gradients."""
import torch

from .common import NAMES, Case, count

# The lists of an operator: its inputs, then its outputs.
ARGUMENTS = {"concat": ("x", "out"), "concat_grad": ("out_grad", "x_grad"),
             "split": ("x", "out"), "split_grad": ("out_grad", "x_grad")}
JOINING = ("concat", "split_grad")


class Parts(Case):
    """The extents of the parts, and the axis along which they follow each other."""

    def __init__(self, op, dtype, shapes, axis):
        source, target = ARGUMENTS[op]
        super().__init__(op, dtype, [target])
        self.source, self.target, self.shapes, self.axis = source, target, shapes, axis
        self.sections = [shape[axis] for shape in shapes]

    def name(self):
        text = " + ".join(str(list(shape)) for shape in self.shapes[:2]) + " + …"
        if len(set(self.shapes)) == 1:
            text = f"{len(self.shapes)} x {list(self.shapes[0])}"
        return f"{self.op} {self.dtype} {text} axis {self.axis}"

    def whole(self):
        shape = list(self.shapes[0])
        shape[self.axis] = sum(self.sections)
        return tuple(shape)

    def tensors(self, device):
        if self.op in JOINING:
            values = {self.source: [self.random(shape, device) for shape in self.shapes],
                      self.target: self.poison(self.whole(), device)}
        else:
            values = {self.source: self.random(self.whole(), device),
                      self.target: [self.poison(shape, device) for shape in self.shapes]}
        if self.op == "concat_grad":  # of x only the extents are read: tensors of no address
            values["x"] = [part.to("meta") for part in values[self.target]]
        if self.op.startswith("split"):
            values["sections"] = tuple(self.sections)
        return {**values, "axis": self.axis}

    def bytes(self):
        return 2 * self.element_size() * count(self.whole())

    def expected(self, values):
        source = values[self.source]
        if self.op in JOINING:
            result = torch.cat(source, self.axis)
        else:
            result = torch.cat([part.flatten() for part in source.split(self.sections, self.axis)])
        # Elements are moved as they are: nothing may differ.
        return {self.target: (result.double(), torch.finfo(NAMES[self.dtype]).tiny)}

    def torch_call(self, values, compiled):
        source, target = values[self.source], values[self.target]
        if compiled:
            return None
        if self.op in JOINING:
            return lambda: torch.cat(source, self.axis, out=target)
        return lambda: torch.split_with_sizes_copy(source, self.sections, self.axis, out=target)


def cases(device):
    side = 4096 if device == "cuda" else 2048
    lists = [("f32", [(32, 16)] * 1000, 0), ("f32", [(32, 16)] * 1000, 1),
             ("f32", [(side, side)] * 4, 0), ("f32", [(side, side)] * 4, 1),
             ("f32", [(512, 300)] * 64, 1), ("f16", [(512, 300)] * 64, 1), ("f16", [(512, 301)] * 64, 1),
             ("f64", [(side // 2, side)] * 4, 1), ("bf16", [(side, side)] * 4, 1),
             ("f32", [(32, 1 + i % 31) for i in range(1000)], 1),
             ("f32", [(300, 7, 33)] * 50, 2), ("f32", [(side, k) for k in (1, 3, 5, 1001, 17, 250)], 1),
             ("f32", [(side, 2 * side)] + [(side, 1 + i) for i in range(30)], 1),
             ("bf16", [(700, 3, 57)] * 90, 2), ("f64", [(2003, 101), (2003, 7), (2003, 1500)], 1),
             ("f16", [(5, 100003), (5, 300), (5, 299999)], 1)]
    listed = [Parts(op, *case) for op in ("concat", "split") for case in lists]
    return listed + [Parts(op, *case) for op in ("concat_grad", "split_grad") for case in lists[:5]]
