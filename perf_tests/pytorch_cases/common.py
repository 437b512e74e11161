# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the families of cases share, and those of checks."""
import math

import torch

NAMES = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
# The largest differences from float64 that rounding explains, relative to the largest magnitude.
TOLERANCE = {"f64": 1e-12, "f32": 4e-6, "tf32": 2e-3, "f16": 2e-3, "bf16": 1.6e-2}


class Case:
    """One row: an operator on tensors of one element type. `outputs` names the arguments that it writes, `math` how f32
    is multiplied in matrix products ("ieee" or "tf32"), by PyTorch too; portops alone obeys `deterministic`."""

    def __init__(self, op, dtype, outputs, math="ieee", deterministic=False):
        self.op, self.dtype, self.outputs = op, dtype, outputs
        self.math, self.deterministic = math, deterministic

    def is_gradient(self):
        return self.op.endswith("_grad")

    def name(self):
        raise NotImplementedError

    def tensors(self, device):
        """A fresh set of arguments by name, outputs poisoned; attributes are among them."""
        raise NotImplementedError

    def bytes(self):
        """The least traffic: each input that is needed read once, each output written once."""
        raise NotImplementedError

    def flops(self):
        """The floating-point operations of the matrix products inside a call."""
        return 0

    def expected(self, values):
        """For each output the result, computed in float64 on a copy, and the magnitude that rounding is relative to:
        one for all elements or one an element."""
        raise NotImplementedError

    def torch_call(self, values, compiled):
        """PyTorch's own operator, or autograd's gradient of it; with `compiled`, its formula under torch.compile. None
        where there is no such thing."""
        raise NotImplementedError

    def yardsticks(self, values):
        """Other calls of PyTorch to time beside these, by name."""
        return {}

    def math_name(self):
        """The element type, or tf32."""
        return "tf32" if self.math == "tf32" else self.dtype

    def element_size(self):
        return torch.tensor([], dtype=NAMES[self.dtype]).element_size()

    def random(self, shape, device):
        return torch.randn(shape, device=device).to(NAMES[self.dtype])

    def poison(self, shape, device):
        return torch.full(shape, float("nan"), device=device, dtype=NAMES[self.dtype])


def count(shape):
    return torch.Size(shape).numel()


def relative_errors(actual, expected, magnitude):
    """What differs by more than one rounding of the smallest numbers, relative to the magnitude."""
    info = torch.finfo(actual.dtype)
    difference = (actual.double() - expected).abs()
    return torch.where(difference <= info.smallest_normal * info.eps, 0.0, difference / magnitude)


def laid_out(values, layout):
    """A copy in another layout; what lies between its elements is NaN."""
    around = lambda shape: torch.full(shape, math.nan, dtype=values.dtype, device=values.device)
    *outer, last = values.shape if values.dim() > 0 else (1,)
    if layout == "contiguous":
        target = around(values.shape)
    elif layout == "strided":
        target = around((*outer, 2 * last + 1))[..., 1::2]
    elif layout == "cut":
        target = around((*outer, last + 3))[..., 1:-2]
    elif layout == "channels last":
        target = around((outer[0], *values.shape[2:], values.shape[1])).movedim(-1, 1)
    else:
        target = around(tuple(reversed(values.shape))).permute(*reversed(range(values.dim())))
    return target.copy_(values)


CACHE = {}


def compile_once(function, key):
    if key not in CACHE:
        torch._dynamo.reset()
        CACHE[key] = torch.compile(function, dynamic=False)
    return CACHE[key]
