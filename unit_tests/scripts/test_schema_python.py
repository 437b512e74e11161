#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of the Python modules that scripts/schema.py writes: unit_tests/python tests what they do."""

from __future__ import annotations

import ast
import unittest

from schema_fixture import FORWARD, GOOD, GRADIENT, INFINITE, LISTS, ROOT, SchemaTest, alone, edited


class PythonTest(SchemaTest):
    def written(self, schema: str, *options: str, module: str = "_operators.py") -> str:
        folder = self.folder / "build"
        self.assertEqual(self.run_schema("python", self.write("good.yaml", schema), folder, *options), (0, []))
        return (folder / module).read_text(encoding="utf-8")

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

    def test_infinite_defaults(self) -> None:
        for module in ("_operators.py", "torch/_functions.py"):
            text = self.written(INFINITE, module=module)
            for part in ("\nfrom math import inf", "    porder: float | str = -inf,\n", "    epsilon: float = inf,\n"):
                self.assertIn(part, text)
        text = self.written(INFINITE, module="_schema.py")
        self.assertIn("\nfrom math import inf", text)
        self.assertIn("Attribute(name='porder', type='number', default=-inf,", text)

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
        schema = (ROOT / "src" / "ops" / "ops.yaml").read_text(encoding="utf-8")
        for module in ("_operators.py", "_schema.py", "torch/_functions.py"):
            ast.parse(self.written(schema, module=module), feature_version=(3, 9))

    def test_declarations(self) -> None:
        text = self.written(edited(GOOD, ("inplace: (x -> out)", "inplace: (x -> out)\n  autocast: wide")), module="_schema.py")
        for part in (
            "Input(name='weight', or_number=True, default=0.5)",
            "Attribute(name='porder', type='number', default=2.0, names={'fro': 2.0, 'cube': 3.0})",
            "Attribute(name='axis', type='integers', default=(0, -1))",
            "Output(name='out', shape=Shape('broadcast', ('x', 'weight')))",
            "backward='norm_grad',",
            "inplace=(('x', 'out'),),",
            "autocast='wide',",
            "no_need_buffer=('x', 'weight'),",
            "no_need_buffer_unless='mask_grad',",
            "needs_tensor='mask'",
        ):
            self.assertIn(part, text)

    def test_types_that_depend_on_an_attribute(self) -> None:
        rows = "    - name: rows\n      description: The rows.\n      type: i64 unless keepdim\n"
        text = self.written(alone(("  inputs:\n", "  inputs:\n" + rows)), module="_schema.py")
        self.assertIn("Input(name='rows', type='i64', type_unless='keepdim')", text)

    def test_outputs_that_a_gradient_needs_are_made_for_pytorch(self) -> None:
        out = "broadcast(x, weight)\n"
        saved = "    - name: saved\n      description: For the gradient.\n      shape: like(x)\n      type: f64\n      optional: true\n"
        taken = "    - name: saved\n      description: As before.\n      shape: like(x)\n      type: f64\n"
        forward = edited(FORWARD, (out, out + saved))
        gradient = edited(GRADIENT, ("    - name: out_grad\n", taken + "    - name: out_grad\n"))
        text = self.written(forward + gradient, module="torch/_functions.py")
        self.assertIn("scale, True)", text)
        self.assertNotIn("saved: bool", text)
        optional = gradient.replace(taken, taken + "      optional: true\n")
        self.assertIn("    saved: bool = False,\n", self.written(forward + optional, module="torch/_functions.py"))

    def test_functions_for_pytorch(self) -> None:
        text = self.written(GOOD + LISTS, module="torch/_functions.py")
        functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
        self.assertEqual([node.name for node in functions], ["norm", "join", "divide"])
        for part in (
            "    weight: Tensor | float = 0.5,\n",
            "    mask: Tensor | None = None,\n",
            "_norm(x, *tensor_or_number(weight), mask, named_number(",
            "integers(axis, 2)",
            ") -> Tensor:\n",
            ") -> list[Tensor]:\n",
        ):
            self.assertIn(part, text)


if __name__ == "__main__":
    unittest.main()
