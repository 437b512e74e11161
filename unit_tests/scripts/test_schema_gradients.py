#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of scripts/schema.py: every complaint about what an operator promises, and about its gradient."""

from __future__ import annotations

import unittest

from schema_fixture import FORWARD, GOOD, GRADIENT, RefusalTest, alone, edited


class WrongGradientTest(RefusalTest):
    def test_promises(self) -> None:
        for pairs, message in (
            ("(z -> out)", "there is no input z"),
            ("(x -> z)", "there is no output z"),
            ("(x -> out), (x -> out)", "a pair is named twice"),
        ):
            self.wrong(edited(GOOD, ("(x -> out)", pairs)), ("inplace:", f"norm: inplace: {message}"))
        for inputs, message in (
            ("x, z", "there is no input z"),
            ("x, x", "an input is named twice"),
            ("x unless z", "there is no output z"),
            ("x unless computed(z)", "there is no attribute z"),
        ):
            self.wrong(
                edited(GOOD, ("x, weight unless mask_grad", inputs)),
                ("no_need_buffer:", f"norm_grad: no_need_buffer: {message}"),
            )
        self.wrong(
            alone(("(x -> out)", "(x -> out)\n  no_need_buffer: x unless out")),
            ("no_need_buffer:", "norm: no_need_buffer: output out is always wanted, so the inputs are always read"),
        )
        self.wrong(
            edited(GOOD, ("  no_need_buffer:", "  autocast: wide\n  no_need_buffer:")),
            ("autocast:", "norm_grad: autocast: a gradient computes in the type of what it is given"),
        )

    def test_parameters(self) -> None:
        self.wrong(
            edited(
                GOOD,
                ("The mask.\n      optional: true\n", "The mask.\n      optional: true\n      type: parameters\n"),
                ("name: mask  # of the gradient\n", "name: mask  # of the gradient\n      type: parameters\n"),
            ),
            ("name: mask_grad", "norm: as the backward of norm, norm_grad must give the output mask_grad the type of mask"),
        )
        self.wrong(
            alone(("name: out\n", "name: out\n      type: parameters\n")),
            ("name: out\n", "norm: output out: no input has the type parameters"),
        )
        self.wrong(
            alone(("      or_number: true\n", "      or_number: true\n      type: parameters\n")),
            ("name: weight", "norm: input weight: of the type parameters it is one tensor, and no number"),
        )

    def test_backward(self) -> None:
        self.wrong(FORWARD, ("backward:", "norm: backward: there is no operator norm_grad"))
        self.wrong(
            alone(("op: norm", "op: norm_grad")),
            ("op:", "norm_grad: no operator names it as its backward; a name in _grad is that of a gradient"),
        )
        self.wrong(
            edited(GOOD, ("backward: norm_grad", "backward: gradient"), ("op: norm_grad", "op: gradient")),
            ("backward:", "norm: backward is gradient, expected norm_grad"),
        )

        def gradient(marker: str, message: str, *replacements: tuple[str, str]) -> None:
            text = FORWARD + edited(GRADIENT, *replacements)
            self.wrong(text, (marker, f"norm: as the backward of norm, norm_grad {message}"))

        mask = GRADIENT[GRADIENT.index("    - name: mask  #") : GRADIENT.index("    - name: out_grad")]
        gradient(
            "name: z",
            "cannot have the input z; it can have x, weight, mask, out, out_grad",
            ("  attributes:", "    - name: z\n      description: More.\n  attributes:"),
        )
        gradient(
            "name: weight  # of",
            "must declare the input weight as norm does: list, optional, or_number, default, type, type_unless, ragged",
            ("default: 0.5", "default: 1.5"),
        )
        gradient(
            "name: mask  # of",
            "must declare the input mask as norm does: list, optional, or_number, default, type, type_unless, ragged",
            ("      optional: true\n", ""),
        )
        gradient(
            "name: out_grad",
            "must give the input out_grad the shape of out in norm: broadcast(x, weight)",
            ("broadcast(x, weight)", "like(x)"),
        )
        gradient(
            "inputs:  # of",
            "must take its inputs in the order x, weight, mask, out_grad",
            (mask, ""),
            ("    - name: weight", mask + "    - name: weight"),
        )
        gradient(
            "name: weight  # of",
            "must give the input weight the shape of weight in norm: none",
            ("or_number: true\n", "or_number: true\n      shape: like(x)\n"),
        )
        gradient("inputs:  # of", "lacks the input out_grad", ("name: out_grad", "name: out"))
        gradient(
            "name: out  # of",
            "must give the input out the shape of out in norm: broadcast(x, weight)",
            ("    - name: out_grad", "    - name: out  # of x\n      description: As before.\n    - name: out_grad"),
        )
        gradient(
            "attributes:  # of",
            "must have the same attributes: names, types, defaults and named numbers of porder, axis, "
            "epsilon, keepdim, asvector, steps, mode, scale",
            ("default: 2", "default: 3"),
        )
        gradient(
            "attributes:  # of",
            "must have the same attributes: names, types, defaults and named numbers of porder, axis, "
            "epsilon, keepdim, asvector, steps, mode, scale",
            ("{cube: 3, fro: 2}", "{fro: 2}"),
        )
        gradient(
            "name: y_grad",
            "cannot have the output y_grad; it can have x_grad, weight_grad, mask_grad",
            ("name: x_grad", "name: y_grad"),
        )
        gradient(
            "name: x_grad",
            "must make the output x_grad optional: an unwanted gradient costs nothing",
            ("      optional: true  # of x_grad\n", ""),
        )
        gradient("shape: broadcast(x)", "must give the output x_grad the shape like(x)", ("like(x)", "broadcast(x)"))
        gradient(
            "outputs:  # of",
            "must give its outputs in the order x_grad, mask_grad",
            ("name: x_grad", "name: moved"),
            ("name: mask_grad", "name: x_grad"),
            ("name: moved", "name: mask_grad"),
            ("like(x)", "moved"),
            ("like(mask)", "like(x)"),
            ("moved", "like(mask)"),
        )


if __name__ == "__main__":
    unittest.main()
