# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""slice beside PyTorch's copy of a sliced tensor, and its gradient beside PyTorch's."""
import torch

from .common import Case, count


class Slice(Case):
    """Slices along one axis."""

    def __init__(self, op, dtype, shape, axis, start, end, step=1):
        super().__init__(op, dtype, ["out"] if op == "slice" else ["x_grad"])
        self.shape, self.place = shape, (axis, start, end, step)
        self.index = tuple(slice(start, end, step) if k == axis else slice(None) for k in range(len(shape)))
        self.taken = tuple(torch.empty(shape, device="meta")[self.index].shape)

    def name(self):
        axis, start, end, step = self.place
        return f"{self.op} {self.dtype} {list(self.shape)} axis {axis}, {start}:{end}:{step}"

    def tensors(self, device):
        axis, start, end, step = self.place
        values = {"axes": [axis], "starts": [start], "ends": [end], "strides": [step]}
        if self.op == "slice":
            return {**values, "x": self.random(self.shape, device), "out": self.poison(self.taken, device)}
        return {**values, "x": torch.empty(self.shape, device="meta", dtype=self.poison((), device).dtype),
                "out_grad": self.random(self.taken, device), "x_grad": self.poison(self.shape, device)}

    def bytes(self):
        return self.element_size() * (count(self.taken) + count(self.taken if self.op == "slice" else self.shape))

    def expected(self, values):
        if self.op == "slice":
            result = values["x"].double()[self.index]
        else:
            result = torch.zeros(self.shape, dtype=torch.float64, device=values["out_grad"].device)
            result[self.index] = values["out_grad"].double()
        return {self.outputs[0]: (result, torch.finfo(values[self.outputs[0]].dtype).tiny)}

    def torch_call(self, values, compiled):
        if compiled:
            return None
        if self.op == "slice":
            return lambda: values["out"].copy_(values["x"][self.index])
        return lambda: torch.ops.aten.slice_backward(values["out_grad"], list(self.shape), *self.place)


def cases(device):
    shapes = (((16384, 4096), 0, 1000, 9000), ((16384, 4096), 1, 100, 3000), ((64, 512, 1000), 1, 0, 512, 3),
              # Not looked at while copies into packs were made.
              ((40007, 777), 1, 5, 731), ((3000001, 11), 1, 2, 9), ((70, 333, 1027), 1, 3, 330, 4))
    return [Slice(op, dtype, *shape) for op in ("slice", "slice_grad") for dtype in ("f32", "f16") for shape in shapes]
