# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the portops command on operators with indices among their tensors."""

from __future__ import annotations

import os
import unittest

import npy_files
from command_fixture import CommandTest, backends, call


class SparseRowsTest(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        self.write("rows.npy", (4,), [3, 1, 3, 0], descr="<i8")
        self.write("values.npy", (4, 2), [1, 2, 3, 4, 5, 6, 7, 8])
        self.write("param.npy", (4, 2), [0] * 8)

    def read(self, name: str) -> tuple[str, tuple[int, ...], list[float]]:
        return npy_files.read(self.path(name))

    def merge(self, *more: str) -> None:
        self.run_ok("merge_rows", "rows=rows.npy", "values=values.npy", "height=4", "out_rows=r.npy",
                    "out_values=v.npy", "count=c.npy", *more)

    def test_info(self) -> None:
        text = call("info", "merge_rows").stdout
        for part in ("tensor of i64", "count = computed(rows, values)", "height=VALUE"):
            self.assertIn(part, text)
        self.assertIn("tensor of i64, optional", call("info", "sparse_sgd").stdout)

    def test_merge_and_step(self) -> None:
        for backend in backends():
            self.merge("--backend", backend)
            self.assertEqual(self.read("c.npy"), ("<i8", (), [3]))
            descr, shape, rows = self.read("r.npy")
            self.assertEqual((descr, shape, rows), ("<i8", (4,), [0, 1, 3, 4]))
            descr, shape, values = self.read("v.npy")
            self.assertEqual((descr, shape, values[:6]), ("<f4", (4, 2), [7, 8, 3, 4, 6, 8]))
            expected = [-3.5, -4, -1.5, -2, 0, 0, -3, -4]
            for gradient in (["rows=rows.npy", "values=values.npy"], ["rows=r.npy", "values=v.npy", "count=c.npy"]):
                self.run_ok("sparse_sgd", "--backend", backend, "param=param.npy", *gradient, "learning_rate=0.5",
                            "param_out=p.npy")
                self.assertEqual(self.read("p.npy"), ("<f4", (4, 2), expected))

    def test_what_merge_rows_leaves_alone_is_zero(self) -> None:
        count = 1000
        self.write("rows.npy", (count,), [i % 2 for i in range(count)], descr="<i8")
        self.write("values.npy", (count, 3), [1] * (3 * count))
        poisoned = dict(os.environ, MALLOC_PERTURB_="85")  # glibc fills what it allocates
        for backend in backends():
            result = call("run", "merge_rows", "--backend", backend, "rows=rows.npy", "values=values.npy", "height=4",
                          "out_rows=r.npy", "out_values=v.npy", "count=c.npy", cwd=self.folder, env=poisoned)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertEqual(self.read("c.npy")[2], [2])
            self.assertEqual(self.read("v.npy")[2], [500] * 6 + [0] * (3 * (count - 2)))

    def test_dtype_leaves_indices(self) -> None:
        self.merge("--dtype", "f64")
        self.assertEqual(self.read("r.npy")[0], "<i8")
        self.assertEqual(self.read("v.npy")[0], "<f8")

    def test_optimizers(self) -> None:
        self.write("one.npy", (4, 2), [1] * 8)
        gradient = ["param=param.npy", "rows=rows.npy", "values=values.npy", "learning_rate=0.5", "param_out=p.npy"]
        self.run_ok("sparse_momentum", *gradient, "velocity=one.npy", "velocity_out=w.npy", "mu=0.5")
        self.assertEqual(self.read("w.npy")[2], [7.5, 8.5, 3.5, 4.5, 1, 1, 6.5, 8.5])
        self.assertEqual(self.read("p.npy")[2], [-3.75, -4.25, -1.75, -2.25, 0, 0, -3.25, -4.25])
        self.run_ok("sparse_adam", *gradient, "moment1=param.npy", "moment2=param.npy", "moment1_out=m.npy",
                    "moment2_out=w.npy", "beta1_pow=0.5", "beta2_pow=0.5", "beta1=0.5", "beta2=0.5", "epsilon=0")
        self.assertEqual(self.read("m.npy")[2], [3.5, 4, 1.5, 2, 0, 0, 3, 4])
        for found, expected in zip(self.read("p.npy")[2], [-0.5] * 4 + [0, 0] + [-0.5] * 2):
            self.assertAlmostEqual(found, expected, places=6)

    def test_wrong_types(self) -> None:
        outputs = ["height=4", "out_rows=r.npy", "out_values=v.npy", "count=c.npy"]
        self.run_wrong("run", "merge_rows", "rows=param.npy", "values=values.npy", *outputs,
                       expect=["param.npy: holds f32, expected i64, which is int64 in NumPy"])
        self.run_wrong("run", "merge_rows", "rows=rows.npy", "values=rows.npy", *outputs,
                       expect=["rows.npy: holds i64, expected float16, float32 or float64"])
        self.run_wrong("run", "merge_rows", "rows=rows.npy", "values=values.npy", *outputs[1:],
                       expect=["attribute height is missing"])

    def test_places_outside_of_the_table(self) -> None:
        for backend in set(backends()) - {"cuda"}:
            self.run_wrong("run", "merge_rows", "--backend", backend, "rows=rows.npy", "values=values.npy", "height=3",
                           "out_rows=r.npy", "out_values=v.npy", "count=c.npy",
                           expect=["rows[0] is 3, expected at least 0 and less than 3 (the height)"])


if __name__ == "__main__":
    unittest.main()
