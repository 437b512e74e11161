# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One number everywhere, that of a tensor, beside PyTorch's fill_."""
import torch

from .common import NAMES, Case, count


class FullLike(Case):
    """The extents of x, which is out too: its elements are not read."""

    def __init__(self, dtype, x):
        super().__init__("full_like", dtype, ["out"])
        self.x = tuple(x)

    def name(self):
        return f"{self.op} {self.dtype} {list(self.x)}"

    def tensors(self, device):
        out = self.poison(self.x, device)
        sums = torch.float64 if self.dtype == "f64" else torch.float32
        return {"x": out, "fill_value": torch.full((), 0.3, dtype=sums, device=device), "out": out}

    def bytes(self):
        return count(self.x) * self.element_size()

    def expected(self, values):
        return {"out": (torch.full(self.x, 0.3, dtype=torch.float64, device=values["out"].device), 0.3)}

    def torch_call(self, values, compiled):
        return None if compiled else lambda: values["out"].fill_(values["fill_value"])


def cases(device):
    if device == "cpu":
        return [FullLike("f32", (4096, 4096)), FullLike("f32", (7, 1003)), FullLike("bf16", (4096, 4096))]
    return [FullLike(dtype, x) for dtype in NAMES for x in ((16384, 4096), (5, 3, 641, 479), (33, 1000003))]
