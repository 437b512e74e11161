# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""transpose beside PyTorch's copy of a permuted tensor."""
import torch

from .common import Case, count


class Transpose(Case):
    def __init__(self, dtype, shape, perm):
        super().__init__("transpose", dtype, ["out"])
        self.shape, self.perm = shape, perm

    def name(self):
        return f"{self.op} {self.dtype} {list(self.shape)} by {list(self.perm)}"

    def tensors(self, device):
        return {"x": self.random(self.shape, device), "out": self.poison([self.shape[axis] for axis in self.perm], device),
                "perm": self.perm}

    def bytes(self):
        return 2 * self.element_size() * count(self.shape)

    def expected(self, values):
        return {"out": (values["x"].double().permute(self.perm), torch.finfo(values["x"].dtype).tiny)}

    def torch_call(self, values, compiled):
        call = lambda: values["out"].copy_(values["x"].permute(self.perm))
        return None if compiled else call


def cases(device):
    shapes = (((8192, 4096), (1, 0)), ((32, 64, 112, 112), (0, 2, 3, 1)), ((32, 112, 112, 64), (0, 3, 1, 2)),
              ((64, 12, 512, 64), (0, 2, 1, 3)), ((127, 65, 33, 97), (3, 1, 0, 2)),
              # Short axes and small matrices.
              ((64, 3, 224, 224), (0, 2, 3, 1)), ((50, 349, 12, 14), (0, 1, 3, 2)), ((32, 255, 52, 52), (0, 2, 3, 1)),
              ((40, 6, 150, 211), (0, 2, 3, 1)), ((90000, 15, 10), (0, 2, 1)), ((300, 77, 5, 23), (2, 0, 1, 3)),
              ((5, 40000, 9, 7), (3, 1, 0, 2)), ((532, 3, 426, 27), (0, 1, 3, 2)), ((11591, 100, 9), (1, 0, 2)),
              # Not looked at while copies into packs were made.
              ((33, 5, 301, 207), (0, 2, 3, 1)), ((10007, 37, 21), (0, 2, 1)), ((6, 170003, 11), (2, 0, 1)),
              ((19, 7, 9001, 13), (3, 2, 0, 1)), ((2003, 51, 17, 10), (0, 2, 3, 1)))
    return [Transpose(dtype, shape, perm) for dtype in ("f32", "f16") for shape, perm in shapes]
