# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the checks of arguments that the schema declares, as functions that entry points call."""

from __future__ import annotations

import re

from .model import Input, Operator, Output, Schema, ShapeRule
from .tables import HEAD, header_of_rules

# What a check gives, by the shape rule that is worked out once a call.
RESULTS = {
    "broadcast": "Extents",
    "reduced": "Reduction",
    "joined": "PartShapes",
    "divided": "PartShapes",
}


def header(schema: Schema) -> str:
    headers = {f"portops/ops/{op.family}.hpp" for op in schema.operators}
    headers |= {header_of_rules(schema, op) for op in schema.operators if op.has_rules}
    parts = [
        HEAD + "#pragma once\n",
        '#include "core/check/check.hpp"',
        '#include "core/check/check_list.hpp"',
        '#include "core/check/check_parameters.hpp"',
        '#include "core/loop/axes.hpp"',
        *(f'#include "{name}"' for name in sorted(headers)),
        "\nnamespace portops::impl {\n",
        "// Each takes the arguments of its operator and throws Error unless they are as the schema says: element types,",
        "// extents, where the elements lie, what may overlap. It gives what the extents follow from: those to which the",
        "// operands broadcast, the axes of a reduction, the parts of a list, or what the operator's own rule works out.",
        "// Options of which the schema says nothing are not among them.",
        *(f"{_signature(op)};" for op in schema.operators),
        "\n}  // namespace portops::impl\n",
    ]
    return "\n".join(parts)


def source(schema: Schema) -> str:
    parts = [
        HEAD + '#include "generated/checks.hpp"\n',
        "#include <array>\n",
        "namespace portops::impl {\n",
        *(_function(op) for op in schema.operators),
        "}  // namespace portops::impl\n",
    ]
    return "\n".join(parts)


def _signature(op: Operator) -> str:
    start = f"{_result(op)} check_{op.name}("
    parameters = ["const Context& ctx"]
    parameters += [f"{_parameter_type(entry)} {entry.name}" for entry in op.inputs if not entry.optional]
    parameters += [f"{'std::span<const TensorRef>' if entry.list else 'const TensorRef&'} {entry.name}" for entry in op.outputs]
    if any(re.search(r"\bparams\b", line) for line in _body(op)):
        parameters.append(f"const {op.family_class}Params& params")
    return start + (",\n" + " " * len(start)).join(parameters) + ")"


def _result(op: Operator) -> str:
    rule = _worked_out(op)
    if rule is None:
        return "void"
    return f"{op.family_class}Extents" if rule.function == "computed" else RESULTS[rule.function]


def _worked_out(op: Operator) -> ShapeRule | None:
    """The rule that is worked out once, for all tensors that have it."""
    rules = (entry.shape for entry in (*op.inputs, *op.outputs) if entry.shape)
    return next((rule for rule in rules if rule.function not in ("like", "scalar")), None)


def _parameter_type(entry: Input) -> str:
    if entry.list:
        return f"std::span<const {'RaggedRef' if entry.has_levels else 'TensorRef'}>"
    if entry.ragged == "levels":
        return "const Levels&"
    if entry.has_levels:
        return "const RaggedRef&"
    return f"const {'TensorOrNumber' if entry.or_number else 'TensorRef'}&"


def _argument(entry: Input) -> str:
    return f"params.{entry.name}" if entry.optional else entry.name


def _function(op: Operator) -> str:
    body = "\n".join(f"  {line}" for line in _body(op))
    return f"{_signature(op)} {{\n{body}\n}}\n"


def _body(op: Operator) -> list[str]:
    tensors = [entry for entry in op.inputs if entry.ragged != "levels"]
    # The tensor that gives the call its element type: the first whose elements are always read, if there is one.
    typed = [entry for entry in tensors if entry.always_a_tensor and entry.type is None]
    leader = next((entry for entry in typed if entry.name not in op.no_need_buffer), typed[0])
    lines = [f'constexpr std::string_view op = "{op.name}";']
    for entry in tensors:
        if entry.list and entry.has_levels:
            lines.append(f"const std::vector<TensorRef> {entry.name}_values = values_of({entry.name});")
    lines += [f"check_list_given(op, {_named(entry)});" for entry in tensors if entry.list and not entry.optional]
    first = f"{_tensors(leader)}.front()" if leader.list else _tensor(leader)
    lines += [
        f'constexpr std::string_view leader = "{leader.name}{"[0]" if leader.list else ""}";',
        f"const ElementType type = {first}.type();",
    ]
    if op.parameters:
        tensors = ", ".join(_named(entry) for entry in op.parameters)
        lines.append(f"const ParameterType parameters = parameter_type(op, type, leader, std::array{{{tensors}}});")
    for entry in [leader, *(entry for entry in op.inputs if entry is not leader)]:
        lines += _check_input(op, entry)
    for entry in op.outputs:
        lines += _check_wanted(op, entry)
    lines += _work_out(op)
    for entry in op.inputs:
        if entry.list and entry.shape:
            lines += _check_list_extents(op, entry)
        elif entry.shape:
            given = f"if ({_argument(entry)}) " if entry.optional else ""
            given = f"if ({entry.name}.is_tensor()) " if entry.or_number else given
            lines.append(f"{given}check_extents(op, {_named(entry)}, {_expected(op, entry)});")
    for entry in op.outputs:
        lines += _check_output(op, entry)
    for number, entry in enumerate(op.outputs):
        lines += _check_overlap(op, number, entry)
    if _worked_out(op):
        lines.append("return extents;")
    return lines


