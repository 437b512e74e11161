#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of the operators on variables that scripts/schema.py makes: what is kept for a gradient, what is written over, and
what the functions take and give."""

from __future__ import annotations

import unittest

from schema_fixture import GOOD, INFINITE, LISTS, REDUCTION, SchemaTest, edited


class AutogradTest(SchemaTest):
    def made(self, schema: str) -> tuple[str, str]:
        """The header and the source."""
        header, source = self.folder / "operators.hpp", self.folder / "autograd.cpp"
        self.assertEqual(self.run_schema("autograd", self.write("good.yaml", schema), header, source), (0, []))
        return header.read_text(encoding="utf-8"), source.read_text(encoding="utf-8")

    def body(self, schema: str, function: str) -> list[str]:
        """The lines of one function of the source."""
        source = self.made(schema)[1]
        start = source.index("{\n", source.index(f" {function}(")) + 2
        return [line[2:] for line in source[start : source.index("\n}\n", start)].split("\n")]

    def test_signature(self) -> None:
        header, _ = self.made(GOOD)
        self.assertIn('#include "portops/ops/norm.hpp"\n', header)
        self.assertIn(
            "/// A brief.\n"
            "PORTOPS_EXPORT Variable norm(\n"
            "    const Context& ctx,\n"
            "    const Variable& x,\n"
            "    const VariableOrNumber& weight,\n"
            "    const NormParams& params);\n",
            header,
        )

    def test_options_with_tensors_are_variables(self) -> None:
        header, _ = self.made(GOOD)
        self.assertIn(
            "struct NormParams {\n"
            "  Variable mask = {};  ///< The mask\n"
            "  double porder = 2.0;\n"
            "  std::vector<std::int64_t> axis = {0, -1};\n"
            "  double epsilon = 1e-12;\n"
            "  bool keepdim = true;\n"
            "  bool asvector = false;\n"
            "  std::int64_t steps = 3;\n"
            '  std::string mode = "fast";\n'
            "  double scale = {};\n"
            "};\n",
            header,
        )

    def test_infinite_defaults(self) -> None:
        header, _ = self.made(INFINITE)
        self.assertIn("  double porder = -std::numeric_limits<double>::infinity();\n", header)
        self.assertIn("  double epsilon = std::numeric_limits<double>::infinity();\n", header)
        self.assertIn("#include <limits>\n", header)

    def test_what_is_kept(self) -> None:
        body = self.body(GOOD, "call_norm")
        self.assertEqual(
            [line for line in body if "keep(" in line],
            [
                "recording.keep(x, recording.wants(1));",  # but for mask_grad its extents do
                "recording.keep(weight, recording.wants(1));",
                "recording.keep(params.mask);",
            ],
        )
        self.assertEqual(body[0], "impl::Recording recording(ctx, norm_operation, {&x, &params.mask});")
        always = self.body(edited(GOOD, ("x, weight unless mask_grad", "x")), "call_norm")
        self.assertIn("recording.keep(x, false);", always)
        self.assertIn("recording.keep(weight);", always)
        decided = self.body(edited(GOOD, ("x, weight unless mask_grad", "x unless computed(porder)")), "call_norm")
        self.assertIn("recording.keep(x, impl::norm_grad_needs_buffer(params.porder));", decided)

    def test_inputs_are_kept_before_the_call_and_outputs_behind_it(self) -> None:
        with_out = edited(
            GOOD,
            (
                "    - name: out_grad\n",
                "    - {name: out, description: d, shape: 'broadcast(x, weight)'}\n    - name: out_grad\n",
            ),
        )
        body = self.body(with_out, "call_norm")
        call = next(place for place, line in enumerate(body) if line.startswith("portops::norm("))
        self.assertLess(body.index("recording.keep(params.mask);"), call)
        self.assertGreater(body.index("recording.keep(out);"), call)
        self.assertIn('norm_kept[] = {"x", "weight", "mask", "out", nullptr};', self.made(with_out)[1])

    def test_the_tape_holds_no_tensors_among_the_options(self) -> None:
        body = self.body(GOOD, "call_norm")
        self.assertEqual(
            body[-3:], ["options.mask = {};", "recording.finish({&out}, std::move(options));", "return out;"]
        )

    def test_in_place(self) -> None:
        header, source = self.made(GOOD)
        self.assertIn("PORTOPS_EXPORT void norm(\n    const Context& ctx,\n    Variable& x,", header)
        self.assertIn("void in_place::norm(", source)
        for without in (edited(GOOD, ("  inplace: (x -> out)\n", "")), edited(GOOD, ("(x -> out)", "(weight -> out)"))):
            self.assertNotIn("void in_place::norm(", self.made(without)[1])

    def test_gradients_over_what_nobody_needs(self) -> None:
        def places(schema: str) -> list[str]:
            return [line for line in self.body(schema, "norm_backward") if "_grad = " in line]

        self.assertEqual(
            places(GOOD),
            ["const TensorRef x_grad = call.gradient(0);", "const TensorRef mask_grad = call.gradient(1);"],
        )
        over = "  no_need_buffer: x, weight unless mask_grad\n"
        self.assertEqual(
            places(edited(GOOD, (over, "  inplace: (out_grad -> x_grad), (mask -> mask_grad)\n"))),
            [
                "const TensorRef x_grad = call.gradient_over_out_grad(0);",
                "const TensorRef mask_grad = call.gradient_over_kept(1, 2);",
            ],
        )

    def test_the_call_of_the_gradient(self) -> None:
        self.assertEqual(
            self.body(GOOD, "norm_backward")[2:],
            [
                "portops::NormParams params = call.params<portops::NormParams>();",
                "params.mask = call.tensor(2);",
                "portops::norm_grad(call.ctx(), call.tensor(0), call.operand(1), call.out_grad(), x_grad, mask_grad, params);",
            ],
        )

    def test_reductions(self) -> None:
        self.assertIn(
            'const Extents extents = impl::reduction_of("norm", {"x", x.tensor()}, params.axis, params.keepdim, '
            "params.asvector).out.extents;",
            self.body(REDUCTION, "norm"),
        )

    def test_lists(self) -> None:
        header, source = self.made(LISTS)
        self.assertIn("const std::vector<Variable>& x", header)
        self.assertIn("call.gradient_list()", source)

    def test_operators_without_a_gradient(self) -> None:
        header, source = self.made(edited(GOOD[: GOOD.index("- op: norm_grad")], ("  backward: norm_grad\n", "")))
        self.assertNotIn("norm(", header)
        self.assertNotIn("norm(", source)

    def test_a_build_without_add(self) -> None:
        self.assertIn("gradients are added by the operator add, which this build leaves out", self.made(GOOD)[1])


if __name__ == "__main__":
    unittest.main()
