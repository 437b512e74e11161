#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of the checks of arguments that scripts/schema.py makes: each rule of the schema becomes the check it stands
for, in the order in which messages are expected."""

from __future__ import annotations

import unittest

from schema_fixture import (
    ASVECTOR,
    ASVECTOR_OF_GRADIENT,
    COMPUTED,
    GOOD,
    LISTS,
    REDUCTION,
    SchemaTest,
    alone,
    edited,
)


class ChecksTest(SchemaTest):
    def checks(self, schema: str) -> tuple[str, str]:
        """The header and the source."""
        folder = self.folder / "generated"
        self.assertEqual(self.run_schema("checks", self.write("good.yaml", schema), folder), (0, []))
        return tuple((folder / f"checks.{suffix}").read_text(encoding="utf-8") for suffix in ("hpp", "cpp"))

    def body(self, schema: str, op: str) -> list[str]:
        """The lines of one check."""
        source = self.checks(schema)[1]
        start = source.index("{\n", source.index(f" check_{op}(")) + 2
        return [line[2:] for line in source[start : source.index("\n}\n", start)].split("\n")]

    def test_signature(self) -> None:
        header = self.checks(GOOD)[0]
        self.assertIn('#include "portops/ops/norm.hpp"\n', header)
        self.assertIn(
            "Extents check_norm(const Context& ctx,\n"
            "                   const TensorRef& x,\n"
            "                   const TensorOrNumber& weight,\n"
            "                   const TensorRef& out,\n"
            "                   const NormParams& params);\n",
            header,
        )

    def test_options_that_nothing_follows_from(self) -> None:
        given = ("    - name: mask\n      description: The mask.\n      optional: true\n", "")
        header = self.checks(alone(given))[0]
        self.assertIn(
            "Extents check_norm(const Context& ctx,\n"
            "                   const TensorRef& x,\n"
            "                   const TensorOrNumber& weight,\n"
            "                   const TensorRef& out);\n",
            header,
        )

    def test_broadcasting(self) -> None:
        self.assertEqual(
            self.body(GOOD, "norm"),
            [
                'constexpr std::string_view op = "norm";',
                'constexpr std::string_view leader = "x";',
                "const ElementType type = x.type();",
                'check_input(op, ctx, Named{"x", x}, type, leader);',
                'if (weight.is_tensor()) check_input(op, ctx, Named{"weight", weight.tensor()}, type, leader);',
                'if (params.mask) check_input(op, ctx, Named{"mask", params.mask}, type, leader);',
                "const Extents extents = broadcast_extents(op, "
                'std::array{Named{"x", x}, Named{"weight", shape_of(weight)}});',
                'check_output(op, ctx, Named{"out", out}, type, leader, extents, "what x and weight broadcast to");',
                'check_in_place(op, Named{"out", out}, Named{"x", x});',
                'check_no_overlap(op, Named{"out", out}, '
                'std::array{Named{"weight", weight.tensor()}, Named{"mask", params.mask}});',
                "return extents;",
            ],
        )

    def test_inputs_of_which_the_extents_are_read(self) -> None:
        body = self.body(GOOD, "norm_grad")
        for line in (
            # The first input whose elements are always read gives the type, and is checked first.
            'constexpr std::string_view leader = "out_grad";',
            'if (mask_grad) check_input(op, ctx, Named{"x", x}, type, leader);',
            'else check_shape_only_input(op, Named{"x", x}, type, leader);',
            "if (weight.is_tensor() && mask_grad) "
            'check_input(op, ctx, Named{"weight", weight.tensor()}, type, leader);',
            "else if (weight.is_tensor()) "
            'check_shape_only_input(op, Named{"weight", weight.tensor()}, type, leader);',
            # A gradient of what was left out.
            "if (mask_grad && !params.mask) {",
            '  fail("portops::norm_grad: mask_grad is wanted, but there is no mask");',
            'check_extents(op, Named{"out_grad", out_grad}, extents, "what x and weight broadcast to");',
            'if (x_grad) check_output(op, ctx, Named{"x_grad", x_grad}, type, leader, x.extents(), "the extents of x");',
            'check_no_overlap(op, Named{"x_grad", x_grad}, std::array{Named{"x", x}, Named{"weight", weight.tensor()}, '
            'Named{"mask", params.mask}, Named{"out_grad", out_grad}, Named{"mask_grad", mask_grad}});',
        ):
            self.assertIn(line, body)
        always = self.body(edited(GOOD, (" unless mask_grad", "")), "norm_grad")
        self.assertIn('check_shape_only_input(op, Named{"x", x}, type, leader);', always)
        sometimes = self.body(edited(GOOD, ("unless mask_grad", "unless computed(porder)")), "norm_grad")
        self.assertIn(
            'if (norm_grad_needs_buffer(params.porder)) check_input(op, ctx, Named{"x", x}, type, leader);', sometimes
        )

    def test_reductions(self) -> None:
        for op in ("norm", "norm_grad"):
            self.assertIn(
                "const Reduction extents = "
                'reduction_of(op, Named{"x", x}, params.axis, params.keepdim, params.asvector);',
                self.body(REDUCTION, op),
            )
            without = edited(REDUCTION, (ASVECTOR, ""), (ASVECTOR_OF_GRADIENT, ""))
            self.assertIn(
                "const Reduction extents = "
                'reduction_of(op, Named{"x", x}, params.axis, params.keepdim, params.axis.empty());',
                self.body(without, op),
            )
        self.assertIn(
            'check_output(op, ctx, Named{"out", out}, type, leader, extents.out.extents, extents.out.origin);',
            self.body(REDUCTION, "norm"),
        )

    def test_computed_extents(self) -> None:
        self.assertIn('#include "ops/norm/norm_rules.hpp"\n', self.checks(COMPUTED)[0])
        body = self.body(COMPUTED, "norm")
        for line in (
            "const NormExtents extents = norm_extents(op, x, weight, params);",
            "if (params.bias) "
            'check_extents(op, Named{"bias", params.bias}, extents.bias.extents, extents.bias.origin);',
            'check_output(op, ctx, Named{"out", out}, type, leader, extents.out.extents, extents.out.origin);',
        ):
            self.assertIn(line, body)
        # What "the same tensor" means then, the operator knows alone.
        self.assertFalse([line for line in body if line.startswith("check_in_place")])
        # A gradient has the extents of its variable.
        self.assertIn(
            'if (bias_grad) check_output(op, ctx, Named{"bias_grad", bias_grad}, type, leader, extents.bias.extents, '
            "extents.bias.origin);",
            self.body(COMPUTED, "norm_grad"),
        )

    def test_lists(self) -> None:
        self.assertEqual(
            self.body(LISTS, "join_grad"),
            [
                'constexpr std::string_view op = "join_grad";',
                'check_list_given(op, NamedList{"x", x});',
                'constexpr std::string_view leader = "out_grad";',
                "const ElementType type = out_grad.type();",
                'check_input(op, ctx, Named{"out_grad", out_grad}, type, leader);',
                'check_list_shape_only_inputs(op, NamedList{"x", x}, type, leader);',
                'const PartShapes extents = joined_shapes(op, NamedList{"x", x}, params.axis);',
                'check_extents(op, Named{"out_grad", out_grad}, extents.whole, "those of x, one behind the other");',
                'if (!x_grad.empty()) check_list_size(op, NamedList{"x_grad", x_grad}, x.size(), "x");',
                'check_list_outputs(op, ctx, NamedList{"x_grad", x_grad}, type, leader, x, "the extents of x");',
                'check_no_overlap(op, NamedList{"x_grad", x_grad}, NamedList{"x", x});',
                'check_no_overlap(op, NamedList{"x_grad", x_grad}, Named{"out_grad", out_grad});',
                'check_disjoint(op, NamedList{"x_grad", x_grad});',
                "return extents;",
            ],
        )
        body = self.body(LISTS, "divide")
        for line in (
            'const PartShapes extents = divided_shapes(op, Named{"x", x}, params.sections, params.axis);',
            'check_list_size(op, NamedList{"out", out}, extents.lengths.size(), "sections");',
            'check_all_given(op, NamedList{"out", out});',
        ):
            self.assertIn(line, body)
        self.assertIn('constexpr std::string_view leader = "out_grad[0]";', self.body(LISTS, "divide_grad"))

    def test_indices(self) -> None:
        body = self.body(
            alone(
                ("  inputs:\n", "  inputs:\n    - name: rows\n      description: The rows.\n      type: i64\n"),
                (
                    "broadcast(x, weight)\n",
                    "broadcast(x, weight)\n"
                    "    - name: count\n      description: How many.\n      shape: like(rows)\n      type: i64\n",
                ),
            ),
            "norm",
        )
        self.assertIn('check_input(op, ctx, Named{"rows", rows}, ElementType::i64, "");', body)
        self.assertIn(
            'check_output(op, ctx, Named{"count", count}, ElementType::i64, "", rows.extents(), "the extents of rows");',
            body,
        )

    def test_types_that_depend_on_an_attribute(self) -> None:
        rows = "    - name: rows\n      description: The rows.\n      type: i64 unless keepdim\n"
        body = self.body(alone(("  inputs:\n", "  inputs:\n" + rows)), "norm")
        self.assertIn(
            'check_input(op, ctx, Named{"rows", rows}, params.keepdim ? type : ElementType::i64, params.keepdim ? leader : "");',
            body,
        )

    def test_parameters(self) -> None:
        typed = ("The mask.\n      optional: true\n", "The mask.\n      optional: true\n      type: parameters\n")
        mask_grad = "name: mask_grad\n      description: The gradient with respect to the mask.\n"
        schema = edited(
            GOOD,
            typed,
            ("name: mask  # of the gradient\n", "name: mask  # of the gradient\n      type: parameters\n"),
            (mask_grad, mask_grad + "      type: parameters\n"),
        )
        decided = (
            "const ParameterType parameters = parameter_type(op, type, leader, "
            'std::array{Named{"mask", params.mask}});'
        )
        body = self.body(schema, "norm")
        self.assertIn(decided, body)
        self.assertIn(
            'if (params.mask) check_input(op, ctx, Named{"mask", params.mask}, parameters.type, parameters.like);', body
        )
        self.assertTrue(
            any(
                line.startswith("if (mask_grad) check_output(") and "parameters.type, parameters.like" in line
                for line in self.body(schema, "norm_grad")
            )
        )

    def test_lists_beside_lists(self) -> None:
        body = self.body(
            edited(
                LISTS,
                (
                    "list: true  # of join\n",
                    "list: true  # of join\n"
                    "    - {name: like_x, description: As x., list: true, shape: like(x), type: sums}\n"
                    "    - {name: more, description: As x., list: true, optional: true, shape: like(x)}\n",
                ),
                ("  backward: join_grad\n", ""),
            ).split("- op: join_grad")[0],
            "join",
        )
        for line in (
            'check_list_inputs(op, ctx, NamedList{"like_x", like_x}, sum_type(type), "");',
            'check_list_size(op, NamedList{"like_x", like_x}, x.size(), "x");',
            'check_list_extents(op, NamedList{"like_x", like_x}, x, "the extents of x");',
            'if (!params.more.empty()) check_list_size(op, NamedList{"more", params.more}, x.size(), "x");',
        ):
            self.assertIn(line, body)
        self.assertNotIn('check_list_given(op, NamedList{"more"', body)

    def test_levels(self) -> None:
        shape = "broadcast(x, weight)\n"
        ragged = alone(
            ("the value.\n", "the value.\n      ragged: true\n"),
            (shape, shape + "      levels: share(x)\n"),
        )
        body = self.body(ragged, "norm")
        self.assertIn('check_input(op, ctx, Named{"x", x.values}, type, leader);', body)
        self.assertIn('check_levels(op, "x", x);', body)
        optional = self.body(edited(ragged, ("ragged: true", "ragged: optional")), "norm")
        self.assertIn('if (x.levels) check_levels(op, "x", x);', optional)


if __name__ == "__main__":
    unittest.main()
