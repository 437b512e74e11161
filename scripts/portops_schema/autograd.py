# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the operators of portops::autograd: of each operator with a gradient a function that calls it and remembers the
call, and one that calls its gradient."""

from __future__ import annotations

from collections.abc import Iterable

from .model import Attribute, Input, Operator, Output, Schema
from .tables import CPP_TYPES, HEAD, header_of_rules

# When an optional output is computed that the gradient cannot do without, of those that it takes only at times.
NEEDED_WHEN = {"index": 'params.pooltype == "max"'}
# The operators whose gradients are made of these same operators, in autograd/second_order.cpp.
SECOND_ORDER = ("add", "concat", "lerp", "matmul", "mean", "multiply", "reshape", "split", "subtract", "sum")


def header(schema: Schema) -> str:
    ops = differentiable(schema)
    parts = [
        HEAD + "#pragma once\n",
        '#include "portops/autograd/variable.hpp"',
        '#include "portops/core/macros.hpp"',
        *(f'#include "portops/ops/{op.name}.hpp"' for op in sorted(ops, key=lambda op: op.name)),
        "\n#include <cstdint>\n#include <string>\n#include <vector>\n",
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
        _add(schema) + (ROWS if _has_sparse(schema) else NO_ROWS),
        "}  // namespace impl\n",
        "namespace autograd {",
        "namespace {\n",
        *(_backward(schema, op) + _operation(schema, op) for op in ops),
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


def _params(op: Operator) -> str:
    return f"{op.family_class}Params"


def _options(op: Operator) -> str:
    if not _own_options(op):
        return ""
    members = [
        f"  Variable {entry.name} = {{}};  ///< {'out: ' if isinstance(entry, Output) else ''}{_first_sentence(entry.description)}"
        for entry in (*(each for each in op.inputs if each.optional), *_optional_outputs(op))
    ]
    members += [f"  {CPP_TYPES[entry.type]} {entry.name}{_default(entry)};" for entry in op.attributes]
    return "\n".join([f"/// The options of {op.name}.", f"struct {_params(op)} {{", *members, "};\n\n"])


def _first_sentence(text: str) -> str:
    return text.split(". ")[0].split("; ")[0].rstrip(".")


def _default(entry: Attribute) -> str:
    if entry.default is None:
        return "" if entry.type in ("integers", "text") else " = {}"
    if entry.type == "boolean":
        return f" = {'true' if entry.default else 'false'}"
    if entry.type == "integers":
        return " = {" + ", ".join(str(item) for item in entry.default) + "}"
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
        parameters.append(f"const {own}{_params(op)}& params{'' if must_be_given or not defaults else ' = {}'}")
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


def _variables(schema: Schema, op: Operator) -> list[str]:
    """The inputs that have gradients, in the order of these."""
    return [entry.name[: -len("_grad")] for entry in schema.operator(op.backward).outputs]


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
    variables = _variables(schema, op)
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
        lines.append(f"portops::{_params(op)} options{{{', '.join(members)}}};")
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
    lines += _finish(op)
    return lines


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
            condition = f", recording.wants({_variables_of(gradient).index(unless)})"
        elif gradient.no_need_buffer_attribute:
            condition = f", impl::{gradient.name}_needs_buffer(params.{gradient.no_need_buffer_attribute})"
    return [f"recording.keep({variable}{condition});"]


def _variables_of(gradient: Operator) -> list[str]:
    return [entry.name[: -len("_grad")] for entry in gradient.outputs]


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


# --- gradients ------------------------------------------------------------------------------------------------------


def _kept(op: Operator, gradient: Operator) -> list[Input]:
    """What the gradient takes of the call, in its order: inputs, then outputs. A list is the only thing kept."""
    kept = [entry for entry in gradient.inputs if op.input(entry.name)]
    kept += [entry for entry in gradient.inputs if op.output(entry.name)]
    assert len(kept) == 1 or not any(entry.list for entry in kept), f"{op.name} keeps a list among others"
    return kept


def _backward(schema: Schema, op: Operator) -> str:
    gradient = schema.operator(op.backward)
    kept = _kept(op, gradient)
    kept_at = {entry.name: number for number, entry in enumerate(kept)}
    variables = _variables(schema, op)
    lines = _sparse(schema, op, kept_at)
    for entry in kept:
        if entry.list:
            kind, function = ("RaggedRef", "ragged_list") if entry.has_levels else ("TensorRef", "list")
            lines.append(f"const std::vector<{kind}> {entry.name} = call.{function}({kept_at[entry.name]});")
    grads = [entry for entry in gradient.inputs if entry.name not in kept_at]
    lines += [f"const std::vector<TensorRef> {entry.name} = call.out_grad_list();" for entry in grads if entry.list]
    for number, entry in enumerate(gradient.outputs):
        if entry.list:
            lines.append(f"const std::vector<TensorRef> {entry.name} = call.gradient_list();")
        else:
            lines.append(f"const TensorRef {entry.name} = {_gradient_place(gradient, kept_at, number, entry)};")
    optional = [entry for entry in gradient.inputs if entry.optional]
    if gradient.has_params:
        plain = f"portops::{_params(op)}"
        lines.append(
            f"{plain} params = call.params<{plain}>();" if optional else f"const auto& params = call.params<{plain}>();"
        )
        lines += [f"params.{entry.name} = call.tensor({kept_at[entry.name]});" for entry in optional]
    arguments = ["call.ctx()"]
    for entry in gradient.inputs:
        if entry.optional:
            continue
        if entry.name not in kept_at:
            arguments.append(entry.name if entry.list else "call.out_grad()")
        elif entry.list:
            arguments.append(entry.name)
        else:
            arguments.append(f"call.{_getter(entry)}({kept_at[entry.name]})")
    arguments += [entry.name for entry in gradient.outputs]
    if gradient.has_params:
        arguments.append("params")
    lines.append(f"portops::{gradient.name}({', '.join(arguments)});")
    assert variables
    body = "\n".join(f"  {line}" for line in lines)
    return f"void {op.name}_backward(impl::GradientCall& call) {{\n{body}\n}}\n\n"


def _has_sparse(schema: Schema) -> bool:
    """Whether the operators are there that sparse gradients are made and added with."""
    return all(schema.operator(name) for name in ("embedding_sparse_gradient", "sparse_sgd"))


def _sparse(schema: Schema, op: Operator, kept_at: dict[str, int]) -> list[str]:
    """The call of NAME_sparse_gradient, where there is one, for a leaf that wants a sparse gradient."""
    sparse = schema.operator(f"{op.name}_sparse_gradient")
    if sparse is None or not _has_sparse(schema):
        return []
    params = f"portops::{_params(op)}"
    options = ", ".join(f".{entry.name} = call.params<{params}>().{entry.name}" for entry in sparse.attributes)
    inputs = [f"call.tensor({kept_at[entry.name]})" if entry.name in kept_at else "call.out_grad()" for entry in sparse.inputs]
    operands = ", ".join(f"call.tensor({kept_at[name]})" for name in sparse.computed.names)
    outputs = [f"sparse.{entry.name}.tensor" for entry in sparse.outputs]
    return [
        "if (call.wants_sparse()) {",
        f"  const portops::{_params(sparse)} options{{{options}}};",
        f'  const auto extents = impl::{sparse.name}_extents("{sparse.name}", {operands}, options);',
        "  const impl::SparseValue& sparse = call.sparse_gradient(extents.rows.extents, extents.values.extents);",
        f"  return portops::{sparse.name}({', '.join(['call.ctx()', *inputs, *outputs, 'options'])});",
        "}",
    ]


def _getter(entry: Input) -> str:
    if entry.ragged == "levels":
        return "levels"
    if entry.has_levels:
        return "ragged"
    return "operand" if entry.or_number else "tensor"


def _gradient_place(gradient: Operator, kept_at: dict[str, int], number: int, entry: Output) -> str:
    """Where a gradient is written: over what the operator may write it over, where nobody else holds that."""
    source = next((source for source, target in gradient.inplace if target == entry.name), None)
    if source is None:
        return f"call.gradient({number})"
    if source in kept_at:
        return f"call.gradient_over_kept({number}, {kept_at[source]})"
    return f"call.gradient_over_out_grad({number})"


def _operation(schema: Schema, op: Operator) -> str:
    gradient = schema.operator(op.backward)
    output = next(entry for entry in op.outputs if entry.type is None)
    return (
        f"constexpr const char* {op.name}_kept[] = {_names(entry.name for entry in _kept(op, gradient))};\n"
        f"constexpr int {op.name}_kept_operands[] = {{{', '.join(_kept_operands(schema, op))}}};\n"
        f"constexpr const char* {op.name}_variables[] = {_names(_variables(schema, op))};\n"
        f"constexpr impl::Operation {op.name}_operation{{\n"
        f'    .name = "{op.name}",\n'
        f'    .grad_name = "{gradient.name}",\n'
        f'    .label = "portops::autograd::{op.name}",\n'
        f'    .grad_label = "portops::autograd::{gradient.name}",\n'
        f"    .kept_names = {op.name}_kept,\n"
        f"    .kept = {len(_kept(op, gradient))},\n"
        f"    .variables = {op.name}_variables,\n"
        f'    .output = "{output.name}",\n'
        f"    .kept_operands = {op.name}_kept_operands,\n"
        f"    .backward = &{op.name}_backward,\n"
        f"    .gradients = {f'&impl::{op.name}_gradients' if _has_second_order(schema, op) else 'nullptr'},\n"
        "};\n"
    )


def _kept_operands(schema: Schema, op: Operator) -> list[str]:
    """Of what is kept, the variables; a list, of which the extents are kept alone, is none."""
    variables = _variables(schema, op)
    kept = _kept(op, schema.operator(op.backward))
    places = [
        str(variables.index(entry.name)) if entry.name in variables and not entry.list else "impl::no_operand" for entry in kept
    ]
    return places or ["impl::no_operand"]


def _has_second_order(schema: Schema, op: Operator) -> bool:
    """Whether autograd/second_order.cpp, which needs all of these, has its gradients as calls of such operators."""
    return op.name in SECOND_ORDER and all(schema.operator(name) for name in SECOND_ORDER)


def _names(names: Iterable[str]) -> str:
    return "{" + ", ".join([*(f'"{name}"' for name in names), "nullptr"]) + "}"


# How sparse gradients are added, in a build with the operators for it.
ROWS = """
void add_rows(const Context& ctx, const TensorRef& x, const SparseValue& term, const TensorRef& out) {
  sparse_sgd(ctx, x, term.rows.tensor, term.values.tensor, out, {.count = term.count.tensor, .learning_rate = -1.0});
}

