# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the extension asks of libraries of arrays that do not answer through DLPack's table of functions, as PyTorch does.
None of them is imported before an array of it comes."""

from __future__ import annotations

import importlib
import sys
from typing import Any

_CPU, _CUDA = 1, 2
_NAMES = {"f64": "float64", "f32": "float32", "f16": "float16", "i64": "int64"}
# Libraries of arrays that nobody may write to: outputs are made by another one, and handed over.
_HANDED_OVER = {"jaxlib": "jax.numpy", "jax": "jax.numpy"}


def empty(library: str, shape: tuple[int, ...], element_type: str, device_type: int, device_id: int) -> Any:
    """An uninitialised array to write to."""
    if device_type == _CUDA:
        import cupy

        with cupy.cuda.Device(device_id):
            return cupy.empty(shape, _dtype(element_type))
    import numpy

    return numpy.empty(shape, _dtype(element_type))


def finished(library: str, output: Any) -> Any:
    """What an output is given back as: an array of the library."""
    if library not in _HANDED_OVER:
        return output
    return importlib.import_module(_HANDED_OVER[library]).from_dlpack(output)


def current_stream(library: str, device_id: int) -> int | None:
    """Where the library works at the moment; None where it does not say."""
    if library != "cupy":
        return None
    import cupy

    with cupy.cuda.Device(device_id):
        return int(cupy.cuda.get_current_stream().ptr)


def records_gradients() -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and torch.is_grad_enabled()


def _dtype(element_type: str) -> str:
    if element_type not in _NAMES:
        from ._core import Error

        raise Error(f"portops: NumPy has no {element_type}, which PyTorch's tensors may be of")
    return _NAMES[element_type]
