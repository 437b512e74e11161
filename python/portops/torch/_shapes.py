# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# mypy: disable-error-code="no-untyped-call"
"""The extents of results, from those of the operands: the schema's shape rules, of which `computed` is a function for each
operator. Extents may be symbols. What is wrong is left to the operators to refuse, unless no result could be told."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Callable

import torch

from .._declarations import Shape

Extents = tuple[Any, ...]  # of int and torch.SymInt
#: The arguments of a call by their names; the levels of x as x_levels.
Arguments = dict[str, Any]


def extents(op: str, name: str, rule: Shape, given: Arguments) -> Extents:
    """Of the tensor of that name, which is no list; of a gradient's, the name of its variable."""
    if rule.function == "computed":
        return COMPUTED[op](given)[name]
    return RULES[rule.function](rule.names, given)


def list_extents(rule: Shape, given: Arguments) -> list[Extents]:
    """Of each tensor of a list."""
    if rule.function == "like":
        return [tuple(each.shape) for each in given[rule.names[0]]]
    assert rule.function == "divided"
    x = tuple(given[rule.names[0]].shape)
    axis = axis_in(given["axis"], len(x))
    sections = list(given["sections"])
    if -1 in sections:
        sections[sections.index(-1)] = x[axis] - (sum(sections) + 1)
    return [(*x[:axis], section, *x[axis + 1 :]) for section in sections]


