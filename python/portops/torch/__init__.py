# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operators for PyTorch: with gradients, under `torch.compile` and autocast, in CUDA graphs.

    import portops.torch

    out = portops.torch.lerp(x, y, weight)           # gradients are recorded
    layer = portops.torch.DeformConv2d(64, 128, 3)   # as torchvision's
    portops.torch.patch_torchvision()                # for models that are already there

Every operator is a custom operator of PyTorch, `torch.ops.portops`. `torch.use_deterministic_algorithms` and
`torch.backends.cuda.matmul`'s switches of tf32 are followed, unless a `portops.context` around the call says otherwise.
"""

from __future__ import annotations

import torch as _torch

if not hasattr(_torch.Tensor, "__dlpack_c_exchange_api__"):
    raise ImportError(
        f"portops.torch needs PyTorch 2.11 or later, which hands tensors over by DLPack's table of functions; this is "
        f"{_torch.__version__}"
    )

from .._schema import OPERATORS as _OPERATORS
from . import _functions
from ._functions import *  # noqa: F403
from ._ragged import RaggedTensor

__all__ = [*_functions.__all__, "RaggedTensor"]

if "deform_conv2d" in _OPERATORS:
    from ._deform_conv2d import DeformConv2d, deform_conv2d
    from ._patch import Patch, patch_torchvision

    __all__ += ["DeformConv2d", "Patch", "deform_conv2d", "patch_torchvision"]
