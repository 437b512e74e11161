#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of the C interface that scripts/schema.py makes: parameters, options, and what a release promises of them."""

from __future__ import annotations

import pathlib
import unittest

from schema_fixture import GOOD, INFINITE, LISTS, ROOT, SchemaTest, alone

TEMPLATE = """\
PORTOPS_API const char* portops_version(void);  // @VERSION@
#define MAJOR @VERSION_MAJOR@
@OPERATORS@
"""
C_API = ROOT / "src" / "c_api"
OPS = ROOT / "src" / "ops"


class CInterfaceTest(SchemaTest):
    def setUp(self) -> None:
        super().setUp()
        self.c_api = self.folder / "c_api"
        self.c_api.mkdir()
        self.names = self.c_api / "released_names.txt"
        (self.c_api / "portops.h.in").write_text(TEMPLATE, encoding="utf-8")
        self.released("# A head.\n")

    def released(self, text: str) -> None:
        self.names.write_text(text, encoding="utf-8")

    def run_c(self, schema: pathlib.Path, released: pathlib.Path | None = None) -> tuple[int, list[str]]:
        files = (self.folder / "portops.h", self.folder / "c.cpp")
        result = self.run_schema("c", schema, released or schema, self.c_api, "1.2.3", *files)
        if result[0] == 0:
            self.header, self.source = (file.read_text(encoding="utf-8") for file in files)
        return result

    def assert_refused(self, schema: pathlib.Path, message: str) -> None:
        status, messages = self.run_c(schema)
        self.assertEqual(status, 1)
        self.assertIn(message, messages[0])

    def test_parameters_options_and_defaults(self) -> None:
        self.assertEqual(self.run_c(self.write("good.yaml", GOOD)), (0, []))
        for part in (
            "portops_version(void);  // 1.2.3\n#define MAJOR 1\n",
            "portops_status portops_norm(portops_context ctx, const DLTensor* x, portops_operand weight, DLTensor* out,\n"
            "                                        double scale, const portops_norm_options* options);",
            "  const DLTensor* mask;  ///< may be NULL: The mask.\n",
            "  const int64_t* axis;   ///< NULL is [0, -1]: The axes.\n  size_t axis_count;     ///< of axis\n",
            "  const char* mode;      ///< NULL is fast: How.\n",
            "{sizeof(portops_norm_options), NULL, 2.0, NULL, 0, 1e-12, 1, 0, 3, NULL}",
            '///     out = |x|\n///       "quoted" \\ backslash\n',
            "/// weight: tensor or number. The weight.\n",
        ):
            self.assertIn(part, self.header)
        for part in (
            "static_assert(sizeof(portops_norm_options) == 80);",
            "static_assert(offsetof(portops_norm_options, axis_count) == 32);",
            'portops::norm(call.context(),\n                  call.tensor("x", x),\n                  call.operand("weight", weight)',
            '.mask = call.tensor("mask", given.mask)',
            '.axis = call.integers("axis", given.axis, given.axis_count, {0, -1})',
            '.keepdim = call.boolean("keepdim", given.keepdim)',
            '.mode = OperatorCall::text(given.mode, "fast")',
            ".scale = scale",
        ):
            self.assertIn(part, self.source)

    def test_infinite_defaults(self) -> None:
        self.assertEqual(self.run_c(self.write("good.yaml", INFINITE)), (0, []))
        self.assertIn("{sizeof(portops_norm_options), NULL, -HUGE_VAL, NULL, 0, HUGE_VAL, 1, 0, 3, NULL}", self.header)
        self.assertIn("  double porder;         ///< -inf: The order.\n", self.header)

    def test_lists(self) -> None:
        self.assertEqual(self.run_c(self.write("good.yaml", LISTS)), (0, []))
        self.assertIn("const DLTensor* const* x, size_t x_count", self.header)
        self.assertIn('call.list("x", x, x_count)', self.source)

    def test_levels(self) -> None:
        text = alone(
            ("the value.\n", "the value.\n      ragged: true\n"),
            ("    - name: mask\n", "    - name: y\n      description: Levels.\n      ragged: levels\n    - name: mask\n"),
            ("broadcast(x, weight)\n", "broadcast(x, weight)\n      levels: share(x)\n"),
        )
        self.assertEqual(self.run_c(self.write("good.yaml", text)), (0, []))
        self.assertIn("const DLTensor* x, portops_levels x_levels,\n", self.header)
        self.assertIn(" portops_operand weight, portops_levels y,", self.header)
        self.assertIn('call.ragged("x", x, x_levels)', self.source)
        self.assertIn('call.levels("y", y)', self.source)

    def test_what_is_new_comes_last(self) -> None:
        schema = self.write("good.yaml", GOOD)
        self.released("portops_norm 1.0.0: porder mask\nportops_version 1.0.0\n")
        self.assertEqual(self.run_c(schema), (0, []))
        self.assertIn("{sizeof(portops_norm_options), 2.0, NULL, NULL, 0, 1e-12, 1, 0, 3, NULL}", self.header)

    def test_a_new_output_of_a_released_operator_is_an_option(self) -> None:
        shape = "broadcast(x, weight)\n"
        more = "    - name: more\n      description: More.\n      shape: like(x)\n      optional: true\n"
        before, now = self.write("before.yaml", alone()), self.write("now.yaml", alone((shape, shape + more)))
        self.assertEqual(self.run_c(now), (0, []))
        self.assertIn("                DLTensor* more, double scale,", self.header)
        self.released("portops_norm 1.0.0: mask\n")
        self.assertEqual(self.run_c(now, before), (0, []))
        self.assertIn("  DLTensor* more;", self.header)
        self.assertNotIn("DLTensor* more, double scale,", self.header)
        self.assertIn('call.tensor("more", given.more)', self.source)
        # And it stays one when a later release has it too.
        self.released("portops_norm 1.0.0: mask more\n")
        self.assertEqual(self.run_c(now), (0, []))
        self.assertIn("  DLTensor* more;", self.header)

    def test_a_release(self) -> None:
        schema = self.write("good.yaml", alone())
        self.released("# A head.\n\nportops_norm 1.0.0: porder\n")
        self.assertEqual(self.run_schema("c-release", schema, schema, self.c_api, "2.0.0"), (0, []))
        members = "porder mask axis epsilon keepdim asvector steps mode"
        expected = f"# A head.\n\nportops_norm 1.0.0: {members}\nportops_version 2.0.0\n"
        self.assertEqual(self.names.read_text(encoding="utf-8"), expected)

    def test_wrong_releases(self) -> None:
        schema = self.write("good.yaml", alone())
        for text, message in (
            ("portops_norm 1.0.0: gone\n", "norm: the option gone, which was released, is missing"),
            ("portops_norm\n", "released_names.txt:1: found 'portops_norm', expected"),
            ("portops_version 1.0.0\nportops_norm 1.0.0\n", ":2: portops_norm stands behind portops_version"),
        ):
            self.released(text)
            self.assert_refused(schema, message)
        self.released("portops_gone 1.0.0\n")
        status, messages = self.run_schema("c-release", schema, schema, self.c_api, "2.0.0")
        self.assertEqual(status, 1)
        self.assertIn("portops_gone was removed; a released function may not be removed", messages[0])

    def test_names_that_c_has(self) -> None:
        self.assert_refused(self.write("good.yaml", alone(("name: steps", "name: size"))), "may be called size")
        self.assert_refused(self.write("good.yaml", alone(("name: mode", "name: register"))), "may be called register")
        self.assert_refused(self.write("good.yaml", alone(("op: norm", "op: version"))), "C has another portops_version")

    def test_the_names_of_the_project(self) -> None:
        """Every function is entered, or new; and what is entered has kept its options."""
        names = self.c_api / "released_names.txt"
        names.write_bytes((C_API / "released_names.txt").read_bytes())
        (self.c_api / "portops.h.in").write_bytes((C_API / "portops.h.in").read_bytes())
        before = names.read_text(encoding="utf-8").splitlines()
        given = (OPS / "ops.yaml", OPS / "released.yaml", self.c_api, "9.9.9")
        self.assertEqual(self.run_schema("c-release", *given), (0, []))
        after = names.read_text(encoding="utf-8")
        for line in before:
            self.assertTrue(after.startswith(line) or f"\n{line}" in after, line)


if __name__ == "__main__":
    unittest.main()
