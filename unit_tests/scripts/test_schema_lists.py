#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of scripts/schema.py: every complaint about lists of tensors."""

from __future__ import annotations

import unittest

from schema_fixture import LISTS, RefusalTest, alone, edited


class WrongListTest(RefusalTest):
    def test_lists(self) -> None:
        self.complains(
            edited(LISTS, ("list: true  # of join\n", "list: true  # of join\n      or_number: true\n")),
            "name: x",
            "join: input x: a list may not be a number",
        )
        self.wrong(
            edited(LISTS, ("list: true  # of join", "list: 1  # of join")),
            ("list: 1", "join: input x: 'list' is '1', expected true or false"),
        )
        for rule in ("broadcast(x)", "reduced(x)", "divided(x)", "computed(x)"):
            text = edited(LISTS, ("joined(x)  # of join", f"{rule}  # of join"))
            self.complains(text, f"{rule}  # of join", f"join: output out: {rule} names x, which is a list")
        self.wrong(
            alone(
                ("name: axis\n      description: The axes.\n      type: integers\n      default: [0, -1]",
                 "name: axis\n      description: The axes.\n      type: integer\n      default: 0"),
                ("broadcast(x, weight)", "joined(x)"),
            ),
            ("shape:", "norm: output out: joined(x) names x, which is no list"),
        )

    def test_list_outputs(self) -> None:
        self.wrong(
            edited(LISTS, ("      list: true  # of x_grad\n", "")),
            ("name: x_grad", "join: as the backward of join, join_grad must make the output x_grad a list, as x is"),
            ("shape: like(x)", "join_grad: output x_grad: like(x) gives a list, but the output is one tensor"),
        )
        self.wrong(
            edited(LISTS, ("      shape: joined(x)  # of join", "      list: true\n      shape: joined(x)  # of join")),
            ("shape: joined(x)", "join: output out: joined(x) gives one tensor, but the output is a list"),
            (
                "name: out_grad",
                "join: as the backward of join, join_grad must make the input out_grad a list, as out is",
            ),
        )
        self.wrong(
            edited(LISTS, ("      list: true  # of divide\n", "")),
            ("shape: divided(x)", "divide: output out: divided(x) gives a list, but the output is one tensor"),
            (
                "name: out_grad  # of divide",
                "divide: as the backward of divide, divide_grad must make the input out_grad one tensor, as out is",
            ),
        )
        self.wrong(
            edited(LISTS, ("like(x)  # of x_grad", "joined(x)  # of x_grad")),
            (
                "joined(x)  # of x_grad",
                "join: as the backward of join, join_grad must give the output x_grad the shape like(x)",
            ),
            (
                "joined(x)  # of x_grad",
                "join_grad: output x_grad: joined(x) gives one tensor, but the output is a list",
            ),
        )

    def test_attributes_of_lists(self) -> None:
        axis = "    - {name: axis, description: The axis., type: integer, default: 0}  # of join\n"
        for new in (axis.replace("integer", "integers").replace("0}", "[0]}"), axis.replace("axis", "axes")):
            text = edited(LISTS, (axis, new))
            self.complains(text, "joined(x)", "join: output out: joined(x) needs the attribute axis of type integer")
        self.complains(
            edited(LISTS, ("type: integers}  # of divide", "type: integer}  # of divide")),
            "divided(x)",
            "divide: output out: divided(x) needs the attribute sections of type integers",
        )

    def test_lists_in_place(self) -> None:
        self.wrong(
            edited(LISTS, ("  backward: join_grad\n", "  backward: join_grad\n  inplace: (x -> out)\n")),
            ("inplace:", "join: inplace: one of x and out is a list, and the other one tensor"),
        )


if __name__ == "__main__":
    unittest.main()
