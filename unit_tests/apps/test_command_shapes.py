# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs add, reshape and trace and their gradients by the portops command."""

from __future__ import annotations

import unittest

import npy_files
from command_fixture import CommandTest, call

X = [float(i) for i in range(12)]


class ShapesTest(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        self.write("x.npy", (3, 4), X)
        self.write("y.npy", (4,), [10.0, 20.0, 30.0, 40.0])

    def result(self, name: str) -> tuple[tuple[int, ...], list[float]]:
        """The extents and elements of a result."""
        return npy_files.read(self.path(name))[1:]

    def wrong(self, op: str, *arguments: str, expect: str) -> None:
        self.run_wrong("run", op, *arguments, expect=[f"portops: {op}: {expect}\n"])

    def test_info(self) -> None:
        for op, parts in (
            ("add", ("y  tensor or number", "extents   out = broadcast(x, y)\n", "gradient  add_grad\n")),
            ("reshape", ("shape  integers", "extents   out = computed(x)\n", "gradient  reshape_grad\n")),
            ("trace", ("offset  integer, default 0", "axis2   integer, default 1", "gradient  trace_grad\n")),
        ):
            text = call("info", op).stdout
            for part in parts:
                self.assertIn(part, text)

    def test_add(self) -> None:
        self.run_ok("add", "x=x.npy", "y=y.npy", "out=out.npy")
        self.assertEqual(self.result("out.npy"), ((3, 4), [X[i] + 10.0 * (i % 4 + 1) for i in range(12)]))
        self.run_ok("add", "x=x.npy", "y=0.5", "out=out.npy")
        self.assertEqual(self.result("out.npy"), ((3, 4), [value + 0.5 for value in X]))
        self.run_ok("add_grad", "x=x.npy", "y=y.npy", "out_grad=x.npy", "x_grad=xg.npy", "y_grad=yg.npy")
        self.assertEqual(self.result("xg.npy"), ((3, 4), X))
        self.assertEqual(self.result("yg.npy"), ((4,), [12.0, 15.0, 18.0, 21.0]))

    def test_reshape(self) -> None:
        self.run_ok("reshape", "x=x.npy", "shape=2,-1", "out=out.npy")
        self.assertEqual(self.result("out.npy"), ((2, 6), X))
        self.run_ok("reshape", "x=x.npy", "shape=0,2,2", "out=out.npy", "--dtype=f16")
        self.assertEqual(npy_files.read(self.path("out.npy")), ("<f2", (3, 2, 2), X))
        self.write("g.npy", (6, 2), X)
        self.run_ok("reshape_grad", "x=x.npy", "shape=6,2", "out_grad=g.npy", "x_grad=xg.npy")
        self.assertEqual(self.result("xg.npy"), ((3, 4), X))

    def test_reshape_to_rank_0(self) -> None:
        self.write("one.npy", (1, 1), [7.0])
        self.run_ok("reshape", "x=one.npy", "shape=[]", "out=out.npy")
        self.assertEqual(self.result("out.npy"), ((), [7.0]))
        self.run_ok("reshape", "x=out.npy", "shape=[1,1,1]", "out=back.npy")
        self.assertEqual(self.result("back.npy"), ((1, 1, 1), [7.0]))
        self.run_ok("reshape_grad", "x=one.npy", "shape=[]", "out_grad=out.npy", "x_grad=xg.npy")
        self.assertEqual(self.result("xg.npy"), ((1, 1), [7.0]))
        for text in ("", "[", "[[]]", "[1", "[1,]"):
            message = f"shape is '{text}', expected integers separated by commas, such as 1,2, or [] for none"
            self.wrong("reshape", "x=one.npy", f"shape={text}", "out=none.npy", expect=message)

    def test_trace(self) -> None:
        self.run_ok("trace", "x=x.npy", "out=out.npy")
        self.assertEqual(self.result("out.npy"), ((), [15.0]))
        self.run_ok("trace", "x=x.npy", "offset=-1", "axis1=1", "axis2=0", "out=out.npy")
        self.assertEqual(self.result("out.npy"), ((), [X[1] + X[6] + X[11]]))
        self.write("g.npy", (), [2.5])
        self.run_ok("trace_grad", "x=x.npy", "offset=2", "out_grad=g.npy", "x_grad=xg.npy")
        self.assertEqual(self.result("xg.npy"), ((3, 4), [2.5 if i in (2, 7) else 0.0 for i in range(12)]))

    def test_wrong_calls(self) -> None:
        self.wrong("add", "x=x.npy", "out=out.npy", expect="input y is missing, expected y=FILE.npy")
        self.wrong(
            "add_grad",
            "x=x.npy",
            "y=1",
            "out_grad=x.npy",
            "y_grad=yg.npy",
            expect="y_grad cannot be computed: y is a number, expected y=FILE.npy",
        )
        self.wrong(
            "reshape",
            "x=x.npy",
            "shape=5,-1",
            "out=out.npy",
            expect="shape is [5, -1], expected one for 12 elements (those of x [3, 4])",
        )
        self.wrong(
            "reshape_grad",
            "x=x.npy",
            "shape=6,2",
            "out_grad=x.npy",
            "x_grad=xg.npy",
            expect="out_grad has extents [3, 4], expected [6, 2] (computed(x))",
        )
        self.wrong(
            "trace",
            "x=x.npy",
            "axis2=0",
            "out=out.npy",
            expect="axis1 is 0 and axis2 is 0, expected two axes of x",
        )
        self.wrong("trace", "x=y.npy", "out=out.npy", expect="x has extents [4], expected 2 axes or more")


if __name__ == "__main__":
    unittest.main()
