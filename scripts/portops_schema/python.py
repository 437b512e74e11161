# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the module of Python functions, one for each operator."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable

from .model import Attribute, Input, Operator, Output, Schema

HEAD = '''\
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Made from src/ops/ops.yaml by scripts/schema.py: edits are lost.
#
# mypy: disable-error-code="no-any-return"
"""The operators, as functions of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf  # noqa: F401 (defaults may be infinite)
from typing import Any, NamedTuple, TypeVar

from ._core import Context, Levels, Operator, Ragged
from ._types import Array

A = TypeVar("A")
'''
WIDTH = 110
TYPES = {
    "boolean": "bool",
    "integer": "int",
    "number": "float",
    "integers": "int | Sequence[int]",
    "text": "str",
}


def generate(schema: Schema) -> str:
    names = ",\n".join(f'    "{op.name}"' for op in schema.operators)
    return "\n\n".join([f"{HEAD}\n__all__ = [\n{names},\n]", *(_operator(schema, op) for op in schema.operators)]) + "\n"


def parameters(op: Operator) -> list[Input | Attribute]:
    """In Python's order: what has no default comes first, else they stand as in the schema, inputs before attributes."""
    given = [*op.inputs, *op.attributes]
    return [entry for entry in given if default_in_python(entry) is None] + [entry for entry in given if default_in_python(entry)]


def _operator(schema: Schema, op: Operator) -> str:
    arguments = [parameter(op, entry, _input_type) for entry in parameters(op)]
    outputs = [f"{entry.name}: {_output_type(entry)} = None" for entry in op.outputs]
    signature = ",\n".join(f"    {entry}" for entry in [*arguments, "*", *outputs, "context: Context | None = None"])
    slots = [entry.name for entry in (*op.inputs, *op.attributes, *op.outputs)] + ["context"]
    call = f"_{op.name}({', '.join(slots)})"
    several = len(op.outputs) > 1
    parts = [f'_{op.name} = Operator("{op.name}")\n']
    if several:
        fields = "\n".join(f"    {entry.name}: Any" for entry in op.outputs)
        parts.append(f'\nclass {result_name(op)}(NamedTuple):\n    """What `{op.name}` computes."""\n\n{fields}\n\n')
    body = f"return {result_name(op)}(*{call})" if several else f"return {call}"
    parts.append(f"\ndef {op.name}(\n{signature},\n) -> {_result_type(op)}:\n{_docstring(schema, op)}\n    {body}\n")
    return "\n".join(parts).rstrip("\n") + "\n"


def result_name(op: Operator) -> str:
    return "".join(word.capitalize() for word in op.name.split("_")) + "Outputs"


def _result_type(op: Operator) -> str:
    if len(op.outputs) > 1:
        return result_name(op)
    output = op.outputs[0]
    if output.levels and output.levels.function == "changes":
        return "Any"
    return "list[A]" if output.list else "A"


def default_in_python(entry: Input | Attribute) -> str | None:
    """In Python; None where it must be given."""
    if isinstance(entry, Input):
        if entry.default is not None:
            return repr(entry.default)
        return "None" if entry.optional else None
    if entry.default is None:
        return None
    return repr(tuple(entry.default)) if isinstance(entry.default, list) else repr(entry.default)


def parameter(op: Operator, entry: Input | Attribute, input_type: Callable[[Operator, Input], str]) -> str:
    """Its declaration, of the type that inputs have where the function stands."""
    default = default_in_python(entry)
    kind = input_type(op, entry) if isinstance(entry, Input) else _attribute_type(entry)
    return f"{entry.name}: {kind}" + (f" = {default}" if default else "")


def _attribute_type(entry: Attribute) -> str:
    return TYPES[entry.type] + (" | str" if entry.names else "")


def _input_type(op: Operator, entry: Input) -> str:
    if entry.ragged == "levels":
        return "Levels"
    if entry.ragged == "true":
        return "Sequence[Ragged[A]]" if entry.list else "Ragged[A]"
    array = "A" if entry is op.typed_input else "Array"
    if entry.list:
        return f"Sequence[{array}]" + (" | None" if entry.optional else "")
    kind = array + (" | float" if entry.or_number else "") + (" | Ragged[A]" if entry.ragged == "optional" else "")
    return kind + (" | None" if entry.optional else "")


def _output_type(entry: Output) -> str:
    array = "Sequence[Array | None]" if entry.list else "Array"
    return f"{array} | bool | None" if entry.optional else f"{array} | None"


def head_of_docstring(op: Operator) -> list[str]:
    """What it computes."""
    lines = [op.brief, "", "::", ""]
    lines += [f"    {line}".rstrip() for line in op.formula.rstrip("\n").split("\n")]
    for paragraph in (op.details or "").strip().split("\n\n"):
        lines += ["", *textwrap.wrap(paragraph, WIDTH)] if paragraph else []
    return lines


def as_docstring(lines: list[str]) -> str:
    text = '"""' + "\n".join(lines).replace("\\", "\\\\")
    return textwrap.indent(text, "    ", lambda line: bool(line.strip())) + '\n    """'


def _docstring(schema: Schema, op: Operator) -> str:
    lines = [*head_of_docstring(op), "", "Args:"]
    for entry in parameters(op):
        lines += item(entry.name, entry.description + _extents(entry))
    for output in op.outputs:
        lines += item(output.name, _output_words(op, output))
    lines += item("context", "Where and how the call runs; None: the thread's own, see `portops.context`.")
    lines += ["", "Returns:", *item("", _returns(op)), "", "Raises:"]
    lines += item("portops.Error", "The call is wrong; nothing was enqueued then.")
    if op.backward:
        lines += ["", f"Gradients: `{op.backward}`."]
    lines += [f"\nIt gives the gradients of `{other.name}`." for other in schema.operators if other.backward == op.name]
    return as_docstring(lines)


def item(name: str, text: str) -> Iterable[str]:
    head = f"{name}: {text}" if name else text
    return textwrap.wrap(head, WIDTH, initial_indent="    ", subsequent_indent="        ")


def _extents(entry: Input | Attribute) -> str:
    shape = entry.shape if isinstance(entry, Input) else None
    return f" Of the extents {shape}." if shape and shape.function != "computed" else ""


def _output_words(op: Operator, output: Output) -> str:
    place = f" In place: it may be {' or '.join(names)}." if (names := _sources(op, output)) else ""
    given = "Arrays to write to, None for each that is not wanted" if output.list else "An array to write to"
    wanted = "; True: one is made, False: it is not computed" if output.optional else "; None: one is made"
    return f"{output.description} {given}{wanted}.{place}"


def _sources(op: Operator, output: Output) -> list[str]:
    return [source for source, target in op.inplace if target == output.name]


def _returns(op: Operator) -> str:
    if len(op.outputs) == 1:
        return "The output: what was given to write to, else an array of the library of the first one given."
    names = ", ".join(output.name for output in op.outputs)
    gradients = all(output.optional for output in op.outputs)
    usual = "What can be computed is, unless it is False." if gradients else "What is optional is None unless it was asked for."
    return f"The outputs by name: {names}. {usual}"
