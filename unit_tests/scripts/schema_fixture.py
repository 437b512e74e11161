# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of scripts/schema.py share: a schema to start from, and how the script is run."""

from __future__ import annotations

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "schema.py"

sys.path.insert(0, str(SCRIPT.parent))
import schema  # noqa: E402 (found through the path above)

# An operator that uses every key, and its gradient; the wrong schemas are made from them. Comments mark lines of the
# gradient that the operator has as well.
FORWARD = """\
- op: norm
  brief: A brief.
  formula: |
    out = |x|
      "quoted" \\ backslash
  details: Details.
  inputs:
    - name: x
      description: The x | the value.
    - name: weight
      description: The weight.
      or_number: true
      default: 0.5
    - name: mask
      description: The mask.
      optional: true
  attributes:
    - name: porder
      description: The order.
      type: number
      default: 2
      names: {fro: 2, cube: 3.0}
    - name: axis
      description: The axes.
      type: integers
      default: [0, -1]
    - name: epsilon
      description: A small number.
      type: number
      default: 1e-12
    - name: keepdim
      description: Whether.
      type: boolean
      default: true
    - name: asvector
      description: Whether all.
      type: boolean
      default: false
    - name: steps
      description: How many.
      type: integer
      default: 3
    - name: mode
      description: How.
      type: text
      default: fast
    - name: scale
      description: How much.
      type: number
  outputs:
    - name: out
      description: The out.
      shape: broadcast(x, weight)
  backward: norm_grad
  inplace: (x -> out)
"""
GRADIENT = """\
- op: norm_grad
  brief: The gradients.
  formula: x_grad = 0
  inputs:  # of the gradient
    - name: x  # of the gradient
      description: As before.
    - name: weight  # of the gradient
      description: As before.
      or_number: true
      default: 0.5
    - name: mask  # of the gradient
      description: As before.
      optional: true
    - name: out_grad
      description: The gradient with respect to out.
      shape: broadcast(x, weight)  # of the gradient
  attributes:  # of the gradient
    - {name: porder, description: As before., type: number, default: 2, names: {cube: 3, fro: 2}}
    - {name: axis, description: As before., type: integers, default: [0, -1]}
    - {name: epsilon, description: As before., type: number, default: 1.0e-12}
    - {name: keepdim, description: As before., type: boolean, default: true}
    - {name: asvector, description: As before., type: boolean, default: false}
    - {name: steps, description: As before., type: integer, default: 3}
    - {name: mode, description: As before., type: text, default: fast}
    - {name: scale, description: As before., type: number}
  outputs:  # of the gradient
    - name: x_grad
      description: The gradient with respect to x.
      shape: like(x)
      optional: true  # of x_grad
    - name: mask_grad
      description: The gradient with respect to the mask.
      shape: like(mask)
      optional: true  # of mask_grad
  no_need_buffer: x, weight unless mask_grad
"""
GOOD = FORWARD + GRADIENT
FORWARD_OUTPUT = FORWARD[FORWARD.index("    - name: out") : FORWARD.index("  backward")]


def edited(text: str, *replacements: tuple[str, str]) -> str:
    """The text with the first occurrence of each first string replaced."""
    for old, new in replacements:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def line_of(text: str, marker: str) -> int:
    """The first line that holds the marker."""
    assert marker in text, marker
    return text[: text.index(marker)].count("\n") + 1


# The operator and its gradient with a result that lacks the axes.
REDUCTION = edited(GOOD, *[("broadcast(x, weight)", "reduced(x)")] * 2)
# What both may leave out.
ASVECTOR = """\
    - name: asvector
      description: Whether all.
      type: boolean
      default: false
"""
ASVECTOR_OF_GRADIENT = "    - {name: asvector, description: As before., type: boolean, default: false}\n"

