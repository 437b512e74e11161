# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cross_entropy_with_softmax and its gradient, by the mean."""
import torch

from .common import NAMES, Case, compile_once, count


def formula(logits, label):
    return torch.nn.functional.cross_entropy(logits, label)


def gradient_formula(logits, label, loss_grad):
    return torch.func.grad(lambda x: formula(x, label) * loss_grad)(logits)


class CrossEntropy(Case):
    """The extents of logits, whose axis 1 is that of the classes."""

    def __init__(self, op, dtype, logits, soft=False):
        super().__init__(op, dtype, ["logits_grad"] if op.endswith("_grad") else ["loss"])
        self.logits, self.soft = tuple(logits), soft
        self.rows = (self.logits[0], *self.logits[2:])

    def name(self):
        return f"{self.op} {self.dtype} {list(self.logits)}{' soft' if self.soft else ''}"

    def tensors(self, device):
        dtype = NAMES[self.dtype]
        logits = self.random(self.logits, device)
        if self.soft:
            label = torch.softmax(self.random(self.logits, device), 1)
        else:
            label = torch.randint(self.logits[1], self.rows, device=device)
            label.view(-1)[5::8] = -100
        values = {"logits": logits, "label": label, "soft_label": self.soft, "axis": 1,
                  "log_sum_exp": torch.zeros(self.rows, dtype=torch.float64, device=device),
                  "count": torch.zeros((), dtype=torch.int64, device=device)}
        if not self.is_gradient():
            return {**values, "loss": self.poison((), device)}
        for to, part in zip(values["log_sum_exp"].split(1024), logits.split(1024)):
            to.copy_(torch.logsumexp(part.double(), 1))
        values["count"].fill_(label.numel() // self.logits[1] if self.soft else int((label != -100).sum()))
        # As large as the rows are many: elements are then no subnormal numbers of f16.
        return {**values, "loss_grad": torch.full((), 1024.0, dtype=dtype, device=device),
                "logits_grad": self.poison(self.logits, device)}

    def bytes(self):
        return self.element_size() * count(self.logits) * (1 + self.soft + self.is_gradient())

    def expected(self, values):
        logits = values["logits"].double()
        label = values["label"].double() if self.soft else values["label"]
        if not self.is_gradient():
            loss = formula(logits, label)
            return {"loss": (loss, loss + 1)}
        grad = gradient_formula(logits, label, values["loss_grad"].double())
        # Softmax less label: of soft labels both may be much larger than what is left.
        terms = 2 * label if self.soft else 1e-3
        return {"logits_grad": (grad, grad.abs() + values["loss_grad"].double() / values["count"] * terms)}

    def torch_call(self, values, compiled):
        v = values
        if not self.is_gradient():
            function = compile_once(formula, self.name()) if compiled else formula
            return lambda: function(v["logits"], v["label"])
        if compiled:
            function = compile_once(gradient_formula, self.name())
            return lambda: function(v["logits"], v["label"], v["loss_grad"])
        logits = v["logits"].detach().requires_grad_()
        loss = formula(logits, v["label"])
        return lambda: torch.autograd.grad(loss, logits, v["loss_grad"], retain_graph=True)


def cases(device):
    shapes = (((4096, 32000),), ((65536, 1000),), ((8192, 50257),), ((16, 21, 512, 512),), ((1 << 20, 10),),
              ((4096, 32000), True))
    types = ("f32",) if device == "cpu" else NAMES
    ops = ("cross_entropy_with_softmax", "cross_entropy_with_softmax_grad")
    return [CrossEntropy(op, dtype, *shape) for dtype in types for shape in shapes for op in ops]