void merge_rows_of(const Context& ctx, std::int64_t height, const TensorRef& rows, const TensorRef& values,
                   const SparseValue& out) {
  Extents table = values.extents();
  table[0] = height + 1;  // with a row for what is left out
  embedding_sparse_gradient(ctx, TensorRef::without_data(values.type(), table), rows, values, out.rows.tensor,
                            out.values.tensor, out.count.tensor, {.padding_idx = height});
  limit_rows(ctx, values.type(), out.rows.tensor, height);  // behind the count, as elsewhere
}
"""
# And in one without, which makes none.
NO_ROWS = """
void add_rows(const Context&, const TensorRef&, const SparseValue&, const TensorRef&) {}

void merge_rows_of(const Context&, std::int64_t, const TensorRef&, const TensorRef&, const SparseValue&) {}
"""


def _add(schema: Schema) -> str:
    if schema.operator("add"):
        return (
            "void add_tensors(const Context& ctx, const TensorRef& x, const TensorRef& y, const TensorRef& out) {\n"
            "  add(ctx, x, y, out);\n}\n\n"
            "autograd::Variable add_variables(const Context& ctx, const autograd::Variable& x, const autograd::Variable& y) {\n"
            "  return autograd::add(ctx, x, y);\n}\n"
        )
    return (
        "void add_tensors(const Context&, const TensorRef&, const TensorRef&, const TensorRef&) {\n"
        '  fail("portops::autograd: gradients are added by the operator add, which this build leaves out '
        '(PORTOPS_OPERATORS)");\n}\n\n'
        "autograd::Variable add_variables(const Context& ctx, const autograd::Variable& x, const autograd::Variable&) {\n"
        "  add_tensors(ctx, x.tensor(), x.tensor(), x.tensor());\n  return x;\n}\n"
    )
