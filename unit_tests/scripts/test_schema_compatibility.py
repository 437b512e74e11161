#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of every rule of compatibility with the last release: scripts/schema.py check."""

from __future__ import annotations

import unittest

from schema_fixture import COMPUTED, FORWARD, GOOD, LISTS, SchemaTest, alone, edited, line_of


class CompatibilityTest(SchemaTest):
    def check(self, released: str, current: str, *complaints: tuple[str, str]) -> None:
        """Exactly these messages, each at the first line of the current schema that holds its marker."""
        baseline, file = self.write("released.yaml", released), self.write("current.yaml", current)
        with self.subTest(complaints=complaints):
            expected = [f"{file}:{line_of(current, marker)}: {message}" for marker, message in complaints]
            self.assertEqual(self.run_schema("check", baseline, file), (1 if expected else 0, expected))

    def broken(self, marker: str, message: str, *replacements: tuple[str, str]) -> None:
        self.check(alone(), alone(*replacements), (marker, f"norm: {message}"))

    def test_compatible(self) -> None:
        self.check(GOOD, GOOD + alone(("op: norm", "op: other")))
        self.check(
            alone(),
            alone(
                ("A brief.", "Another."),
                ("The weight.", "Another."),
                ("  attributes:", "    - name: bias\n      description: New.\n      optional: true\n  attributes:"),
                (
                    "  outputs:",
                    "    - name: extra\n      description: New.\n      type: text\n      default: a\n  outputs:",
                ),
                (
                    "  inplace:",
                    "    - name: rest\n      description: New.\n      shape: like(x)\n      optional: true\n  inplace:",
                ),
                ("(x -> out)", "(x -> out), (weight -> out)\n  no_need_buffer: weight"),
            ),
        )

    def test_operators(self) -> None:
        released = self.folder / "released.yaml"
        line = FORWARD.count("\n") + 1
        self.check(
            GOOD,
            alone(),
            ("op: norm", "norm: backward norm_grad was withdrawn; a released backward may not be"),
            ("op: norm", f"norm_grad was removed ({released}:{line}); a released operator may not be removed"),
        )

    def test_lists(self) -> None:
        join = LISTS[: LISTS.index("- op: join_grad")].replace("  backward: join_grad\n", "")
        one = edited(join, ("      list: true  # of join\n", ""), ("joined(x)", "like(x)"))
        self.check(join, join)
        self.check(
            one,
            join,
            (
                "name: x",
                "join: input x was changed: list is true, released as false; a released input may not be changed",
            ),
            (
                "name: out",
                "join: output out was changed: shape is joined(x), released as like(x); a released output may not be "
                "changed",
            ),
        )
        several = edited(
            join,
            ("      shape: joined(x)", "      list: true\n      shape: like(x)"),
        )
        self.check(
            join,
            several,
            (
                "name: out",
                "join: output out was changed: list is true, released as false; a released output may not be changed",
            ),
            (
                "name: out",
                "join: output out was changed: shape is like(x), released as joined(x); a released output may not be "
                "changed",
            ),
        )

    def test_inputs(self) -> None:
        mask = "    - name: mask\n      description: The mask.\n      optional: true\n"
        self.broken("inputs:", "input mask was removed; a released input may not be removed", (mask, ""))
        self.broken(
            "name: masque",
            "input mask was renamed to masque; a released input may not be renamed",
            ("name: mask", "name: masque"),
        )
        self.broken(
            "inputs:",
            "inputs were reordered: x, mask, weight, released as x, weight, mask; released inputs may "
            "not be reordered",
            (mask, ""),
            ("    - name: weight\n", mask + "    - name: weight\n"),
        )
        self.broken(
            "name: bias",
            "new input bias stands before released ones; a new input must come after them",
            (mask, mask.replace("mask", "bias") + mask),
        )
        self.broken(
            "name: bias",
            "new input bias is mandatory; a new tensor input must be optional",
            ("  attributes:", "    - name: bias\n      description: New.\n  attributes:"),
        )
        self.broken(
            "name: bias",
            "new input bias is mandatory; a new tensor input must be optional",
            (
                "  attributes:",
                "    - name: bias\n      description: New.\n      or_number: true\n" "      default: 0\n  attributes:",
            ),
        )

        def changed(name: str, fact: str, now: str, was: str, *replacements: tuple[str, str]) -> None:
            self.broken(
                f"name: {name}",
                f"input {name} was changed: {fact} is {now}, released as {was}; a released input " "may not be changed",
                *replacements,
            )

        changed("mask", "optional", "false", "true", ("      optional: true\n", ""))
        changed("weight", "default", "0.75", "0.5", ("default: 0.5", "default: 0.75"))
        changed("weight", "default", "none", "0.5", ("      default: 0.5\n", ""))
        changed("mask", "type", "i64", "none", ("The mask.\n", "The mask.\n      type: i64\n"))
        changed("x", "shape", "like(weight)", "none", ("the value.\n", "the value.\n      shape: like(weight)\n"))
        self.check(
            alone(("      default: 0.5\n", "")),
            alone(("      or_number: true\n      default: 0.5\n", "")),
            (
                "name: weight",
                "norm: input weight was changed: or_number is false, released as true; a released "
                "input may not be changed",
            ),
        )

    def test_levels(self) -> None:
        ragged = edited(
            FORWARD.replace("  backward: norm_grad\n", ""),
            ("the value.\n", "the value.\n      ragged: values\n"),
            ("broadcast(x, weight)\n", "broadcast(x, weight)\n      levels: share(x)\n"),
        )
        without = FORWARD.replace("  backward: norm_grad\n", "")
        old, new = self.write("without.yaml", without), self.write("ragged.yaml", ragged)
        self.assertEqual(self.run_schema("check", old, new), (0, []))  # an operator may learn of levels
        status, errors = self.run_schema("check", new, old)
        self.assertEqual(status, 1)
        self.assertTrue(any("ragged is none, released as values" in line for line in errors), errors)
        self.assertTrue(any("levels is none, released as share(x)" in line for line in errors), errors)

    def test_attributes(self) -> None:
        steps = FORWARD[FORWARD.index("    - name: steps") : FORWARD.index("    - name: mode")]
        self.broken("attributes:", "attribute steps was removed; a released attribute may not be removed", (steps, ""))
        self.broken(
            "name: stages",
            "attribute steps was renamed to stages; a released attribute may not be renamed",
            ("name: steps", "name: stages"),
        )
        self.broken(
            "attributes:",
            "attributes were reordered: steps, porder, axis, epsilon, keepdim, asvector, mode, scale, "
            "released as porder, axis, epsilon, keepdim, asvector, steps, mode, scale; released attributes "
            "may not be reordered",
            (steps, ""),
            ("  attributes:\n", "  attributes:\n" + steps),
        )
        self.broken(
            "name: stages",
            "new attribute stages stands before released ones; a new attribute must come after " "them",
            (steps, steps.replace("steps", "stages") + steps),
        )
        self.broken(
            "name: extra",
            "new attribute extra has no default; a new attribute needs a default",
            ("  outputs:", "    - name: extra\n      description: New.\n      type: text\n  outputs:"),
        )
        self.broken(
            "name: steps",
            "attribute steps was changed: type is number, released as integer; a released "
            "attribute may not be changed",
            ("type: integer\n", "type: number\n"),
        )
        self.broken(
            "name: steps",
            "attribute steps was changed: default is 4, released as 3; a released attribute may " "not be changed",
            ("default: 3", "default: 4"),
        )
        self.broken(
            "name: steps",
            "attribute steps was changed: default is none, released as 3; a released attribute may " "not be changed",
            ("      default: 3\n", ""),
        )

    def test_named_numbers(self) -> None:
        names = "{fro: 2, cube: 3.0}"
        self.check(alone(), alone((names, "{one: 1, cube: 3, fro: 2}")))
        self.check(alone((f"      names: {names}\n", "")), alone())
        self.broken(
            "name: porder",
            "the name cube of attribute porder was removed; a released name may not be removed",
            (names, "{fro: 2}"),
        )
        self.broken(
            "name: porder",
            "the name fro of attribute porder was changed: it is 2.5, released as 2.0; a released name may not be "
            "changed",
            (names, "{fro: 2.5, cube: 3}"),
        )
        removed = "norm: the name {} of attribute porder was removed; a released name may not be removed"
        self.check(
            alone(),
            alone((f"      names: {names}\n", "")),
            ("name: porder", removed.format("cube")),
            ("name: porder", removed.format("fro")),
        )

    def test_outputs(self) -> None:
        rest = "    - name: rest\n      description: More.\n      shape: like(x)\n"
        two = alone(("  inplace:", rest + "  inplace:"))
        self.check(two, alone(), ("outputs:", "norm: output rest was removed; a released output may not be removed"))
        self.check(alone(), two, ("name: rest", "norm: new output rest is mandatory; a new output must be optional"))
        self.check(
            alone(),
            alone(("name: out", "name: rest"), ("-> out", "-> rest")),
            ("name: rest", "norm: new output rest is mandatory; a new output must be optional"),
            ("name: rest", "norm: output out was renamed to rest; a released output may not be renamed"),
            ("inplace:", "norm: inplace (x -> out) was withdrawn; a released pair may not be"),
        )
        self.check(
            two,
            alone(("  outputs:\n", "  outputs:\n" + rest)),
            (
                "outputs:",
                "norm: outputs were reordered: rest, out, released as out, rest; released outputs may not "
                "be reordered",
            ),
        )
        self.broken(
            "name: out",
            "output out was changed: shape is like(x), released as broadcast(x, weight); a released "
            "output may not be changed",
            ("broadcast(x, weight)", "like(x)"),
        )
        self.broken(
            "name: out",
            "output out was changed: shape is reduced(x), released as broadcast(x, weight); a released "
            "output may not be changed",
            ("broadcast(x, weight)", "reduced(x)"),
        )
        self.broken(
            "name: out",
            "output out was changed: optional is true, released as false; a released output may not " "be changed",
            ("broadcast(x, weight)\n", "broadcast(x, weight)\n      optional: true\n"),
        )

    def test_computed_extents(self) -> None:
        self.check(COMPUTED, COMPUTED)
        mask = "The mask.\n      optional: true\n"
        rule = "      shape: computed(x, weight)\n"
        changed = "norm: input mask was changed: shape is {}, released as {}; a released input may not be changed"
        plain = alone(("      or_number: true\n      default: 0.5\n", ""))
        computed = edited(plain, (mask, mask + rule))
        self.check(plain, computed, ("name: mask", changed.format("computed(x, weight)", "none")))
        self.check(computed, plain, ("name: mask", changed.format("none", "computed(x, weight)")))
        self.check(
            computed,
            edited(computed, ("computed(x, weight)", "computed(x)")),
            ("name: mask", changed.format("computed(x)", "computed(x, weight)")),
        )
        bias = "    - name: bias\n      description: New.\n      optional: true\n"
        self.check(computed, edited(computed, ("  attributes:", f"{bias}{rule}  attributes:")))

    def test_promises(self) -> None:
        self.broken(
            "op: norm", "inplace (x -> out) was withdrawn; a released pair may not be", ("  inplace: (x -> out)\n", "")
        )
        withdrawn = "norm_grad: no_need_buffer of input weight was withdrawn; callers may have dropped its elements"
        self.check(
            GOOD, edited(GOOD, ("x, weight unless mask_grad", "x unless mask_grad")), ("no_need_buffer:", withdrawn)
        )
        self.check(
            GOOD,
            edited(GOOD, ("x, weight unless mask_grad", "x, weight unless x_grad")),
            ("no_need_buffer:", withdrawn),
            ("no_need_buffer:", withdrawn.replace("weight", "x")),
        )
        self.check(GOOD, edited(GOOD, (" unless mask_grad", "")))  # more than was promised
        self.check(
            edited(GOOD, ("x, weight unless mask_grad", "weight unless computed(porder)")),
            edited(GOOD, ("x, weight unless mask_grad", "weight unless computed(epsilon)")),
            ("no_need_buffer:", withdrawn),
        )


if __name__ == "__main__":
    unittest.main()
