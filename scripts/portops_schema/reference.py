# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the reference pages, in Markdown."""

from __future__ import annotations

import textwrap

from . import autograd, c_interface
from .model import TENSOR_TYPES, Attribute, Input, Operator, Output, Schema

MARK = "Made from src/ops/ops.yaml by `scripts/schema.py reference`: edits are lost."
HEADER = f"""\
<!--
SPDX-FileCopyrightText: 2026 The portops authors
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

{MARK}
-->
"""


def is_generated(text: str) -> bool:
    return text.startswith(HEADER)


def pages(schema: Schema, promises: c_interface.Promises) -> dict[str, str]:
    """The text of each page, by file name."""
    return {"index.md": _index(schema)} | {f"{op.name}.md": _page(schema, op, promises) for op in schema.operators}


def _index(schema: Schema) -> str:
    rows = [
        [f"[`{op.name}`]({op.name}.md)", op.brief, f"[`{op.backward}`]({op.backward}.md)" if op.backward else "—"]
        for op in schema.operators
    ]
    return "\n".join(
        [
            HEADER,
            "# Operators",
            "",
            *_table(["Operator", "What it computes", "Gradients"], rows),
            "",
        ]
    )


def _page(schema: Schema, op: Operator, promises: c_interface.Promises) -> str:
    sections = [
        HEADER,
        f"# {op.name}\n",
        f"{op.brief}\n",
        f"```text\n{op.formula}\n```\n",
        *([f"{op.details}\n"] if op.details else []),
        "## Inputs\n",
        *_table(
            ["Name", "What it may be", "Extents", "Meaning"],
            [[f"`{entry.name}`", _kind(entry), _extents(op, entry), entry.description] for entry in op.inputs],
        ),
        "",
        *_attributes(op),
        "## Outputs\n",
        *_table(
            ["Name", "Extents", "Wanted", "Meaning"],
            [
                [f"`{entry.name}`", _code(str(entry.shape)), _wanted(op, entry), entry.description]
                for entry in op.outputs
            ],
        ),
        "",
        "## Rules\n",
        *(f"- {rule}" for rule in _rules(schema, op)),
        "",
        "## C++\n",
        f"```cpp\n#include <portops/ops/{op.family}.hpp>\n\n{_signature(op)}\n```\n",
        *_on_variables(op),
        "## C\n",
        f"```c\n#include <portops.h>\n\n{_c_signature(op, promises)}\n```\n",
        "## Command line\n",
        f"```sh\n{_command(op)}\n```\n",
    ]
    return "\n".join(sections)


def _attributes(op: Operator) -> list[str]:
    if not op.attributes:
        return []
    rows = [
        [
            f"`{entry.name}`",
            _type(entry),
            _code(_value(entry)) if entry.default is not None else "must be given",
            entry.description,
        ]
        for entry in op.attributes
    ]
    return ["## Attributes\n", *_table(["Name", "Type", "Default", "Meaning"], rows), ""]


def _type(entry: Attribute) -> str:
    return entry.type + "".join(f" or {_code(name)} ({number:g})" for name, number in entry.names.items())


def _kind(entry: Input) -> str:
    if entry.ragged == "levels":
        return "levels"
    if entry.ragged == "true":
        return "list of ragged tensors" if entry.list else "ragged tensor"
    return _kind_of_tensor(entry) + (", may be ragged" if entry.ragged else "")


def _kind_of_tensor(entry: Input) -> str:
    kind = "list of tensors" if entry.list else "tensor"
    if entry.type:
        kind += f" of {entry.type_words}"
    if entry.default is not None:
        return f"{kind} or number; {entry.default:g} where it is left out"
    if entry.or_number:
        return f"{kind} or number"
    return f"{kind}, optional" if entry.optional else kind


def _extents(op: Operator, entry: Input) -> str:
    if entry.ragged == "levels":
        return "—"
    if entry.shape:
        return _code(str(entry.shape))
    return "see its meaning" if op.computed and entry.name in op.computed.names else "any"


def _wanted(op: Operator, entry: Output) -> str:
    kind = "a list of tensors" if entry.list else "a tensor"
    return _when(op, entry) + (f"; {kind} of {entry.type_words}" if entry.type else "")


