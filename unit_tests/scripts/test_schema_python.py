#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of the Python functions that scripts/schema.py writes: unit_tests/python tests what they do."""

from __future__ import annotations

import ast
import unittest

from schema_fixture import GOOD, LISTS, ROOT, SchemaTest


class PythonTest(SchemaTest):
    def written(self, schema: str, *options: str) -> str:
        package = self.folder / "build" / "portops"
        self.assertEqual(self.run_schema("python", self.write("good.yaml", schema), package, *options), (0, []))
        for module in ("_schema.py", "torch/_functions.py"):
            ast.parse((package / module).read_text(encoding="utf-8"), feature_version=(3, 9))
        return (package / "_operators.py").read_text(encoding="utf-8")

    def test_functions(self) -> None:
        text = self.written(GOOD + LISTS)
        tree = ast.parse(text)
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        self.assertEqual(list(functions), ["norm", "norm_grad", "join", "join_grad", "divide", "divide_grad"])
        for part in (
            "    weight: Array | float = 0.5,\n",
            "    mask: Array | None = None,\n",
            "    porder: float | str = 2.0,\n",
            "    axis: int | Sequence[int] = (0, -1),\n",
            '    mode: str = "fast",\n'.replace('"', "'"),
            "    *,\n    out: Array | None = None,\n    context: Context | None = None,\n) -> A:\n",
            "    mask_grad: Array | bool | None = None,\n",
            ") -> NormGradOutputs:\n",
            "    x: Sequence[A],\n",
        ):
            self.assertIn(part, text)

    def test_what_must_be_given_comes_first(self) -> None:
        functions = {node.name: node for node in ast.parse(self.written(GOOD)).body if isinstance(node, ast.FunctionDef)}
        for function in functions.values():
            arguments = function.args
            given = [argument.arg for argument in arguments.args]
            without = given[: len(given) - len(arguments.defaults)]
            self.assertIn("x", without)
            self.assertNotIn("weight", without)
            self.assertTrue(all(default is not None for default in arguments.kw_defaults))

    def test_docstrings_keep_what_stands_in_the_schema(self) -> None:
        functions = [node for node in ast.parse(self.written(GOOD)).body if isinstance(node, ast.FunctionDef)]
        said = ast.get_docstring(functions[0]) or ""
        self.assertIn('"quoted" \\ backslash', said)
        self.assertIn("weight: The weight.", said)
        self.assertIn("Gradients: `norm_grad`.", said)

    def test_some_operators(self) -> None:
        text = self.written(GOOD + LISTS, "--only", "divide,join")
        self.assertNotIn("def norm(", text)
        self.assertIn("def join(", text)

    def test_the_schema_itself(self) -> None:
        ast.parse(self.written((ROOT / "src" / "ops" / "ops.yaml").read_text(encoding="utf-8")), feature_version=(3, 9))


if __name__ == "__main__":
    unittest.main()
