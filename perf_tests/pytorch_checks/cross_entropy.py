# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cross_entropy_with_softmax and its gradient over a grid of extents, axes, types, layouts, reductions and kinds of
labels and logits, beside PyTorch's in float64."""
import itertools

import torch
from pytorch_cases.common import NAMES, laid_out

from .common import SUMMING, Check, layouts_of, poison

SHAPES = ((1, 1), (7, 1), (3, 5), (33, 250), (250, 1000), (3, 4099), (300, 9000), (2, 300001), (300001, 2), (13, 250, 6),
          (2, 3, 70, 4))
MANY_ELEMENTS = 100000  # above, there are plain ones alone
KINDS = ("plain", "huge", "equal")
REDUCTIONS = ("mean", "sum", "none")


class CrossEntropyCheck(Check):
    def agree(self, name, actual, expected, error):
        near = ((actual.double() - expected).abs() <= error) | (actual.isnan() & expected.isnan())
        near |= actual == expected.to(actual.dtype)  # Inf, where it is too large for the type
        self.judge(name, actual, expected, ~near)

    def labels(self, x, axis, soft):
        classes, rows = x.shape[axis], x.select(axis, 0).shape
        if soft:
            return torch.rand(x.shape, device=x.device).mul(2 / classes).to(x.dtype)
        label = torch.randint(classes, rows, device=x.device)
        label[torch.rand(rows, device=x.device) < 0.2] = -100
        return label

    def compare(self, name, x, layout, axis, soft, reduction):
        if not self.wants(f"cross_entropy_with_softmax {name}") and not self.wants(f"cross_entropy_with_softmax_grad {name}"):
            return
        label = self.labels(x, axis, soft)
        wide = x.double().movedim(axis, 1).detach().requires_grad_()
        target = label.double().movedim(axis, 1) if soft else label
        expected = torch.nn.functional.cross_entropy(wide, target, reduction=reduction)
        expected = torch.zeros_like(expected) if reduction == "mean" and not soft and (label == -100).all() else expected
        info = torch.finfo(x.dtype)
        least = info.smallest_normal * info.eps
        values = {"logits": x, "label": label, "soft_label": soft, "axis": axis, "reduction": reduction}
        saved = {"log_sum_exp": torch.zeros(x.select(axis, 0).shape, dtype=torch.float64, device=x.device),
                 "count": torch.zeros((), dtype=torch.int64, device=x.device)}
        loss = poison(expected.shape, x, "contiguous")
        if self.wants(f"cross_entropy_with_softmax {name}"):
            if self.run(f"cross_entropy_with_softmax {name}", "cross_entropy_with_softmax", {**values, **saved, "loss": loss}):
                rows = x.numel() // x.shape[axis] if reduction == "sum" else 1
                self.agree(f"cross_entropy_with_softmax {name}", loss, expected.detach(),
                           SUMMING[x.dtype] * (expected.detach().abs() + rows) + least)
        if self.wants(f"cross_entropy_with_softmax_grad {name}"):
            loss_grad = torch.rand(expected.shape, device=x.device).add(0.5).to(x.dtype)
            if expected.requires_grad:
                (grad,) = torch.autograd.grad(expected, wide, loss_grad.double())
            else:
                grad = torch.zeros_like(wide)
            saved["log_sum_exp"].copy_(torch.logsumexp(x.double(), axis))
            saved["count"].fill_(saved["log_sum_exp"].numel() if soft else int((label != -100).sum()))
            logits_grad = poison(x.shape, x, layout)
            arguments = {**values, **saved, "loss_grad": loss_grad, "logits_grad": logits_grad}
            if self.run(f"cross_entropy_with_softmax_grad {name}", "cross_entropy_with_softmax_grad", arguments):
                divisor = max(int(saved["count"]), 1) if reduction == "mean" else 1
                softmax = torch.softmax(x.double(), axis)
                below = saved["log_sum_exp"].unsqueeze(axis) - x.double()
                error = (SUMMING[x.dtype] + 1.2e-7 * below) * softmax * 3 / divisor
                grad = grad.movedim(1, axis)
                self.agree(f"cross_entropy_with_softmax_grad {name}", logits_grad, grad,
                           error + SUMMING[x.dtype] * grad.abs() + 3 * least)

    def all(self, device):
        for dtype, shape, kind in itertools.product(NAMES, SHAPES, KINDS):
            if torch.Size(shape).numel() > MANY_ELEMENTS and kind != "plain":
                continue
            scale = {"plain": 1.0, "huge": 1e4, "equal": 0.0}[kind]
            x = (torch.randn(shape, dtype=torch.float64, device=device) * scale).clamp(-6e4, 6e4)
            plain, rank = x.to(NAMES[dtype]), len(shape)
            for layout, axis in itertools.product(layouts_of(rank), range(-rank, rank)):
                for soft, reduction in itertools.product((False, True), REDUCTIONS):
                    name = f"{dtype} {list(shape)} {kind} {layout} axis {axis} {'soft ' if soft else ''}{reduction}"
                    self.compare(name, laid_out(plain, layout), layout, axis, soft, reduction)
