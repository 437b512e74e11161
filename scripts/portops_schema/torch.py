# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the module of functions for PyTorch: one for each operator that is no gradient, and calls the custom operator."""

from __future__ import annotations

import textwrap

from .model import Input, Operator, Output, Schema
from .python import as_docstring, head_of_docstring, item, parameter, parameters, result_name

# What has a function of another form, written by hand.
BY_HAND = ("deform_conv2d",)
HEAD = '''\
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Made from src/ops/ops.yaml by scripts/schema.py: edits are lost.
#
# mypy: disable-error-code="no-any-return, no-untyped-call"
"""The operators, as functions of PyTorch's tensors."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf  # noqa: F401 (defaults may be infinite)
from typing import Any, TypeVar, Union

import torch
from torch import Tensor

from .. import _operators
from .._core import Levels, Ragged
from ._library import entries
from ._ragged import RaggedTensor, changed, closed, opened, opened_levels, opened_list, shared
from ._arguments import integers, named_number, tensor_or_number

AnyRagged = Union["Ragged[Tensor]", RaggedTensor]
T = TypeVar("T", Tensor, "Ragged[Tensor]", RaggedTensor)
'''


def generate(schema: Schema) -> str:
    ops = [op for op in schema.operators if not op.name.endswith("_grad") and op.name not in BY_HAND]
    names = "".join(f'    "{op.name}",\n' for op in ops)
    handles = "\n".join(f'_{op.name} = entries["{op.name}"]' for op in ops)
    return "\n\n".join([f"{HEAD}\n__all__ = [\n{names}]\n\n{handles}\n", *(_function(schema, op) for op in ops)])


def is_step(op: Operator) -> bool:
    """Whether it is a step of an optimizer, which PyTorch's users expect to write where the parameters lie."""
    return any(output.name == "param_out" for output in op.outputs)


def _optional(op: Operator) -> list[Output]:
    """The outputs that need not be made. A step writes what it is given."""
    return [] if is_step(op) else [output for output in op.outputs if output.optional]


def _asked_for(schema: Schema, op: Operator) -> list[Output]:
    """Those of them that are made where the caller says so; others the gradient cannot do without."""
    gradient = schema.operator(op.backward)
    needed = {entry.name for entry in gradient.inputs if not entry.optional} if gradient else set()
    return [output for output in _optional(op) if output.name not in needed]


def _function(schema: Schema, op: Operator) -> str:
    arguments = [parameter(op, entry, _input_type) for entry in parameters(op)]
    optional = [f"{output.name}: bool = False" for output in _asked_for(schema, op)]
    signature = ",\n".join(f"    {entry}" for entry in [*arguments, *(["*", *optional] if optional else [])])
    body = textwrap.indent("\n".join(_body(schema, op)), "    ")
    return f"def {op.name}(\n{signature},\n) -> {_result_type(op)}:\n{_docstring(schema, op)}\n{body}\n"


def _input_type(op: Operator, entry: Input) -> str:
    if entry.ragged == "levels":
        return "Levels | Sequence[Tensor]"
    if entry.ragged == "true":
        return "Sequence[AnyRagged]" if entry.list else "AnyRagged"
    if entry.list:
        return "Sequence[Tensor]" + (" | None" if entry.optional else "")
    kind = "Tensor"
    if entry.ragged == "values":
        kind = "T" if entry is op.typed_input else "Tensor | AnyRagged"
    elif entry.ragged == "optional":
        kind = "Tensor | AnyRagged"
    return kind + (" | float" if entry.or_number else "") + (" | None" if entry.optional else "")


def _result_type(op: Operator) -> str:
    if is_step(op):
        return "None"
    if len(op.outputs) > 1:
        return f"_operators.{result_name(op)}"
    if any(entry.ragged == "values" for entry in op.inputs):
        return "T" if op.typed_input and op.typed_input.ragged == "values" else "Any"
    if op.outputs[0].levels and op.outputs[0].levels.function != "drops":
        return "Any"
    return "list[Tensor]" if op.outputs[0].list else "Tensor"


