# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads a schema from YAML. The form of each entry is checked here, what the entries say of one another in rules.py."""

from __future__ import annotations

import math
import re

import yaml

from . import rules
from .model import (
    ATTRIBUTE_TYPES,
    AUTOCAST,
    RAGGED,
    SHAPE_FUNCTIONS,
    SHAPE_FUNCTIONS_OF_ONE,
    TENSOR_TYPES,
    Attribute,
    Input,
    LevelsRule,
    Operator,
    Output,
    Schema,
    SchemaError,
    ShapeRule,
)

NAME = re.compile(r"[a-z][a-z0-9_]*")
NUMBERS = ("inf", "infinity", "nan")  # texts that are read as numbers where one is expected
INFINITIES = {".inf": math.inf, "-.inf": -math.inf}  # in YAML
LEVELS = re.compile(r"(share)\(\s*([a-z0-9_]+(?:\s*,\s*[a-z0-9_]+)*)\s*\)|(changes|drops)")
SHAPE = re.compile(r"([a-z_]+)\(([a-z0-9_, ]*)\)")
INPLACE = re.compile(r"\(\s*([a-z0-9_]+)\s*->\s*([a-z0-9_]+)\s*\)")
TYPE_UNLESS = re.compile(r"([a-z0-9]+)\s+unless\s+([a-z0-9_]+)")
NO_NEED_BUFFER = re.compile(r"([a-z0-9_]+(?:\s*,\s*[a-z0-9_]+)*)(?:\s+unless\s+(?:([a-z0-9_]+)|computed\(([a-z0-9_]+)\)))?")

OPERATOR_KEYS = (
    "op",
    "brief",
    "formula",
    "details",
    "inputs",
    "attributes",
    "outputs",
    "backward",
    "inplace",
    "no_need_buffer",
    "autocast",
)
INPUT_KEYS = ("name", "description", "list", "optional", "or_number", "default", "shape", "type", "ragged")
ATTRIBUTE_KEYS = ("name", "description", "type", "default", "names")
OUTPUT_KEYS = ("name", "description", "list", "shape", "optional", "type", "levels")

TAGS = {
    "tag:yaml.org,2002:str": "a text",
    "tag:yaml.org,2002:bool": "a boolean",
    "tag:yaml.org,2002:int": "an integer",
    "tag:yaml.org,2002:float": "a number",
    "tag:yaml.org,2002:null": "nothing",
    "tag:yaml.org,2002:seq": "a list",
    "tag:yaml.org,2002:map": "a mapping",
}


def load(file: str) -> Schema:
    """Reads and checks a schema; throws SchemaError with everything that is wrong with it."""
    messages: list[str] = []
    try:
        with open(file, encoding="utf-8") as stream:
            root = yaml.compose(stream, Loader=yaml.SafeLoader)
    except OSError as error:
        raise SchemaError([f"{file}:1: cannot be read: {error.strerror}"]) from None
    except UnicodeDecodeError:
        raise SchemaError([f"{file}:1: is not UTF-8 text"]) from None
    except yaml.reader.ReaderError as error:
        raise SchemaError([f"{file}:1: has a character that YAML does not allow, at offset {error.position}"]) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise SchemaError([f"{file}:{mark.line + 1}: is not YAML: {error.problem}"]) from None
    if not isinstance(root, yaml.SequenceNode):
        raise SchemaError(
            [f"{file}:1: the schema is {_kind(root) if root else 'nothing'}, expected a list of operators"]
        )

    schema = Schema(file, [])
    for node in root.value:
        entry = _Entry(file, messages, node, "the operator", OPERATOR_KEYS)
        schema.operators.append(_operator(entry))
    if not messages:  # only what is well formed can be compared
        messages = [f"{file}:{line}: {message}" for line, message in rules.check(schema)]
    if messages:
        raise SchemaError(messages)
    return schema


def _kind(node: yaml.Node) -> str:
    if isinstance(node, yaml.SequenceNode) and not node.value:
        return "an empty list"
    return TAGS.get(node.tag, f"of type {node.tag}")


