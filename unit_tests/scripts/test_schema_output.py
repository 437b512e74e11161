#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of what scripts/schema.py writes, and of the program as a whole."""

from __future__ import annotations

import subprocess
import sys
import unittest

from schema_fixture import (
    ASVECTOR,
    ASVECTOR_OF_GRADIENT,
    COMPUTED,
    GOOD,
    INFINITE,
    LISTS,
    REDUCTION,
    ROOT,
    SCRIPT,
    SchemaTest,
    alone,
    edited,
)

SCHEMA = ROOT / "src" / "ops" / "ops.yaml"
RELEASED = ROOT / "src" / "ops" / "released.yaml"
REFERENCE = ROOT / "docs" / "reference"


class OutputTest(SchemaTest):
    def test_tables(self) -> None:
        file = self.folder / "build" / "tables.cpp"
        self.assertEqual(self.run_schema("generate", self.write("good.yaml", GOOD), file), (0, []))
        tables = file.read_text(encoding="utf-8")
        for part in (
            '#include "portops/ops/norm.hpp"\n',
            '.formula = "out = |x|\\n"\n          "  \\"quoted\\" \\\\ backslash",',
            '{.name = "weight", .description = "The weight.", .optional = true, .or_number = true, '
            '.default_number = 0.5, .shape_rule = ""},',
            '{.name = "mask", .description = "The mask.", .optional = true, .or_number = false, '
            '.default_number = std::nullopt, .shape_rule = ""},',
            ".type = AttributeType::number, .default_value = Attribute(double{2.0}), "
            '.names = {{"fro", 2.0}, {"cube", 3.0}}}',
            ".type = AttributeType::integers, .default_value = Attribute(std::vector<std::int64_t>{0, -1}), "
            ".names = {}}",
            ".type = AttributeType::number, .default_value = Attribute(double{1e-12}), .names = {}}",
            ".type = AttributeType::boolean, .default_value = Attribute(bool{true}), .names = {}}",
            ".type = AttributeType::integer, .default_value = Attribute(std::int64_t{3}), .names = {}}",
            '.type = AttributeType::text, .default_value = Attribute(std::string{"fast"}), .names = {}}',
            ".type = AttributeType::number, .default_value = std::nullopt, .names = {}}",
            '.shape_rule = "like(mask)", .optional = true, .needs_tensor = "mask"}',
            '.inplace = {{"x", "out"}},',
            '.no_need_buffer = {"x", "weight"},\n      .no_need_buffer_unless = "mask_grad",',
            'call.check_extents("out_grad", call.broadcast({"x", "weight"}), "broadcast(x, weight)");\n'
            '  return {call.extents("x"), call.extents("mask")};',
            'norm(ctx,\n       call.tensor("x"),\n       call.tensor_or_number("weight"),\n       call.tensor("out"),\n'
            '       {.mask = call.tensor("mask"), .porder = call.attribute<double>("porder"), '
            '.axis = call.attribute<std::vector<std::int64_t>>("axis"), ',
            ".infos = {norm_info(), norm_grad_info()},",
        ):
            self.assertIn(part, tables)

    def test_tables_and_reference_of_infinite_defaults(self) -> None:
        schema, file, folder = self.write("good.yaml", INFINITE), self.folder / "tables.cpp", self.folder / "pages"
        self.assertEqual(self.run_schema("generate", schema, file), (0, []))
        tables = file.read_text(encoding="utf-8")
        for part in (
            "\n#include <limits>\n",
            ".default_value = Attribute(double{-std::numeric_limits<double>::infinity()}), "
            '.names = {{"fro", 2.0}, {"cube", 3.0}}}',
            ".default_value = Attribute(double{std::numeric_limits<double>::infinity()}), .names = {}}",
        ):
            self.assertIn(part, tables)
        self.assertEqual(self.run_schema("reference", schema, folder), (0, []))
        page = (folder / "norm.md").read_text(encoding="utf-8")
        for part in (
            "| `porder` | number or `fro` (2) or `cube` (3) | `-inf` | The order. |",
            "| `epsilon` | number | `inf` | A small number. |",
            " porder=-inf axis=0,-1 epsilon=inf ",
        ):
            self.assertIn(part, page)

    def test_tables_and_checks_of_some_operators(self) -> None:
        schema, file = self.write("good.yaml", GOOD + LISTS), self.folder / "tables.cpp"
        self.assertEqual(self.run_schema("generate", schema, file), (0, []))
        self.assertIn(".left_out = {},", file.read_text(encoding="utf-8"))
        self.assertEqual(self.run_schema("generate", schema, file, "--only", "divide,join"), (0, []))
        tables = file.read_text(encoding="utf-8")
        self.assertIn(".infos = {join_info(), join_grad_info(), divide_info(), divide_grad_info()},", tables)
        self.assertIn('.left_out = {"norm", "norm_grad"},', tables)
        self.assertNotIn("norm.hpp", tables)
        self.assertEqual(self.run_schema("checks", SCHEMA, self.folder, "--only", "add"), (0, []))
        checks = (self.folder / "checks.hpp").read_text(encoding="utf-8")
        self.assertIn("check_add_grad(", checks)
        self.assertNotIn("check_lerp(", checks)

    def test_tables_of_a_reduction(self) -> None:
        file = self.folder / "tables.cpp"
        self.assertEqual(self.run_schema("generate", self.write("good.yaml", REDUCTION), file), (0, []))
        tables = file.read_text(encoding="utf-8")
        for part in (
            '.shape_rule = "reduced(x)", .optional = false, .needs_tensor = ""}',
            'std::vector<OutputExtents> norm_output_extents(const NamedCall& call) {\n  return {call.reduced("x")};',
            'call.check_extents("out_grad", call.reduced("x"), "reduced(x)");\n  return {call.extents("x"), ',
        ):
            self.assertIn(part, tables)

    def test_tables_of_computed_extents(self) -> None:
        file = self.folder / "tables.cpp"
        self.assertEqual(self.run_schema("generate", self.write("good.yaml", COMPUTED), file), (0, []))
        tables = file.read_text(encoding="utf-8")
        for part in (
            '#include "ops/norm/norm_rules.hpp"\n#include "portops/ops/norm.hpp"\n',
            '.shape_rule = "computed(x, weight)", .optional = false, .needs_tensor = ""}',
            "std::vector<OutputExtents> norm_output_extents(const NamedCall& call) {\n"
            '  const auto computed = norm_extents("norm",\n'
            '                                     call.tensor("x"),\n'
            '                                     call.tensor("weight"),\n'
            '                                     {.mask = call.tensor("mask"), .bias = call.tensor("bias"), .porder = ',
            '.scale = call.attribute<double>("scale")});\n'
            '  call.check_extents("mask", computed.mask.extents, "computed(x, weight)");\n'
            '  call.check_extents("bias", computed.bias.extents, "computed(x, weight)");\n'
            '  return {computed.out.extents};\n',
            'norm_extents("norm_grad",\n',
            '{.mask = call.tensor("mask"), .porder = call.attribute<double>("porder"), ',
            'call.check_extents("out_grad", computed.out.extents, "computed(x, weight)");\n'
            '  return {call.extents("x"), call.extents("mask"), computed.bias.extents};\n',
        ):
            self.assertIn(part, tables)

    def test_tables_and_reference_of_indices(self) -> None:
        text = alone(
            ("  inputs:\n", "  inputs:\n    - name: rows\n      description: The rows.\n      type: i64\n"),
            ("broadcast(x, weight)\n", "broadcast(x, weight)\n"
             "    - name: count\n      description: How many.\n      shape: like(x)\n      type: i64\n"),
        )
        schema, file, folder = self.write("good.yaml", text), self.folder / "tables.cpp", self.folder / "pages"
        self.assertEqual(self.run_schema("generate", schema, file), (0, []))
        tables = file.read_text(encoding="utf-8")
        self.assertIn('.default_number = std::nullopt, .shape_rule = "", .type = ElementType::i64},', tables)
        self.assertIn('.shape_rule = "like(x)", .optional = false, .needs_tensor = "", .type = ElementType::i64},', tables)
        self.assertEqual(self.run_schema("reference", schema, folder), (0, []))
        page = (folder / "norm.md").read_text(encoding="utf-8")
        for part in (
            "| `rows` | tensor of i64 | any | The rows. |",
            "| `count` | `like(x)` | always; a tensor of i64 | How many. |",
            "- All tensors but those of i64 have one element type: f64, f32, f16 or bf16.",
        ):
            self.assertIn(part, page)

    def test_tables_and_reference_of_types_that_depend_on_an_attribute(self) -> None:
        rows = "    - name: rows\n      description: The rows.\n      type: i64 unless keepdim\n"
        schema, file, folder = self.write("good.yaml", alone(("  inputs:\n", "  inputs:\n" + rows))), self.folder / "tables.cpp", self.folder / "pages"
        self.assertEqual(self.run_schema("generate", schema, file), (0, []))
        self.assertIn('.type = ElementType::i64, .type_unless = "keepdim"},', file.read_text(encoding="utf-8"))
        self.assertEqual(self.run_schema("reference", schema, folder), (0, []))
        page = (folder / "norm.md").read_text(encoding="utf-8")
        self.assertIn("| `rows` | tensor of i64 (with keepdim that of the call) | any | The rows. |", page)

    def test_tables_and_reference_of_levels(self) -> None:
        shape = "broadcast(x, weight)\n"
        text = alone(
            ("the value.\n", "the value.\n      ragged: true\n"),
            ("The weight.\n", "The weight.\n      ragged: values\n"),
            ("    - name: mask\n", "    - name: y\n      description: Levels.\n      ragged: levels\n    - name: mask\n"),
            (
                shape,
                shape + "      levels: share(x, weight)\n"
                "    - name: more\n      description: More.\n      shape: computed(x, y)\n      levels: changes\n"
                "    - name: less\n      description: Less.\n      shape: like(x)\n      levels: drops\n",
            ),
        )
        schema, file, folder = self.write("good.yaml", text), self.folder / "tables.cpp", self.folder / "pages"
        self.assertEqual(self.run_schema("generate", schema, file), (0, []))
        tables = file.read_text(encoding="utf-8")
        for part in (
            '.shape_rule = "", .ragged = Ragged::always},',
            ", .ragged = Ragged::values},",
            ", .ragged = Ragged::levels},",
            '.needs_tensor = "", .levels_rule = "share(x, weight)"},',
            'norm_extents("norm",\n                                     call.ragged("x"),\n'
            '                                     call.levels("y"),',
            '  const Levels changed = norm_levels("norm",',
            '  return {call.shared_levels({"x", "weight"}), changed, Levels()};',
            '  norm(ctx,\n       call.ragged("x"),\n       call.tensor_or_number("weight"),\n       call.levels("y"),',
        ):
            self.assertIn(part, tables)
        self.assertEqual(self.run_schema("reference", schema, folder), (0, []))
        page = (folder / "norm.md").read_text(encoding="utf-8")
        for part in (
            "| `x` | ragged tensor | see its meaning |",
            "| `y` | levels | — | Levels. |",
            "| `weight` | tensor or number; 0.5 where it is left out, may be ragged |",
            "- Levels: `out` has those of the first of `x`, `weight` that is ragged.",
            "- Levels: `more` has levels of its own, as said above.",
            "- Levels: `less` has none.",
            "const RaggedRef& x, const TensorOrNumber& weight, const Levels& y,",
            "x=x.npy x.levels=x_levels.npy weight=0.5 y.levels=y_levels.npy",
        ):
            self.assertIn(part, page)

    def test_tables_of_lists(self) -> None:
        file = self.folder / "tables.cpp"
        self.assertEqual(self.run_schema("generate", self.write("good.yaml", LISTS), file), (0, []))
        tables = file.read_text(encoding="utf-8")
        for part in (
            '{.name = "x", .description = "The list.", .list = true, .optional = false, .or_number = false, ',
            '{.name = "x_grad", .description = "The gradients.", .list = true, .shape_rule = "like(x)", ',
            'join_output_extents(const NamedCall& call) {\n  return {call.joined("x")};\n',
            'call.check_extents("out_grad", call.joined("x"), "joined(x)");\n  return {call.list_extents("x")};\n',
            'divide_output_extents(const NamedCall& call) {\n  return {call.divided("x")};\n',
            'join(ctx,\n       call.list("x"),\n       call.tensor("out"),\n',
            'divide_grad(ctx,\n              call.list("out_grad"),\n              call.tensor("x_grad"),\n',
        ):
            self.assertIn(part, tables)

    def test_reference_of_lists(self) -> None:
        folder = self.folder / "pages"
        self.assertEqual(self.run_schema("reference", self.write("good.yaml", LISTS), folder), (0, []))
        for name, parts in (
            (
                "join.md",
                (
                    "| `x` | list of tensors | any | The list. |\n",
                    "- `joined(…)`: the extents of that list's tensors one behind the other along `axis`. But for this "
                    "axis all have the same extents.\n",
                    "std::span<const TensorRef> x,\n",
                    "portops run join x=x_0.npy,x_1.npy axis=0 out=out.npy\n",
                ),
            ),
            (
                "join_grad.md",
                (
                    "| `x_grad` | `like(x)` | optional, and so is each of the list | The gradients. |\n",
                    "- `like(…)` of a list: a tensor for each of that list, of the same extents.\n",
                    "x_grad=x_grad_0.npy,x_grad_1.npy",
                ),
            ),
            (
                "divide.md",
                (
                    "| `out` | `divided(x)` | always, each of the list | The parts. |\n",
                    "- `divided(…)`: a tensor for each of `sections`, of the extents of that tensor, but for `axis`, "
                    "along which it has the section's. One section may be -1: what the others leave.\n",
                    "std::span<const TensorRef> out,\n",
                ),
            ),
        ):
            page = (folder / name).read_text(encoding="utf-8")
            for part in parts:
                self.assertIn(part, page)
            self.assertNotIn("the same extents as that tensor", page)

    def test_reference(self) -> None:
        folder = self.folder / "pages"
        self.assertEqual(
            self.run_schema("reference", self.write("good.yaml", GOOD + alone(("op: norm", "op: other"))), folder),
            (0, []),
        )
        self.write("pages/own.md", "# Written by hand\n")
        self.assertEqual(self.run_schema("reference", self.write("good.yaml", GOOD), folder), (0, []))
        self.assertEqual({page.name for page in folder.iterdir()}, {"index.md", "norm.md", "norm_grad.md", "own.md"})
        page = (folder / "norm.md").read_text(encoding="utf-8")
        for part in (
            "| `x` | tensor | any | The x \\| the value. |",
            "| `weight` | tensor or number; 0.5 where it is left out | any | The weight. |",
            "| `porder` | number or `fro` (2) or `cube` (3) | `2` | The order. |",
            "| `axis` | integers | `0,-1` | The axes. |",
            "| `epsilon` | number | `1e-12` | A small number. |",
            "| `scale` | number | must be given | How much. |",
            "- In place: `out` may be the same tensor as `x`.",
            "void portops::norm(const Context& ctx,\n",
            "const NormParams& params);\n\n"
            "// params: {.mask, .porder, .axis, .epsilon, .keepdim, .asvector, .steps, .mode, .scale}",
            "portops run norm x=x.npy weight=0.5 mask=mask.npy porder=2 axis=0,-1 epsilon=1e-12 keepdim=true "
            "asvector=false \\\n"
            "    steps=3 mode=fast scale=… out=out.npy\n",
        ):
            self.assertIn(part, page)
        self.assertNotIn("reduced", page)
        self.assertNotIn("computed", page)
        self.assertIn(
            "| `mask_grad` | `like(mask)` | optional, only where `mask` is given | ",
            (folder / "norm_grad.md").read_text(encoding="utf-8"),
        )

    def test_reference_of_a_default_without_numbers(self) -> None:
        folder = self.folder / "pages"
        text = alone(("      default: [0, -1]\n", "      default: []\n"))
        self.assertEqual(self.run_schema("reference", self.write("good.yaml", text), folder), (0, []))
        page = (folder / "norm.md").read_text(encoding="utf-8")
        self.assertIn("| `axis` | integers | `[]` | The axes. |", page)
        self.assertIn(" axis=[] ", page)

    def test_reference_of_a_reduction(self) -> None:
        folder = self.folder / "pages"
        self.assertEqual(self.run_schema("reference", self.write("good.yaml", REDUCTION), folder), (0, []))
        rule = (
            "- `reduced(…)`: the extents of that tensor without the axes that `axis` names. With `keepdim` these stay, "
            "with extent 1; with `asvector` they are all axes.\n"
        )
        for name, row in (
            ("norm.md", "| `out` | `reduced(x)` | always | The out. |\n"),
            ("norm_grad.md", "| `out_grad` | tensor | `reduced(x)` | The gradient with respect to out. |\n"),
        ):
            page = (folder / name).read_text(encoding="utf-8")
            self.assertIn(row, page)
            self.assertIn(rule, page)
        without = edited(REDUCTION, (ASVECTOR, ""), (ASVECTOR_OF_GRADIENT, ""))
        self.assertEqual(self.run_schema("reference", self.write("good.yaml", without), folder), (0, []))
        page = (folder / "norm.md").read_text(encoding="utf-8")
        self.assertIn(rule.replace("with `asvector`", "where it names none,"), page)

    def test_reference_of_computed_extents(self) -> None:
        folder = self.folder / "pages"
        self.assertEqual(self.run_schema("reference", self.write("good.yaml", COMPUTED), folder), (0, []))
        rule = "- `computed(…)`: the extents that follow from those tensors and the attributes, as said above.\n"
        for name, rows in (
            (
                "norm.md",
                (
                    "| `weight` | tensor | see its meaning | The weight. |\n",
                    "| `mask` | tensor, optional | `computed(x, weight)` | The mask. |\n",
                    "| `out` | `computed(x, weight)` | always | The out. |\n",
                ),
            ),
            (
                "norm_grad.md",
                (
                    "| `out_grad` | tensor | `computed(x, weight)` | The gradient with respect to out. |\n",
                    "| `bias_grad` | `computed(x, weight)` | optional | The gradient with respect to the bias. |\n",
                ),
            ),
        ):
            page = (folder / name).read_text(encoding="utf-8")
            for row in rows:
                self.assertIn(row, page)
            self.assertIn(rule, page)

    def test_reference_wraps_long_signatures(self) -> None:
        inputs = "".join(f"    - name: long_name_of_an_input_{i}\n      description: More.\n" for i in range(5))
        folder = self.folder / "pages"
        schema = self.write("good.yaml", alone(("    - name: mask\n", inputs + "    - name: mask\n")))
        self.assertEqual(self.run_schema("reference", schema, folder), (0, []))
        start = "void portops::norm("
        self.assertIn(
            f"{start}const Context& ctx,\n{' ' * len(start)}const TensorRef& x, const TensorOrNumber& weight, "
            f"const TensorRef& long_name_of_an_input_0,\n{' ' * len(start)}"
            "const TensorRef& long_name_of_an_input_1, const TensorRef& long_name_of_an_input_2,\n",
            (folder / "norm.md").read_text(encoding="utf-8"),
        )

    def test_committed_reference_is_current(self) -> None:
        folder = self.folder / "pages"
        self.assertEqual(self.run_schema("reference", SCHEMA, folder), (0, []))
        pages = {page.name: page.read_text(encoding="utf-8") for page in folder.iterdir()}
        committed = {page.name: page.read_text(encoding="utf-8") for page in REFERENCE.glob("*.md")}
        self.assertEqual(committed, pages, "run scripts/schema.py reference src/ops/ops.yaml docs/reference")

    def test_output_that_cannot_be_written(self) -> None:
        file = self.write("file", "")
        status, errors = self.run_schema("generate", SCHEMA, file / "tables.cpp")
        self.assertEqual((status, len(errors)), (1, 1))
        self.assertIn("cannot be written", errors[0])


class ProgramTest(SchemaTest):
    def program(self, *arguments: object) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, "-B", str(SCRIPT), *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=self.folder,
            check=False,
        )

    def test_exit_status(self) -> None:
        released = self.program("check", RELEASED, SCHEMA)
        self.assertEqual((released.stderr, released.returncode), ("", 0))
        wrong = self.program("check", RELEASED, self.write("wrong.yaml", ""))
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("wrong.yaml:1: the schema is nothing", wrong.stderr)
        self.assertEqual(self.program("chekc").returncode, 2)

    def test_missing_yaml_module(self) -> None:
        self.write("yaml.py", "raise ModuleNotFoundError(name='yaml')\n")
        result = subprocess.run(
            [sys.executable, "-B", str(SCRIPT), "check", RELEASED, SCHEMA],
            capture_output=True,
            text=True,
            env={"PYTHONPATH": str(self.folder)},
            check=False,
        )
        self.assertEqual(result.returncode, 1)
        self.assertIn("the Python module yaml is missing", result.stderr)


if __name__ == "__main__":
    unittest.main()