def _when(op: Operator, entry: Output) -> str:
    operand = op.needs_tensor(entry)
    if operand:
        return f"optional, only where `{operand}` is {'a tensor' if op.input(operand).or_number else 'given'}"
    if entry.list:
        return "optional, and so is each of the list" if entry.optional else "always, each of the list"
    return "optional" if entry.optional else "always"


def _rules(schema: Schema, op: Operator) -> list[str]:
    own = sorted({TENSOR_TYPES[entry.type] for entry in (*op.inputs, *op.outputs) if entry.type})
    others = f" but those of {' and '.join(own)}" if own else ""
    rules = [f"All tensors{others} have one element type: f64, f32, f16 or bf16."] if op.typed_input else []
    given = [entry.shape for entry in (*op.inputs, *op.outputs) if entry.shape]
    if any(rule.function == "broadcast" for rule in given):
        rules.append(
            "`broadcast(…)`: the extents to which the tensors broadcast by NumPy's rules; a number has the "
            "extents []."
        )
    likes = [entry for entry in (*op.inputs, *op.outputs) if entry.shape and entry.shape.function == "like"]
    if any(not entry.list for entry in likes):
        rules.append("`like(…)`: the same extents as that tensor.")
    if any(entry.list for entry in likes):
        rules.append("`like(…)` of a list: a tensor for each of that list, of the same extents.")
    if any(rule.function == "scalar" for rule in given):
        rules.append("`scalar()`: the extents [], those of one number.")
    if any(rule.function == "reduced" for rule in given):
        whole = "with `asvector`" if op.attribute("asvector") else "where it names none,"
        rules.append(
            "`reduced(…)`: the extents of that tensor without the axes that `axis` names. With `keepdim` these stay, "
            f"with extent 1; {whole} they are all axes."
        )
    if any(rule.function == "joined" for rule in given):
        rules.append(
            "`joined(…)`: the extents of that list's tensors one behind the other along `axis`. But for this axis "
            "all have the same extents."
        )
    if any(rule.function == "divided" for rule in given):
        rules.append(
            "`divided(…)`: a tensor for each of `sections`, of the extents of that tensor, but for `axis`, along "
            "which it has the section's. One section may be -1: what the others leave."
        )
    if op.computed:
        rules.append("`computed(…)`: the extents that follow from those tensors and the attributes, as said above.")
    rules += [_levels_rule(entry) for entry in op.outputs if entry.levels]
    if any(entry.optional for entry in op.outputs):
        rules.append("An optional output that is left out (in C++: an empty `TensorRef`) costs nothing.")
    if op.inplace:
        pairs = ", ".join(f"`{target}` may be the same tensor as `{source}`" for source, target in op.inplace)
        rules.append(f"In place: {pairs}. Any other overlap of an output with an argument is refused.")
    else:
        rules.append("No output may overlap another argument.")
    if op.no_need_buffer:
        names = " and ".join(f"`{name}`" for name in op.no_need_buffer)
        unless = ""
        if op.no_need_buffer_unless:
            unless = f", unless `{op.no_need_buffer_unless}` is wanted"
        elif op.no_need_buffer_attribute:
            unless = f" for some values of `{op.no_need_buffer_attribute}`, as said above"
        rules.append(f"Of {names} only the extents are read{unless}.")
    if op.autocast:
        made = {"narrow": "its own type", "wide": "f32", "promote": "the widest type among them"}[op.autocast]
        rules.append(f"Under PyTorch's autocast the operands are cast to {made}.")
    if op.backward:
        rules.append(f"Gradients: [`{op.backward}`]({op.backward}.md).")
    rules += [
        f"It gives the gradients of [`{other.name}`]({other.name}.md)."
        for other in schema.operators
        if other.backward == op.name
    ]
    return rules


def _levels_rule(entry: Output) -> str:
    rule = entry.levels
    if rule.function == "drops":
        return f"Levels: `{entry.name}` has none."
    if rule.function == "changes":
        return f"Levels: `{entry.name}` has levels of its own, as said above."
    if len(rule.names) == 1:
        return f"Levels: `{entry.name}` has those of `{rule.names[0]}`."
    names = ", ".join(f"`{name}`" for name in rule.names)
    return f"Levels: `{entry.name}` has those of the first of {names} that is ragged."


