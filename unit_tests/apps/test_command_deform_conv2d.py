# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs deform_conv2d and its gradient by the portops command: optional inputs, and attributes that are lists."""

from __future__ import annotations

import unittest

import npy_files
from command_fixture import CommandTest, call, told

X = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
MASK = [0.5, 1.0, 0.25, 1.0, 0.5, 2.0, 0.0, 1.0, 0.5]
OUT_GRAD = [1.0, -2.0, 3.0, 0.5, 1.0, 2.0, -1.0, 4.0, 0.25]
PIXELS = [(i, j) for i in range(3) for j in range(3)]


def x(i: int, j: int) -> float:
    return X[3 * i + j] if 0 <= i < 3 and 0 <= j < 3 else 0.0


class DeformConv2dTest(CommandTest):
    """An image of 3 x 3 pixels, each a window of its own, times 2."""

    def setUp(self) -> None:
        super().setUp()
        self.write("x.npy", (1, 1, 3, 3), X)
        self.write("w.npy", (1, 1, 1, 1), [2.0])
        self.write("zero.npy", (1, 2, 3, 3), [0.0] * 18)
        self.write("right.npy", (1, 2, 3, 3), [0.0] * 9 + [1.0] * 9)
        self.write("m.npy", (1, 1, 3, 3), MASK)
        self.write("b.npy", (1,), [10.0])
        self.write("g.npy", (1, 1, 3, 3), OUT_GRAD)

    def out(self, offset: str, *arguments: str) -> tuple[tuple[int, ...], list[float]]:
        """The extents and elements of the result."""
        self.run_ok("deform_conv2d", "x=x.npy", f"offset={offset}.npy", "weight=w.npy", "out=out.npy", *arguments)
        return npy_files.read(self.path("out.npy"))[1:]

    def wrong(self, op: str, *arguments: str, expect: str) -> None:
        message = f"portops: {op}: {expect}\n"
        self.run_wrong("run", op, "x=x.npy", "weight=w.npy", *arguments, expect=[message])

    def test_info(self) -> None:
        text = call("info", "deform_conv2d").stdout
        for part in (
            "mask    tensor, optional  ",
            "stride             integers, default 1,1  ",
            "im2col_step        integer, default 64    ",
            "extents   mask = computed(x, weight)\n",
            "extents   out = computed(x, weight)\n",
            "gradient  deform_conv2d_grad\n",
            "portops run deform_conv2d x=FILE.npy offset=FILE.npy weight=FILE.npy [mask=FILE.npy] [bias=FILE.npy] "
            "out=FILE.npy [stride=VALUE] ",
        ):
            self.assertIn(part, text)
        text = call("info", "deform_conv2d_grad").stdout
        for part in ("needs    mask_grad: a tensor for mask\n", "extents  bias_grad = computed(x, weight)\n"):
            self.assertIn(part, text)

    def test_mask_and_bias_may_be_left_out(self) -> None:
        extents = (1, 1, 3, 3)
        self.assertEqual(self.out("zero"), (extents, [2.0 * value for value in X]))
        masked = [2.0 * m * value for m, value in zip(MASK, X)]
        self.assertEqual(self.out("zero", "mask=m.npy"), (extents, masked))
        self.assertEqual(self.out("zero", "bias=b.npy"), (extents, [10.0 + 2.0 * value for value in X]))
        self.assertEqual(self.out("zero", "bias=b.npy", "mask=m.npy"), (extents, [10.0 + value for value in masked]))
        self.assertEqual(self.out("right"), (extents, [2.0 * x(i, j + 1) for i, j in PIXELS]))

    def test_products(self) -> None:
        expected = (1, 1, 3, 3), [2.0 * x(i, j + 1) for i, j in PIXELS]
        for products in ["automatic", *told("products")]:
            self.assertEqual(self.out("right", f"--products={products}"), expected)
        arguments = ("offset=right.npy", "out=no.npy", "--products=kokkos_kernels")
        refused = "the context's products are kokkos_kernels, expected automatic or own "
        if "kokkos_kernels" in told("products"):
            why = "in deterministic mode (Kokkos Kernels promises no order of additions)"
            self.wrong("deform_conv2d", *arguments, "--deterministic", expect=refused + why)
        else:
            why = "in a build without Kokkos Kernels (PORTOPS_ENABLE_KOKKOS_KERNELS)"
            self.wrong("deform_conv2d", *arguments, expect=refused + why)

    def test_attributes(self) -> None:
        self.write("offset.npy", (1, 2, 2, 3), [0.0] * 12)
        expected = [2.0 * x(i, j) for i in (0, 2) for j in range(3)]
        self.assertEqual(self.out("offset", "stride=2,1"), ((1, 1, 2, 3), expected))
        self.assertEqual(self.out("offset", "stride=2,1", "dilation=5,7", "im2col_step=3"), ((1, 1, 2, 3), expected))
        self.write("offset.npy", (1, 2, 4, 4), [0.0] * 32)
        expected = [2.0 * x(i - 1, j) for i in range(4) for j in range(4)]
        self.assertEqual(self.out("offset", "padding=1,0,0,1"), ((1, 1, 4, 4), expected))
        self.write("x.npy", (1, 2, 3, 3), X + X)
        self.write("w.npy", (2, 1, 1, 1), [2.0, 3.0])
        self.write("offset.npy", (1, 4, 3, 3), [0.0] * 27 + [1.0] * 9)
        expected = [2.0 * value for value in X] + [3.0 * x(i, j + 1) for i, j in PIXELS]
        self.assertEqual(self.out("offset", "groups=2", "deformable_groups=2"), ((1, 2, 3, 3), expected))

    def test_dtype(self) -> None:
        self.run_ok(
            "deform_conv2d",
            "x=x.npy",
            "offset=zero.npy",
            "weight=w.npy",
            "mask=m.npy",
            "bias=b.npy",
            "out=out.npy",
            "--dtype=f16",
        )
        expected = [10.0 + 2.0 * m * value for m, value in zip(MASK, X)]
        self.assertEqual(npy_files.read(self.path("out.npy")), ("<f2", (1, 1, 3, 3), expected))

    def test_gradients(self) -> None:
        inputs = ("x=x.npy", "offset=zero.npy", "weight=w.npy", "out_grad=g.npy")
        for given, mask in (((), [1.0] * 9), (("mask=m.npy",), MASK)):
            self.run_ok(
                "deform_conv2d_grad",
                *inputs,
                *given,
                "x_grad=xg.npy",
                "offset_grad=og.npy",
                "weight_grad=wg.npy",
                "bias_grad=bg.npy",
                *(["mask_grad=mg.npy"] if given else []),
            )
            sample_grad = [2.0 * g for g in OUT_GRAD]
            moved = [m * g for m, g in zip(mask, sample_grad)]
            down = [value * (x(i + 1, j) - x(i, j)) for value, (i, j) in zip(moved, PIXELS)]
            across = [value * (x(i, j + 1) - x(i, j)) for value, (i, j) in zip(moved, PIXELS)]
            for name, shape, expected in (
                ("xg", (1, 1, 3, 3), moved),
                ("og", (1, 2, 3, 3), down + across),
                ("wg", (1, 1, 1, 1), [sum(g * m * value for g, m, value in zip(OUT_GRAD, mask, X))]),
                ("bg", (1,), [sum(OUT_GRAD)]),
            ):
                self.assertEqual(npy_files.read(self.path(f"{name}.npy")), ("<f4", shape, expected))
        expected = [g * value for g, value in zip(sample_grad, X)]
        self.assertEqual(npy_files.read(self.path("mg.npy")), ("<f4", (1, 1, 3, 3), expected))
        # One gradient alone.
        self.run_ok("deform_conv2d_grad", *inputs, "bias_grad=alone.npy")
        self.assertEqual(self.contents()["alone.npy"], self.contents()["bg.npy"])

    def test_a_weight_without_elements_of_too_many_taps(self) -> None:
        self.write("many.npy", (1, 16, 1, 1), [0.0] * 16, descr="<f2")
        self.write("taps.npy", (0, 1, 1 << 31, 1 << 30), [], descr="<f2")
        self.write("none.npy", (1, 0, 0, 0), [], descr="<f2")
        self.run_wrong("run", "deform_conv2d", "x=many.npy", "weight=taps.npy", "offset=none.npy", "out=out.npy",
                       "groups=16", "deformable_groups=16",
                       expect=["portops: deform_conv2d: 64 bits cannot hold the channels of offset, 2 · "
                               "deformable_groups · taps, for 2147483648 · 1073741824 taps and deformable_groups 16\n"])

    def test_wrong_calls(self) -> None:
        forward, gradient = "deform_conv2d", "deform_conv2d_grad"
        complete = ("offset=zero.npy", "out=out.npy")
        attributes = "stride, padding, dilation, groups, deformable_groups, im2col_step"
        self.wrong(forward, "out=out.npy", expect="input offset is missing, expected offset=FILE.npy")
        self.wrong(forward, *complete, "mask=", expect="mask is empty, expected mask=FILE.npy")
        self.wrong(
            forward,
            *complete,
            "stride=2,",
            expect="stride is '2,', expected integers separated by commas, such as 1,2, or [] for none",
        )
        self.wrong(forward, *complete, "groups=1.5", expect="groups is '1.5', expected an integer")
        self.wrong(
            forward,
            *complete,
            "masc=m.npy",
            expect=f"there is no argument 'masc', expected x, offset, weight, mask, bias, {attributes}, out",
        )
        self.wrong(
            forward,
            *complete,
            "stride=2,1",
            expect="offset has extents [1, 2, 3, 3], expected [1, 2, 2, 3] (computed(x, weight))",
        )
        self.wrong(
            forward,
            *complete,
            "mask=zero.npy",
            expect="mask has extents [1, 2, 3, 3], expected [1, 1, 3, 3] (computed(x, weight))",
        )
        self.wrong(
            forward,
            *complete,
            "bias=g.npy",
            expect="bias has extents [1, 1, 3, 3], expected [1] (computed(x, weight))",
        )
        self.wrong(
            forward,
            *complete,
            "mask=out.npy",
            expect="output out and input mask are the same file out.npy, expected different files",
        )
        self.wrong(
            gradient,
            "offset=zero.npy",
            "out_grad=g.npy",
            "mask_grad=mg.npy",
            expect="mask_grad cannot be computed: mask is not given, expected mask=FILE.npy",
        )
        self.wrong(
            gradient,
            "offset=zero.npy",
            "out_grad=g.npy",
            "bias=b.npy",
            "bias_grad=bg.npy",
            expect=f"there is no argument 'bias', expected x, offset, weight, mask, out_grad, {attributes}, x_grad, "
            "offset_grad, weight_grad, mask_grad, bias_grad",
        )
        self.wrong(
            gradient,
            "offset=zero.npy",
            "out_grad=w.npy",
            "x_grad=xg.npy",
            expect="out_grad has extents [1, 1, 1, 1], expected [1, 1, 3, 3] (computed(x, weight))",
        )
        self.write("d.npy", (1, 1, 3, 3), MASK, descr="<f8")
        self.wrong(
            forward,
            *complete,
            "mask=d.npy",
            expect="mask holds f64 and offset holds f32, expected one element type (--dtype converts the inputs)",
        )
        run = ("run", forward, "x=x.npy", "weight=w.npy", *complete)
        self.run_wrong(*run, "mask=0.5", expect=["0.5", "No such file"])
        for wrong in ("stride=1", "stride=0,1", "padding=-1,0", "padding=1,1,1", "dilation=1,0", "groups=0"):
            self.run_wrong(*run, wrong, expect=["portops: deform_conv2d: ", wrong.split("=")[0]])


if __name__ == "__main__":
    unittest.main()
