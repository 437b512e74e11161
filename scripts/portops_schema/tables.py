# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the C++ tables that core/schema/registry.cpp stands on."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Iterable

from .model import Attribute, Input, Operator, Output, Schema

# What every C++ file that is made from the schema begins with.
HEAD = """\
// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Made from src/ops/ops.yaml by scripts/schema.py: edits are lost.
"""

CPP_TYPES = {
    "boolean": "bool",
    "integer": "std::int64_t",
    "number": "double",
    "integers": "std::vector<std::int64_t>",
    "text": "std::string",
}


def cpp_number(value: float) -> str:
    """A number of type double, as C++ has it; <limits> is included."""
    if math.isinf(value):
        return ("-" if value < 0 else "") + "std::numeric_limits<double>::infinity()"
    return repr(value)


def generate(schema: Schema) -> str:
    headers = {f"portops/ops/{op.family}.hpp" for op in schema.operators}
    headers |= {header_of_rules(schema, op) for op in schema.operators if op.has_rules}
    return "\n".join(
        [
            HEAD + '#include "core/schema/registry_table.hpp"\n',
            *(f'#include "{header}"' for header in sorted(headers)),
            "\n#include <limits>\n",
            "namespace portops::impl {",
            "namespace {",
            "",
            *("\n".join((_info(op), _output_extents(op), _output_levels(op), _run(op))) for op in schema.operators),
            "}  // namespace",
            "",
            "const OperatorTable& operator_table() {",
            "  static const OperatorTable table{",
            "      .infos = {" + ", ".join(f"{op.name}_info()" for op in schema.operators) + "},",
            "      .adapters = {"
            + ", ".join(f"{{&{op.name}_output_extents, &{op.name}_output_levels, &{op.name}_run}}" for op in schema.operators)
            + "},",
            "      .left_out = " + _list(_text(name) for name in schema.left_out) + ",",
            "  };",
            "  return table;",
            "}",
            "",
            "}  // namespace portops::impl",
            "",
        ]
    )


def header_of_rules(schema: Schema, op: Operator) -> str:
    """What declares the functions behind the schema's rules: in the operator's folder, wherever that is below the
    schema's."""
    ops = pathlib.Path(schema.file).parent
    name = f"{op.family}/{op.family}_rules.hpp"
    found = next((file.relative_to(ops).as_posix() for file in ops.glob(f"**/{name}")), name)
    return f"ops/{found}"


def _info(op: Operator) -> str:
    return f"""\
OperatorInfo {op.name}_info() {{
  return {{
      .name = {_text(op.name)},
      .brief = {_text(op.brief)},
      .formula = {_text(op.formula)},
      .details = {_text(op.details)},
      .inputs = {_block(_input(entry) for entry in op.inputs)},
      .attributes = {_block(_attribute(entry) for entry in op.attributes)},
      .outputs = {_block(_output(op, entry) for entry in op.outputs)},
      .backward = {_text(op.backward)},
      .inplace = {_list(f'{{{_text(source)}, {_text(target)}}}' for source, target in op.inplace)},
      .no_need_buffer = {_list(_text(name) for name in op.no_need_buffer)},
      .no_need_buffer_unless = {_text(op.no_need_buffer_unless)},
      .no_need_buffer_attribute = {_text(op.no_need_buffer_attribute)},
  }};
}}
"""


def _input(entry: Input) -> str:
    default = "std::nullopt" if entry.default is None else repr(entry.default)
    may_be_left_out = entry.optional or entry.default is not None
    return (
        f"{{.name = {_text(entry.name)}, .description = {_text(entry.description)}, {_is_list(entry)}"
        f".optional = {_bool(may_be_left_out)}, .or_number = {_bool(entry.or_number)}, "
        f".default_number = {default}, .shape_rule = {_text(str(entry.shape or ''))}{_own_type(entry)}"
        f"{_ragged(entry)}}}"
    )


def _attribute(entry: Attribute) -> str:
    return (
        f"{{.name = {_text(entry.name)}, .description = {_text(entry.description)}, "
        f".type = AttributeType::{entry.type}, .default_value = {_default(entry)}, .names = {_names(entry)}}}"
    )


def _names(entry: Attribute) -> str:
    return _list(f"{{{_text(name)}, {number!r}}}" for name, number in entry.names.items())


def _default(entry: Attribute) -> str:
    if entry.default is None:
        return "std::nullopt"
    if entry.type == "boolean":
        value = _bool(entry.default)
    elif entry.type == "integers":
        value = "{" + ", ".join(str(item) for item in entry.default) + "}"
    elif entry.type == "number":
        value = cpp_number(entry.default)
    else:
        value = _text(entry.default) if entry.type == "text" else repr(entry.default)
    return f"Attribute({CPP_TYPES[entry.type]}{value if value.startswith('{') else '{' + value + '}'})"


def _output(op: Operator, entry: Output) -> str:
    return (
        f"{{.name = {_text(entry.name)}, .description = {_text(entry.description)}, {_is_list(entry)}"
        f".shape_rule = {_text(str(entry.shape))}, .optional = {_bool(entry.optional)}, "
        f".needs_tensor = {_text(op.needs_tensor(entry))}{_own_type(entry)}"
        f"{f', .levels_rule = {_text(str(entry.levels))}' if entry.levels else ''}}}"
    )