def _check_input(op: Operator, entry: Input) -> list[str]:
    if entry.ragged == "levels":
        return [f'check_levels_given(op, "{entry.name}", {entry.name});']
    kind = "list_" if entry.list else ""
    read = f"check_{kind}input{'s' if entry.list else ''}(op, ctx, {_named(entry)}, {_type(entry)});"
    shape = f"check_{kind}shape_only_input{'s' if entry.list else ''}(op, {_named(entry)}, {_type(entry)});"
    given = ""
    if entry.or_number:
        given = f"if ({entry.name}.is_tensor()) "
    elif entry.optional and not entry.list:
        given = f"if ({_argument(entry)}) "
    if entry.name not in op.no_need_buffer:
        lines = [given + read]
    elif not _needs_buffer(op):
        lines = [given + shape]
    else:
        tensor = f"{entry.name}.is_tensor() && " if entry.or_number else ""
        lines = [f"if ({tensor}{_needs_buffer(op)}) {read}", f"else {given}{shape}"]
    if entry.has_levels and not entry.list:
        condition = f"if ({entry.name}.levels) " if entry.ragged == "optional" else ""
        lines.append(f'{condition}check_levels(op, "{entry.name}", {entry.name});')
    return lines


def _type(entry: Input | Output) -> str:
    """The element type that a tensor must have, and the argument that has the same one."""
    if entry.type is None:
        return "type, leader"
    if entry.type == "parameters":
        return "parameters.type, parameters.like"
    own = "sum_type(type)" if entry.type == "sums" else f"ElementType::{entry.type}"
    if isinstance(entry, Input) and entry.type_unless:
        unless = f"params.{entry.type_unless}"
        return f'{unless} ? type : {own}, {unless} ? leader : ""'
    return f'{own}, ""'


def _needs_buffer(op: Operator) -> str:
    """When the elements of the inputs under no_need_buffer are needed after all; empty: never."""
    if op.no_need_buffer_attribute:
        return f"{op.name}_needs_buffer(params.{op.no_need_buffer_attribute})"
    return op.no_need_buffer_unless


def _check_wanted(op: Operator, entry: Output) -> list[str]:
    """A gradient is wanted only where there is a tensor that it is the gradient of."""
    operand = op.input(op.needs_tensor(entry)) if op.needs_tensor(entry) else None
    if operand is None:
        return []
    if operand.or_number:
        without, message = f"!{operand.name}.is_tensor()", f"is given, but {operand.name} is a number and has no gradient"
    else:
        without = f"{_argument(operand)}.empty()" if operand.list else f"!{_argument(operand)}"
        message = f"is wanted, but there is no {operand.name}"
    wanted = f"!{entry.name}.empty()" if entry.list else entry.name
    return [f"if ({wanted} && {without}) {{", f'  fail("portops::{op.name}: {entry.name} {message}");', "}"]


def _work_out(op: Operator) -> list[str]:
    rule = _worked_out(op)
    if rule is None:
        return []
    operands = [op.input(name) for name in rule.names]
    if rule.function == "broadcast":
        shapes = ", ".join(
            f'Named{{"{entry.name}", shape_of({entry.name})}}' if entry.or_number else _named(entry) for entry in operands
        )
        call = f"broadcast_extents(op, std::array{{{shapes}}})"
    elif rule.function == "reduced":
        whole = "params.asvector" if op.attribute("asvector") else "params.axis.empty()"
        call = f"reduction_of(op, {_named(operands[0])}, params.axis, params.keepdim, {whole})"
    elif rule.function == "joined":
        call = f"joined_shapes(op, {_named(operands[0])}, params.axis)"
    elif rule.function == "divided":
        call = f"divided_shapes(op, {_named(operands[0])}, params.sections, params.axis)"
    else:
        arguments = [_argument(entry) for entry in operands] + (["params"] if op.has_params else [])
        call = f"{op.family}_extents(op, {', '.join(arguments)})"
    return [f"const {_result(op)} extents = {call};"]


