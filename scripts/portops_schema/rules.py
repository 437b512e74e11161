# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the entries of a well-formed schema must say of one another."""

from __future__ import annotations

from collections.abc import Iterator

from .model import SHAPE_ATTRIBUTES, SHAPE_OPTIONS, VARIABLE_TYPES, Input, Operator, Output, Schema, ShapeRule

Messages = Iterator[tuple[int, str]]  # line, message


def check(schema: Schema) -> list[tuple[int, str]]:
    messages = []
    seen: dict[str, int] = {}
    for op in schema.operators:
        if op.name in seen:
            messages.append((op.line, f"{op.name}: declared twice, first at line {seen[op.name]}"))
        seen.setdefault(op.name, op.line)
        messages_of_op = (
            *_arguments(op),
            *_lists(op),
            *_shapes(op),
            *_levels(op),
            *_promises(op),
            *_backward(schema, op),
        )
        for line, message in messages_of_op:
            messages.append((line, f"{op.name}: {message}"))
    return sorted(messages)


def _arguments(op: Operator) -> Messages:
    seen: set[str] = set()
    for entry in (*op.inputs, *op.outputs, *op.attributes):
        if entry.name in seen:
            yield entry.line, f"two arguments are called {entry.name}"
        if entry.name == "ctx":
            yield entry.line, "no argument may be called ctx, which is the context of every call"
        seen.add(entry.name)
    first = op.typed_input
    if first and not first.always_a_tensor:
        yield first.line, (
            f"input {first.name}: the first input gives the outputs their element type "
            "and may be neither a number nor optional"
        )
    for entry in op.outputs if first is None else ():
        if entry.type is None:
            yield entry.line, f"output {entry.name}: all inputs have a type of their own, so it needs one as well"
    for entry in op.outputs if not op.parameters else ():
        if entry.type == "parameters":
            yield entry.line, f"output {entry.name}: no input has the type parameters"
    for entry in op.inputs:
        if entry.type == "parameters" and (entry.list or entry.or_number or entry.ragged):
            yield entry.line, f"input {entry.name}: of the type parameters it is one tensor, and no number"
        if entry.default is not None and not entry.or_number:
            yield entry.line, f"input {entry.name}: only an input with or_number may have a default"
        unless = op.attribute(entry.type_unless)
        if entry.type_unless and (unless is None or unless.type != "boolean"):
            yield entry.line, f"input {entry.name}: its type needs the attribute {entry.type_unless} of type boolean"
        if entry.type == "i64" and entry.or_number:
            yield entry.line, f"input {entry.name}: indices may not be a number"
        if entry.optional and entry.or_number:
            yield entry.line, (
                f"input {entry.name}: an input with or_number is made optional by a default, " "not by 'optional'"
            )
    for entry in op.attributes:
        if entry.names and entry.type != "number":
            yield entry.line, f"attribute {entry.name}: only an attribute of type number may have names"


def _lists(op: Operator) -> Messages:
    for entry in op.inputs:
        if entry.list and entry.or_number:
            yield entry.line, f"input {entry.name}: a list may not be a number"
    tensors = [("input", entry) for entry in op.inputs] + [("output", entry) for entry in op.outputs]
    for kind, entry in tensors:
        operand = op.input(entry.shape.names[0]) if entry.shape and entry.shape.names else None
        if operand is None:
            continue  # reported with the rule
        gives_list = entry.shape.function == "divided" or (entry.shape.function == "like" and operand.list)
        if gives_list != entry.list:
            yield entry.shape.line, (
                f"{kind} {entry.name}: {entry.shape} gives {'a list' if gives_list else 'one tensor'}, "
                f"but the {kind} is {'a list' if entry.list else 'one tensor'}"
            )


