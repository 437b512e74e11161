# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""dropout and dropout_grad. Which elements are dropped is portops' own affair: that is checked by its tests."""
import torch

from .common import Case, count

P = 0.1


class Dropout(Case):
    def __init__(self, op, dtype, shape):
        source, target = ("x", "out") if op == "dropout" else ("out_grad", "x_grad")
        super().__init__(op, dtype, [target])
        self.source, self.target, self.shape = source, target, shape

    def name(self):
        return f"{self.op} {self.dtype} {list(self.shape)}"

    def tensors(self, device):
        return {self.source: self.random(self.shape, device), self.target: self.poison(self.shape, device), "p": P, "seed": 1}

    def bytes(self):
        return 2 * self.element_size() * count(self.shape)

    def expected(self, values):
        kept = values[self.target] != 0
        share = kept.double().mean().item()
        if abs(share - (1 - P)) > 5 * (P / count(self.shape)) ** 0.5:
            raise RuntimeError(f"{self.name()}: {share} of the elements are kept")
        return {self.target: (values[self.source].double() / (1 - P) * kept, values[self.source].double().abs().clamp(min=1e-6))}

    def torch_call(self, values, compiled):
        x = values[self.source]
        if self.op == "dropout_grad":
            mask = torch.rand_like(x, dtype=torch.float32) >= P
            call = lambda: torch.ops.aten.native_dropout_backward(x, mask, 1 / (1 - P))
            return None if compiled else call
        call = lambda x: torch.nn.functional.dropout(x, P, True)
        call = torch.compile(call) if compiled else call
        return lambda: call(x)


def cases(device):
    return [Dropout(op, dtype, shape) for op in ("dropout", "dropout_grad") for dtype in ("f32", "f16")
            for shape in ((16384, 4096), (4099, 1003))]
