#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of portops.torch: what PyTorch checks of custom operators, what is kept for gradients, wrong calls."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
import unittest
import warnings
from typing import Any

try:
    from torch_cases import LEVELS
except unittest.SkipTest as error:
    print(f"skipped: {error}")
    sys.exit(0)

import portops
import portops.torch as pt
import torch
from portops._schema import OPERATORS
from portops.torch import RaggedTensor, _library, _shapes
from portops.torch._ragged import tensors_of

warnings.filterwarnings("ignore", message=".*undefined gradient support.*")
OPS = torch.ops.portops


def parameters() -> list[torch.Tensor]:
    return [torch.rand(4, 3), torch.rand(5)]


def calls() -> dict[str, tuple[Any, ...]]:
    """Arguments of custom operators, which PyTorch checks."""
    x, y = torch.rand(4, 3, requires_grad=True), torch.rand(4, 3, requires_grad=True)
    weight, g = torch.rand(4, 1, requires_grad=True), torch.rand(4, 3)
    r, lengths = torch.rand(5, 2, requires_grad=True), list(tensors_of(LEVELS))
    image, filters = torch.rand(2, 4, 5, 6, requires_grad=True), torch.rand(6, 2, 3, 3, requires_grad=True)
    offset, mask = torch.rand(2, 36, 4, 4, requires_grad=True), torch.rand(2, 18, 4, 4, requires_grad=True)
    bias = torch.rand(6, requires_grad=True)
    conv = ([1, 1], [1, 0, 0, 0], [1, 1], 2, 2, 64)
    table, rows, values = torch.rand(5, 2), torch.tensor([1, 1, 3]), torch.rand(3, 2)
    return {
        "lerp": (x, y, weight, 0.5),
        "lerp_grad": (x, y, weight, 0.5, g, [True, False, True]),
        "p_norm": (x, 3.0, [0], 1e-12, False, False),
        "p_norm_grad": (x, torch.rand(3), torch.rand(3), 3.0, [0], 1e-12, False, False, [True]),
        "deform_conv2d": (image, offset, filters, mask, bias, *conv),
        "deform_conv2d_grad": (image, offset, filters, mask, torch.rand(2, 6, 4, 4), *conv, [True] * 5),
        "add": (x, None, 2.0),
        "add_grad": (x, y, 0.0, g, [True, True]),
        "subtract": (x, None, 2.0),
        "subtract_grad": (x, y, 0.0, g, [True, True]),
        "multiply": (x, y, 0.0),
        "multiply_grad": (x, y, 0.0, g, [False, True]),
        "dropout": (x, torch.tensor(1), 0.25, 3, 0),
        "dropout_grad": (torch.tensor(1), g, 0.25, 3, 0, [True]),
        "transpose": (x, [1, 0]),
        "transpose_grad": (x, torch.rand(3, 4), [1, 0], [True]),
        "slice": (x, [0], [1], [3], []),
        "slice_grad": (x, torch.rand(2, 3), [0], [1], [3], [], [True]),
        "divide": (x, y, 0.0),
        "divide_grad": (x, y, 0.0, g, [True, True]),
        "relu": (x,),
        "relu_grad": (x, x, [True]),
        "clip": (x, 0.25, math.inf),
        "clip_grad": (x, x, 0.25, 0.75, [True]),
        "gelu": (x, "tanh"),
        "gelu_grad": (x, x, "none", [True]),
        "hard_sigmoid": (x, 0.25, 0.5),
        "hard_sigmoid_grad": (x, x, 0.25, 0.5, [True]),
        "hard_swish": (x,),
        "hard_swish_grad": (x, x, [True]),
        "silu": (x,),
        "silu_grad": (x, x, [True]),
        "sigmoid": (x,),
        "sigmoid_grad": (x, x, [True]),
        "tanh": (x,),
        "tanh_grad": (x, x, [True]),
        "conv2d": (image, torch.rand(6, 2, 3, 2), torch.rand(6), [2, 1], [1, 0], [1, 1], 2),
        "conv2d_grad": (image, torch.rand(6, 4, 1, 1), torch.rand(2, 6, 5, 6), [1, 1], [0, 0], [1, 1], 1, [True] * 3),
        "pool2d": (image, [2, 3], [2, 1], [1, 0], True, True, "max", False, True),
        "pool2d_grad": (image, None, torch.rand(2, 4, 3, 4), [2, 3], [2, 1], [1, 0], True, True, "avg", False, [True]),
        "matmul": (x, y, True, False),
        "matmul_grad": (x, y, torch.rand(3, 3), True, False, [True, True]),
        "linear": (x, torch.rand(3, 5, requires_grad=True), torch.rand(5, requires_grad=True), False),
        "linear_grad": (x, torch.rand(3, 5), torch.rand(4, 5), False, [True] * 3),
        "reshape": (x, [-1, 2]),
        "reshape_grad": (x, torch.rand(6, 2), [-1, 2], [True]),
        "trace": (x, 0, 0, 1),
        "trace_grad": (x, torch.tensor(1.0), 0, 0, 1, [True]),
        "sum": (x, [0], False),
        "sum_grad": (x, torch.rand(3), [0], False, [True]),
        "mean": (x, [], True),
        "mean_grad": (x, torch.rand(1, 1), [], True, [True]),
        "softmax": (x, 0),
        "softmax_grad": (x, x.softmax(0), g, 0, [True]),
        "cross_entropy_with_softmax": (x, torch.tensor([0, 2, -1, 1]), False, -1, -1, "mean", True, True),
        "cross_entropy_with_softmax_grad": (
            x, torch.rand(4, 3), x.logsumexp(1).double(), torch.tensor(4), torch.rand(4), True, -100, -1, "none", [True],
        ),
        "layer_norm": (x, torch.rand(3, requires_grad=True), torch.rand(3, requires_grad=True), 1e-5, 1),
        "layer_norm_grad": (x, torch.rand(3), None, *torch.rand(2, 4), g, 1e-5, -1, [True, True, False]),
        "batch_norm": (x, *torch.rand(2, 3), torch.rand(3, requires_grad=True), None, 0.9, 1e-5, "NCHW", False, True, False),
        "batch_norm_grad": (x, None, torch.rand(3), *torch.rand(2, 3), g, 0.9, 1e-5, "NHWC", True, [True, False, True]),
        "merge_rows": (torch.tensor([4, 0, 1]), values, 5),  # different ones: what lies behind the merged ones may be anything
        "sparse_sgd": (table, rows, values, None, 0.1),
        "sparse_momentum": (table, rows, values, torch.rand(5, 2), None, 0.1, 0.9, False),
        "sparse_adam": (table, rows, values, *torch.rand(2, 5, 2), None, 0.1, 0.9, 0.99, 0.9, 0.99, 1e-8),
        "sgd": (parameters(), parameters(), None, 0.1, [], None, None, 0.0, False),
        "momentum": (parameters(), parameters(), parameters(), torch.tensor(0.1), 0.0, parameters(), None, None, 0.9, True, 0.1, False),
        "adam": (
            *(parameters() for _ in range(4)), None, 0.1, torch.tensor(0.9, dtype=torch.float64), 0.0, None, 0.99,
            [], torch.tensor(8.0), torch.tensor(0), 0.9, 0.99, 1e-8, 0.1, True, False,
        ),
        "count_nonfinite": ([x, y],),
        "update_loss_scale": (torch.tensor(8.0), torch.tensor(3), [torch.tensor(0)] * 2, 2.0, 0.5, 4, 16.0, True, True),
        "full_like": (x, None, 0.5),
        "embedding": (x, rows, -1),
        "embedding_grad": (x, rows, torch.rand(3, 3), 1, [True]),
        "embedding_sparse_gradient": (x, torch.tensor([2, 0]), torch.rand(2, 3), -1),  # as of merge_rows
        "concat": ([x, y], 1),
        "concat_grad": ([x, y], torch.rand(4, 6), 1, [True, False]),
        "split": (x, [1, 2], 1),
        "split_grad": ([torch.rand(4, 1), torch.rand(4, 2)], [1, 2], 1, [True]),
        "sequence_pool": (r, lengths, "max", 0.0, True),
        "sequence_pool_grad": (r, lengths, None, torch.rand(3, 2), "sum", 0.0, [True]),
        "sequence_expand": (r, lengths, lengths, -1),
        "sequence_expand_grad": (r, lengths, lengths, torch.rand(13, 2), -1, [True]),
        "sequence_pad": (r, lengths, 4, 0.0, True),
        "sequence_pad_grad": (r, lengths, torch.rand(3, 4, 2), 4, 0.0, [True]),
        "sequence_unpad": (torch.rand(3, 4, 2, requires_grad=True), lengths),
        "sequence_unpad_grad": (torch.rand(3, 4, 2), lengths, torch.rand(5, 2), [True]),
        "sequence_reverse": (r, lengths),
        "sequence_reverse_grad": (r, lengths, torch.rand(5, 2), [True]),
        "sequence_softmax": (r, lengths),
        "sequence_softmax_grad": (r, lengths, torch.rand(5, 2), torch.rand(5, 2), [True]),
        "sequence_concat": ([r, r], lengths * 2),
        "sequence_concat_grad": ([r, r], lengths * 2, torch.rand(10, 2), [True, False]),
    }


