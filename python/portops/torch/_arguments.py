# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the functions take, as the custom operators take it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional, Union

from torch import Tensor

from .._core import Error


def tensor_or_number(value: Any) -> tuple[Optional[Tensor], float]:
    """As two arguments: the tensor, and the number that holds where there is none."""
    return (value, 0.0) if isinstance(value, Tensor) else (None, value)


def integers(value: Union[int, Sequence[int]], count: int) -> Sequence[int]:
    """One number stands for as many as are expected."""
    return (value,) * count if isinstance(value, int) else value


def named_number(op: str, name: str, value: Union[float, str], names: dict[str, float]) -> float:
    """The number that a text stands for, "inf" among them."""
    if not isinstance(value, str):
        return value
    if value in names:
        return names[value]
    try:
        return float(value)
    except ValueError:
        known = ", ".join(f"'{each}'" for each in names)
        raise Error(f"portops::{op}: {name} is '{value}', expected a number or {known}") from None
