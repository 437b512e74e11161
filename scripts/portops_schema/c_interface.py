# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the C interface: portops.h, from a template and the operators, and what stands behind their functions.

A function that was released keeps its parameters, and its options only grow at their end. What a release promises of them
is a line of src/c_api/released_names.txt: the name, the version that brought it and, for an operator, the members of its
options in their order. Members that the line names come first, in that order; what is new follows. An operator's outputs
are parameters, but for one that is new in a released operator: callers know nothing of it, so it is among the options."""

from __future__ import annotations

import dataclasses
import math
import pathlib
import re
import textwrap

from .model import Attribute, Input, Operator, Output, Schema, SchemaError
from .tables import HEAD, _list, _text

WIDTH = 120
MARKER = "@OPERATORS@\n"
# What no parameter or member may be called: the generated ones, and keywords of C and C++.
RESERVED = frozenset(
    "ctx options size alignas alignof and asm auto bool break case catch char class compl const constexpr continue decltype"
    " default delete do double else enum explicit export extern false float for friend goto if inline int long mutable"
    " namespace new noexcept not nullptr operator or private protected public register requires restrict return short"
    " signed sizeof static struct switch template this throw true try typedef typeid typename union unsigned using virtual"
    " void volatile while xor".split()
)


@dataclasses.dataclass
class Released:
    """A name that a release promised."""

    since: str
    members: list[str]


def read_released(path: pathlib.Path) -> dict[str, Released]:
    names: dict[str, Released] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        match = re.fullmatch(r"(portops_\w+) (\d+\.\d+\.\d+)(?:: ([\w ]+))?", line)
        if not match:
            raise SchemaError([f"{path}:{number}: found '{line}', expected 'portops_NAME VERSION: MEMBER MEMBER'"])
        if names and list(names)[-1] >= match[1]:
            raise SchemaError([f"{path}:{number}: {match[1]} stands behind {list(names)[-1]}, expected an alphabetical order"])
        names[match[1]] = Released(match[2], (match[3] or "").split())
    return names


@dataclasses.dataclass
class Function:
    """An operator as C has it."""

    op: Operator
    outputs: list[Output]  # those that are parameters
    attributes: list[Attribute]  # those without a default
    members: list[Input | Attribute | Output]  # of the options, in their order

    @property
    def name(self) -> str:
        return f"portops_{self.op.name}"

    @property
    def struct(self) -> str:
        return f"{self.name}_options"

    @property
    def macro(self) -> str:
        return f"PORTOPS_{self.op.name.upper()}_DEFAULTS"


@dataclasses.dataclass
class Promises:
    """What the last release said: of the C interface, and of the operators."""

    names: dict[str, Released]
    schema: Schema

    def of(self, op: Operator) -> Released | None:
        return self.names.get(f"portops_{op.name}")

    def is_late(self, op: Operator, output: Output) -> bool:
        """Whether the operator was released without the output, now or at an earlier time."""
        line, before = self.of(op), self.schema.operator(op.name)
        return line is not None and (output.name in line.members or before is None or before.output(output.name) is None)


def functions(schema: Schema, promises: Promises) -> list[Function]:
    for op in schema.operators:
        for entry in (*op.inputs, *op.outputs, *op.attributes):
            if entry.name in RESERVED:
                raise SchemaError([f"{schema.file}:{entry.line}: {op.name}: no argument of C may be called {entry.name}"])
        line = promises.of(op)
        kept = {member.name for member in function_of(op, promises).members}
        for name in line.members if line else ():
            if name not in kept:
                raise SchemaError([f"{schema.file}:{op.line}: {op.name}: the option {name}, which was released, is missing"])
    return [function_of(op, promises) for op in schema.operators]


def function_of(op: Operator, promises: Promises) -> Function:
    members = {entry.name: entry for entry in op.inputs if entry.optional}
    members |= {entry.name: entry for entry in op.attributes if entry.default is not None}
    members |= {entry.name: entry for entry in op.outputs if promises.is_late(op, entry)}
    line = promises.of(op)
    first = [name for name in line.members if name in members] if line else []
    return Function(
        op,
        [entry for entry in op.outputs if not promises.is_late(op, entry)],
        [entry for entry in op.attributes if entry.default is None],
        [members[name] for name in dict.fromkeys([*first, *members])],
    )


# --- the header ----------------------------------------------------------------------------------------------


def header(template: str, schema: Schema, promises: Promises, version: str) -> str:
    major, minor, patch = version.split(".")
    own = set(re.findall(r"\bportops_\w+(?=\(|;| \{)", template))
    for op in schema.operators:
        if f"portops_{op.name}" in own:
            raise SchemaError([f"{schema.file}:{op.line}: {op.name}: C has another portops_{op.name}"])
    text = template.replace("@VERSION@", version)
    for name, number in (("MAJOR", major), ("MINOR", minor), ("PATCH", patch)):
        text = text.replace(f"@VERSION_{name}@", number)
    return text.replace(MARKER, "\n" + "\n".join(_declaration(entry) for entry in functions(schema, promises)))


def _declaration(function: Function) -> str:
    op = function.op
    title = f"// --- {op.name} "
    return "\n".join(
        [
            title + "-" * (WIDTH - 1 - len(title)),
            "",
            f"typedef struct {function.struct} {{",
            *_columns([("size_t size;", "the bytes of this struct"), *(line for e in function.members for line in _member(e))]),
            f"}} {function.struct};",
            *_wrapped(f"#define {function.macro} ", "{" + ", ".join(["sizeof(" + function.struct + ")", *_defaults(function)]) + "}"),
            "",
            *_comment(op),
            *signature(function, "PORTOPS_API "),
            "",
        ]
    )


def _member(entry: Input | Attribute | Output) -> list[tuple[str, str]]:
    """What declares it, and what it is."""
    meaning = entry.description
    if isinstance(entry, Output):
        target = "DLTensor* const*" if entry.list else "DLTensor*"
        lines = [(f"{target} {entry.name};", f"output, not wanted where it is NULL: {meaning}")]
        return [*lines, (f"size_t {entry.name}_count;", f"of {entry.name}")] if entry.list else lines
    if isinstance(entry, Input):
        target = "const DLTensor* const*" if entry.list else "const DLTensor*"
        lines = [(f"{target} {entry.name};", f"may be NULL: {meaning}")]
        return [*lines, (f"size_t {entry.name}_count;", f"of {entry.name}")] if entry.list else lines
    default = {"boolean": int(bool(entry.default)), "integers": f"NULL is {entry.default}", "text": f"NULL is {entry.default}"}
    value = default.get(entry.type, entry.default)
    shown = f"{value:g}" if isinstance(value, float) else value
    lines = [(f"{type_of(entry)} {entry.name};", f"{shown}: {meaning}")]
    return [*lines, (f"size_t {entry.name}_count;", f"of {entry.name}")] if entry.type == "integers" else lines


def type_of(entry: Attribute) -> str:
    return {
        "boolean": "int64_t",
        "integer": "int64_t",
        "number": "double",
        "integers": "const int64_t*",
        "text": "const char*",
    }[entry.type]


def _columns(lines: list[tuple[str, str]]) -> list[str]:
    """Declarations with their comments beside them, in as many lines as these need."""
    width = max(len(code) for code, _ in lines)
    result = []
    for code, comment in lines:
        parts = textwrap.wrap(comment, WIDTH - width - 8, break_on_hyphens=False)
        cells = [code, *[""] * (len(parts) - 1)]
        result += [f"  {cell:{width}}  ///< {_safe(part)}" for cell, part in zip(cells, parts)]
    return result


def _defaults(function: Function) -> list[str]:
    values = []
    for entry in function.members:
        if isinstance(entry, Attribute) and entry.type == "number" and math.isinf(entry.default):
            values.append("-HUGE_VAL" if entry.default < 0 else "HUGE_VAL")
        elif isinstance(entry, Attribute) and entry.type in ("boolean", "integer", "number"):
            values.append(repr(entry.default) if entry.type != "boolean" else str(int(entry.default)))
        else:
            values += ["NULL", "0"] if _has_count(entry) else ["NULL"]
    return values


def _has_count(entry: Input | Attribute | Output) -> bool:
    """Whether it is several, whose number stands beside them."""
    return entry.type == "integers" if isinstance(entry, Attribute) else entry.list


def _wrapped(start: str, text: str) -> list[str]:
    """A macro, in lines that are continued."""
    if len(start) + len(text) <= WIDTH:
        return [start + text]
    lines = textwrap.wrap(text, WIDTH - 4, break_long_words=False, break_on_hyphens=False)
    return [start + "\\", *(f"  {line} \\" for line in lines[:-1]), f"  {lines[-1]}"]


def _safe(text: str) -> str:
    """What ends in a backslash would continue the comment."""
    return text + "." if text.endswith("\\") else text


def _comment(op: Operator) -> list[str]:
    lines = [op.brief, "", *(f"    {line}".rstrip() for line in op.formula.rstrip("\n").split("\n")), ""]
    for entry in op.inputs:
        lines += _argument_comment(entry.name, _kind(entry), entry.description)
    for entry in op.outputs:
        lines += _argument_comment(entry.name, _output_kind(op, entry), entry.description)
    for entry in op.attributes:
        if entry.default is None:
            lines += _argument_comment(entry.name, entry.type, entry.description)
    if op.inplace:
        lines.append("In place: " + ", ".join(f"{target} may be {source}" for source, target in op.inplace) + ".")
    return [f"/// {_safe(line)}".rstrip() for line in lines]


def _argument_comment(name: str, kind: str, meaning: str) -> list[str]:
    return textwrap.wrap(f"{name}: {kind}. {meaning}", WIDTH - 4, subsequent_indent="  ", break_on_hyphens=False)


def _kind(entry: Input) -> str:
    if entry.ragged == "levels":
        return "levels"
    kind = "list of tensors" if entry.list else "tensor"
    if entry.ragged in ("true", "optional"):
        kind = "ragged tensor" if entry.ragged == "true" else "tensor, may be ragged"
        kind = "list of ragged tensors" if entry.list else kind
    if entry.type:
        kind += f" of {entry.type_words}"
    if entry.or_number:
        kind += " or number"
    extents = f" of extents {entry.shape}" if entry.shape else ""
    return kind + extents + (", among the options" if entry.optional else "")


def _output_kind(op: Operator, entry: Output) -> str:
    kind = f"output of {entry.type_words}, {entry.shape}" if entry.type else f"output, {entry.shape}"
    operand = op.needs_tensor(entry)
    if operand:
        return f"{kind}; may be NULL, and must be where {operand} is no tensor"
    if entry.list and entry.optional:
        return f"{kind}, a list; each may be NULL"
    return kind + (", a list" if entry.list else "") + ("; may be NULL" if entry.optional else "")


def signature(function: Function, prefix: str = "", end: str = ";") -> list[str]:
    """The declaration of the function, in lines."""
    parameters = ["portops_context ctx"]
    for entry in function.op.inputs:
        if not entry.optional:
            parameters += _input_parameters(entry)
    for entry in function.outputs:
        parameters += [f"DLTensor* const* {entry.name}", f"size_t {entry.name}_count"] if entry.list else [f"DLTensor* {entry.name}"]
    for entry in function.attributes:
        parameters.append(f"{type_of(entry)} {entry.name}")
        if entry.type == "integers":
            parameters.append(f"size_t {entry.name}_count")
    parameters.append(f"const {function.struct}* options")
    start = f"{prefix}portops_status {function.name}("
    lines = [start + parameters[0]]
    for parameter in parameters[1:]:
        if len(lines[-1]) + len(f", {parameter}{end})") <= WIDTH:
            lines[-1] += f", {parameter}"
        else:
            lines[-1] += ","
            lines.append(" " * len(start) + parameter)
    return [*lines[:-1], lines[-1] + ")" + end]


def _input_parameters(entry: Input) -> list[str]:
    name = entry.name
    if entry.ragged == "levels":
        return [f"portops_levels {name}"]
    if entry.list:
        levels = [f"const portops_levels* {name}_levels"] if entry.has_levels else []
        return [f"const DLTensor* const* {name}", f"size_t {name}_count", *levels]
    if entry.has_levels:
        return [f"const DLTensor* {name}", f"portops_levels {name}_levels"]
    return [f"portops_operand {name}" if entry.or_number else f"const DLTensor* {name}"]


# --- what stands behind it -------------------------------------------------------------------------------------


def source(schema: Schema, promises: Promises) -> str:
    headers = sorted({f"portops/ops/{op.family}.hpp" for op in schema.operators})
    return "\n".join(
        [
            HEAD + '#include "c_api/operator_call.hpp"\n',
            *(f'#include "{name}"' for name in headers),
            "",
            "#include <portops.h>",
            "#include <cstddef>",
            "",
            "using portops::impl::OperatorCall;",
            "",
            *(_definition(entry) for entry in functions(schema, promises)),
        ]
    )


def _definition(function: Function) -> str:
    op = function.op
    arguments = ["call.context()", *(_argument(entry) for entry in op.inputs if not entry.optional)]
    arguments += [_output_argument(entry, entry in function.outputs) for entry in op.outputs]
    params = [f".{entry.name} = {_option(entry)}" for entry in op.inputs if entry.optional]
    params += [f".{entry.name} = {_value(entry)}" for entry in op.attributes]
    if params:
        arguments.append(_list(params))
    given = []
    unused = "const auto given =" if function.members else "static_cast<void>("
    given.append(
        f"    {unused} call.options(options, {function.struct} {function.macro}){';' if function.members else ');'}"
    )
    separator = ",\n" + " " * (len(op.name) + 14)
    return "\n".join(
        [
            *_layout(function),
            *signature(function, end=" {"),
            f"  return portops::impl::operator_call({_text(f'portops::{op.name}')}, ctx, [&](const OperatorCall& call) {{",
            *given,
            f"    portops::{op.name}({separator.join(arguments)});",
            "  });",
            "}",
            "",
        ]
    )


def _layout(function: Function) -> list[str]:
    """That every member takes 8 bytes, and has its place."""
    fields = ["size"]
    for entry in function.members:
        fields += [entry.name, f"{entry.name}_count"] if _has_count(entry) else [entry.name]
    return [
        f"static_assert(sizeof({function.struct}) == {8 * len(fields)});",
        *(f"static_assert(offsetof({function.struct}, {name}) == {8 * at});" for at, name in enumerate(fields)),
    ]


def _argument(entry: Input) -> str:
    name, text = entry.name, _text(entry.name)
    if entry.ragged == "levels":
        return f"call.levels({text}, {name})"
    if entry.list:
        return f"call.ragged_list({text}, {name}, {name}_count, {name}_levels)" if entry.has_levels else f"call.list({text}, {name}, {name}_count)"
    if entry.has_levels:
        return f"call.ragged({text}, {name}, {name}_levels)"
    return f"call.{'operand' if entry.or_number else 'tensor'}({text}, {name})"


def _option(entry: Input) -> str:
    name, text = entry.name, _text(entry.name)
    return f"call.list({text}, given.{name}, given.{name}_count)" if entry.list else f"call.tensor({text}, given.{name})"


def _output_argument(entry: Output, is_parameter: bool) -> str:
    place = entry.name if is_parameter else f"given.{entry.name}"
    return f"call.list({_text(entry.name)}, {place}, {place}_count)" if entry.list else f"call.tensor({_text(entry.name)}, {place})"


def _value(entry: Attribute) -> str:
    place = entry.name if entry.default is None else f"given.{entry.name}"
    if entry.type == "boolean":
        return f"call.boolean({_text(entry.name)}, {place})"
    if entry.type == "integers":
        default = "" if entry.default is None else f", {_list(str(item) for item in entry.default)}"
        return f"call.integers({_text(entry.name)}, {place}, {place}_count{default})"
    if entry.type == "text":
        return f"call.text({_text(entry.name)}, {place})" if entry.default is None else f"OperatorCall::text({place}, {_text(entry.default)})"
    return place


# --- releases --------------------------------------------------------------------------------------------------


def updated(template: str, schema: Schema, promises: Promises, version: str) -> dict[str, Released]:
    """The released names together with those that this version brings."""
    names = {name: [] for name in re.findall(r"^PORTOPS_API .*?[ *](portops_\w+)\(", template, flags=re.MULTILINE)}
    names |= {entry.name: [member.name for member in entry.members] for entry in functions(schema, promises)}
    for name in promises.names:
        if name not in names:
            raise SchemaError([f"{schema.file}: {name} was removed; a released function may not be removed"])
    before = promises.names
    return {name: Released(before[name].since if name in before else version, names[name]) for name in sorted(names)}


def written(names: dict[str, Released]) -> str:
    return "".join(
        f"{name} {entry.since}{': ' + ' '.join(entry.members) if entry.members else ''}\n" for name, entry in names.items()
    )
