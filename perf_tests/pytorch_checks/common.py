# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the families of checks share."""
import math

import torch
from pytorch_cases.bridge import Refused
from pytorch_cases.common import laid_out


class Check:
    """Runs portops, counts what was compared and keeps what disagreed."""

    def __init__(self, portops, text):
        self.portops, self.text = portops, text
        self.results = self.elements = self.refused = 0
        self.disagreements = []

    def all(self, device):
        """Makes all comparisons of the family whose names are wanted."""
        raise NotImplementedError

    def wants(self, name):
        return self.text in name

    def run(self, name, op, values):
        """Whether the call succeeded."""
        try:
            self.portops.run(op, self.portops.arguments(values))
        except Refused:
            self.refused += 1
            return False
        except RuntimeError as error:
            self.disagreements.append(f"{name}: {error}")
            return False
        return True

    def judge(self, name, actual, expected, wrong):
        """`wrong` says of each element whether it disagrees."""
        self.results += 1
        self.elements += expected.numel()
        if wrong.any():
            places = wrong.nonzero()
            first = tuple(places[0].tolist())
            self.disagreements.append(f"{name}: {len(places)} of {expected.numel()} elements, the first at "
                                      f"{list(first)}: {actual[first].item()}, expected {expected[first].item()}")

    def judge_bits(self, name, actual, expected):
        """That both have the same elements."""
        self.judge(name, actual, expected, actual != expected)

    def judge_sums(self, name, actual, expected, magnitude):
        """That sums are as near to those in float64 as rounding explains, relative to the magnitudes summed; below the
        normal numbers, as half of what is between two of them."""
        info = torch.finfo(actual.dtype)
        least = info.smallest_normal * info.eps / 2
        near = (actual.double() - expected).abs() <= SUMMING[actual.dtype] * magnitude + least
        self.judge(name, actual, expected, ~near)  # a NaN is not near


# Of sums in f32 (f64 for f64), rounded once.
SUMMING = {torch.float64: 1e-12, torch.float32: 2e-6, torch.float16: 5e-4, torch.bfloat16: 4e-3}


def layouts_of(rank):
    return ["contiguous", *(["strided", "cut"] if rank > 0 else []), *(["transposed"] if rank > 1 else [])]


def poison(shape, like, layout):
    """A result to be written, of another tensor's type and device."""
    layout = layout if layout in layouts_of(len(shape)) else "contiguous"
    return laid_out(torch.full(shape, math.nan, dtype=like.dtype, device=like.device), layout)