def _number(node: yaml.Node) -> float | None:
    """The number that the node is, which may be infinite, or None."""
    # Not by its tag: YAML 1.1 takes 1e-12, which has no point, for text.
    if not isinstance(node, yaml.ScalarNode) or node.style is not None or "_" in node.value:
        return None
    if node.value in INFINITIES:
        return INFINITIES[node.value]
    try:
        value = float(node.value)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


class _Entry:
    """A mapping of the schema, read key by key. What is wrong is noted, and something of the right type returned, so
    that one run finds everything."""

    def __init__(self, file: str, messages: list[str], node: yaml.Node, what: str, keys: tuple[str, ...]):
        self.file = file
        self.messages = messages
        self.node = node
        self.what = what
        self.values: dict[str, yaml.Node] = {}
        self.key_lines: dict[str, int] = {}
        if not isinstance(node, yaml.MappingNode):
            self.wrong(node, f"{what} is {_kind(node)}, expected a mapping of {', '.join(keys)}")
            return
        for key, value in node.value:
            if key.value not in keys:
                shown = key.value if isinstance(key, yaml.ScalarNode) else _kind(key)
                self.wrong(key, f"{what} has no key '{shown}'; its keys are {', '.join(keys)}")
            elif key.value in self.values:
                self.wrong(key, f"{what} has the key '{key.value}' twice")
            else:
                self.values[key.value] = value
                self.key_lines[key.value] = key.start_mark.line + 1

    def wrong(self, node: yaml.Node, message: str) -> None:
        self.messages.append(f"{self.file}:{node.start_mark.line + 1}: {message}")

    def line(self, key: str = "") -> int:
        return self.key_lines.get(key, self.node.start_mark.line + 1)

    def value(self, key: str, required: bool) -> yaml.Node | None:
        node = self.values.get(key)
        # An entry that is not a mapping has been reported as such: its missing keys are no news.
        if node is None and required and isinstance(self.node, yaml.MappingNode):
            self.wrong(self.node, f"{self.what} lacks the key '{key}'")
        return node

    def expect(self, key: str, node: yaml.Node, expected: str) -> None:
        found = f"'{node.value}'" if isinstance(node, yaml.ScalarNode) and node.value else _kind(node)
        self.wrong(node, f"{self.what}: '{key}' is {found}, expected {expected}")

    def text(
        self, key: str, required: bool = False, pattern: re.Pattern | None = None, expected: str = "a text"
    ) -> str:
        node = self.value(key, required)
        if node is None:
            return ""
        if node.tag != "tag:yaml.org,2002:str" or not node.value.strip():
            self.expect(key, node, expected)
            return ""
        value = node.value.strip()
        if pattern and not pattern.fullmatch(value):
            self.expect(key, node, expected)
        return value

    def one_line(self, key: str) -> str:
        value = self.text(key, required=True)
        if "\n" in value:
            self.wrong(self.values[key], f"{self.what}: '{key}' has several lines, expected one")
        return value

    def name(self, key: str, required: bool = False) -> str:
        return self.text(key, required, NAME, "a name: lower-case letters, digits and _")

    def boolean(self, key: str) -> bool:
        node = self.value(key, False)
        if node is None:
            return False
        if node.tag != "tag:yaml.org,2002:bool":
            self.expect(key, node, "true or false")
        return node.value.lower() in ("true", "yes", "on") if isinstance(node, yaml.ScalarNode) else False

    def number(self, key: str, may_be_infinite: bool = False) -> float | None:
        node = self.value(key, False)
        if node is None:
            return None
        value = _number(node)
        if value is None or (math.isinf(value) and not may_be_infinite):
            self.expect(key, node, "a finite number" + (", .inf or -.inf" if may_be_infinite else ""))
            return 0.0
        return value

    def numbers(self, key: str) -> dict[str, float]:
        """Finite numbers by name."""
        expected = "a mapping of names to finite numbers, such as {fro: 2}"
        node = self.value(key, False)
        if node is None:
            return {}
        if not isinstance(node, yaml.MappingNode) or not node.value:
            self.expect(key, node, expected)
            return {}
        result: dict[str, float] = {}
        for name, number in node.value:
            value = _number(number)
            if name.tag != "tag:yaml.org,2002:str" or not NAME.fullmatch(name.value):
                self.expect(key, name, expected)
            elif name.value in NUMBERS:
                self.wrong(name, f"{self.what}: '{key}' has the name '{name.value}', which is a number")
            elif name.value in result:
                self.wrong(name, f"{self.what}: '{key}' has the name '{name.value}' twice")
            elif value is None or math.isinf(value):
                self.expect(key, number, expected)
            else:
                result[name.value] = value
        return result

    def entries(self, key: str, required: bool, what: str, keys: tuple[str, ...]) -> list[_Entry]:
        node = self.value(key, required)
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode) or not node.value:
            self.expect(key, node, "a list of at least one")
            return []
        result = []
        for item in node.value:
            entry = _Entry(self.file, self.messages, item, f"{self.what}: {what}", keys)
            if isinstance(entry.values.get("name"), yaml.ScalarNode):
                entry.what = f"{self.what}: {what} {entry.values['name'].value}"
            result.append(entry)
        return result

    def shape(self, required: bool) -> ShapeRule | None:
        text = self.text("shape", required, SHAPE, "a rule such as broadcast(x, y), like(x) or reduced(x)")
        match = SHAPE.fullmatch(text)
        if not match:
            return None
        function = match.group(1)
        names = tuple(name.strip() for name in match.group(2).split(",") if name.strip())
        if function not in SHAPE_FUNCTIONS:
            self.wrong(
                self.values["shape"],
                f"{self.what}: there is no shape rule '{function}'; " f"the rules are {', '.join(SHAPE_FUNCTIONS)}",
            )
            return ShapeRule(function, names, self.line("shape"))
        takes = "one name" if function in SHAPE_FUNCTIONS_OF_ONE else "no name" if function == "scalar" else "at least one name"
        if len(names) != {"one name": 1, "no name": 0}.get(takes, max(len(names), 1)):
            self.wrong(self.values["shape"], f"{self.what}: the shape rule {function} takes {takes}, found {len(names)}")
        return ShapeRule(function, names, self.line("shape"))


