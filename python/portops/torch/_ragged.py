# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ragged tensors. Custom operators take the levels as tensors: offsets, i64, on the CPU, coarsest level first. The
functions take `portops.Ragged` too, whose levels become such tensors once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Optional, Union

import torch
from torch import Tensor

from .._core import Error, Levels, Ragged

LevelTensors = tuple[Tensor, ...]


class RaggedTensor(NamedTuple):
    """A tensor whose rows are divided into sequences by offsets that are tensors themselves: i64, on the CPU, one for each
    level, coarsest first. Of these two parts, so that `torch.compile` looks through it; else it is as `portops.Ragged`."""

    values: Tensor
    levels: LevelTensors


# --- Levels and tensors -------------------------------------------------------------------------------------------

_MOST_KEPT = 64
_tensors: dict[Levels, LevelTensors] = {}
_levels: dict[tuple[int, ...], tuple[LevelTensors, list[int], Levels]] = {}


def _is_plain(tensor: Tensor) -> bool:
    """No stand-in of a compiler, nor one whose changes are not counted."""
    return type(tensor) is Tensor and not tensor.is_inference()


def tensors_of(levels: Levels) -> LevelTensors:
    """Kept, because the same levels come with every step of a model, and their tensors are known again by `levels_of`."""
    kept = _tensors.get(levels)
    if kept is None:
        with torch.inference_mode(False):
            kept = tuple(torch.tensor(levels.offsets(level), dtype=torch.int64) for level in range(levels.depth))
        if all(map(_is_plain, kept)):
            if len(_tensors) >= _MOST_KEPT:
                _tensors.clear()
            _tensors[levels] = kept
            _keep(kept, levels)
    return kept


def levels_of(tensors: Sequence[Tensor]) -> Optional[Levels]:
    """None for no tensors."""
    if not tensors:
        return None
    kept = _levels.get(tuple(map(id, tensors)))
    if kept is not None and kept[1] == [tensor._version for tensor in tensors]:
        return kept[2]
    for tensor in tensors:
        if tensor.dtype != torch.int64 or tensor.dim() != 1 or tensor.device.type != "cpu":
            raise Error(
                f"portops.torch: levels are {tensor.dtype} of extents {list(tensor.shape)} on {tensor.device}, expected "
                "offsets: torch.int64 with one axis, on the CPU"
            )
    levels = Levels([tensor.tolist() for tensor in tensors])
    if all(map(_is_plain, tensors)):
        _keep(tuple(tensors), levels)
    return levels


def _keep(tensors: LevelTensors, levels: Levels) -> None:
    """With the tensors, so that their identities stay theirs."""
    if len(_levels) >= _MOST_KEPT:
        _levels.clear()
    _levels[tuple(map(id, tensors))] = (tensors, [tensor._version for tensor in tensors], levels)


# --- arguments and results ----------------------------------------------------------------------------------------

Kind = Union["type[Ragged[Any]]", "type[RaggedTensor]"]


def opened(op: str, name: str, value: Any, may_be_plain: bool = False) -> tuple[Kind, Tensor, LevelTensors]:
    """What kind of ragged tensor it is, its values and its levels."""
    if isinstance(value, RaggedTensor):
        return RaggedTensor, value.values, tuple(value.levels)
    if isinstance(value, Ragged):
        return Ragged, value.values, tensors_of(value.levels)
    if may_be_plain and isinstance(value, Tensor):
        return RaggedTensor, value, ()
    raise Error(f"portops::{op}: {name} is a {type(value).__name__}, expected a portops.Ragged")


def opened_list(op: str, name: str, values: Sequence[Any]) -> tuple[Kind, list[Tensor], list[Tensor]]:
    """The levels of all of them, one behind the other: each has as many as the others."""
    if isinstance(values, (Tensor, RaggedTensor)) or not isinstance(values, Sequence) or not values:
        raise Error(f"portops::{op}: {name} is a {type(values).__name__}, expected a sequence of portops.Ragged")
    items = [opened(op, f"{name}[{index}]", value) for index, value in enumerate(values)]
    depth = len(items[0][2])
    for index, (_, _, levels) in enumerate(items):
        if len(levels) != depth:
            raise Error(f"portops::{op}: {name}[{index}] has {len(levels)} levels, expected {depth}, as {name}[0]")
    return items[0][0], [item[1] for item in items], [level for item in items for level in item[2]]


