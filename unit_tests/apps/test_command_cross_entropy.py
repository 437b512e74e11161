# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the portops command on an operator of which an attribute says what type an input has."""

from __future__ import annotations

import math
import unittest

import npy_files
from command_fixture import CommandTest, call


class CrossEntropyTest(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        self.write("logits.npy", (2, 3), [0.0] * 6)
        self.write("classes.npy", (2,), [2, 0], descr="<i8")
        self.write("soft.npy", (2, 3), [0.25, 0.25, 0.5] * 2)

    def run_loss(self, *more: str) -> tuple[str, tuple[int, ...], list[float]]:
        self.run_ok("cross_entropy_with_softmax", "logits=logits.npy", "loss=loss.npy", *more)
        return npy_files.read(self.path("loss.npy"))

    def test_info(self) -> None:
        text = call("info", "cross_entropy_with_softmax").stdout
        self.assertIn("tensor of i64 (with soft_label that of the call)", text)

    def test_labels(self) -> None:
        for labels in (["label=classes.npy"], ["label=soft.npy", "soft_label=true"]):
            for dtype, descr in (("f32", "<f4"), ("f64", "<f8")):
                found = self.run_loss(*labels, "--dtype", dtype)
                self.assertEqual(found[:2], (descr, ()))
                self.assertAlmostEqual(found[2][0], math.log(3), 6)
        self.assertEqual(self.run_loss("label=classes.npy", "reduction=none")[1], (2,))

    def test_labels_of_another_type(self) -> None:
        wrong = (["label=soft.npy"], ["label=classes.npy", "soft_label=true"])
        for labels in wrong:
            result = call("run", "cross_entropy_with_softmax", "logits=logits.npy", "loss=loss.npy", *labels, cwd=self.folder)
            self.assertEqual(result.returncode, 2)
            self.assertRegex(result.stderr, "label|i64|int64")


if __name__ == "__main__":
    unittest.main()
