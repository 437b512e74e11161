# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs operators with lists of tensors by the portops command: concat and split."""

from __future__ import annotations

import unittest

import npy_files
from command_fixture import CommandTest, backends, call

A, B = [1.0, 2.0, 3.0, 4.0], [5.0, 6.0]
JOINED = [1.0, 2.0, 5.0, 3.0, 4.0, 6.0]


class ListTest(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        self.write("a.npy", (2, 2), A)
        self.write("b.npy", (2, 1), B)
        self.write("c.npy", (2, 3), JOINED)

    def expect(self, name: str, shape: tuple[int, ...], values: list[float]) -> None:
        self.assertEqual(npy_files.read(self.path(name))[1:], (shape, values))

    def wrong(self, op: str, *arguments: str, expect: str) -> None:
        self.run_wrong("run", op, *arguments, expect=[f"portops: {expect}\n"])

    def test_info(self) -> None:
        text = call("info", "concat").stdout
        for part in (
            "x  list of tensors  The tensors.\n",
            "extents   out = joined(x)\n",
            "portops run concat x=FILE.npy,FILE.npy… out=FILE.npy [axis=VALUE]\n",
        ):
            self.assertIn(part, text)
        text = call("info", "concat_grad").stdout
        self.assertIn("x_grad  list of tensors, each optional  ", text)
        self.assertIn("[x_grad=FILE.npy,FILE.npy…]", text)
        text = call("info", "split").stdout
        self.assertIn("out  list of tensors  The parts.\n", text)
        self.assertIn("portops run split x=FILE.npy out=FILE.npy,FILE.npy… sections=VALUE [axis=VALUE]\n", text)

    def test_concat(self) -> None:
        for backend in backends():
            if backend == "cuda":
                continue  # there may be no GPU
            self.run_ok("concat", "x=a.npy,b.npy", "axis=1", "out=out.npy", "--backend", backend)
            self.expect("out.npy", (2, 3), JOINED)
        self.run_ok("concat", "x=a.npy", "out=out.npy")
        self.expect("out.npy", (2, 2), A)
        self.run_ok("concat", "x=a.npy,a.npy", "out=out.npy")
        self.expect("out.npy", (4, 2), A + A)

    def test_types(self) -> None:
        self.write("b.npy", (2, 1), B, descr="<f8")
        self.wrong(
            "concat",
            "x=a.npy,b.npy",
            "axis=1",
            "out=out.npy",
            expect="concat: x[0] holds f32 and x[1] holds f64, expected one element type (--dtype converts the inputs)",
        )
        self.run_ok("concat", "x=a.npy,b.npy", "axis=1", "out=out.npy", "--dtype", "f64")
        self.expect("out.npy", (2, 3), JOINED)

    def test_split(self) -> None:
        self.run_ok("split", "x=c.npy", "sections=2,-1", "axis=-1", "out=p.npy,q.npy")
        self.expect("p.npy", (2, 2), A)
        self.expect("q.npy", (2, 1), B)

    def test_gradients(self) -> None:
        self.run_ok("concat_grad", "x=a.npy,b.npy", "out_grad=c.npy", "axis=1", "x_grad=p.npy,q.npy")
        self.expect("p.npy", (2, 2), A)
        self.expect("q.npy", (2, 1), B)
        self.run_ok("split_grad", "out_grad=a.npy,b.npy", "sections=2,1", "axis=1", "x_grad=r.npy")
        self.expect("r.npy", (2, 3), JOINED)

    def test_gradients_that_are_not_wanted(self) -> None:
        self.run_ok("concat_grad", "x=a.npy,b.npy", "out_grad=c.npy", "axis=1", "x_grad=,q.npy")
        self.expect("q.npy", (2, 1), B)
        self.run_ok("concat_grad", "x=a.npy,b.npy", "out_grad=c.npy", "axis=1", "x_grad=p.npy,")
        self.expect("p.npy", (2, 2), A)
        self.assertEqual(sorted(self.contents()), ["a.npy", "b.npy", "c.npy", "p.npy", "q.npy"])
        self.wrong(
            "concat_grad",
            "x=a.npy,b.npy",
            "out_grad=c.npy",
            "axis=1",
            "x_grad=,",
            expect="concat_grad: no output is named, expected at least one of x_grad",
        )

    def test_wrong_lists(self) -> None:
        join = ("axis=1", "out=out.npy")
        self.wrong("concat", "x=", *join, expect="concat: x is empty, expected x=FILE.npy,FILE.npy…")
        self.wrong("concat", "x=a.npy,", *join, expect="concat: x[1] is empty, expected x=FILE.npy,FILE.npy…")
        self.wrong("concat", *join, expect="concat: input x is missing, expected x=FILE.npy")
        self.wrong(
            "concat",
            "x=a.npy,c.npy",
            "out=out.npy",
            expect="concat: x[1] has extents [2, 3], expected [any, 2] (those of x[0] but for axis 0)",
        )
        self.wrong(
            "concat",
            "x=a.npy,b.npy",
            "axis=1",
            "out=b.npy",
            expect="concat: output out and input x[1] are the same file b.npy, expected different files",
        )
        cut = ("x=c.npy", "axis=1")
        self.wrong(
            "split",
            *cut,
            "sections=2,1",
            "out=p.npy,p.npy",
            expect="split: outputs out[0] and out[1] are the same file p.npy, expected different files",
        )
        self.wrong(
            "split",
            *cut,
            "sections=1,1,1",
            "out=p.npy,q.npy",
            expect="split: out has 2 files, expected 3, one for each tensor of the list",
        )
        self.wrong(
            "split",
            *cut,
            "sections=2,1",
            "out=p.npy,",
            expect="split: out[1] is empty, expected out=FILE.npy,FILE.npy…",
        )
        self.wrong(
            "split",
            *cut,
            "sections=2,2",
            "out=p.npy,q.npy",
            expect="split: sections add up to 4, expected 3 (the extent of x along axis 1)",
        )
        self.wrong(
            "split",
            *cut,
            "out=p.npy,q.npy",
            expect="split: attribute sections is missing, expected sections=VALUE",
        )
        self.run_wrong("run", "concat", "x=a.npy,none.npy", *join, expect=["none.npy"])


if __name__ == "__main__":
    unittest.main()