def _shapes(op: Operator) -> Messages:
    for kind, entry in [("input", item) for item in op.inputs] + [("output", item) for item in op.outputs]:
        if entry.shape is None:
            continue
        what, rule = f"{kind} {entry.name}", entry.shape
        for name in rule.names:
            operand = op.input(name)
            if operand is None:
                yield rule.line, (
                    f"{what}: {rule} names {name}, which is no input; "
                    f"the inputs are {', '.join(item.name for item in op.inputs)}"
                )
            elif operand is entry:
                yield rule.line, f"{what}: {rule} says that its extents are its own"
            elif operand.optional and (kind == "input" or rule.function != "like"):
                yield rule.line, f"{what}: {rule} names {name}, which is optional and may have no extents"
            elif operand.ragged == "levels" and rule.function != "computed":
                yield rule.line, f"{what}: {rule} names {name}, which is levels alone and has no extents"
            elif operand.list != (rule.function == "joined") and not (
                operand.list and (rule.function == "like" or (rule.function == "computed" and operand.has_levels))
            ):
                yield rule.line, f"{what}: {rule} names {name}, which is {'a' if operand.list else 'no'} list"
            elif operand.or_number and rule.function in ("reduced", "divided", "computed"):
                yield rule.line, f"{what}: {rule} names {name}, which may be a number and have no axes"
        if len(set(rule.names)) != len(rule.names):
            yield rule.line, f"{what}: {rule} names an input twice"
        if rule.function == "computed" and rule != op.computed:
            yield rule.line, f"{what}: {rule} differs from {op.computed} above: one function computes all such extents"
        if isinstance(entry, Output) and op.needs_tensor(entry) and not entry.optional:
            yield entry.line, (f"{what}: must be optional: it exists only where {rule.names[0]} is given as a tensor")
        for name, kind in SHAPE_ATTRIBUTES.get(rule.function, {}).items():
            attribute = op.attribute(name)
            if attribute is None or attribute.type != kind:
                yield rule.line, f"{what}: {rule} needs the attribute {name} of type {kind}"
        for name, kind in SHAPE_OPTIONS.get(rule.function, {}).items():
            attribute = op.attribute(name)
            if attribute is not None and attribute.type != kind:
                yield attribute.line, f"{what}: {rule} takes the attribute {name} of type {kind}"


def _levels(op: Operator) -> Messages:
    ragged = [entry for entry in op.inputs if entry.ragged]
    for entry in ragged:
        if entry.optional:
            yield entry.line, f"input {entry.name}: a ragged input may not be optional"
        if entry.list and entry.ragged != "true":
            yield entry.line, f"input {entry.name}: the tensors of a list are ragged always, or never"
        if entry.or_number and entry.ragged != "values":
            yield entry.line, f"input {entry.name}: a number has no levels"
        if entry.ragged == "levels" and (entry.shape or entry.type):
            yield entry.line, f"input {entry.name}: levels alone have neither a shape nor a type"
    for entry in op.outputs:
        if entry.levels is None:
            if ragged:
                yield entry.line, (
                    f"output {entry.name}: lacks the key 'levels': {ragged[0].name} may be ragged, so it shares, "
                    "changes or drops levels"
                )
            continue
        line = entry.levels.line
        if not ragged:
            yield line, f"output {entry.name}: {entry.levels}, but no input is ragged"
        for name in entry.levels.names:
            operand = op.input(name)
            if operand is None or operand.ragged in ("", "levels"):
                yield line, f"output {entry.name}: {entry.levels} names {name}, which is no ragged input"
            elif operand.list != entry.list:
                yield line, f"output {entry.name}: {entry.levels} names {name}, which is {'a' if operand.list else 'no'} list"
        if entry.levels.function == "changes" and not op.computed:
            yield line, (
                f"output {entry.name}: levels that change are computed from what the shape rule computed(…) names, "
                "which no tensor has"
            )


def _promises(op: Operator) -> Messages:
    line = op.lines["inplace"]
    for source, target in op.inplace:
        if op.input(source) is None:
            yield line, f"inplace: there is no input {source}"
        if op.output(target) is None:
            yield line, f"inplace: there is no output {target}"
        pair = [entry for entry in (op.input(source), op.output(target)) if entry is not None]
        if len({entry.list for entry in pair}) > 1:
            yield line, f"inplace: one of {source} and {target} is a list, and the other one tensor"
    if len(set(op.inplace)) != len(op.inplace):
        yield line, "inplace: a pair is named twice"

    line = op.lines["no_need_buffer"]
    for name in op.no_need_buffer:
        if op.input(name) is None:
            yield line, f"no_need_buffer: there is no input {name}"
    if len(set(op.no_need_buffer)) != len(op.no_need_buffer):
        yield line, "no_need_buffer: an input is named twice"
    if op.no_need_buffer_unless:
        unless = op.output(op.no_need_buffer_unless)
        if unless is None:
            yield line, f"no_need_buffer: there is no output {op.no_need_buffer_unless}"
        elif not unless.optional:
            yield line, f"no_need_buffer: output {unless.name} is always wanted, so the inputs are always read"
    if op.no_need_buffer_attribute and op.attribute(op.no_need_buffer_attribute) is None:
        yield line, f"no_need_buffer: there is no attribute {op.no_need_buffer_attribute}"