# Extents that the offsets' elements tell: a compiler must be told that it may meet such.
OF_DATA = ("sequence_expand", "sequence_unpad")


def _no_gradients(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    def plain(value: Any) -> Any:
        if isinstance(value, list):
            return [plain(each) for each in value]
        return value.detach() if isinstance(value, torch.Tensor) else value

    return tuple(plain(value) for value in arguments)


class ChecksTest(unittest.TestCase):
    def test_opcheck(self) -> None:
        given = calls()
        self.assertLessEqual(set(OPERATORS), set(given))
        for name in OPERATORS:
            with self.subTest(name):
                op, arguments = getattr(OPS, name).default, given[name]
                if not OPERATORS[name].backward:
                    arguments = _no_gradients(arguments)
                utils = ("test_schema", "test_autograd_registration", "test_faketensor")
                utils += () if name in OF_DATA else ("test_aot_dispatch_dynamic",)
                results = torch.library.opcheck(op, arguments, test_utils=utils)
                self.assertEqual(set(results.values()), {"SUCCESS"})

    def test_gradients_of_gradients_are_refused(self) -> None:
        x = torch.rand(3, requires_grad=True)
        (grad,) = torch.autograd.grad(pt.multiply(x, x).sum(), x, create_graph=True)
        with self.assertRaisesRegex(RuntimeError, "multiply_grad is not differentiable"):
            grad.sum().backward()

    def test_shapes_of_deform_conv2d(self) -> None:
        grid = itertools.product((5, 1), (1, 3), (0, 1), (1, 2), (1, 2))
        for size, kernel, padding, dilation, stride in grid:
            x, weight = torch.rand(1, 2, size, 6), torch.rand(3, 2, kernel, 2)
            attributes = {"stride": [stride, 1], "padding": [padding, 0, 1, 2], "dilation": [dilation, 1]}
            expected = _shapes.COMPUTED["deform_conv2d"]({"x": x, "weight": weight, **attributes})["out"]
            offset = torch.zeros(1, 4 * kernel, *expected[2:])
            out = OPS.deform_conv2d(x, offset, weight, None, None, *attributes.values(), 1, 1, 64)
            self.assertEqual(tuple(out.shape), expected)

    def test_shapes_of_pool2d(self) -> None:
        grid = itertools.product((6, 5, 1), (1, 2, 3), (0, 1), (None, 1, 2, 4), (False, True), (False, True))
        for size, kernel, padding, stride, ceil_mode, whole in grid:
            given = {
                "x": torch.rand(1, 2, size, 7),
                "kernel_size": [kernel, 2],
                "stride": [stride, 3] if stride else [],
                "padding": [min(padding, kernel // 2), 0, 0, 1],
                "ceil_mode": ceil_mode,
                "exclusive": True,
                "pooltype": "max",
                "global_pooling": whole,
            }
            out, index = OPS.pool2d(*given.values(), True)
            self.assertEqual(_shapes.COMPUTED["pool2d"](given)["out"], tuple(out.shape))
            self.assertEqual(tuple(index.shape), tuple(out.shape))

    def test_shapes_of_others(self) -> None:
        x = torch.rand(4, 3, 2)
        for shape in ([0, -1], [24], [2, 0, 4], [-1, 1, 0, 1], [4, 3, 2]):
            given = {"x": x, "shape": shape}
            self.assertEqual(_shapes.COMPUTED["reshape"](given)["out"], tuple(pt.reshape(x, shape).shape))
        for axis1, axis2 in itertools.permutations((0, 1, -1), 2):
            given = {"x": x, "axis1": axis1, "axis2": axis2}
            self.assertEqual(_shapes.COMPUTED["trace"](given)["out"], tuple(pt.trace(x, 0, axis1, axis2).shape))
        for xs, ys in (((4, 3), (3, 4)), ((3,), (2, 3, 5)), ((2, 1, 5, 3), (4, 3, 6)), ((2, 3), (3,))):
            given = {"x": torch.rand(xs), "y": torch.rand(ys), "transpose_x": False, "transpose_y": False}
            self.assertEqual(_shapes.COMPUTED["matmul"](given)["out"], tuple(pt.matmul(given["x"], given["y"]).shape))
        for axis, keepdim, asvector in itertools.product(([0], [-1, 0], [1]), (True, False), (True, False)):
            given = {"x": x, "axis": axis, "keepdim": keepdim, "asvector": asvector}
            out = pt.p_norm(x, 2, axis, keepdim=keepdim, asvector=asvector)
            self.assertEqual(_shapes.RULES["reduced"](("x",), given), tuple(out.shape))
        for axis, keepdim in itertools.product(([], [0], [-1, 0]), (True, False)):
            given = {"x": x, "axis": axis, "keepdim": keepdim}
            self.assertEqual(_shapes.RULES["reduced"](("x",), given), tuple(pt.sum(x, axis, keepdim).shape))
        for lengths in ([2, 0, 3], [5], [0, 0, 5], [1] * 5):
            levels = tensors_of(portops.Levels.from_lengths(lengths))
            times = tensors_of(portops.Levels.from_lengths(list(range(len(lengths)))))
            r = torch.rand(5, 2)
            given = {"x": r, "x_levels": levels, "y_levels": times, "ref_level": 0, "padded_length": -1}
            for name, out in (
                ("sequence_pool", pt.sequence_pool(RaggedTensor(r, levels)).out),
                ("sequence_pad", pt.sequence_pad(RaggedTensor(r, levels)).out),
                ("sequence_expand", pt.sequence_expand(RaggedTensor(r, levels), times).values),
            ):
                self.assertEqual(_shapes.COMPUTED[name](given)["out"], tuple(out.shape))


class SavedTest(unittest.TestCase):
    def kept(self, call: Any, *arguments: Any) -> int:
        """The elements that are kept for the gradient, in storage."""
        storages = {}

        def pack(tensor: torch.Tensor) -> torch.Tensor:
            storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes() // tensor.itemsize
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            call(*arguments)
        return sum(storages.values())

    def test_only_what_the_schema_says(self) -> None:
        x, y = torch.rand(8, 8, requires_grad=True), torch.rand(8, 8, requires_grad=True)
        weight = torch.rand(8, 8, requires_grad=True)
        self.assertEqual(self.kept(pt.add, x, y), 0)
        self.assertEqual(self.kept(pt.lerp, x, y, weight.detach()), 64)
        self.assertEqual(self.kept(pt.lerp, x, y, weight), 3 * 64)
        self.assertEqual(self.kept(pt.lerp, x, y, 0.5), 0)
        self.assertEqual(self.kept(pt.multiply, x, y), 2 * 64)
        self.assertEqual(self.kept(pt.multiply, x, y.detach()), 64)
        self.assertEqual(self.kept(pt.reshape, x, [64]), 0)
        self.assertEqual(self.kept(lambda: pt.concat([x, y])), 0)
        self.assertEqual(self.kept(pt.p_norm, x, 1.0), 64)
        self.assertEqual(self.kept(pt.p_norm, x, 2.0), 64 + 8)

    def test_kept_inputs_may_not_change(self) -> None:
        x, y = torch.rand(3, requires_grad=True), torch.rand(3)
        out = pt.multiply(x, y)
        y.add_(1)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            out.sum().backward()

    def test_only_wanted_gradients(self) -> None:
        wanted = []
        kernel = _library.cores["lerp_grad"]

        def spy(*arguments: Any) -> Any:
            wanted.append(arguments[4:7])
            return kernel(*arguments)

        _library.cores["lerp_grad"] = spy
        try:
            x, y, weight = (torch.rand(3, requires_grad=i != 1) for i in range(3))
            pt.lerp(x, y, weight).sum().backward()
        finally:
            _library.cores["lerp_grad"] = kernel
        self.assertEqual(wanted, [(True, False, True)])
        self.assertIsNone(y.grad)


class ErrorsTest(unittest.TestCase):
    def test_wrong_calls(self) -> None:
        x = torch.rand(2, 3)
        with self.assertRaisesRegex(portops.Error, "portops::add: "):
            pt.add(x, torch.rand(4))
        with self.assertRaisesRegex(portops.Error, "y.*f64"):
            pt.add(x, torch.rand(3).double())
        with self.assertRaisesRegex(portops.Error, "i64, on the CPU|torch.int64"):
            pt.sequence_pool(RaggedTensor(x, (torch.tensor([0.0, 2.0]),)))

    def test_older_pytorch_and_the_end(self) -> None:
        def run(code: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)

        self.assertEqual(run("import sys, portops; assert 'torch' not in sys.modules").returncode, 0)
        old = run("import torch\ndel torch.Tensor.__dlpack_c_exchange_api__\nimport portops.torch")
        self.assertIn("portops.torch needs PyTorch 2.11 or later", old.stderr)
        ended = run(
            "import torch, portops, portops.torch as pt\n"
            "x = torch.ones(2, 2, requires_grad=True)\n"
            "levels = portops.Levels.from_lengths([1, 1])\n"
            "pt.sequence_pool(portops.Ragged(pt.add(x, 1.0), levels)).out.sum().backward()\n"
        )
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
