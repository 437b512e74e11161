# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the families of cases share."""
import torch

NAMES = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
# The largest differences from float64 that rounding explains, relative to the largest magnitude.
TOLERANCE = {"f64": 1e-12, "f32": 4e-6, "f16": 2e-3, "bf16": 1.6e-2}


class Case:
    """One row: an operator on tensors of one element type. `outputs` names the arguments that it writes."""

    def __init__(self, op, dtype, outputs):
        self.op, self.dtype, self.outputs = op, dtype, outputs

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

    def expected(self, values):
        """For each output the result, computed in float64 on a copy, and the magnitude that rounding is relative to."""
        raise NotImplementedError

    def torch_call(self, values, compiled):
        """PyTorch's own operator, or autograd's gradient of it; with `compiled`, its formula under torch.compile."""
        raise NotImplementedError

    def element_size(self):
        return torch.tensor([], dtype=NAMES[self.dtype]).element_size()

    def random(self, shape, device):
        return torch.randn(shape, device=device).to(NAMES[self.dtype])

    def poison(self, shape, device):
        return torch.full(shape, float("nan"), device=device, dtype=NAMES[self.dtype])


def count(shape):
    return torch.Size(shape).numel()


CACHE = {}


def compiled_gradient(gradient, key):
    if key not in CACHE:
        torch._dynamo.reset()
        CACHE[key] = torch.compile(gradient, dynamic=False)
    return CACHE[key]
