#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the portops command with the operators and element types that the build leaves out, if any."""

from __future__ import annotations

import pathlib
import re
import unittest

from command_fixture import CommandTest, call, call_any, told

SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "src" / "ops" / "ops.yaml"


class LeftOutTest(CommandTest):
    def refused(self, *arguments: str) -> str:
        """What the command says on standard error."""
        result = call_any(*arguments, cwd=self.folder)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        return result.stderr

    def test_every_operator_is_there_or_named_as_left_out(self) -> None:
        listed = [line.split()[0] for line in call("list").stdout.splitlines()]
        self.assertEqual(told("operators"), [str(len(listed))])
        declared = re.findall(r"^- op: (\w+)$", SCHEMA.read_text(encoding="utf-8"), re.MULTILINE)
        self.assertEqual([name for name in declared if name in listed], listed)
        for name in set(declared) - set(listed):
            message = f"portops: find_operator: no operator is named '{name}' in this build, which leaves it out"
            self.assertEqual(self.refused("run", name, "out=out.npy"), f"{message} (PORTOPS_OPERATORS)\n")

    def test_every_element_type_computes_or_is_refused(self) -> None:
        self.write("x.npy", (2,), [1, 2])
        has = told("element types")
        for element_type in ("f64", "f32", "f16", "bf16"):
            line = ("run", "add", "x=x.npy", "y=1", "out=out.npy", "--dtype", element_type)
            if element_type in has:
                self.run_ok(*line[1:])
            else:
                call("info", "add")
                message = f"portops: add: x has element type {element_type}, which this build leaves out"
                self.assertEqual(self.refused(*line), f"{message} (PORTOPS_ELEMENT_TYPES), expected {', '.join(has)}\n")


if __name__ == "__main__":
    unittest.main()
