# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The words of the operator schema, as the head of src/ops/ops.yaml explains them."""

from __future__ import annotations

from typing import NamedTuple, Optional, Union


class Shape(NamedTuple):
    """`broadcast(x, y)`, `like(x)` and so on."""

    function: str
    names: tuple[str, ...]


class Input(NamedTuple):
    name: str
    is_list: bool = False
    optional: bool = False
    or_number: bool = False
    default: Optional[float] = None
    shape: Optional[Shape] = None
    type: Optional[str] = None
    type_unless: str = ""
    ragged: str = ""


class Attribute(NamedTuple):
    name: str
    type: str
    default: Union[bool, int, float, str, tuple[int, ...], None] = None
    names: dict[str, float] = {}


class Output(NamedTuple):
    name: str
    shape: Shape
    is_list: bool = False
    optional: bool = False
    type: Optional[str] = None
    levels: str = ""
    needs_tensor: str = ""


class Operator(NamedTuple):
    name: str
    inputs: tuple[Input, ...]
    attributes: tuple[Attribute, ...]
    outputs: tuple[Output, ...]
    backward: str = ""
    inplace: tuple[tuple[str, str], ...] = ()
    no_need_buffer: tuple[str, ...] = ()
    no_need_buffer_unless: str = ""
    no_need_buffer_attribute: str = ""
    autocast: str = ""

    @property
    def is_gradient(self) -> bool:
        return self.name.endswith("_grad")

    @property
    def is_step(self) -> bool:
        """Whether it is a step of an optimizer."""
        return any(output.name == "param_out" for output in self.outputs)
