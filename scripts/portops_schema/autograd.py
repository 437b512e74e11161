# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the operators of portops::autograd: of each operator with a gradient a function that calls it and remembers the
call, and one that calls its gradient."""

from __future__ import annotations

from .autograd_gradients import backward, operation, params_class, sums, variables_of
from .model import Attribute, Input, Operator, Output, Schema
from .tables import CPP_TYPES, HEAD, cpp_number, header_of_rules

# When an optional output is computed that the gradient cannot do without, of those that it takes only at times.
NEEDED_WHEN = {"index": 'params.pooltype == "max"'}


def header(schema: Schema) -> str:
    ops = differentiable(schema)
    parts = [
        HEAD + "#pragma once\n",
        '#include "portops/autograd/variable.hpp"',
        '#include "portops/core/macros.hpp"',
        *(f'#include "portops/ops/{op.name}.hpp"' for op in sorted(ops, key=lambda op: op.name)),
        "\n#include <cstdint>\n#include <limits>\n#include <string>\n#include <vector>\n",
        "// The operators that have gradients, on variables. Each takes the arguments of the operator of its name in portops,",
        "// computes the same bits, throws the same errors, and gives the outputs; where the gradient of an input is wanted,",
        "// the call is remembered (portops/autograd/backward.hpp). Where the options hold tensors they are a struct of",
        "// variables here; among them are the outputs that a call need not have, which the caller then provides.\n",
        "namespace portops::autograd {\n",
        *(f"{_options(op)}{_result(op)}/// {op.brief}\n{_export(_signature(op))};\n" for op in ops),
        "/// The same calls, which write their result to x: that is then what they made. Throws Error where x is a leaf whose",
        "/// gradient is wanted, but within NoGradients, and what the operator throws of tensors that are not the same.",
        "namespace in_place {\n",
        *(f"{_export(_signature(op, in_place=True))};" for op in ops if can_be_in_place(op)),
        "\n}  // namespace in_place",
        "}  // namespace portops::autograd\n",
    ]
    return "\n".join(parts)


def source(schema: Schema) -> str:
    ops = differentiable(schema)
    rules = {header_of_rules(schema, op) for op in ops if op.has_rules or schema.operator(op.backward).has_rules}
    sparse = [op for op in schema.operators if op.name in ("embedding_sparse_gradient", "sparse_sgd")]
    rules |= {header_of_rules(schema, op) for op in sparse if op.has_rules}
    parts = [
        HEAD + '#include "portops/autograd/operators.hpp"\n',
        '#include "autograd/fill.hpp"',
        '#include "autograd/gradient_call.hpp"',
        '#include "autograd/recording.hpp"',
        '#include "autograd/second_order.hpp"',
        '#include "core/check/check_list.hpp"',
        '#include "core/loop/axes.hpp"',
        *(f'#include "{name}"' for name in sorted(rules)),
        *(f'#include "portops/ops/{op.name}.hpp"' for op in sparse),
        "\n#include <array>\n#include <utility>\n",
        "namespace portops {",
        "namespace impl {\n",
        sums(schema),
        "}  // namespace impl\n",
        "namespace autograd {",
        "namespace {\n",
        *(backward(schema, op) + operation(schema, op) for op in ops),
        *(_call(schema, op) for op in ops if can_be_in_place(op)),
        "}  // namespace\n",
        *(_call(schema, op) for op in ops if not can_be_in_place(op)),
        *(_calls_in_place(op) for op in ops if can_be_in_place(op)),
        "}  // namespace autograd",
        "}  // namespace portops\n",
    ]
    return "\n".join(parts)


def signatures(op: Operator) -> str:
    """The functions on variables, as the reference shows them."""
    result = _options(op).rstrip() + "\n\n" if _own_options(op) else ""
    result += _result(op)
    result += _signature(op, qualified="portops::autograd::") + ";"
    if can_be_in_place(op):
        result += "\n" + _signature(op, in_place=True, qualified="portops::autograd::in_place::") + ";"
    return result


def differentiable(schema: Schema) -> list[Operator]:
    return [op for op in schema.operators if op.backward]


def can_be_in_place(op: Operator) -> bool:
    """Whether its result may be written over its first input, whose extents it has."""
    pair = (op.inputs[0].name, op.outputs[0].name)
    return len(op.outputs) == 1 and pair in op.inplace and op.outputs[0].shape.function in ("broadcast", "like")


# --- declarations ---------------------------------------------------------------------------------------------------


def _optional_outputs(op: Operator) -> list[Output]:
    return [entry for entry in op.outputs if entry.optional]


def _own_options(op: Operator) -> bool:
    """Whether the options are a struct of variables: those of the plain call hold tensors, or outputs are among them."""
    return any(entry.optional for entry in op.inputs) or bool(_optional_outputs(op))


def _has_options(op: Operator) -> bool:
    return op.has_params or bool(_optional_outputs(op))


def _options(op: Operator) -> str:
    if not _own_options(op):
        return ""
    members = [
        f"  Variable {entry.name} = {{}};  ///< {'out: ' if isinstance(entry, Output) else ''}{_first_sentence(entry.description)}"
        for entry in (*(each for each in op.inputs if each.optional), *_optional_outputs(op))
    ]
    members += [f"  {CPP_TYPES[entry.type]} {entry.name}{_default(entry)};" for entry in op.attributes]
    return "\n".join([f"/// The options of {op.name}.", f"struct {params_class(op)} {{", *members, "};\n\n"])


def _first_sentence(text: str) -> str:
    return text.split(". ")[0].split("; ")[0].rstrip(".")


def _default(entry: Attribute) -> str:
    if entry.default is None:
        return "" if entry.type in ("integers", "text") else " = {}"
    if entry.type == "boolean":
        return f" = {'true' if entry.default else 'false'}"
    if entry.type == "integers":
        return " = {" + ", ".join(str(item) for item in entry.default) + "}"
    if entry.type == "number":
        return f" = {cpp_number(entry.default)}"
    return f' = "{entry.default}"' if entry.type == "text" else f" = {entry.default!r}"


def _always(op: Operator) -> list[Output]:
    """The outputs of every call."""
    return [entry for entry in op.outputs if not entry.optional]


def _result_type(op: Operator) -> str:
    outputs = _always(op)
    if len(outputs) > 1:
        return f"{op.family_class}Result"
    return "std::vector<Variable>" if outputs[0].list else "Variable"


def _result(op: Operator) -> str:
    outputs = _always(op)
    if len(outputs) == 1:
        return ""
    members = [f"  Variable {entry.name};  ///< {_first_sentence(entry.description)}" for entry in outputs]
    return "\n".join([f"/// The outputs of {op.name}.", f"struct {_result_type(op)} {{", *members, "};\n\n"])


def _signature(op: Operator, in_place: bool = False, qualified: str = "", defaults: bool = True) -> str:
    result = "void" if in_place else _result_type(op)
    parameters = ["const Context& ctx"]
    for number, entry in enumerate(each for each in op.inputs if not each.optional):
        kind = "Variable&" if in_place and number == 0 else _parameter_type(entry)
        parameters.append(f"{kind} {entry.name}")
    if _has_options(op):
        must_be_given = any(entry.default is None for entry in op.attributes)
        own = "" if _own_options(op) else "portops::"
        parameters.append(f"const {own}{params_class(op)}& params{'' if must_be_given or not defaults else ' = {}'}")
    start = f"{result} {qualified}{op.name}("
    line = f"{start}{', '.join(parameters)})"
    return line if len(line) < 95 else f"{start}\n    " + ",\n    ".join(parameters) + ")"


def _parameter_type(entry: Input) -> str:
    if entry.ragged == "levels":
        return "const Levels&"
    if entry.list:
        return "const std::vector<Variable>&"
    return "const VariableOrNumber&" if entry.or_number else "const Variable&"


def _export(signature: str) -> str:
    return f"PORTOPS_EXPORT {signature}"


# --- forward calls --------------------------------------------------------------------------------------------------


def _variable(op: Operator, name: str) -> str:
    """An input as the variable it is."""
    entry = op.input(name)
    if entry.or_number:
        return f"{name}.variable()"
    return f"params.{name}" if entry.optional else name


def _argument(entry: Input) -> str:
    """An input as the plain call and the rules take it."""
    if entry.ragged == "levels":
        return entry.name
    if entry.list:
        return f"{entry.name}_list"
    if entry.has_levels:
        return f"{entry.name}.ragged()"
    if entry.or_number:
        return f"{entry.name}_operand"
    return f"params.{entry.name}.tensor()" if entry.optional else f"{entry.name}.tensor()"


def _call(schema: Schema, op: Operator) -> str:
    in_place = can_be_in_place(op)
    if in_place:
        signature = _signature(op, defaults=False).replace(f"{op.name}(", f"call_{op.name}(", 1)
        signature = signature[:-1] + ", const Variable& place)"
    else:
        signature = _signature(op, defaults=False)
    body = "\n".join(f"  {line}" for line in _call_body(schema, op, in_place))
    return f"{signature} {{\n{body}\n}}\n"


def _calls_in_place(op: Operator) -> str:
    names = [entry.name for entry in op.inputs if not entry.optional] + (["params"] if _has_options(op) else [])
    arguments = ", ".join(["ctx", *names])
    return (
        f"{_signature(op, defaults=False)} {{ return call_{op.name}({arguments}, {{}}); }}\n"
        f"{_signature(op, in_place=True, qualified='in_place::', defaults=False)} "
        f"{{ call_{op.name}({arguments}, {op.inputs[0].name}); }}\n"
    )


def _call_body(schema: Schema, op: Operator, in_place: bool) -> list[str]:
    gradient = schema.operator(op.backward)
    variables = variables_of(gradient)
    listed = op.input(variables[0]).list
    given = variables[0] if listed else "{" + ", ".join(f"&{_variable(op, name)}" for name in variables) + "}"
    lines = [f"impl::Recording recording(ctx, {op.name}_operation, {given});"]
    lines += [f'recording.check_given("{entry.name}", {entry.name});' for entry in op.inputs if _is_plain_tensor(entry)]
    if in_place:
        lines.append(f'if (place) recording.check_in_place("{op.inputs[0].name}", place);')
    provided = _optional_outputs(op)
    lines += [f'recording.check_in_place("{entry.name}", params.{entry.name});' for entry in provided]
    for entry in op.inputs:
        if entry.or_number:
            lines.append(f"const TensorOrNumber {entry.name}_operand = {entry.name}.operand();")
        if entry.list:
            kind, function = ("RaggedRef", "ragged_of") if entry.has_levels else ("TensorRef", "tensors_of")
            lines.append(f"const std::vector<{kind}> {entry.name}_list = impl::{function}({entry.name});")
            tensors = f"impl::values_of({entry.name}_list)" if entry.has_levels else f"{entry.name}_list"
            lines.append(f'impl::check_list_given("{op.name}", {{"{entry.name}", {tensors}}});')
    if _own_options(op) and op.has_params:
        members = [f".{entry.name} = params.{entry.name}.tensor()" for entry in op.inputs if entry.optional]
        members += [f".{entry.name} = params.{entry.name}" for entry in op.attributes]
        lines.append(f"portops::{params_class(op)} options{{{', '.join(members)}}};")
    lines += _work_out(op)
    lines += [line for entry in op.outputs for line in _make(op, gradient, entry, in_place)]
    kept = [line for entry in gradient.inputs for line in _keep(op, gradient, entry) if op.input(entry.name)]
    lines += kept
    arguments = ["ctx", *(_argument(entry) for entry in op.inputs if not entry.optional)]
    arguments += [f"{entry.name}_list" if entry.list else f"{entry.name}.tensor()" for entry in op.outputs]
    if op.has_params:
        arguments.append("options" if _own_options(op) else "params")
    lines.append(f"portops::{op.name}({', '.join(arguments)});")
    if in_place:
        lines.append("if (place) recording.change(place);")
    lines += [f"recording.change(params.{entry.name});" for entry in provided]
    # Outputs are kept as they are after the call, and stand behind the inputs.
    lines += [line for entry in gradient.inputs if op.output(entry.name) for line in _keep(op, gradient, entry)]
    lines += _observe(op)
    lines += _finish(op)
    return lines


def _observe(op: Operator) -> list[str]:
    """Tells of the call whoever wants to know."""
    inputs = [
        f'{{"{entry.name}", {f"params.{entry.name}" if entry.optional and not entry.or_number else entry.name}}}'
        for entry in op.inputs
    ]
    attributes = [
        f'{{"{entry.name}", Attribute({CPP_TYPES[entry.type]}({_options_name(op)}.{entry.name}))}}' for entry in op.attributes
    ]
    outputs = [f'{{"{entry.name}", {entry.name}}}' for entry in op.outputs]
    return [
        "if (recording.is_observed()) {",
        f"  recording.observe({{{', '.join(inputs)}}},",
        f"                    {{{', '.join(attributes)}}},",
        f"                    {{{', '.join(outputs)}}});",
        "}",
    ]


def _is_plain_tensor(entry: Input) -> bool:
    return not (entry.optional or entry.or_number or entry.list or entry.ragged == "levels")


def _options_name(op: Operator) -> str:
    return "options" if _own_options(op) and op.has_params else "params"


def _work_out(op: Operator) -> list[str]:
    """What the extents of the outputs follow from, and the levels that a function of the operator's own gives."""
    rule = next((entry.shape for entry in op.outputs if entry.shape.function not in ("like", "scalar")), None)
    if rule is None:
        return []
    operands = [op.input(name) for name in rule.names]
    name = f'"{op.name}"'
    if rule.function == "computed":
        arguments = ", ".join([name, *map(_argument, operands), *([_options_name(op)] if op.has_params else [])])
        lines = [f"const auto extents = impl::{op.family}_extents({arguments});"]
        if op.changes_levels:
            lines.append(f"const Levels changed = impl::{op.family}_levels({arguments});")
        return lines
    first = operands[0].name
    if rule.function == "broadcast":
        shapes = ", ".join(
            f'impl::Named{{"{entry.name}", '
            + (f"impl::shape_of({entry.name}_operand)}}" if entry.or_number else f"{entry.name}.tensor()}}")
            for entry in operands
        )
        return [f"const Extents extents = impl::broadcast_extents({name}, std::array{{{shapes}}});"]
    if rule.function == "reduced":
        whole = "params.asvector" if op.attribute("asvector") else "params.axis.empty()"
        return [
            f'const Extents extents = impl::reduction_of({name}, {{"{first}", {first}.tensor()}}, params.axis, '
            f"params.keepdim, {whole}).out.extents;"
        ]
    if rule.function == "joined":
        return [f'const Extents extents = impl::joined_shapes({name}, {{"{first}", {first}_list}}, params.axis).whole;']
    return [
        f'const impl::PartShapes shapes = impl::divided_shapes({name}, {{"{first}", {first}.tensor()}}, '
        "params.sections, params.axis);"
    ]


