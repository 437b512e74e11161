#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What others make of the programs that releases have written: ONNX' checker and shape inference of all, and of those
without operators of our own that have no body ONNX' reference implementation and, where it is installed, ONNX Runtime,
which have to compute the stored results. The checker sees the networks that PyTorch exported too, which the other tests
read."""

from __future__ import annotations

import pathlib
import unittest

import numpy as np
import onnx
import onnx.reference

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

STORED = pathlib.Path(__file__).parent / "stored"
FILES = sorted(STORED.glob("*/*.onnx"))
EXPORTS = sorted((pathlib.Path(__file__).parent / "exports").glob("*.onnx"))


def is_for_others(model: onnx.ModelProto) -> bool:
    bodies = {(function.domain, function.name) for function in model.functions}
    return all(not node.domain or (node.domain, node.op_type) in bodies for node in model.graph.node)


class ReferenceTest(unittest.TestCase):
    def test_checker_and_shapes(self) -> None:
        self.assertTrue(FILES)
        self.assertTrue(EXPORTS)
        for file in FILES + EXPORTS:
            with self.subTest(file.name):
                onnx.checker.check_model(onnx.load(file), full_check=True)

    def compare(self, file: pathlib.Path, compute) -> None:
        model = onnx.load(file)
        inputs = {each.name: np.load(file.with_suffix(f".{each.name}.npy")) for each in model.graph.input}
        names = [each.name for each in model.graph.output]
        for name, found in zip(names, compute(model, names, inputs)):
            expected = np.load(file.with_suffix(f".{name}.npy"))
            self.assertEqual(found.shape, expected.shape)
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5, err_msg=f"{file.name} {name}")

    def test_the_reference_implementation(self) -> None:
        compared = 0
        for file in FILES:
            if is_for_others(onnx.load(file)):
                with self.subTest(file.name):
                    self.compare(file, lambda model, names, inputs: onnx.reference.ReferenceEvaluator(model).run(names, inputs))
                    compared += 1
        self.assertGreaterEqual(compared, 3)

    @unittest.skipIf(onnxruntime is None, "there is no ONNX Runtime")
    def test_onnx_runtime(self) -> None:
        for file in FILES:
            if is_for_others(onnx.load(file)):
                with self.subTest(file.name):
                    def compute(model, names, inputs):
                        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
                        return session.run(names, inputs)

                    self.compare(file, compute)


if __name__ == "__main__":
    unittest.main()