# The operator and its gradient with extents that a function of the operator's own computes. The gradient does not take
# the bias.
COMPUTED = edited(
    GOOD,
    *[("      or_number: true\n      default: 0.5\n", "")] * 2,
    *[("broadcast(x, weight)", "computed(x, weight)")] * 2,
    (
        "The mask.\n      optional: true\n",
        "The mask.\n      optional: true\n      shape: computed(x, weight)\n"
        "    - name: bias\n      description: The bias.\n      optional: true\n      shape: computed(x, weight)\n",
    ),
    ("name: mask  # of the gradient\n", "name: mask  # of the gradient\n      shape: computed(x, weight)\n"),
    (
        "  no_need_buffer:",
        "    - name: bias_grad\n      description: The gradient with respect to the bias.\n"
        "      shape: computed(x, weight)  # of bias_grad\n      optional: true\n  no_need_buffer:",
    ),
)


# Two operators with lists, and their gradients.
LISTS = """\
- op: join
  brief: A brief.
  formula: out = x
  inputs:
    - name: x
      description: The list.
      list: true  # of join
  attributes:
    - {name: axis, description: The axis., type: integer, default: 0}  # of join
  outputs:
    - name: out
      description: The out.
      shape: joined(x)  # of join
  backward: join_grad

- op: join_grad
  brief: The gradients.
  formula: x_grad = out_grad
  inputs:
    - name: x  # of the gradient
      description: As before.
      list: true  # of the gradient
    - name: out_grad
      description: The gradient with respect to out.
      shape: joined(x)
  attributes:
    - {name: axis, description: As before., type: integer, default: 0}
  outputs:
    - name: x_grad
      description: The gradients.
      list: true  # of x_grad
      shape: like(x)  # of x_grad
      optional: true
  no_need_buffer: x

- op: divide
  brief: A brief.
  formula: out = x
  inputs:
    - name: x
      description: The x.
  attributes:
    - {name: sections, description: The lengths., type: integers}  # of divide
    - {name: axis, description: The axis., type: integer, default: 0}
  outputs:
    - name: out
      description: The parts.
      list: true  # of divide
      shape: divided(x)  # of divide
  backward: divide_grad

- op: divide_grad
  brief: The gradients.
  formula: x_grad = out_grad
  inputs:
    - name: out_grad  # of divide
      description: The gradients with respect to out.
      list: true
  attributes:
    - {name: sections, description: The lengths., type: integers}
    - {name: axis, description: The axis., type: integer, default: 0}
  outputs:
    - name: x_grad  # of divide
      description: The gradient.
      shape: joined(out_grad)  # of divide
      optional: true
"""


# Defaults of numbers that are infinite.
INFINITE = edited(
    GOOD,
    *[("default: 2,", "default: -.inf,"), ("default: 1.0e-12", "default: .inf")],
    *[("default: 2\n", "default: -.inf\n"), ("default: 1e-12", "default: .inf")],
)


def alone(*replacements: tuple[str, str]) -> str:
    """The forward operator without a gradient."""
    return edited(FORWARD, ("  backward: norm_grad\n", ""), *replacements)


class SchemaTest(unittest.TestCase):
    maxDiff = None

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name: str, text: str | bytes) -> pathlib.Path:
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def run_schema(self, *arguments: object) -> tuple[int, list[str]]:
        """The exit status and the lines of the error stream."""
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            status = schema.main([str(argument) for argument in arguments])
        return status, errors.getvalue().splitlines()


class RefusalTest(SchemaTest):
    def refused(self, text: str | bytes, *messages: str) -> None:
        file, tables = self.write("wrong.yaml", text), self.folder / "tables.cpp"
        with self.subTest(messages=messages):
            self.assertEqual(self.run_schema("generate", file, tables), (1, [f"{file}:{text}" for text in messages]))
            self.assertFalse(tables.exists())

    def wrong(self, text: str, *complaints: tuple[str, str]) -> None:
        """The schema is refused with exactly these messages, each at the first line that holds its marker."""
        self.refused(text, *(f"{line_of(text, marker)}: {message}" for marker, message in complaints))

    def complains(self, text: str, marker: str, message: str) -> None:
        """The schema is refused with this message among others, at the first line that holds the marker."""
        file, tables = self.write("wrong.yaml", text), self.folder / "tables.cpp"
        with self.subTest(message=message):
            status, messages = self.run_schema("generate", file, tables)
            self.assertEqual(status, 1)
            self.assertIn(f"{file}:{line_of(text, marker)}: {message}", messages)
            self.assertFalse(tables.exists())
