# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes, for the tests, calls of the functions of the C interface with arguments that are looked up by name."""

from __future__ import annotations

from .c_interface import Function, Promises, functions, type_of
from .model import Attribute, Output, Schema
from .tables import HEAD, _text


def calls(schema: Schema, promises: Promises) -> str:
    made = functions(schema, promises)
    return "\n".join(
        [
            HEAD + '#include "c_api/named_values.hpp"\n',
            "namespace portops::test {",
            "namespace {",
            "",
            *("\n".join(_call(entry)) for entry in made),
            "}  // namespace",
            "",
            "const std::map<std::string, OperatorFunction>& operator_functions() {",
            "  static const std::map<std::string, OperatorFunction> all{",
            *(f"      {{{_text(entry.op.name)}, &call_{entry.op.name}}}," for entry in made),
            "  };",
            "  return all;",
            "}",
            "",
            "}  // namespace portops::test",
            "",
        ]
    )


def _call(function: Function) -> list[str]:
    lines = [
        f"portops_status call_{function.op.name}(portops_context ctx, const NamedValues& values) {{",
        f"  {function.struct} options = {function.macro};",
    ]
    for entry in function.members:
        name = _text(entry.name)
        if isinstance(entry, Attribute):
            lines.append(f"  values.get({name}, options.{entry.name}{f', options.{entry.name}_count' if entry.type == 'integers' else ''});")
        elif entry.list:
            lines.append(f"  options.{entry.name} = values.outputs({name}), options.{entry.name}_count = values.count({name});")
        else:
            lines.append(f"  options.{entry.name} = values.{'output' if isinstance(entry, Output) else 'tensor'}({name});")
    arguments = ["ctx"]
    for entry in function.op.inputs:
        name = _text(entry.name)
        if entry.ragged == "levels":
            arguments.append(f"values.levels({name})")
        elif entry.optional:
            continue
        elif entry.list:
            arguments += [f"values.list({name})", f"values.count({name})", *([f"values.list_levels({name})"] if entry.has_levels else [])]
        else:
            arguments.append(f"{'values.operand' if entry.or_number else 'values.tensor'}({name})")
            arguments += [f"values.levels({name})"] if entry.has_levels else []
    for entry in function.outputs:
        name = _text(entry.name)
        arguments += [f"values.outputs({name})", f"values.count({name})"] if entry.list else [f"values.output({name})"]
    for entry in function.attributes:
        lines.append(f"  {type_of(entry)} {entry.name}{{}};")
        count = ""
        if entry.type == "integers":
            lines.append(f"  size_t {entry.name}_count{{}};")
            count = f", {entry.name}_count"
        lines.append(f"  values.get({_text(entry.name)}, {entry.name}{count});")
        arguments += [entry.name, *([f"{entry.name}_count"] if count else [])]
    return [*lines, f"  return portops_{function.op.name}({', '.join([*arguments, '&options'])});", "}", ""]
