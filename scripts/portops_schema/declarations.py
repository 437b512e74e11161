# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the schema as a module of Python's, for what makes functions of the operators at run time: portops.torch."""

from __future__ import annotations

from collections.abc import Iterable

from .model import Attribute, Input, Operator, Output, Schema, ShapeRule

HEAD = '''\
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Made from src/ops/ops.yaml by scripts/schema.py: edits are lost.
"""What the operator schema says of each operator."""

from __future__ import annotations

from math import inf  # noqa: F401 (defaults may be infinite)

from ._declarations import Attribute, Input, Operator, Output, Shape

OPERATORS: dict[str, Operator] = {
'''


def generate(schema: Schema) -> str:
    return HEAD + "".join(f'    "{op.name}": {_operator(op)},\n' for op in schema.operators) + "}\n"


def _operator(op: Operator) -> str:
    return _made(
        "Operator",
        {
            "name": repr(op.name),
            "inputs": _tuple(map(_input, op.inputs)),
            "attributes": _tuple(map(_attribute, op.attributes)),
            "outputs": _tuple(_output(op, entry) for entry in op.outputs),
            "backward": _unless_empty(op.backward),
            "inplace": _unless_empty(tuple(op.inplace)),
            "no_need_buffer": _unless_empty(tuple(op.no_need_buffer)),
            "no_need_buffer_unless": _unless_empty(op.no_need_buffer_unless),
            "no_need_buffer_attribute": _unless_empty(op.no_need_buffer_attribute),
            "autocast": _unless_empty(op.autocast),
        },
        "\n        ",
    )


def _input(entry: Input) -> str:
    return _made(
        "Input",
        {
            "name": repr(entry.name),
            "is_list": _unless_empty(entry.list),
            "optional": _unless_empty(entry.optional),
            "or_number": _unless_empty(entry.or_number),
            "default": None if entry.default is None else repr(entry.default),
            "shape": _shape(entry.shape),
            "type": _unless_empty(entry.type),
            "type_unless": _unless_empty(entry.type_unless),
            "ragged": _unless_empty(entry.ragged),
        },
    )


def _attribute(entry: Attribute) -> str:
    default = tuple(entry.default) if isinstance(entry.default, list) else entry.default
    return _made(
        "Attribute",
        {
            "name": repr(entry.name),
            "type": repr(entry.type),
            "default": None if default is None else repr(default),
            "names": _unless_empty(entry.names),
        },
    )


def _output(op: Operator, entry: Output) -> str:
    return _made(
        "Output",
        {
            "name": repr(entry.name),
            "shape": _shape(entry.shape),
            "is_list": _unless_empty(entry.list),
            "optional": _unless_empty(entry.optional),
            "type": _unless_empty(entry.type),
            "levels": _unless_empty(str(entry.levels or "")),
            "needs_tensor": _unless_empty(op.needs_tensor(entry)),
        },
    )


def _shape(rule: ShapeRule | None) -> str | None:
    return None if rule is None else f"Shape({rule.function!r}, {rule.names!r})"


def _unless_empty(value: object) -> str | None:
    return repr(value) if value else None


def _made(name: str, fields: dict[str, str | None], separator: str = " ") -> str:
    given = [f"{key}={value}" for key, value in fields.items() if value is not None]
    if separator == " ":
        return f"{name}({', '.join(given)})"
    return f"{name}({separator}" + f",{separator}".join(given) + ",\n    )"


def _tuple(items: Iterable[str]) -> str:
    texts = list(items)
    return "(\n" + "".join(f"            {text},\n" for text in texts) + "        )" if texts else "()"
