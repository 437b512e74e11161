# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Differentiable machine-learning operators on GPUs and CPUs, for arrays of NumPy, PyTorch, CuPy and JAX.

    import numpy as np
    import portops

    out = portops.lerp(x, y, 0.3)                    # an array of the library that x is of
    portops.lerp(x, y, 0.3, out=out)                 # into one that is there
    with portops.context(deterministic=True):        # for the calls in it
        out = portops.p_norm(x, axis=1)

Arrays are read and written where they lie, with any strides, by DLPack; those of a GPU on the stream that their library works
on. Wrong calls raise `portops.Error`, a ValueError, before anything is computed. `portops.torch` has the operators for PyTorch,
with gradients.
"""

from __future__ import annotations

import atexit as _atexit
import sys as _sys
import threading as _threading

from . import _core, _operators
from ._core import Context, Error, Levels, Ragged, __version__, backends, devices, element_types
from ._operators import *  # noqa: F403

#: The names of the operators.
operators: tuple[str, ...] = tuple(_operators.__all__)

#: `portops.context(…)` is a `Context`, as an argument of a call or for the calls in a `with` block.
context = Context

__all__ = [
    "Context",
    "Error",
    "Levels",
    "Ragged",
    "__version__",
    "backends",
    "context",
    "devices",
    "element_types",
    "operators",
    *_operators.__all__,
]


@_atexit.register
def _release() -> None:
    # PyTorch keeps for good what is registered with it.
    _core.release(_threading.active_count() > 1 or f"{__name__}.torch" in _sys.modules)
