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

    def tensors(self, device):
        values = super().tensors(device)
        if self.y is not None:  # away from 0: no quotient is to leave the range of a 16-bit type
            values["y"] = values["y"].sign() * (values["y"].abs() + 0.5)
        return values

    def term(self, key, x, y, out_grad):
        return out_grad / y if key == "x" else -(out_grad / y) * (x / y)


def cases(device):
    return usual_cases(Divide, device)
