# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# mypy: disable-error-code="no-untyped-call, import-untyped"
"""Puts portops' deformable convolution in the place of torchvision's."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Optional

import torch
from torch import Tensor

from .._core import Error
from ._deform_conv2d import IM2COL_STEP
from ._library import entries

_DEVICES = ("CPU", "CUDA")


class Patch:
    """What `patch_torchvision` put in place; in a `with` block it is there to the end of that."""

    def __init__(self) -> None:
        # By the dispatcher, which all callers go through: functions, modules, scripted and exported models.
        self._library: Optional[torch.library.Library] = torch.library.Library("torchvision", "IMPL")
        for device in _DEVICES:
            for key in (device, f"Autograd{device}", f"Autocast{device}"):
                self._library.impl("deform_conv2d", _forward, key, allow_override=True)
            self._library.impl("_deform_conv2d_backward", _backward, device, allow_override=True)

    def undo(self) -> None:
        """Puts torchvision's own back; may be called again."""
        self._library = None  # its end takes the kernels away, and those below are the ones in force again

    def __enter__(self) -> Patch:
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.undo()


_in_place: Optional[Patch] = None


def patch_torchvision() -> Patch:
    """Puts portops' deformable convolution in the place of torchvision's, for models that are already there too: for all
    threads, until `undo()` of what is returned, or the end of a `with` block. Where it is in place already nothing changes.

    Raises:
        portops.Error: torchvision cannot be imported, or lacks its operators.
    """
    global _in_place
    try:
        import torchvision  # noqa: F401
    except ImportError as error:
        raise Error(f"portops.torch.patch_torchvision: torchvision cannot be imported: {error}") from error
    if not hasattr(torch.ops.torchvision, "deform_conv2d"):
        raise Error("portops.torch.patch_torchvision: torchvision was built without its operators")
    if _in_place is None or _in_place._library is None:
        _in_place = Patch()
    return _in_place


def _forward(
    input: Tensor,
    weight: Tensor,
    offset: Tensor,
    mask: Tensor,
    bias: Tensor,
    *attributes: Any,
) -> Any:
    pairs, groups, offset_groups, use_mask = _attributes(attributes)
    return entries["deform_conv2d"](
        input, offset, weight, mask if use_mask else None, bias, *pairs, groups, offset_groups, IM2COL_STEP
    )


def _backward(
    grad: Tensor, input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor, *attributes: Any
) -> Any:
    pairs, groups, offset_groups, use_mask = _attributes(attributes)
    wanted = [True, True, True, use_mask, True]
    given = mask if use_mask else None
    gradients = entries["deform_conv2d_grad"](
        input, offset, weight, given, grad, *pairs, groups, offset_groups, IM2COL_STEP, wanted
    )
    x_grad, offset_grad, weight_grad = gradients[:3]
    mask_grad = gradients[3] if use_mask else torch.zeros_like(mask)
    return x_grad, weight_grad, offset_grad, mask_grad, gradients[-1]


def _attributes(given: tuple[Any, ...]) -> tuple[list[list[int]], int, int, bool]:
    """torchvision's numbers: stride, padding and dilation as pairs, groups, groups of offsets, and whether the mask
    counts."""
    return [[given[0], given[1]], [given[2], given[3]], [given[4], given[5]]], given[6], given[7], given[8]
