# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""divide and divide_grad."""
import torch

from .arithmetic import Binary, usual_cases


class Divide(Binary):
    operator = "divide"
    function = staticmethod(torch.div)
    reads = {"x": "y", "y": "xy"}
    is_exact = False

    def term(self, key, x, y, out_grad):
        return out_grad / y if key == "x" else -(out_grad / y) * (x / y)


def cases(device):
    return usual_cases(Divide, device)
