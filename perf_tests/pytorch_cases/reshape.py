# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""reshape where the elements move, beside PyTorch's copy of the same strides."""
from .common import NAMES, Case, count


class Reshape(Case):
    """The extents of the memory; x is it with two axes exchanged, or without the last columns. out has one axis."""

    def __init__(self, dtype, memory, exchanged=None, cut=0):
        super().__init__("reshape", dtype, ["out"])
        self.memory, self.exchanged, self.cut = tuple(memory), exchanged, cut
        self.count = count(memory) // memory[-1] * (memory[-1] - cut)

    def name(self):
        what = f"exchanged {list(self.exchanged)}" if self.exchanged else f"cut {self.cut}" if self.cut else "contiguous"
        return f"{self.op} {self.dtype} {list(self.memory)} {what}"

    def tensors(self, device):
        x = self.random(self.memory, device)
        x = x.transpose(*self.exchanged) if self.exchanged else x[..., :x.shape[-1] - self.cut]
        return {"x": x, "shape": [-1], "out": self.poison((self.count,), device)}

    def bytes(self):
        return 2 * self.element_size() * self.count

    def expected(self, values):
        return {"out": (values["x"].double().reshape(-1), 1.0)}

    def torch_call(self, values, compiled):
        out = values["out"].view(values["x"].shape)
        return None if compiled else lambda: out.copy_(values["x"])


def cases(device):
    matrix, heads = (16384, 4096), (32, 512, 16, 64)
    listed = [Reshape("f32", matrix), Reshape("f32", matrix, cut=16), Reshape("f32", matrix, exchanged=(0, 1)),
              Reshape("f32", heads, exchanged=(1, 2))]
    if device == "cpu":
        return listed
    listed += [Reshape(t, matrix, exchanged=(0, 1)) for t in NAMES if t != "f32"]
    listed += [Reshape(t, heads, exchanged=(1, 2)) for t in NAMES if t != "f32"]
    listed += [Reshape("f16", matrix), Reshape("f16", matrix, cut=16), Reshape("f32", matrix, cut=1),
               Reshape("f16", matrix, cut=1), Reshape("f32", (64, 1024, 1024), exchanged=(1, 2))]
    return listed
