# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the checks of arguments that the schema declares, as functions that entry points call."""

from __future__ import annotations

from .model import Input, Operator, Output, Schema
from .tables import HEAD


def is_covered(op: Operator) -> bool:
    """Whether the schema says all that is to be checked of a call: its operands broadcast together, and each of its
    outputs has the extents of one of them, or what they broadcast to. Others have checks of their own."""
    entries: list[Input | Output] = [*op.inputs, *op.outputs]
    rules = [entry.shape.function for entry in entries if entry.shape]
    plain = all(not entry.list and entry.type is None for entry in entries)
    inputs = all(not entry.optional and entry.ragged in ("", "values") for entry in op.inputs)
    return plain and inputs and "broadcast" in rules and set(rules) <= {"broadcast", "like"}


def header(schema: Schema) -> str:
    parts = [
        HEAD + "#pragma once\n",
        '#include "core/check/check.hpp"\n',
        "namespace portops::impl {\n",
        "// Each throws Error unless the call is as the schema says: element types, extents, where the elements lie, what\n"
        "// may overlap. Gives the extents to which the operands broadcast.\n",
        *(f"{_signature(op)};" for op in schema.operators if is_covered(op)),
        "\n}  // namespace portops::impl\n",
    ]
    return "\n".join(parts)


def source(schema: Schema) -> str:
    parts = [
        HEAD + '#include "generated/checks.hpp"\n',
        "#include <array>\n",
        "namespace portops::impl {\n",
        *(_function(op) for op in schema.operators if is_covered(op)),
        "}  // namespace portops::impl\n",
    ]
    return "\n".join(parts)


def _signature(op: Operator) -> str:
    start = f"Extents check_{op.name}("
    parameters = [
        "const Context& ctx",
        *(f"const {'TensorOrNumber' if entry.or_number else 'TensorRef'}& {entry.name}" for entry in op.inputs),
        *(f"const TensorRef& {entry.name}" for entry in op.outputs),
    ]
    return start + (",\n" + " " * len(start)).join(parameters) + ")"


def _function(op: Operator) -> str:
    # The tensor that gives the call its element type: the first whose elements are always read.
    leader = next(entry for entry in op.inputs if not entry.or_number and entry.name not in op.no_need_buffer)
    rule = next(entry.shape for entry in (*op.inputs, *op.outputs) if entry.shape and entry.shape.function == "broadcast")
    lines = [
        f'constexpr std::string_view op = "{op.name}";',
        f'constexpr std::string_view leader = "{leader.name}";',
        f"const ElementType type = {leader.name}.type();",
    ]
    for entry in [leader, *(entry for entry in op.inputs if entry is not leader)]:
        lines += _check_input(op, entry)
    for entry in op.outputs:
        operand = op.needs_tensor(entry)
        if operand and op.input(operand).or_number:
            lines += [
                f"if ({entry.name} && !{operand}.is_tensor()) {{",
                f'  fail("portops::{op.name}: {entry.name} is given, but {operand} is a number and has no gradient");',
                "}",
            ]
    operands = ", ".join(_named_shape(op.input(name)) for name in rule.names)
    origin = f"what {_enumeration(rule.names)} broadcast to"
    lines.append(f"const Extents extents = broadcast_extents(op, std::array{{{operands}}});")
    lines += [
        f'check_extents(op, {_named(entry)}, extents, "{origin}");' for entry in op.inputs if entry.shape is not None
    ]
    for entry in op.outputs:
        condition = f"if ({entry.name}) " if entry.optional else ""
        if entry.shape.function == "broadcast":
            expected, said = "extents", origin
        else:
            operand = entry.shape.names[0]
            tensor = f"{operand}.tensor()" if op.input(operand).or_number else operand
            expected, said = f"{tensor}.extents()", f"the extents of {operand}"
        lines.append(
            f'{condition}check_output(op, ctx, {_named(entry)}, type, leader, {expected}, "{said}");'
        )
    for number, entry in enumerate(op.outputs):
        lines += _check_overlap(op, number, entry)
    body = "\n".join(f"  {line}" for line in [*lines, "return extents;"])
    return f"{_signature(op)} {{\n{body}\n}}\n"


def _check_input(op: Operator, entry: Input) -> list[str]:
    read = f"check_input(op, ctx, {_named(entry)}, type, leader);"
    shape = f"check_shape_only_input(op, {_named(entry)}, type, leader);"
    given = f"if ({entry.name}.is_tensor()) " if entry.or_number else ""
    if entry.name not in op.no_need_buffer:
        return [given + read]
    if not op.no_need_buffer_unless:
        return [given + shape]
    tensor = f"{entry.name}.is_tensor() && " if entry.or_number else ""
    return [f"if ({tensor}{op.no_need_buffer_unless}) {read}", f"else {given}{shape}"]


def _check_overlap(op: Operator, number: int, entry: Output) -> list[str]:
    same = [source for source, target in op.inplace if target == entry.name]
    others = [_named(other) for other in op.inputs if other.name not in same]
    others += [_named(other) for other in op.outputs[number + 1 :]]
    return [
        *(f"check_in_place(op, {_named(entry)}, {_named(op.input(name))});" for name in same),
        f"check_no_overlap(op, {_named(entry)}, std::array{{{', '.join(others)}}});",
    ]


def _named(entry: Input | Output) -> str:
    tensor = f"{entry.name}.tensor()" if isinstance(entry, Input) and entry.or_number else entry.name
    return f'Named{{"{entry.name}", {tensor}}}'


def _named_shape(entry: Input) -> str:
    return f'Named{{"{entry.name}", shape_of({entry.name})}}' if entry.or_number else _named(entry)


def _enumeration(names: list[str] | tuple[str, ...]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