def _is_list(entry: Input | Output) -> str:
    return ".list = true, " if entry.list else ""


def _own_type(entry: Input | Output) -> str:
    if entry.type in ("sums", "parameters"):
        return f", .type_of_{entry.type} = true"
    unless = f", .type_unless = {_text(entry.type_unless)}" if isinstance(entry, Input) and entry.type_unless else ""
    return f", .type = ElementType::{entry.type}{unless}" if entry.type else ""


def _ragged(entry: Input) -> str:
    names = {"true": "always", "optional": "optional", "levels": "levels", "values": "values"}
    return f", .ragged = Ragged::{names[entry.ragged]}" if entry.ragged else ""


def _output_extents(op: Operator) -> str:
    checks = [
        f"  call.check_extents({_text(entry.name)}, {_rule(op, entry)}, {_text(str(entry.shape))});"
        for entry in op.inputs
        if entry.shape
    ]
    body = [*_computed(op), *checks, f"  return {_list(_rule(op, entry) for entry in op.outputs)};"]
    parameter = " call" if any("call" in line for line in body) else ""
    head = f"std::vector<OutputExtents> {op.name}_output_extents(const NamedCall&{parameter}) {{"
    return "\n".join([head, *body, "}", ""])


def _output_levels(op: Operator) -> str:
    """Of the outputs, in their order."""
    rules = []
    for entry in op.outputs:
        if entry.levels is None or entry.levels.function == "drops":
            rules.append("Levels()")
        elif entry.levels.function == "share":
            names = ", ".join(_text(name) for name in entry.levels.names)
            rules.append(f"call.list_levels({names})" if entry.list else f"call.shared_levels({{{names}}})")
        else:
            rules.append("changed")
    call = f"  const Levels changed = {op.family}_levels("
    computed = [call + (",\n" + " " * len(call)).join(_computed_arguments(op)) + ");"] if op.changes_levels else []
    parameter = " call" if any(rule != "Levels()" for rule in rules) else ""
    return "\n".join(
        [
            f"std::vector<OutputLevels> {op.name}_output_levels(const NamedCall&{parameter}) {{",
            *computed,
            f"  return {_list(rules)};",
            "}",
            "",
        ]
    )


def _computed_arguments(op: Operator) -> list[str]:
    return [_text(op.name), *(_argument(op.input(name)) for name in op.computed.names), *_params(op)]


def _argument(entry: Input) -> str:
    """An input as the operator takes it."""
    if entry.ragged == "levels":
        return f"call.levels({_text(entry.name)})"
    if entry.has_levels:
        return f"call.ragged{'_list' if entry.list else ''}({_text(entry.name)})"
    getter = "list" if entry.list else "tensor_or_number" if entry.or_number else "tensor"
    return f"call.{getter}({_text(entry.name)})"


def _computed(op: Operator) -> list[str]:
    """What the rule `computed` stands on: what the operator's own function gives."""
    if not op.computed:
        return []
    arguments = _computed_arguments(op)
    call = f"  const auto computed = {op.family}_extents("
    return [call + (",\n" + " " * len(call)).join(arguments) + ");"]


def _rule(op: Operator, entry: Input | Output) -> str:
    rule = entry.shape
    if rule.function == "computed":
        return f"computed.{op.forward_name(entry.name)}.extents"
    if rule.function == "like":
        return f"call.{'list_' if entry.list else ''}extents({_text(rule.names[0])})"
    if rule.function == "scalar":
        return "Extents()"
    if rule.function in ("reduced", "joined", "divided"):
        return f"call.{rule.function}({_text(rule.names[0])})"
    return f"call.broadcast({{{', '.join(_text(name) for name in rule.names)}}})"


def _run(op: Operator) -> str:
    arguments = ["ctx"]
    for entry in op.inputs:
        if not entry.optional:
            arguments.append(_argument(entry))
    arguments += [f"call.{'list' if entry.list else 'tensor'}({_text(entry.name)})" for entry in op.outputs]
    arguments += _params(op)
    separator = ",\n" + " " * (len(op.name) + 3)
    return (
        f"void {op.name}_run(const Context& ctx, const NamedCall& call) {{\n  {op.name}({separator.join(arguments)});\n}}\n"
    )


def _params(op: Operator) -> list[str]:
    """The options as one argument, or none."""
    members = [
        f".{entry.name} = call.{'list' if entry.list else 'tensor'}({_text(entry.name)})" for entry in op.inputs if entry.optional
    ]
    members += [
        f".{entry.name} = call.attribute<{CPP_TYPES[entry.type]}>({_text(entry.name)})" for entry in op.attributes
    ]
    return [_list(members)] if members else []


def _list(items: Iterable[str]) -> str:
    return "{" + ", ".join(items) + "}"


def _block(items: Iterable[str]) -> str:
    """A list with an item a line."""
    lines = [f"          {item},\n" for item in items]
    return "{\n" + "".join(lines) + "      }" if lines else "{}"


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _text(value: str) -> str:
    """A C++ string literal. Non-ASCII characters stand as they are: the compilers read UTF-8."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
    lines = escaped.split("\n")
    return "\n          ".join([*(f'"{line}\\n"' for line in lines[:-1]), f'"{lines[-1]}"'])