def axis_in(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise IndexError(f"portops: axis {axis} of a tensor that has {rank} axes")
    return axis % rank


# --- the rules ----------------------------------------------------------------------------------------------------


def _broadcast(names: tuple[str, ...], given: Arguments) -> Extents:
    return tuple(torch.broadcast_shapes(*(given[name].shape for name in names if given[name] is not None)))


def _like(names: tuple[str, ...], given: Arguments) -> Extents:
    return tuple(given[names[0]].shape)


def _reduced(names: tuple[str, ...], given: Arguments) -> Extents:
    x = tuple(given[names[0]].shape) or (1,)
    whole = given.get("asvector", not given["axis"])
    axes = set(range(len(x))) if whole else {axis_in(axis, len(x)) for axis in given["axis"]}
    if given["keepdim"]:
        return tuple(1 if axis in axes else extent for axis, extent in enumerate(x))
    return tuple(extent for axis, extent in enumerate(x) if axis not in axes)


def _joined(names: tuple[str, ...], given: Arguments) -> Extents:
    tensors = given[names[0]]
    first = tuple(tensors[0].shape)
    axis = axis_in(given["axis"], len(first))
    return (*first[:axis], sum(each.shape[axis] for each in tensors), *first[axis + 1 :])


def _scalar(names: tuple[str, ...], given: Arguments) -> Extents:
    return ()


RULES: dict[str, Callable[[tuple[str, ...], Arguments], Extents]] = {
    "broadcast": _broadcast,
    "like": _like,
    "reduced": _reduced,
    "joined": _joined,
    "scalar": _scalar,
}

# --- computed -----------------------------------------------------------------------------------------------------


def windows_along(extent: Any, before: Any, after: Any, kernel: Any, dilation: Any, stride: Any) -> Any:
    """How many windows lie in an axis: none where one is larger than the padded image."""
    room = extent + before + after - dilation * (kernel - 1) - 1
    if isinstance(room, int):
        return room // stride + 1 if room >= 0 else 0
    return torch.sym_max(room // stride + 1, 0)


def _convolution(given: Arguments) -> dict[str, Extents]:
    images, _, height, width = given["x"].shape
    out_channels, _, kernel_height, kernel_width = given["weight"].shape
    padding, stride, dilation = given["padding"], given["stride"], given["dilation"]
    top, left = padding[0], padding[1]
    bottom, right = (padding[2], padding[3]) if len(padding) == 4 else (top, left)
    rows = windows_along(height, top, bottom, kernel_height, dilation[0], stride[0])
    columns = windows_along(width, left, right, kernel_width, dilation[1], stride[1])
    return {"out": (images, out_channels, rows, columns), "bias": (out_channels,)}


def _pool2d(given: Arguments) -> dict[str, Extents]:
    images, channels, *pixels = given["x"].shape
    if given["global_pooling"]:
        windows = [torch.sym_min(extent, 1) for extent in pixels]
    else:
        kernel, padding = given["kernel_size"], given["padding"]
        stride = given["stride"] or kernel
        windows = []
        for axis, extent in enumerate(pixels):
            before, after = padding[axis % len(padding)], padding[(axis + 2) % len(padding)]
            size, step = kernel[axis % len(kernel)], stride[axis % len(stride)]
            count = windows_along(extent, before, after + (step - 1 if given["ceil_mode"] else 0), size, 1, step)
            # One that begins behind the image is left out, and an image without pixels has none.
            windows.append(torch.sym_min(count, (extent + (before + step - 1) * torch.sym_min(extent, 1)) // step))
    return {"out": (images, channels, *windows), "index": (images, channels, *windows)}


def _cross_entropy_with_softmax(given: Arguments) -> dict[str, Extents]:
    logits = tuple(given["logits"].shape) or (1,)
    axis = axis_in(given["axis"], len(logits))
    rows = (*logits[:axis], *logits[axis + 1 :])
    return {"loss": rows if given["reduction"] == "none" else (), "log_sum_exp": rows}


def _reshape(given: Arguments) -> dict[str, Extents]:
    x = tuple(given["x"].shape)
    shape = [x[axis] if isinstance(extent, int) and extent == 0 else extent for axis, extent in enumerate(given["shape"])]
    if -1 in [extent for extent in shape if isinstance(extent, int)]:
        rest = math.prod(extent for extent in shape if not (isinstance(extent, int) and extent == -1))
        shape = [math.prod(x) // rest if isinstance(extent, int) and extent == -1 else extent for extent in shape]
    return {"out": tuple(shape)}


def _transpose(given: Arguments) -> dict[str, Extents]:
    x = tuple(given["x"].shape)
    return {"out": tuple(x[axis_in(axis, len(x))] for axis in given["perm"])}


def _slice(given: Arguments) -> dict[str, Extents]:
    out = list(given["x"].shape)
    for i, axis in enumerate(given["axes"]):
        step = given["strides"][i] if given["strides"] else 1
        axis = axis_in(axis, len(out))
        out[axis] = len(range(*slice(given["starts"][i], given["ends"][i], step).indices(int(out[axis]))))
    return {"out": tuple(out)}


def _trace(given: Arguments) -> dict[str, Extents]:
    x = tuple(given["x"].shape)
    gone = {axis_in(given["axis1"], len(x)), axis_in(given["axis2"], len(x))}
    return {"out": tuple(extent for axis, extent in enumerate(x) if axis not in gone)}


def _matmul(given: Arguments) -> dict[str, Extents]:
    x, y = tuple(given["x"].shape), tuple(given["y"].shape)
    batch = tuple(torch.broadcast_shapes(x[:-2], y[:-2]))
    rows = (x[-1 if given["transpose_x"] else -2],) if len(x) > 1 else ()
    columns = (y[-2 if given["transpose_y"] else -1],) if len(y) > 1 else ()
    return {"out": (*batch, *rows, *columns)}


def _linear(given: Arguments) -> dict[str, Extents]:
    outputs = given["weight"].shape[1]
    return {"out": (*given["x"].shape[:-1], outputs), "bias": (outputs,)}


def _layer_norm(given: Arguments) -> dict[str, Extents]:
    x = tuple(given["x"].shape)
    first = axis_in(given["begin_norm_axis"], len(x))
    rows, normalized = x[:first], x[first:]
    return {"scale": normalized, "bias": normalized, "mean": rows, "inv_std": rows}


def _batch_norm(given: Arguments) -> dict[str, Extents]:
    channels = given["x"].shape[1 if given["data_layout"] == "NCHW" else -1]
    names = ("mean", "variance", "scale", "bias", "saved_mean", "saved_inv_std", "mean_out", "variance_out")
    return {name: (channels,) for name in names}


def _merge_rows(given: Arguments) -> dict[str, Extents]:
    return {"count": ()}


def _embedding(given: Arguments) -> dict[str, Extents]:
    return {"out": (*given["ids"].shape, given["weight"].shape[1])}


def _embedding_sparse_gradient(given: Arguments) -> dict[str, Extents]:
    n = given["ids"].numel()
    return {"rows": (n,), "values": (n, given["weight"].shape[1]), "count": ()}


def _sequences(levels: Sequence[torch.Tensor]) -> Any:
    return levels[-1].shape[0] - 1


def _length_of_data(level: torch.Tensor, count: Callable[[], int]) -> Any:
    """A number that the offsets' elements tell; for a compiler one that is known only when the program runs."""
    if type(level) is torch.Tensor:
        return count()
    return torch.library.get_ctx().new_dynamic_size()


def _sequence_pool(given: Arguments) -> dict[str, Extents]:
    results = (_sequences(given["x_levels"]), *given["x"].shape[1:])
    return {"out": results, "index": results}


def _sequence_pad(given: Arguments) -> dict[str, Extents]:
    level = given["x_levels"][-1]
    length = given["padded_length"]
    if isinstance(length, int) and length == -1:
        length = _length_of_data(level, lambda: max(level.diff().tolist(), default=0))
    sequences = _sequences(given["x_levels"])
    return {"out": (sequences, length, *given["x"].shape[1:]), "length": (sequences,)}


def _sequence_expand(given: Arguments) -> dict[str, Extents]:
    counts = given["y_levels"][given["ref_level"]]

    def rows() -> int:
        times = counts.diff()
        return int((times * given["x_levels"][-1].diff() if given["x_levels"] else times).sum())

    return {"out": (_length_of_data(counts, rows), *given["x"].shape[1:])}


def _sequence_unpad(given: Arguments) -> dict[str, Extents]:
    level = given["length_levels"][-1]
    return {"out": (_length_of_data(level, lambda: int(level[-1])), *given["x"].shape[2:])}


def _sequence_concat(given: Arguments) -> dict[str, Extents]:
    return {"out": (sum(each.shape[0] for each in given["x"]), *given["x"][0].shape[1:])}


COMPUTED: dict[str, Callable[[Arguments], dict[str, Extents]]] = {
    "conv2d": _convolution,
    "deform_conv2d": _convolution,
    "pool2d": _pool2d,
    "cross_entropy_with_softmax": _cross_entropy_with_softmax,
    "reshape": _reshape,
    "transpose": _transpose,
    "slice": _slice,
    "trace": _trace,
    "matmul": _matmul,
    "linear": _linear,
    "layer_norm": _layer_norm,
    "batch_norm": _batch_norm,
    "merge_rows": _merge_rows,
    "embedding": _embedding,
    "embedding_sparse_gradient": _embedding_sparse_gradient,
    "sequence_pool": _sequence_pool,
    "sequence_pad": _sequence_pad,
    "sequence_expand": _sequence_expand,
    "sequence_unpad": _sequence_unpad,
    "sequence_concat": _sequence_concat,
}

#: Whether a gradient reads the elements that no_need_buffer names, by that attribute.
NEEDS_BUFFER: dict[str, Callable[[Any], bool]] = {"p_norm_grad": lambda porder: porder not in (0.0, 1.0)}
