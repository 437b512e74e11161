# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""multiply and multiply_grad."""
import torch

from .arithmetic import Binary, usual_cases


class Multiply(Binary):
    operator = "multiply"
    function = staticmethod(torch.mul)
    reads = {"x": "y", "y": "x"}

    def term(self, key, x, y, out_grad):
        return out_grad * (y if key == "x" else x)


def cases(device):
    listed = usual_cases(Multiply, device)
    if device == "cpu":
        return listed
    # Outer products.
    listed += [Multiply("multiply", t, *shapes) for t in ("f32", "f16")
               for shapes in (((4096, 1), (1, 4096)), ((64, 128, 1), (64, 1, 1024)), ((300, 1), (1, 20000)))]
    # Shapes that nobody looked at while the kernels were made.
    return listed + [Multiply(op, t, *shapes) for op in ("multiply", "multiply_grad")
                     for t, shapes in (("f32", ((4097, 777), (4097, 1))), ("f16", ((33, 65, 1023), (65, 1))),
                                       ("f32", ((5, 3, 640, 480), (5, 1, 640, 480))), ("f16", ((4100001, 3), (3,))),
                                       ("f16", ((3000000, 6), (3000000, 1))))]
