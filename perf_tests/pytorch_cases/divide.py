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
    # The last ones were not looked at while what is broadcast was divided by.
    return usual_cases(Divide, device) + [Divide("divide", "f32", *shapes) for shapes in (((9000, 1500), (1500,)),
                                                                                          ((60, 48, 72, 80), (48, 1, 1)))]