def opened_levels(op: str, name: str, value: Any) -> tuple[Kind, LevelTensors]:
    if isinstance(value, Levels):
        return Ragged, tensors_of(value)
    if isinstance(value, (list, tuple)) and value and all(isinstance(each, Tensor) for each in value):
        return RaggedTensor, tuple(value)
    raise Error(f"portops::{op}: {name} is a {type(value).__name__}, expected portops.Levels")


def shared(op: str, *values: Any) -> tuple[Any, ...]:
    """Of operands that may be ragged, which an operator takes by position: the kind and the levels of the result, or
    None, and then the operands' tensors."""
    for value in values:
        if isinstance(value, (RaggedTensor, Ragged)):
            return _shared(op, values)
    return (None, (), *values)


def _shared(op: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
    kind: Optional[Kind] = None
    levels: LevelTensors = ()
    plain = []
    for value in values:
        if not isinstance(value, (RaggedTensor, Ragged)):
            plain.append(value)
            continue
        its_kind, tensor, its_levels = opened(op, "", value)
        if kind is None:
            kind, levels = its_kind, its_levels
        elif not _are_equal(levels, its_levels):
            raise Error(f"portops::{op}: operands have different levels, expected the same of all that are ragged")
        plain.append(tensor)
    return (kind, levels, *plain)


def _are_equal(levels: LevelTensors, others: LevelTensors) -> bool:
    return levels is others or (len(levels) == len(others) and all(map(torch.equal, levels, others)))


def closed(kind: Kind, values: Tensor, levels: Sequence[Tensor]) -> Any:
    """The kind of ragged tensor that was given; a tensor where no levels are left."""
    if not levels:
        return values
    if kind is RaggedTensor:
        return RaggedTensor(values, tuple(levels))
    made = levels_of(levels)
    assert made is not None
    return Ragged(values, made)


# --- levels that change -------------------------------------------------------------------------------------------


class changed:  # noqa: N801 (it stands for a module)
    """The levels of results, by the operator's name: from all levels and attributes of the call."""

    @staticmethod
    def sequence_pool(x_levels: LevelTensors, **_: object) -> Sequence[Tensor]:
        return x_levels[:-1]

    @staticmethod
    def sequence_pad(x_levels: LevelTensors, **_: object) -> Sequence[Tensor]:
        return x_levels[:-1]

    @staticmethod
    def sequence_unpad(length_levels: LevelTensors, **_: object) -> Sequence[Tensor]:
        return length_levels

    @staticmethod
    def sequence_expand(
        x_levels: LevelTensors, y_levels: LevelTensors, ref_level: int, **_: object
    ) -> Sequence[Tensor]:
        if not -len(y_levels) <= ref_level < len(y_levels):
            raise Error(f"portops::sequence_expand: ref_level is {ref_level}, expected a level of y, which has {len(y_levels)}")
        counts = y_levels[ref_level]
        if not x_levels:
            return [counts]
        lengths, counts = x_levels[-1].diff(), counts.diff()
        if lengths.shape[0] != counts.shape[0]:
            return x_levels  # refused by the operator
        ends = torch.repeat_interleave(lengths, counts).cumsum(0)
        return [torch.cat([ends.new_zeros(1), ends])]

    @staticmethod
    def sequence_concat(x_levels: Sequence[Tensor], x_count: int, **_: object) -> Sequence[Tensor]:
        depth = len(x_levels) // x_count
        last = x_levels[depth - 1 :: depth]
        if any(level.shape != last[0].shape for level in last):
            return x_levels[:depth]  # refused by the operator
        return [*x_levels[: depth - 1], torch.stack(list(last)).sum(0)]
