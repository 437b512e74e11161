# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""subtract and subtract_grad."""
import torch

from .arithmetic import Binary, usual_cases


class Subtract(Binary):
    operator = "subtract"
    function = staticmethod(torch.sub)

    def term(self, key, x, y, out_grad):
        return out_grad if key == "x" else -out_grad


def cases(device):
    return usual_cases(Subtract, device)
