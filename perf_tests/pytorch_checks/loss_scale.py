# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""update_loss_scale over runs of random counts, beside what PyTorch's gradient scaler does: scales, good steps and what the
step of an optimizer takes must be equal to the bit. PyTorch has no least scale, and for the largest one only infinity:
the runs stay between them."""
import itertools
import random

import torch

from .common import Check

STEPS = 60
INTERVALS = (1, 3, 7)
FACTORS = ((2.0, 0.5), (1.5, 0.75), (1.0, 0.5))  # growth and backoff, exact in f32
LARGEST = 1e30
FIRST = 1024.0


class LossScaleCheck(Check):
    def step(self, name, attributes, ours, theirs, counts):
        """One step of both, each on its own scale and good steps."""
        device = ours["scale"].device
        skip, grad_scale = torch.full((), -1, device=device), torch.full_like(ours["scale"], -1)
        nonfinite = [torch.tensor(count, device=device) for count in counts]
        before = ours["scale"].clone()
        if not self.run(name, "update_loss_scale", {
                "scale": ours["scale"], "good_steps": ours["good_steps"], "nonfinite": nonfinite, **attributes,
                "scale_out": ours["scale"], "good_steps_out": ours["good_steps"], "grad_scale": grad_scale, "skip": skip}):
            return
        found = torch.full((), float(sum(counts) > 0), device=device)
        torch._amp_update_scale_(theirs["scale"], theirs["good_steps"], found, attributes["growth_factor"],
                                 attributes["backoff_factor"], attributes["growth_interval"])
        for key, actual, expected in (("skip", skip, torch.tensor(sum(counts), device=device)),
                                      ("grad_scale", grad_scale, before), *((k, ours[k], theirs[k]) for k in theirs)):
            self.judge_bits(f"{name}: {key}", actual, expected)

    def all(self, device):
        draw = random.Random(1)
        for interval, (growth, backoff), lists in itertools.product(INTERVALS, FACTORS, (1, 2, 8)):
            label = f"interval {interval} growth {growth} backoff {backoff} of {lists} lists"
            attributes = {"growth_factor": growth, "backoff_factor": backoff, "growth_interval": interval,
                          "largest": LARGEST}
            ours, theirs = ({"scale": torch.tensor(FIRST, device=device),
                             "good_steps": torch.zeros((), dtype=dtype, device=device)}
                            for dtype in (torch.int64, torch.int32))
            for number in range(STEPS):
                counts = [draw.choice((1, 3, 100)) if draw.random() < 0.3 / lists else 0 for _ in range(lists)]
                name = f"update_loss_scale {label} step {number}"
                if self.wants(label):
                    self.step(name, attributes, ours, theirs, counts)
