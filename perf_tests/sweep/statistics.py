# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How sure a ratio of times is."""
from __future__ import annotations

import dataclasses

import numpy


@dataclasses.dataclass(frozen=True)
class Ratio:
    """new / old of the median times, and the interval that holds it with 95 % confidence."""
    value: float
    low: float
    high: float

    def verdict(self, threshold: float) -> str:
        """'slower' or 'faster' where the whole interval is beyond the threshold, a share; else 'same'."""
        if self.low > 1 + threshold:
            return "slower"
        return "faster" if self.high < 1 / (1 + threshold) else "same"


def ratio_of_medians(old: list[float], new: list[float], draws: int = 2000) -> Ratio:
    """The bootstrap: both sets are drawn from again and again, with the same random numbers every time. (B. Efron,
    Bootstrap Methods: Another Look at the Jackknife, Annals of Statistics 7, 1979.) Two repetitions are the least."""
    random = numpy.random.default_rng(1)
    drawn = [numpy.median(random.choice(times, (draws, len(times))), axis=1) for times in (old, new)]
    low, high = numpy.percentile(drawn[1] / drawn[0], (2.5, 97.5))
    return Ratio(float(numpy.median(new) / numpy.median(old)), float(low), float(high))
