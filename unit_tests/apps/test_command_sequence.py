# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the portops command on ragged tensors."""

from __future__ import annotations

import unittest

import npy_files
from command_fixture import CommandTest, call


class SequenceTest(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        self.write("x.npy", (5, 2), [0, 9, 1, 8, 2, 7, 3, 6, 4, 5])
        self.write("fine.npy", (4,), [0, 2, 2, 5], descr="<i8")
        self.write("coarse.npy", (3,), [0, 1, 3], descr="<i8")

    def read(self, name: str) -> tuple[str, tuple[int, ...], list[float]]:
        return npy_files.read(self.path(name))

    def test_pool(self) -> None:
        self.run_ok("sequence_pool", "x=x.npy", "x.levels=fine.npy", "pooltype=sum", "out=out.npy")
        self.assertEqual(self.read("out.npy"), ("<f4", (3, 2), [1, 17, 0, 0, 9, 18]))
        levels = "x.levels=coarse.npy,fine.npy"
        self.run_ok("sequence_pool", "x=x.npy", levels, "pooltype=max", "pad_value=-1", "out=out.npy",
                    "index=index.npy", "out.levels=out_levels.npy")
        self.assertEqual(self.read("out.npy"), ("<f4", (3, 2), [1, 9, -1, -1, 4, 7]))
        self.assertEqual(self.read("index.npy"), ("<i8", (3, 2), [1, 0, -1, -1, 4, 2]))
        self.assertEqual(self.read("out_levels.npy"), ("<i8", (3,), [0, 1, 3]))

    def test_expand_and_levels_alone(self) -> None:
        self.write("rows.npy", (3, 1), [7, 8, 9])
        self.run_ok("sequence_expand", "x=rows.npy", "y.levels=fine.npy", "out=out.npy", "out.levels=levels.npy")
        self.assertEqual(self.read("out.npy"), ("<f4", (5, 1), [7, 7, 9, 9, 9]))
        self.assertEqual(self.read("levels.npy"), ("<i8", (4,), [0, 2, 2, 5]))

    def test_pad_and_unpad(self) -> None:
        self.run_ok("sequence_pad", "x=x.npy", "x.levels=fine.npy", "out=out.npy", "length=length.npy")
        self.assertEqual(self.read("out.npy")[1:], ((3, 3, 2), [0, 9, 1, 8, 0, 0] + [0] * 6 + [2, 7, 3, 6, 4, 5]))
        self.assertEqual(self.read("length.npy"), ("<i8", (3,), [2, 0, 3]))
        self.run_ok("sequence_unpad", "x=out.npy", "length.levels=fine.npy", "out=back.npy")
        self.assertEqual(self.read("back.npy"), ("<f4", (5, 2), [0, 9, 1, 8, 2, 7, 3, 6, 4, 5]))

    def test_concat(self) -> None:
        self.write("y.npy", (3, 2), [60, 61, 62, 63, 64, 65])
        self.write("other.npy", (4,), [0, 1, 2, 3], descr="<i8")
        self.run_ok("sequence_concat", "x=x.npy,y.npy", "x.levels=fine.npy,other.npy", "out=out.npy",
                    "out.levels=levels.npy")
        self.assertEqual(self.read("out.npy")[2], [0, 9, 1, 8, 60, 61, 62, 63, 2, 7, 3, 6, 4, 5, 64, 65])
        self.assertEqual(self.read("levels.npy")[2], [0, 3, 4, 8])
        self.run_ok("sequence_concat_grad", "x=x.npy,y.npy", "x.levels=fine.npy,other.npy", "out_grad=out.npy",
                    "x_grad=,b.npy")
        self.assertEqual(self.read("b.npy"), ("<f4", (3, 2), [60, 61, 62, 63, 64, 65]))
        self.run_wrong("run", "sequence_concat", "x=x.npy,y.npy", "x.levels=fine.npy", "out=c.npy",
                       expect=("x.levels has 1 files, expected 2, a level for each tensor of the list",))

    def test_levels_of_lists(self) -> None:
        self.write("y.npy", (3, 2), [60, 61, 62, 63, 64, 65])
        self.write("other.npy", (4,), [0, 1, 2, 3], descr="<i8")
        self.write("g.npy", (8, 2), list(range(16)))
        gradient = ("sequence_concat_grad", "x=x.npy,y.npy", "x.levels=fine.npy,other.npy", "out_grad=g.npy")
        self.run_ok(*gradient, "x_grad=a.npy,b.npy", "x_grad.levels=la.npy,lb.npy")
        self.assertEqual(self.read("b.npy")[2], [4, 5, 6, 7, 14, 15])
        self.assertEqual(self.read("la.npy"), ("<i8", (4,), [0, 2, 2, 5]))
        self.assertEqual(self.read("lb.npy"), ("<i8", (4,), [0, 1, 2, 3]))
        self.run_ok(*gradient, "x_grad=,b.npy", "x_grad.levels=,only.npy")
        self.assertEqual(self.read("only.npy"), ("<i8", (4,), [0, 1, 2, 3]))
        self.run_wrong("run", *gradient, "x_grad=a.npy,b.npy", "x_grad.levels=la.npy",
                       expect=("portops: sequence_concat_grad: x_grad.levels has 1 files, expected 2, a level for each "
                               "tensor of the list\n",))
        self.run_wrong("run", *gradient, "x_grad=a.npy,b.npy", "x_grad.levels=la.npy,b.npy",
                       expect=("outputs x_grad[1] and x_grad.levels are the same file b.npy",))

    def test_operators_on_positions_keep_levels(self) -> None:
        self.run_ok("lerp", "x=x.npy", "x.levels=coarse.npy,fine.npy", "y=x.npy", "out=out.npy",
                    "out.levels=a.npy,b.npy")
        self.assertEqual(self.read("a.npy")[2], [0, 1, 3])
        self.assertEqual(self.read("b.npy")[2], [0, 2, 2, 5])
        self.write("row.npy", (1, 2), [1, 2])
        self.write("one.npy", (2,), [0, 1], descr="<i8")
        self.run_wrong("run", "add", "x=row.npy", "x.levels=one.npy", "y=x.npy", "out=out.npy",
                       expect=("portops: add: out has extents [5, 2], but levels of 1 rows\n",))

    def test_info(self) -> None:
        text = call("info", "sequence_pool").stdout
        for part in ("ragged tensor", "out: changes", "x.levels=FILE.npy,…", "tensor of i64, optional"):
            self.assertIn(part, text)
        self.assertIn("tensor, may be ragged", call("info", "lerp").stdout)

    def test_wrong_levels(self) -> None:
        pool = ("run", "sequence_pool", "x=x.npy", "out=out.npy")
        self.run_wrong(*pool, expect=("the levels of input x are missing, expected x.levels=FILE.npy,…",))
        self.run_wrong(*pool, "x.levels=coarse.npy",
                       expect=("x has extents [5, 2], expected 3 rows (the last offset of its levels)",))
        self.run_wrong(*pool, "x.levels=fine.npy,coarse.npy", expect=("level 0 ends with 5, expected 2",))
        self.run_wrong(*pool, "x.levels=x.npy", expect=("expected one axis, of offsets",))
        self.write("floats.npy", (2,), [0, 5])
        self.run_wrong(*pool, "x.levels=floats.npy", expect=("floats.npy", "expected i64"))
        self.run_wrong(*pool, "x.levels=none.npy", expect=("none.npy",))
        self.run_wrong(*pool, "x.levels=", expect=("x.levels is empty, expected x.levels=FILE.npy",))
        self.run_wrong(*pool, "x.levels=fine.npy", "x.levels=fine.npy", expect=("x.levels is given twice",))
        self.run_wrong(*pool, "x.levels=fine.npy", "y.levels=fine.npy",
                       expect=("there are no levels y.levels, expected x.levels",))
        self.run_wrong(*pool, "x.levels=fine.npy", "out.levels=a.npy",
                       expect=("out.levels has 1 files, expected 0, one a level of out",))
        self.run_wrong(*pool, "x.levels=fine.npy", "index=fine.npy", "pooltype=max",
                       expect=("output index and input x.levels are the same file",))


if __name__ == "__main__":
    unittest.main()