def _backward(schema: Schema, op: Operator) -> Messages:
    if op.autocast and op.name.endswith("_grad"):
        yield op.lines["autocast"], "autocast: a gradient computes in the type of what it is given"
    if op.name.endswith("_grad") and not any(other.backward == op.name for other in schema.operators):
        yield op.line, "no operator names it as its backward; a name in _grad is that of a gradient"
    if not op.backward:
        return
    line = op.lines["backward"]
    if op.backward != f"{op.name}_grad":
        yield line, f"backward is {op.backward}, expected {op.name}_grad"
        return
    gradient = schema.operator(op.backward)
    if gradient is None:
        yield line, f"backward: there is no operator {op.backward}"
        return
    for at, message in (*_gradient_inputs(op, gradient), *_gradient_outputs(op, gradient)):
        yield at, f"as the backward of {op.name}, {gradient.name} {message}"


def _gradient_inputs(op: Operator, gradient: Operator) -> Messages:
    """The forward's inputs and outputs, as far as they are needed, then the gradients of all of its outputs."""
    grads = {f"{output.name}_grad": output for output in op.outputs if output.type is None}
    same_extents = {entry.name: entry for entry in (*op.inputs, *op.outputs)} | grads
    allowed = [entry.name for entry in (*op.inputs, *op.outputs)] + list(grads)
    names = [entry.name for entry in gradient.inputs]
    for entry in gradient.inputs:
        if entry.name not in allowed:
            yield entry.line, f"cannot have the input {entry.name}; it can have {', '.join(allowed)}"
        forward = op.input(entry.name)
        facts = ("list", "optional", "or_number", "default", "type", "type_unless", "ragged")
        if forward and any(getattr(entry, fact) != getattr(forward, fact) for fact in facts):
            yield entry.line, f"must declare the input {entry.name} as {op.name} does: {', '.join(facts)}"
        if entry.name in grads and entry.list != grads[entry.name].list:
            yield entry.line, f"must make the input {entry.name} {_one_or_list(grads[entry.name])}"
        if entry.name in same_extents:
            tensor = same_extents[entry.name]
            expected = tensor.shape
            if entry.shape != expected and (expected is None or all(name in names for name in expected.names)):
                yield entry.line, (
                    f"must give the input {entry.name} the shape of {tensor.name} in {op.name}: {expected or 'none'}"
                )
    known = [name for name in names if name in allowed]
    if known != sorted(known, key=allowed.index):
        yield gradient.lines[
            "inputs"
        ], f"must take its inputs in the order {', '.join(sorted(known, key=allowed.index))}"
    for name in grads:
        if name not in names:
            yield gradient.lines["inputs"], f"lacks the input {name}"

    forward = [(entry.name, entry.type, entry.default, entry.names) for entry in op.attributes]
    if forward != [(entry.name, entry.type, entry.default, entry.names) for entry in gradient.attributes]:
        yield gradient.lines["attributes"], (
            f"must have the same attributes: names, types, defaults and named numbers of "
            f"{', '.join(entry.name for entry in op.attributes) or 'none'}"
        )


def _one_or_list(entry: Input | Output) -> str:
    return f"{'a list' if entry.list else 'one tensor'}, as {entry.name} is"


def _gradient_outputs(op: Operator, gradient: Operator) -> Messages:
    """The gradients of the forward's inputs."""
    # Indices have no gradient, nor have levels.
    variables = [entry for entry in op.inputs if entry.type in VARIABLE_TYPES and entry.ragged != "levels"]
    allowed = [f"{entry.name}_grad" for entry in variables]
    for entry in gradient.outputs:
        if entry.name not in allowed:
            yield entry.line, f"cannot have the output {entry.name}; it can have {', '.join(allowed)}"
            continue
        operand = entry.name[: -len("_grad")]
        if entry.type != op.input(operand).type:
            yield entry.line, f"must give the output {entry.name} the type of {operand}"
        if entry.list != op.input(operand).list:
            yield entry.line, f"must make the output {entry.name} {_one_or_list(op.input(operand))}"
        if not entry.optional:
            yield entry.line, f"must make the output {entry.name} optional: an unwanted gradient costs nothing"
        expected = ShapeRule("like", (operand,), 0) if gradient.input(operand) else op.input(operand).shape
        if expected and entry.shape != expected and all(gradient.input(name) for name in expected.names):
            yield entry.shape.line, f"must give the output {entry.name} the shape {expected}"
        if gradient.input(operand) and gradient.input(operand).ragged and str(entry.levels) != f"share({operand})":
            yield entry.line, f"must give the output {entry.name} the levels share({operand}): those of its variable"
    known = [entry.name for entry in gradient.outputs if entry.name in allowed]
    if known != sorted(known, key=allowed.index):
        yield gradient.lines[
            "outputs"
        ], f"must give its outputs in the order {', '.join(sorted(known, key=allowed.index))}"