def _operator(entry: _Entry) -> Operator:
    name = entry.name("op", required=True)
    entry.what = name or entry.what
    no_need_buffer = NO_NEED_BUFFER.fullmatch(
        entry.text(
            "no_need_buffer",
            False,
            NO_NEED_BUFFER,
            "names of inputs, as in 'x, y', 'x, y unless weight_grad' or 'out unless computed(porder)'",
        )
    )
    pair = INPLACE.pattern
    inplace = entry.text(
        "inplace", False, re.compile(rf"{pair}(\s*,\s*{pair})*"), "pairs of an input and an output, as in '(x -> out)'"
    )
    return Operator(
        name=name,
        brief=entry.one_line("brief"),
        formula=entry.text("formula", required=True),
        details=entry.text("details"),
        inputs=[_input(item) for item in entry.entries("inputs", True, "input", INPUT_KEYS)],
        attributes=[_attribute(item) for item in entry.entries("attributes", False, "attribute", ATTRIBUTE_KEYS)],
        outputs=[_output(item) for item in entry.entries("outputs", True, "output", OUTPUT_KEYS)],
        backward=entry.name("backward"),
        inplace=INPLACE.findall(inplace),
        no_need_buffer=[item.strip() for item in no_need_buffer.group(1).split(",")] if no_need_buffer else [],
        no_need_buffer_unless=(no_need_buffer.group(2) or "") if no_need_buffer else "",
        no_need_buffer_attribute=(no_need_buffer.group(3) or "") if no_need_buffer else "",
        lines={key: entry.line(key) for key in OPERATOR_KEYS} | {"op": entry.line()},
        autocast=_autocast(entry),
    )


