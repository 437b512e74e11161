# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operator schema as Python objects. They keep their lines, so that every complaint can name one."""

from __future__ import annotations

import dataclasses
from dataclasses import field

# Element types that a tensor may have instead of the call's one, and their words. Of sums: that in which sums are
# accumulated. Of parameters: the call's or that of sums, as the first of them that is given.
TENSOR_TYPES = {
    "i64": "i64",
    "f64": "f64",
    "sums": "f32 (f64 in a call of f64)",
    "parameters": "the call's type or f32 (f64 in a call of f64)",
}
# The types of variables, which have gradients.
VARIABLE_TYPES = (None, "parameters")
ATTRIBUTE_TYPES = ("boolean", "integer", "number", "integers", "text")
SHAPE_FUNCTIONS = ("broadcast", "like", "reduced", "joined", "divided", "computed", "scalar")
SHAPE_FUNCTIONS_OF_ONE = ("like", "reduced", "joined", "divided")  # those that take one name
# The attributes, and their types, that an operator with one of these shape rules has, and those that it may have.
SHAPE_ATTRIBUTES = {
    "reduced": {"axis": "integers", "keepdim": "boolean"},
    "joined": {"axis": "integer"},
    "divided": {"sections": "integers", "axis": "integer"},
}
SHAPE_OPTIONS = {"reduced": {"asvector": "boolean"}}
# What an input may have to do with levels: it is ragged always, or may be; it is levels alone; or it may be ragged, but
# the operator takes its values alone, position by position.
RAGGED = ("true", "optional", "levels", "values")
# What PyTorch's autocast makes of a call's operands: its own type, f32, or the widest of theirs.
AUTOCAST = ("narrow", "wide", "promote")


class SchemaError(Exception):
    """What is wrong with a schema: messages of the form `file:line: message`."""

    def __init__(self, messages: list[str]):
        super().__init__("\n".join(messages))
        self.messages = messages


@dataclasses.dataclass(frozen=True)
class ShapeRule:
    """`broadcast(x, y)`, `like(x)` and so on: the extents of a tensor, or of those of a list, from those of inputs."""

    function: str
    names: tuple[str, ...]
    line: int = field(compare=False)

    def __str__(self) -> str:
        return f"{self.function}({', '.join(self.names)})"


@dataclasses.dataclass(frozen=True)
class LevelsRule:
    """`share(x, y)`, `changes` or `drops`: the levels of an output, from those of inputs."""

    function: str
    names: tuple[str, ...]
    line: int = field(compare=False)

    def __str__(self) -> str:
        return f"{self.function}({', '.join(self.names)})" if self.names else self.function


@dataclasses.dataclass
class Input:
    name: str
    description: str
    list: bool
    optional: bool
    or_number: bool
    default: float | None
    shape: ShapeRule | None
    line: int
    type: str | None = None  # its own element type; None: that of the call
    type_unless: str = ""  # the boolean attribute that, when true, gives it the type of the call after all, or ""
    ragged: str = ""  # one of RAGGED; empty: it has no levels

    @property
    def type_words(self) -> str:
        """The type of its own."""
        words = TENSOR_TYPES[self.type]
        return f"{words} (with {self.type_unless} that of the call)" if self.type_unless else words

    @property
    def always_a_tensor(self) -> bool:
        return not self.optional and not self.or_number and self.ragged != "levels"

    @property
    def has_levels(self) -> bool:
        """The operator is given its levels."""
        return self.ragged in ("true", "optional")


@dataclasses.dataclass
class Attribute:
    name: str
    description: str
    type: str
    default: bool | int | float | str | list[int] | None  # None: it must be given
    names: dict[str, float]  # texts that stand for numbers
    line: int


@dataclasses.dataclass
class Output:
    name: str
    description: str
    list: bool
    shape: ShapeRule
    optional: bool
    line: int
    type: str | None = None  # its own element type; None: that of the call
    levels: LevelsRule | None = None  # None where no input is ragged

    @property
    def type_words(self) -> str:
        """The type of its own."""
        return TENSOR_TYPES[self.type]