def _body(schema: Schema, op: Operator) -> list[str]:
    lines, arguments, levels = [], [], []
    values = [entry.name for entry in op.inputs if entry.ragged == "values"]
    if values:
        lines.append(f'kind, levels, {", ".join(values)} = shared("{op.name}", {", ".join(values)})')
    for entry in op.inputs:
        name = entry.name
        if entry.ragged in ("true", "optional"):
            function = "opened_list" if entry.list else "opened"
            option = ", may_be_plain=True" if entry.ragged == "optional" else ""
            lines.append(f'kind, {name}_values, {name}_levels = {function}("{op.name}", "{name}", {name}{option})')
            arguments += [f"{name}_values", f"{name}_levels"]
            levels.append(name)
        elif entry.ragged == "levels":
            lines.append(f'kind, {name}_levels = opened_levels("{op.name}", "{name}", {name})')
            arguments.append(f"{name}_levels")
            levels.append(name)
        elif entry.or_number:
            arguments.append(f"*tensor_or_number({name})")
        elif entry.list and entry.optional:
            arguments.append(f"{name} or []")
        else:
            arguments.append(name)
    for attribute in op.attributes:
        name = attribute.name
        if attribute.names:
            names = "{" + ", ".join(f'"{text}": {number!r}' for text, number in attribute.names.items()) + "}"
            arguments.append(f'named_number("{op.name}", "{name}", {name}, {names})')
        elif attribute.type == "integers":
            arguments.append(f"integers({name}, {len(attribute.default or [0])})")
        else:
            arguments.append(name)
    asked_for = _asked_for(schema, op)
    for output in _optional(op):
        # The gradient of max needs to know where the maxima are.
        where_asked = f'{output.name} or pooltype == "max"' if output.name == "index" else output.name
        arguments.append(where_asked if output in asked_for else "True")
    call = f"_{op.name}({', '.join(arguments)})"
    if is_step(op):
        return ["with torch.no_grad():", f"    {call}"]
    if values:
        return [*lines, f"out = {call}", "return out if kind is None else closed(kind, out, levels)"]
    if not levels:
        return [*lines, f"return _operators.{result_name(op)}(*{call})" if len(op.outputs) > 1 else f"return {call}"]
    first = op.outputs[0]
    if first.levels is not None and first.levels.function == "share":
        lines.append(f"levels = {first.levels.names[0]}_levels")
    else:
        given = [f"{name}_levels={name}_levels" for name in levels]
        given += [f"{entry.name}_count=len({entry.name}_values)" for entry in op.inputs if entry.list]
        given += [f"{attribute.name}={attribute.name}" for attribute in op.attributes]
        lines.append(f"levels = changed.{op.name}({', '.join(given)})")
    if len(op.outputs) == 1:
        return [*lines, f"return closed(kind, {call}, levels)"]
    names = [f"{output.name}_made" for output in op.outputs]
    results = [
        f"closed(kind, {name}, levels)" + (f" if {output.name} else None" if output.optional else "")
        for name, output in zip(names, op.outputs)
    ]
    return [*lines, f"{', '.join(names)} = {call}", f"return _operators.{result_name(op)}({', '.join(results)})"]


def _docstring(schema: Schema, op: Operator) -> str:
    lines = [*head_of_docstring(op), "", "Args:"]
    written = {source for source, _ in op.inplace} if is_step(op) else set()
    for entry in parameters(op):
        lines += item(entry.name, entry.description + (" Written in place." if entry.name in written else ""))
    for output in _asked_for(schema, op):
        lines += item(output.name, f"Whether this is computed: {output.description}")
    lines += ["", "Returns:", *item("", _returns(schema, op)), "", "Raises:", *item("portops.Error", "The call is wrong.")]
    return as_docstring(lines)


def _returns(schema: Schema, op: Operator) -> str:
    if is_step(op):
        return "Nothing: the step is taken where the arguments lie. No gradient is recorded."
    differentiable = "Gradients are recorded." if op.backward else "It has no gradient."
    if len(op.outputs) == 1:
        return f"{op.outputs[0].description} {differentiable}"
    asked_for = _asked_for(schema, op)
    names = ", ".join(
        output.name + (" (None unless it is asked for)" if output in asked_for else "") for output in op.outputs
    )
    return f"The outputs by name: {names}. {differentiable}"