def _type(op: Operator, entry: Output) -> str:
    leader = op.typed_input
    call = (
        f"{leader.name}_list.front(){'.values' if leader.has_levels else ''}.type()"
        if leader.list
        else f"{leader.name}.tensor().type()"
    )
    if entry.type is None:
        return call
    return f"impl::sum_type({call})" if entry.type == "sums" else f"ElementType::{entry.type}"


def _extents(op: Operator, entry: Output) -> str:
    rule = entry.shape
    if rule.function == "computed":
        return f"extents.{entry.name}.extents"
    if rule.function == "like":
        return f"{rule.names[0]}.tensor().extents()"
    return "Extents()" if rule.function == "scalar" else "extents"


def _levels(op: Operator, entry: Output) -> str:
    if entry.levels is None or entry.levels.function == "drops":
        return ""
    if entry.levels.function == "changes":
        return ", changed"
    if len(entry.levels.names) == 1:
        return f", {_variable(op, entry.levels.names[0])}.levels()"
    return f", impl::shared_levels({{{', '.join('&' + _variable(op, name) for name in entry.levels.names)}}})"


def _make(op: Operator, gradient: Operator, entry: Output, in_place: bool) -> list[str]:
    if entry.list:
        return [
            f"std::vector<Variable> {entry.name};",
            "for (std::size_t i = 0; i < shapes.lengths.size(); ++i) {",
            f'  {entry.name}.push_back(recording.output("{entry.name}", {_type(op, entry)}, shapes.part(i)));',
            "}",
            f"const std::vector<TensorRef> {entry.name}_list = impl::tensors_of({entry.name});",
        ]
    made = f'recording.output("{entry.name}", {_type(op, entry)}, {_extents(op, entry)}{_levels(op, entry)})'
    if in_place:
        written = f'recording.in_place("{entry.name}", place{_levels(op, entry)})'
        return [f"const Variable {entry.name} = place ? {written} : {made};"]
    if not entry.optional:
        return [f"const Variable {entry.name} = {made};"]
    taken = gradient.input(entry.name)
    if taken is None:
        return [f"const Variable& {entry.name} = params.{entry.name};"]
    needed = "recording.is_on()" + (f" && {NEEDED_WHEN[entry.name]}" if taken.optional else "")
    return [
        f"Variable {entry.name} = params.{entry.name};",
        f"if (!{entry.name} && {needed}) {entry.name} = {made};",
    ]