@dataclasses.dataclass
class Operator:
    name: str
    brief: str
    formula: str
    details: str
    inputs: list[Input]
    attributes: list[Attribute]
    outputs: list[Output]
    backward: str  # the operator that computes the gradients, or ""
    inplace: list[tuple[str, str]]
    no_need_buffer: list[str]
    no_need_buffer_unless: str  # the output that, when wanted, needs those inputs' elements after all, or ""
    no_need_buffer_attribute: str  # the attribute of which a function tells whether they are needed, or ""
    lines: dict[str, int]  # of each key; "op" is that of the entry
    autocast: str = ""  # one of AUTOCAST; empty: operands stay as they are

    @property
    def line(self) -> int:
        return self.lines["op"]

    def input(self, name: str) -> Input | None:
        return next((entry for entry in self.inputs if entry.name == name), None)

    def attribute(self, name: str) -> Attribute | None:
        return next((entry for entry in self.attributes if entry.name == name), None)

    def output(self, name: str) -> Output | None:
        return next((entry for entry in self.outputs if entry.name == name), None)

    @property
    def typed_input(self) -> Input | None:
        """The first input without a type of its own: it gives the call its element type."""
        return next((entry for entry in self.inputs if entry.type is None), None)

    @property
    def parameters(self) -> list[Input]:
        """The inputs of the type of parameters, of which the first one that is given decides on it."""
        return [entry for entry in self.inputs if entry.type == "parameters"]

    @property
    def computed(self) -> ShapeRule | None:
        """The rule `computed` of the operator's tensors: all have the same, because one function computes them."""
        rules = (entry.shape for entry in (*self.inputs, *self.outputs) if entry.shape)
        return next((rule for rule in rules if rule.function == "computed"), None)

    @property
    def has_rules(self) -> bool:
        """Whether functions of the operator's own stand behind something that the schema says of it."""
        return self.computed is not None or self.no_need_buffer_attribute != ""

    @property
    def has_params(self) -> bool:
        """Whether it takes options: optional inputs or attributes."""
        return bool(self.attributes) or any(entry.optional for entry in self.inputs)

    @property
    def changes_levels(self) -> bool:
        """Whether an output has levels that a function of the operator's own computes."""
        return any(entry.levels and entry.levels.function == "changes" for entry in self.outputs)

    def needs_tensor(self, output: Output) -> str:
        """The input that must be a tensor for the output to be wanted, or "". A gradient has the extents of its
        operand: where that is a number or left out, there is nothing to write the gradient to."""
        if output.shape.function != "like":
            return ""
        operand = self.input(output.shape.names[0])
        return "" if operand is None or operand.always_a_tensor else operand.name

    def forward_name(self, name: str) -> str:
        """The tensor of the forward operator that has the extents of this one: of a gradient, its variable."""
        suffix = "_grad"
        return name[: -len(suffix)] if self.name.endswith(suffix) and name.endswith(suffix) else name

    @property
    def family_class(self) -> str:
        """The family's name as C++ classes have it: PNorm of p_norm."""
        return "".join(word[:1].upper() + word[1:] for word in self.family.split("_"))

    @property
    def family(self) -> str:
        """The folder and header that declare the operator: a gradient stands beside what it is the gradient of."""
        return self.name[: -len("_grad")] if self.name.endswith("_grad") else self.name


@dataclasses.dataclass
class Schema:
    file: str
    operators: list[Operator]
    left_out: list[str] = field(default_factory=list)  # the names of operators that a build goes without

    def only(self, families: list[str]) -> Schema:
        """These operators, each with its gradient."""
        kept = [op for op in self.operators if op.family in families]
        return Schema(self.file, kept, [op.name for op in self.operators if op.family not in families])

    def operator(self, name: str) -> Operator | None:
        return next((op for op in self.operators if op.name == name), None)