def _autocast(entry: _Entry) -> str:
    value = entry.text("autocast", False, None, "one of " + ", ".join(AUTOCAST))
    if value and value not in AUTOCAST:
        entry.expect("autocast", entry.values["autocast"], "one of " + ", ".join(AUTOCAST))
        return ""
    return value


def _input(entry: _Entry) -> Input:
    kind, unless = _tensor_type(entry, may_depend=True)
    return Input(
        entry.name("name", required=True),
        entry.one_line("description"),
        entry.boolean("list"),
        entry.boolean("optional"),
        entry.boolean("or_number"),
        entry.number("default"),
        entry.shape(required=False),
        entry.line(),
        type=kind,
        type_unless=unless,
        ragged=_ragged(entry),
    )


def _ragged(entry: _Entry) -> str:
    node = entry.values.get("ragged")
    if node is None:
        return ""
    value = node.value if isinstance(node, yaml.ScalarNode) else ""
    if value not in RAGGED:
        entry.expect("ragged", node, "one of " + ", ".join(RAGGED))
        return ""
    return value


def _levels(entry: _Entry) -> LevelsRule | None:
    match = LEVELS.fullmatch(entry.text("levels", False, LEVELS, "share(x), share(x, y), changes or drops"))
    if not match:
        return None
    names = tuple(name.strip() for name in (match.group(2) or "").split(",") if name.strip())
    return LevelsRule(match.group(1) or match.group(3), names, entry.line("levels"))


def _output(entry: _Entry) -> Output:
    # An output without a rule is reported; the empty rule only stands in for it.
    return Output(
        entry.name("name", required=True),
        entry.one_line("description"),
        entry.boolean("list"),
        entry.shape(required=True) or ShapeRule("", (), entry.line()),
        entry.boolean("optional"),
        entry.line(),
        type=_tensor_type(entry, may_depend=False)[0],
        levels=_levels(entry),
    )


def _tensor_type(entry: _Entry, may_depend: bool) -> tuple[str | None, str]:
    """The type of a tensor's own, and the attribute that gives it the type of the call instead."""
    kind, unless = entry.text("type"), ""
    if may_depend and (match := TYPE_UNLESS.fullmatch(kind)):
        kind, unless = match.groups()
    if kind and kind not in TENSOR_TYPES:
        forms = ", or one of them as in 'i64 unless soft_label'" if may_depend else ""
        entry.expect("type", entry.values["type"], "one of " + ", ".join(TENSOR_TYPES) + forms)
    return kind or None, unless


def _attribute(entry: _Entry) -> Attribute:
    kind = entry.text("type", required=True)
    if kind and kind not in ATTRIBUTE_TYPES:
        entry.expect("type", entry.values["type"], "one of " + ", ".join(ATTRIBUTE_TYPES))
    return Attribute(
        entry.name("name", required=True),
        entry.one_line("description"),
        kind,
        _default(entry, kind),
        entry.numbers("names"),
        entry.line(),
    )


def _default(entry: _Entry, kind: str) -> bool | int | float | str | list[int] | None:
    node = entry.values.get("default")
    if node is None:
        return None
    if kind == "boolean":
        return entry.boolean("default")
    if kind == "number":
        return entry.number("default", may_be_infinite=True)
    if kind == "text":
        return entry.text("default")
    if kind == "integer":
        return _integer(entry, node, "an integer")
    if kind == "integers":
        if isinstance(node, yaml.SequenceNode):
            return [_integer(entry, item, "a list of integers") for item in node.value]
        entry.expect("default", node, "a list of integers")
    return None


def _integer(entry: _Entry, node: yaml.Node, expected: str) -> int:
    if node.tag == "tag:yaml.org,2002:int" and re.fullmatch(r"[-+]?(0|[1-9][0-9]*)", node.value):
        if -(2**63) < int(node.value) < 2**63:
            return int(node.value)
    entry.expect("default", node, expected)
    return 0