def _keep(op: Operator, gradient: Operator, entry: Input) -> list[str]:
    """Keeps an input of the gradient, unless it is the gradient of an output."""
    source = op.input(entry.name)
    if source is None and op.output(entry.name) is None:
        return []
    if source is None:
        variable = entry.name
    elif source.ragged == "levels" or source.list or source.or_number:
        variable = entry.name
    else:
        variable = _variable(op, entry.name)
    condition = ""
    if entry.name in gradient.no_need_buffer:
        condition = ", false"
        if gradient.no_need_buffer_unless:
            unless = gradient.no_need_buffer_unless[: -len("_grad")]
            condition = f", recording.wants({variables_of(gradient).index(unless)})"
        elif gradient.no_need_buffer_attribute:
            condition = f", impl::{gradient.name}_needs_buffer(params.{gradient.no_need_buffer_attribute})"
    return [f"recording.keep({variable}{condition});"]


def _finish(op: Operator) -> list[str]:
    differentiable_output = next(entry for entry in op.outputs if entry.type is None)
    outputs = differentiable_output.name if differentiable_output.list else f"{{&{differentiable_output.name}}}"
    lines = [f"options.{entry.name} = {{}};" for entry in op.inputs if entry.optional]
    if not op.has_params:
        params = "impl::NoParams()"
    else:
        params = "std::move(options)" if _own_options(op) else "params"
    lines.append(f"recording.finish({outputs}, {params});")
    always = _always(op)
    result = "{" + ", ".join(entry.name for entry in always) + "}" if len(always) > 1 else always[0].name
    return [*lines, f"return {result};"]
