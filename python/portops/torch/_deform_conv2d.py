# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# mypy: disable-error-code="misc, unused-ignore"
"""Deformable convolution with the arguments of torchvision.ops."""

from __future__ import annotations

import math
from typing import Optional, Union

import torch
from torch import Tensor, nn

from .._core import Error
from . import _library

IntOrPair = Union[int, tuple[int, int]]
#: The most images whose sampled windows are in memory at once, where they are.
IM2COL_STEP = 64

_deform_conv2d = _library.entries["deform_conv2d"]


def _pair(value: IntOrPair) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else value


def deform_conv2d(
    input: Tensor,
    offset: Tensor,
    weight: Tensor,
    bias: Optional[Tensor] = None,
    stride: IntOrPair = (1, 1),
    padding: IntOrPair = (0, 0),
    dilation: IntOrPair = (1, 1),
    mask: Optional[Tensor] = None,
) -> Tensor:
    """Deformable convolution, version 1, or 2 with a mask, as `torchvision.ops.deform_conv2d`.

    Groups of channels and groups of offsets follow from the extents. All tensors have one element type: float32, float64,
    float16 or bfloat16; sums are accumulated in float32 or float64. Under autocast it computes in autocast's type.

    Args:
        input: The images, [N, C, H, W]; read fastest where their channels are neighbours in memory (channels last).
        offset: How far each tap is moved, down and across, [N, 2 · offset groups · K · L, H', W'].
        weight: The filters, [M, C / groups, K, L].
        bias: Added to each output channel, [M].
        stride: Pixels from one window to the next.
        padding: Pixels of value 0 around the images.
        dilation: Pixels from one tap of a window to the next.
        mask: Factors of the samples, [N, offset groups · K · L, H', W'].

    Returns:
        The convolved images, [N, M, H', W']. Gradients are recorded.

    Raises:
        portops.Error: The call is wrong.
    """
    if input.dim() != 4 or weight.dim() != 4 or offset.dim() != 4:
        raise Error(
            f"portops.torch.deform_conv2d: input, offset and weight have {input.dim()}, {offset.dim()} and {weight.dim()} "
            "axes, expected four each"
        )
    channels, group_channels = input.shape[1], weight.shape[1]
    taps = 2 * weight.shape[2] * weight.shape[3]
    if taps == 0 or offset.shape[1] < taps or offset.shape[1] % taps != 0:
        raise Error(
            f"portops.torch.deform_conv2d: offset has {offset.shape[1]} channels, expected a multiple of "
            f"2 · weight.shape[2] · weight.shape[3], {taps}"
        )
    groups = channels // group_channels if group_channels > 0 else 1
    return _deform_conv2d(  # type: ignore[no-any-return]
        input,
        offset,
        weight,
        mask,
        bias,
        _pair(stride),
        _pair(padding),
        _pair(dilation),
        groups if groups > 0 else 1,  # where that is wrong, the operator says so
        offset.shape[1] // taps,
        IM2COL_STEP,
    )


class DeformConv2d(nn.Module):
    """See `deform_conv2d`. Its parameters are those of `torchvision.ops.DeformConv2d`, also by name."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: IntOrPair,
        stride: IntOrPair = 1,
        padding: IntOrPair = 0,
        dilation: IntOrPair = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = _pair(kernel_size)
        self.stride = _pair(stride)
        self.padding = _pair(padding)
        self.dilation = _pair(dilation)
        self.groups = groups
        self.weight = nn.Parameter(torch.empty(out_channels, in_channels // groups, *self.kernel_size))
        self.bias: Optional[nn.Parameter]
        if bias:
            self.bias = nn.Parameter(torch.empty(out_channels))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """As those of torchvision's module, from the same random numbers."""
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.weight[0].numel())
            nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor, offset: Tensor, mask: Optional[Tensor] = None) -> Tensor:
        return deform_conv2d(
            input, offset, self.weight, self.bias, self.stride, self.padding, self.dilation, mask
        )

    def __repr__(self) -> str:
        parts = [f"{self.in_channels}", f"{self.out_channels}"]
        parts += [f"kernel_size={self.kernel_size}", f"stride={self.stride}"]
        if self.padding != (0, 0):
            parts.append(f"padding={self.padding}")
        if self.dilation != (1, 1):
            parts.append(f"dilation={self.dilation}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        return f"{type(self).__name__}({', '.join(parts)})"