def _signature(op: Operator) -> str:
    inputs = [_parameter(entry) for entry in op.inputs if not entry.optional]
    outputs = [_parameter(entry) for entry in op.outputs]
    start = f"void portops::{op.name}("
    lines = ["const Context& ctx", *_lines(inputs, len(start)), *_lines(outputs, len(start))]
    members = [*(entry for entry in op.inputs if entry.optional), *op.attributes]
    if members:
        struct = "".join(word.capitalize() for word in op.family.split("_")) + "Params"
        complete = all(entry.default is not None for entry in op.attributes)
        lines.append(f"const {struct}& params{' = {}' if complete else ''}")
    signature = start + (",\n" + " " * len(start)).join(lines) + ");"
    if members:
        signature += f"\n\n// params: {{{', '.join(f'.{entry.name}' for entry in members)}}}"
    return signature


def _on_variables(op: Operator) -> list[str]:
    """The function of portops::autograd, of an operator that has one."""
    if not op.backward:
        return []
    return [
        "On variables, with gradients:\n",
        f"```cpp\n#include <portops/autograd/operators.hpp>\n\n{autograd.signatures(op)}\n```\n",
    ]


def _c_signature(op: Operator, promises: c_interface.Promises) -> str:
    function = c_interface.function_of(op, promises)
    names = ", ".join(entry.name for entry in function.members)
    options = f"\n\n// options: {names}; begin with {function.macro}" if names else ""
    return "\n".join(c_interface.signature(function)) + options


def _parameter(entry: Input | Output) -> str:
    if entry.list:
        is_ragged = isinstance(entry, Input) and entry.has_levels
        return f"std::span<const {'RaggedRef' if is_ragged else 'TensorRef'}> {entry.name}"
    return f"const {_cpp_type(entry)}& {entry.name}"


def _cpp_type(entry: Input | Output) -> str:
    if isinstance(entry, Output):
        return "TensorRef"
    if entry.ragged == "levels":
        return "Levels"
    if entry.has_levels:
        return "RaggedRef"
    return "TensorOrNumber" if entry.or_number else "TensorRef"


def _lines(parameters: list[str], indent: int) -> list[str]:
    """The parameters, separated by commas, in lines as wide as the project's code."""
    lines = parameters[:1]
    for parameter in parameters[1:]:
        if indent + len(f"{lines[-1]}, {parameter},") <= 120:
            lines[-1] += f", {parameter}"
        else:
            lines.append(parameter)
    return lines


def _command(op: Operator) -> str:
    tensors = {op.needs_tensor(entry) for entry in op.outputs}
    words = [f"portops run {op.name}"]
    for entry in op.inputs:
        number = entry.default is not None and entry.name not in tensors
        if entry.ragged != "levels":
            words.append(f"{entry.name}={entry.default:g}" if number else _files(entry))
        if entry.ragged in ("true", "levels"):
            of_list = f"{entry.name}_0_levels.npy,{entry.name}_1_levels.npy"
            words.append(f"{entry.name}.levels={of_list if entry.list else f'{entry.name}_levels.npy'}")
    words += [f"{entry.name}={_value(entry)}" for entry in op.attributes if entry.default is not None]
    words += [f"{entry.name}=…" for entry in op.attributes if entry.default is None]
    words += [_files(entry) for entry in op.outputs]
    lines = textwrap.wrap(
        " ".join(words), 110, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )
    return " \\\n".join(lines)


def _files(entry: Input | Output) -> str:
    name = entry.name
    return f"{name}={name}_0.npy,{name}_1.npy" if entry.list else f"{name}={name}.npy"


def _value(entry: Attribute) -> str:
    """A default as the command line writes it."""
    if entry.type == "boolean":
        return "true" if entry.default else "false"
    if entry.type == "number":
        return f"{entry.default:g}"
    if entry.type == "integers":
        return ",".join(str(item) for item in entry.default) or "[]"
    return str(entry.default)


def _code(text: str) -> str:
    return f"`{text}`"


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    def line(cells: list[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    return [line(head), line(["---"] * len(head)), *(line(row) for row in rows)]
