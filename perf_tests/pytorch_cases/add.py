# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""add and add_grad."""
import torch

from .arithmetic import BIG, IMAGE, MATRIX, Binary, usual_cases
from .common import NAMES


class Add(Binary):
    operator = "add"
    function = staticmethod(torch.add)

    def term(self, key, x, y, out_grad):
        return out_grad


def cases(device):
    listed = usual_cases(Add, device)
    listed += [Add("add_grad", t, *shapes, wanted="y") for t in NAMES for shapes in (IMAGE, MATRIX)]
    if device == "cpu":
        return [case for case in listed if case.dtype == "f32"] + [Add("add", "f32", *BIG)]
    listed += [Add("add", t, *BIG) for t in NAMES]
    listed += [Add("add", "f32", *BIG, number=True), Add("add", "f32", (16, 102400)),
               Add("add", "f32", (16384, 4096), (16384, 1)), Add("add", "f16", (8, 16, 1024, 1024), (8, 1, 1, 1024)),
               Add("add", "f32", (1 << 20, 67), (67,)),
               Add("add_grad", "f32", (16384, 4096), (16384, 1), wanted="y"),
               Add("add_grad", "f32", (16384, 4096), (1,), wanted="y"),
               Add("add_grad", "f16", (8, 16, 1024, 1024), (8, 1, 1, 1024), wanted="y"),
               Add("add_grad", "f32", (1 << 20, 67), (67,), wanted="y")]
    listed += [Add("add_grad", dtype, *shapes, wanted="y") for dtype in ("f32", "f16")
               for shapes in (((8, 1024, 4096), (4096,)), ((3000, 5003), (5003,)), ((1201, 2003), (2003,)), ((64, 100, 1000), (1000,)))]
    return listed
