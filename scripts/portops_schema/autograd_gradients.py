# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the half of portops::autograd that a backward pass calls: of each operator with a gradient a function that calls
that, what a call keeps for it, and how gradients are added."""

from __future__ import annotations

from collections.abc import Iterable

from .model import Input, Operator, Output, Schema

# The operators whose gradients are made of these same operators, in autograd/second_order.cpp.
SECOND_ORDER = ("add", "concat", "lerp", "matmul", "mean", "multiply", "reshape", "split", "subtract", "sum")


def params_class(op: Operator) -> str:
    return f"{op.family_class}Params"


def variables_of(gradient: Operator) -> list[str]:
    """The inputs that have gradients, in the order of these."""
    return [entry.name[: -len("_grad")] for entry in gradient.outputs]


def _kept(op: Operator, gradient: Operator) -> list[Input]:
    """What the gradient takes of the call, in its order: inputs, then outputs. A list is the only thing kept."""
    kept = [entry for entry in gradient.inputs if op.input(entry.name)]
    kept += [entry for entry in gradient.inputs if op.output(entry.name)]
    assert len(kept) == 1 or not any(entry.list for entry in kept), f"{op.name} keeps a list among others"
    return kept


def backward(schema: Schema, op: Operator) -> str:
    gradient = schema.operator(op.backward)
    kept = _kept(op, gradient)
    kept_at = {entry.name: number for number, entry in enumerate(kept)}
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
        plain = f"portops::{params_class(op)}"
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
    params = f"portops::{params_class(op)}"
    options = ", ".join(f".{entry.name} = call.params<{params}>().{entry.name}" for entry in sparse.attributes)
    inputs = [
        f"call.tensor({kept_at[entry.name]})" if entry.name in kept_at else "call.out_grad()" for entry in sparse.inputs
    ]
    operands = ", ".join(f"call.tensor({kept_at[name]})" for name in sparse.computed.names)
    outputs = [f"sparse.{entry.name}.tensor" for entry in sparse.outputs]
    return [
        "if (call.wants_sparse()) {",
        f"  const portops::{params_class(sparse)} options{{{options}}};",
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


def operation(schema: Schema, op: Operator) -> str:
    gradient = schema.operator(op.backward)
    output = next(entry for entry in op.outputs if entry.type is None)
    return (
        f"constexpr const char* {op.name}_kept[] = {_names(entry.name for entry in _kept(op, gradient))};\n"
        f"constexpr int {op.name}_kept_operands[] = {{{', '.join(_kept_operands(schema, op))}}};\n"
        f"constexpr const char* {op.name}_variables[] = {_names(variables_of(schema.operator(op.backward)))};\n"
        f"constexpr impl::Operation {op.name}_operation{{\n"
        f'    .name = "{op.name}",\n'
        f'    .grad_name = "{gradient.name}",\n'
        f'    .label = "portops::autograd::{op.name}",\n'
        f'    .grad_label = "portops::autograd::{gradient.name}",\n'
        f"    .kept_names = {op.name}_kept,\n"
        f"    .kept_count = {len(_kept(op, gradient))},\n"
        f"    .variables = {op.name}_variables,\n"
        f'    .output = "{output.name}",\n'
        f"    .kept_operands = {op.name}_kept_operands,\n"
        f"    .backward = &{op.name}_backward,\n"
        f"    .gradients = {f'&impl::{op.name}_gradients' if _has_second_order(schema, op) else 'nullptr'},\n"
        "};\n"
    )


def _kept_operands(schema: Schema, op: Operator) -> list[str]:
    """Of what is kept, the variables; a list, of which the extents are kept alone, is none."""
    variables = variables_of(schema.operator(op.backward))
    kept = _kept(op, schema.operator(op.backward))
    places = [
        str(variables.index(entry.name)) if entry.name in variables and not entry.list else "impl::no_operand"
        for entry in kept
    ]
    return places or ["impl::no_operand"]


def _has_second_order(schema: Schema, op: Operator) -> bool:
    """Whether autograd/second_order.cpp, which needs all of these, has its gradients as calls of such operators."""
    return op.name in SECOND_ORDER and all(schema.operator(name) for name in SECOND_ORDER)


def sums(schema: Schema) -> str:
    """How gradients are added."""
    return _add_tensors(schema) + (ROWS if _has_sparse(schema) else NO_ROWS)


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


def _add_tensors(schema: Schema) -> str:
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
