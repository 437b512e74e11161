#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of scripts/schema.py: every complaint about a schema, but for lists of tensors, promises and gradients."""

from __future__ import annotations

import unittest

from schema_fixture import ASVECTOR, COMPUTED, FORWARD, FORWARD_OUTPUT, GOOD, RefusalTest, alone, edited


class WrongSchemaTest(RefusalTest):
    def test_file(self) -> None:
        file = self.folder / "none.yaml"
        self.assertEqual(
            self.run_schema("generate", file, self.folder / "tables.cpp"),
            (1, [f"{file}:1: cannot be read: No such file or directory"]),
        )
        self.refused(b"- op: lerp\n  brief: [1\n", "3: is not YAML: expected ',' or ']', but got '<stream end>'")
        self.refused(b"- op: \xff\n", "1: is not UTF-8 text")
        self.refused(b"- op: a\x07b\n", "1: has a character that YAML does not allow, at offset 7")
        self.refused(b"", "1: the schema is nothing, expected a list of operators")
        self.refused(b"op: lerp\n", "1: the schema is a mapping, expected a list of operators")
        self.refused(
            b"- lerp\n",
            "1: the operator is a text, expected a mapping of op, brief, formula, details, inputs, "
            "attributes, outputs, backward, inplace, no_need_buffer, autocast",
        )

    def test_unknown_keys(self) -> None:
        self.wrong(
            edited(GOOD, ("details:", "detials:")),
            (
                "detials",
                "the operator has no key 'detials'; its keys are op, brief, formula, details, inputs, "
                "attributes, outputs, backward, inplace, no_need_buffer, autocast",
            ),
        )
        self.wrong(
            edited(GOOD, ("or_number:", "or_numbr:")),
            (
                "or_numbr",
                "norm: input has no key 'or_numbr'; its keys are name, description, list, optional, "
                "or_number, default, shape, type, ragged",
            ),
        )
        self.wrong(
            edited(GOOD, ("      type: integers\n", "      type: integers\n      [1, 2]: 3\n")),
            ("[1, 2]", "norm: attribute has no key 'a list'; its keys are name, description, type, default, names"),
        )
        self.wrong(
            edited(GOOD, ("details: Details.", "brief: Again.")),
            ("brief: Again.", "the operator has the key 'brief' twice"),
        )

    def test_missing_keys(self) -> None:
        self.wrong(edited(GOOD, ("op: norm\n  brief", "brief")), ("brief", "the operator lacks the key 'op'"))
        for key, line in (("brief", "A brief."), ("formula", '|\n    out = |x|\n      "quoted" \\ backslash')):
            self.wrong(edited(GOOD, (f"  {key}: {line}\n", "")), ("op: norm", f"norm lacks the key '{key}'"))
        self.wrong(
            edited(GOOD, ("      description: The x | the value.\n", "")),
            ("name: x", "norm: input x lacks the key 'description'"),
        )
        self.wrong(
            edited(GOOD, ("    - name: mask\n      description", "    - description")),
            ("description: The mask.", "norm: input lacks the key 'name'"),
        )
        self.wrong(
            edited(GOOD, ("      type: integers\n", "")), ("name: axis", "norm: attribute axis lacks the key 'type'")
        )
        self.wrong(
            edited(GOOD, ("      shape: broadcast(x, weight)\n", "")),
            ("name: out\n", "norm: output out lacks the key 'shape'"),
        )

    def test_wrong_types(self) -> None:
        self.wrong(
            edited(GOOD, ("op: norm", "op: Norm")),
            ("op: Norm", "the operator: 'op' is 'Norm', expected a name: lower-case letters, digits and _"),
        )
        for brief, message in (
            ("3", "is '3', expected a text"),
            ("", "is nothing, expected a text"),
            ("[a]", "is a list, expected a text"),
            ("|\n    A\n    B", "has several lines, expected one"),
        ):
            self.wrong(edited(GOOD, ("brief: A brief.", f"brief: {brief}")), ("brief:", f"norm: 'brief' {message}"))
        self.wrong(
            edited(GOOD, ("optional: true", "optional: 1")),
            ("optional: 1", "norm: input mask: 'optional' is '1', expected true or false"),
        )
        for default in ("half", ".inf", ".nan", "1e999", "1_0", "'0.5'"):
            self.wrong(
                edited(GOOD, ("default: 0.5", f"default: {default}")),
                ("default:", "norm: input weight: 'default' is '" + default.strip("'") + "', expected a finite number"),
            )
        for outputs, found in (("3", "'3'"), ("[]", "an empty list"), ("", "nothing"), ("{}", "a mapping")):
            self.wrong(
                alone((f"  outputs:\n{FORWARD_OUTPUT}", f"  outputs: {outputs}\n")),
                ("outputs:", f"norm: 'outputs' is {found}, expected a list of at least one"),
            )
        self.wrong(
            edited(GOOD, ("    - name: x\n      description: The x | the value.\n", "    - x\n")),
            (
                "- x\n",
                "norm: input is a text, expected a mapping of name, description, list, optional, or_number, "
                "default, shape, type, ragged",
            ),
        )
        self.wrong(
            edited(GOOD, ("(x -> out)", "x, out")),
            (
                "inplace:",
                "norm: 'inplace' is 'x, out', expected pairs of an input and an output, as in " "'(x -> out)'",
            ),
        )
        self.wrong(
            edited(GOOD, ("x, weight unless mask_grad", "x unless")),
            (
                "no_need_buffer:",
                "norm_grad: 'no_need_buffer' is 'x unless', expected names of inputs, as in "
                "'x, y', 'x, y unless weight_grad' or 'out unless computed(porder)'",
            ),
        )
        for value, found in (("half", "'half'"), ("true", "'true'"), ("[wide]", "a list")):
            self.wrong(
                edited(GOOD, ("(x -> out)", f"(x -> out)\n  autocast: {value}")),
                ("autocast:", f"norm: 'autocast' is {found}, expected one of narrow, wide, promote"),
            )

    def test_tensor_types(self) -> None:
        indices = "    - name: rows\n      description: The rows.\n      type: i64\n"
        self.wrong(
            alone(("  inputs:\n", "  inputs:\n" + indices.replace("i64", "i32"))),
            (
                "type: i32",
                "norm: input rows: 'type' is 'i32', expected one of i64, f64, sums, parameters, or one of them as in "
                "'i64 unless soft_label'",
            ),
        )
        expected = "expected one of i64, f64, sums, parameters, or one of them as in 'i64 unless soft_label'"
        for kind, message in (
            ("i64 unless", f"'type' is 'i64 unless', {expected}"),
            ("i32 unless keepdim", f"'type' is 'i32 unless keepdim', {expected}"),
            ("i64 unless steps", "its type needs the attribute steps of type boolean"),
            ("i64 unless nothing", "its type needs the attribute nothing of type boolean"),
        ):
            text = alone(("  inputs:\n", "  inputs:\n" + indices.replace("i64", kind)))
            self.wrong(text, ("type:" if message[0] == "'" else "name: rows", f"norm: input rows: {message}"))
        self.wrong(
            alone(("broadcast(x, weight)\n", "broadcast(x, weight)\n      type: i64 unless keepdim\n")),
            ("type: i64", "norm: output out: 'type' is 'i64 unless keepdim', expected one of i64, f64, sums, parameters"),
        )
        self.wrong(
            alone(("The weight.\n", "The weight.\n      type: i64\n")),
            ("name: weight", "norm: input weight: indices may not be a number"),
        )
        self.wrong(
            alone(("  inputs:\n", "  inputs:\n" + indices), ("the value.\n", "the value.\n      optional: true\n")),
            (
                "name: x",
                "norm: input x: the first input gives the outputs their element type "
                "and may be neither a number nor optional",
            ),
            (
                "broadcast(x, weight)",
                "norm: output out: broadcast(x, weight) names x, which is optional and may have no extents",
            ),
        )
        self.wrong(
            "- op: count\n  brief: A brief.\n  formula: out = n\n  inputs:\n" + indices + "  outputs:\n"
            "    - name: out\n      description: The out.\n      shape: like(rows)\n",
            ("name: out", "count: output out: all inputs have a type of their own, so it needs one as well"),
        )
        self.wrong(
            edited(GOOD, ("The mask.\n", "The mask.\n      type: i64\n")),
            (
                "name: mask  # of the gradient",
                "norm: as the backward of norm, norm_grad must declare the input mask as norm does: "
                "list, optional, or_number, default, type, type_unless, ragged",
            ),
            (
                "name: mask_grad",
                "norm: as the backward of norm, norm_grad cannot have the output mask_grad; it can have "
                "x_grad, weight_grad",
            ),
        )

    def test_levels(self) -> None:
        ragged = ("the value.\n", "the value.\n      ragged: true\n")
        self.wrong(
            alone(("the value.\n", "the value.\n      ragged: maybe\n")),
            ("ragged: maybe", "norm: input x: 'ragged' is 'maybe', expected one of true, optional, levels, values"),
        )
        self.wrong(
            alone(ragged),
            (
                "name: out",
                "norm: output out: lacks the key 'levels': x may be ragged, so it shares, changes or drops levels",
            ),
        )
        shape = "broadcast(x, weight)\n"
        self.wrong(
            alone(ragged, (shape, shape + "      levels: same(x)\n")),
            (
                "levels: same",
                "norm: output out: 'levels' is 'same(x)', expected share(x), share(x, y), changes or drops",
            ),
        )
        self.wrong(
            alone((shape, shape + "      levels: share(x)\n")),
            ("levels: share", "norm: output out: share(x) names x, which is no ragged input"),
            ("levels: share", "norm: output out: share(x), but no input is ragged"),
        )
        self.wrong(
            alone(ragged, (shape, shape + "      levels: share(x, weight)\n")),
            ("levels: share", "norm: output out: share(x, weight) names weight, which is no ragged input"),
        )
        self.wrong(
            alone(ragged, (shape, shape + "      levels: changes\n")),
            (
                "levels: changes",
                "norm: output out: levels that change are computed from what the shape rule computed(…) names, "
                "which no tensor has",
            ),
        )
        drops = (shape, shape + "      levels: drops\n")
        self.wrong(
            alone(("The weight.\n", "The weight.\n      ragged: true\n"), drops),
            ("name: weight", "norm: input weight: a number has no levels"),
        )
        self.wrong(
            alone(("The mask.\n", "The mask.\n      ragged: true\n"), drops),
            ("name: mask", "norm: input mask: a ragged input may not be optional"),
        )
        self.wrong(
            alone(("the value.\n", "the value.\n      ragged: levels\n"), drops),
            (
                "name: x",
                "norm: input x: the first input gives the outputs their element type "
                "and may be neither a number nor optional",
            ),
            (shape, "norm: output out: broadcast(x, weight) names x, which is levels alone and has no extents"),
        )
        self.wrong(
            edited(
                GOOD,
                ragged,
                drops,
                ("As before.\n", "As before.\n      ragged: true\n"),
                ("optional: true  # of x_grad", "levels: drops\n      optional: true  # of x_grad"),
                ("optional: true  # of mask_grad", "levels: drops\n      optional: true  # of mask_grad"),
            ),
            (
                "name: x_grad",
                "norm: as the backward of norm, norm_grad must give the output x_grad the levels share(x): those of "
                "its variable",
            ),
        )

    def test_attributes(self) -> None:
        for good, bad, message in (
            (
                "type: integers",
                "type: ints",
                "axis: 'type' is 'ints', expected one of boolean, integer, number, integers, text",
            ),
            ("default: 2", "default: two", "porder: 'default' is 'two', expected a finite number, .inf or -.inf"),
            ("default: 2", "default: .nan", "porder: 'default' is '.nan', expected a finite number, .inf or -.inf"),
            ("default: [0, -1]", "default: 0", "axis: 'default' is '0', expected a list of integers"),
            ("default: [0, -1]", "default: [0, 0.5]", "axis: 'default' is '0.5', expected a list of integers"),
            ("default: true", "default: 1", "keepdim: 'default' is '1', expected true or false"),
            ("default: 3", "default: 3.0", "steps: 'default' is '3.0', expected an integer"),
            ("default: 3", "default: 0x3", "steps: 'default' is '0x3', expected an integer"),
            (
                "default: 3",
                "default: 9223372036854775808",
                "steps: 'default' is '9223372036854775808', expected an integer",
            ),
            ("default: fast", "default: 7", "mode: 'default' is '7', expected a text"),
        ):
            self.wrong(edited(GOOD, (good + "\n", bad + "\n")), (bad + "\n", f"norm: attribute {message}"))

    def test_named_numbers(self) -> None:
        given = "names: {fro: 2, cube: 3.0}"
        expected = "expected a mapping of names to finite numbers, such as {fro: 2}"
        for names, message in (
            ("fro", f"'names' is 'fro', {expected}"),
            ("[fro, 2]", f"'names' is a list, {expected}"),
            ("{}", f"'names' is a mapping, {expected}"),
            ("{Fro: 2}", f"'names' is 'Fro', {expected}"),
            ("{2: 2}", f"'names' is '2', {expected}"),
            ("{yes: 2}", f"'names' is 'yes', {expected}"),
            ("{[fro]: 2}", f"'names' is a list, {expected}"),
            ("{fro: two}", f"'names' is 'two', {expected}"),
            ("{fro: .inf}", f"'names' is '.inf', {expected}"),
            ("{fro: [2]}", f"'names' is a list, {expected}"),
            ("{fro: }", f"'names' is nothing, {expected}"),
            ("{inf: 2}", "'names' has the name 'inf', which is a number"),
            ("{nan: 2}", "'names' has the name 'nan', which is a number"),
            ("{fro: 2, fro: 3}", "'names' has the name 'fro' twice"),
        ):
            self.wrong(edited(GOOD, (given, f"names: {names}")), ("names:", f"norm: attribute porder: {message}"))
        self.wrong(
            alone(("default: fast\n", "default: fast\n      names: {slow: 1}\n")),
            ("name: mode", "norm: attribute mode: only an attribute of type number may have names"),
        )

    def test_arguments(self) -> None:
        self.wrong(
            alone() + edited(alone(), ("op: norm", "op: norm  # again")),
            ("# again", "norm: declared twice, first at line 1"),
        )
        self.wrong(alone(("name: mode", "name: weight  # again")), ("# again", "norm: two arguments are called weight"))
        self.wrong(
            alone(("name: mask", "name: ctx")),
            ("name: ctx", "norm: no argument may be called ctx, which is the context of every call"),
        )
        first = (
            "norm: input x: the first input gives the outputs their element type and may be neither a number nor "
            "optional"
        )
        self.wrong(alone(("the value.\n", "the value.\n      or_number: true\n")), ("name: x", first))
        self.wrong(
            alone(
                ("the value.\n", "the value.\n      optional: true\n"),
                ("broadcast(x, weight)", "like(weight)"),
                ("shape: like(weight)", "shape: like(weight)\n      optional: true"),
            ),
            ("name: x", first),
        )
        self.wrong(
            alone(("      or_number: true\n", "")),
            ("name: weight", "norm: input weight: only an input with or_number may have a default"),
        )
        self.wrong(
            alone(("or_number: true", "or_number: true\n      optional: true"), ("(x, weight)", "(x)")),
            (
                "name: weight",
                "norm: input weight: an input with or_number is made optional by a default, not by " "'optional'",
            ),
        )

    def test_shape_rules(self) -> None:
        for rule, message in (
            ("x", "'shape' is 'x', expected a rule such as broadcast(x, y), like(x) or reduced(x)"),
            (
                "same(x)",
                "there is no shape rule 'same'; the rules are broadcast, like, reduced, joined, divided, computed, scalar",
            ),
            ("like(x, weight)", "the shape rule like takes one name, found 2"),
            ("reduced(x, weight)", "the shape rule reduced takes one name, found 2"),
            ("reduced()", "the shape rule reduced takes one name, found 0"),
            ("broadcast()", "the shape rule broadcast takes at least one name, found 0"),
            ("scalar(x)", "the shape rule scalar takes no name, found 1"),
            (
                "broadcast(x, wieght)",
                "broadcast(x, wieght) names wieght, which is no input; the inputs are x, weight, mask",
            ),
            ("like(out)", "like(out) names out, which is no input; the inputs are x, weight, mask"),
            ("broadcast(x, mask)", "broadcast(x, mask) names mask, which is optional and may have no extents"),
            ("broadcast(x, x)", "broadcast(x, x) names an input twice"),
            ("reduced(out)", "reduced(out) names out, which is no input; the inputs are x, weight, mask"),
            ("reduced(weight)", "reduced(weight) names weight, which may be a number and have no axes"),
            ("reduced(mask)", "reduced(mask) names mask, which is optional and may have no extents"),
            ("computed()", "the shape rule computed takes at least one name, found 0"),
            ("computed(x, out)", "computed(x, out) names out, which is no input; the inputs are x, weight, mask"),
            ("computed(weight)", "computed(weight) names weight, which may be a number and have no axes"),
            ("computed(x, mask)", "computed(x, mask) names mask, which is optional and may have no extents"),
            ("computed(x, x)", "computed(x, x) names an input twice"),
        ):
            self.wrong(alone(("broadcast(x, weight)", rule)), ("shape:", f"norm: output out: {message}"))
        for operand in ("weight", "mask"):
            self.wrong(
                alone(("broadcast(x, weight)", f"like({operand})")),
                (
                    "name: out",
                    f"norm: output out: must be optional: it exists only where {operand} is given as a " "tensor",
                ),
            )
        self.wrong(
            alone(("The mask.", "The mask.\n      shape: like(mask)")),
            ("shape:", "norm: input mask: like(mask) says that its extents are its own"),
        )
        self.wrong(
            alone(("the value.", "the value.\n      shape: like(mask)")),
            ("shape:", "norm: input x: like(mask) names mask, which is optional and may have no extents"),
        )

    def test_computed_extents(self) -> None:
        self.wrong(
            edited(COMPUTED, ("shape: computed(x, weight)\n  backward:", "shape: computed(weight, x)\n  backward:")),
            (
                "computed(weight, x)",
                "norm: output out: computed(weight, x) differs from computed(x, weight) above: one function computes "
                "all such extents",
            ),
            (
                "name: out_grad",
                "norm: as the backward of norm, norm_grad must give the input out_grad the shape of out in norm: "
                "computed(weight, x)",
            ),
        )
        self.wrong(
            edited(COMPUTED, ("The weight.\n", "The weight.\n      shape: computed(x, weight)\n")),
            ("shape:", "norm: input weight: computed(x, weight) says that its extents are its own"),
            (
                "name: weight  # of",
                "norm: as the backward of norm, norm_grad must give the input weight the shape of weight in norm: "
                "computed(x, weight)",
            ),
        )
        for wrong in ("like(x)", "broadcast(x, weight)"):
            self.wrong(
                edited(COMPUTED, ("computed(x, weight)  # of bias_grad", f"{wrong}  # of bias_grad")),
                (
                    "# of bias_grad",
                    "norm: as the backward of norm, norm_grad must give the output bias_grad the shape "
                    "computed(x, weight)",
                ),
            )
        mask = "name: mask  # of the gradient\n"
        self.wrong(
            edited(COMPUTED, (f"{mask}      shape: computed(x, weight)\n", mask)),
            (
                mask,
                "norm: as the backward of norm, norm_grad must give the input mask the shape of mask in norm: "
                "computed(x, weight)",
            ),
        )

    def test_attributes_of_a_reduction(self) -> None:
        for name, kind, other in (
            ("axis", "integers", "type: integer\n      default: 1"),
            ("keepdim", "boolean", "type: number\n      default: 1"),
        ):
            message = f"norm: output out: reduced(x) needs the attribute {name} of type {kind}"
            start = FORWARD.index(f"    - name: {name}\n")
            declared = FORWARD[start : FORWARD.index("    - name: ", start + 1)]
            changed = declared[: declared.index("type:")] + other + "\n"
            for replacement in ("", changed):
                text = alone((declared, replacement), ("broadcast(x, weight)", "reduced(x)"))
                self.wrong(text, ("shape:", message))
        changed = edited(ASVECTOR, ("type: boolean\n      default: false", "type: text\n      default: all"))
        text = alone((ASVECTOR, changed), ("broadcast(x, weight)", "reduced(x)"))
        self.wrong(text, ("    - name: asvector\n", "norm: output out: reduced(x) takes the attribute asvector of type boolean"))


if __name__ == "__main__":
    unittest.main()
