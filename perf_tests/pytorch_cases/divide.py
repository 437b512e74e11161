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

    @staticmethod
    def right(y):
        """Away from 0: no quotient is to leave the range of a 16-bit type."""
        return y + torch.where(y < 0, -0.5, 0.5).to(y.dtype)

    def term(self, key, x, y, out_grad):
        return out_grad / y if key == "x" else -(out_grad / y) * (x / y)


def cases(device):
    return usual_cases(Divide, device)