def _expected(op: Operator, entry: Input | Output) -> str:
    """The extents that a tensor must have, and where they come from, in words."""
    rule = entry.shape
    if rule.function == "like":
        operand = op.input(rule.names[0])
        return f'{_tensor(operand)}.extents(), "the extents of {operand.name}"'
    if rule.function == "scalar":
        return 'Extents(), "those of a scalar"'
    if rule.function == "broadcast":
        return f'extents, "what {_enumeration(rule.names)} broadcast to"'
    if rule.function == "joined":
        return f'extents.whole, "those of {rule.names[0]}, one behind the other"'
    if rule.function == "reduced":
        return "extents.out.extents, extents.out.origin"
    name = op.forward_name(entry.name)
    return f"extents.{name}.extents, extents.{name}.origin"


def _check_output(op: Operator, entry: Output) -> list[str]:
    if entry.list:
        return _check_list_output(op, entry)
    condition = f"if ({entry.name}) " if entry.optional else ""
    return [f"{condition}check_output(op, ctx, {_named(entry)}, {_type(entry)}, {_expected(op, entry)});"]


def _check_list_extents(op: Operator, entry: Input) -> list[str]:
    operand = op.input(entry.shape.names[0])
    given = f"if (!{_tensors(entry)}.empty()) " if entry.optional else ""
    return [
        f'{given}check_list_size(op, {_named(entry)}, {_tensors(operand)}.size(), "{operand.name}");',
        f'{given}check_list_extents(op, {_named(entry)}, {_tensors(operand)}, "the extents of {operand.name}");',
    ]


def _check_list_output(op: Operator, entry: Output) -> list[str]:
    operand = op.input(entry.shape.names[0])
    if entry.shape.function == "divided":
        size, counted, expected, origin = "extents.lengths.size()", "sections", "extents", "what sections gives out"
    else:
        size, counted, expected = f"{_tensors(operand)}.size()", operand.name, _tensors(operand)
        origin = f"the extents of {operand.name}"
    condition = f"if (!{entry.name}.empty()) " if entry.optional else ""
    lines = [f'{condition}check_list_size(op, {_named(entry)}, {size}, "{counted}");']
    if not entry.optional:
        lines.append(f"check_all_given(op, {_named(entry)});")
    return [*lines, f'check_list_outputs(op, ctx, {_named(entry)}, {_type(entry)}, {expected}, "{origin}");']


def _check_overlap(op: Operator, number: int, entry: Output) -> list[str]:
    same = [source for source, target in op.inplace if target == entry.name]
    others: list[Input | Output] = [
        other for other in op.inputs if other.name not in same and other.ragged != "levels"
    ]
    others += op.outputs[number + 1 :]
    tensors = ", ".join(_named(other) for other in others if not other.list)
    lines = [
        f"check_in_place(op, {_named(entry)}, {_named(operand)});"
        for operand in map(op.input, same)
        if not _is_own_affair(entry, operand)
    ]
    if entry.list:
        lines += [f"check_no_overlap(op, {_named(entry)}, {_named(other)});" for other in others]
        return [*lines, f"check_disjoint(op, {_named(entry)});"]
    if tensors:
        lines.append(f"check_no_overlap(op, {_named(entry)}, std::array{{{tensors}}});")
    return lines + [f"check_no_overlap(op, {_named(entry)}, {_named(other)});" for other in others if other.list]


def _is_own_affair(entry: Output, operand: Input) -> bool:
    """Whether the operator itself says when the two are the same: one of them has extents of its own making."""
    return any(tensor.shape and tensor.shape.function == "computed" for tensor in (entry, operand))


def _named(entry: Input | Output) -> str:
    if entry.list:
        return f'NamedList{{"{entry.name}", {_tensors(entry)}}}'
    return f'Named{{"{entry.name}", {_tensor(entry)}}}'


def _tensor(entry: Input | Output) -> str:
    if isinstance(entry, Output):
        return entry.name
    if entry.or_number:
        return f"{entry.name}.tensor()"
    return f"{entry.name}.values" if entry.has_levels else _argument(entry)


def _tensors(entry: Input | Output) -> str:
    if isinstance(entry, Output):
        return entry.name
    return f"{entry.name}_values" if entry.has_levels else _argument(entry)


def _enumeration(names: list[str] | tuple[str, ...]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
