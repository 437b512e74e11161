#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of portops.torch.deform_conv2d beside torchvision's, and in its place."""

from __future__ import annotations

import gc
import itertools
import os
import subprocess
import sys
import unittest
import warnings
from typing import Any, Callable, Optional

try:
    from torch_cases import DEVICES
except unittest.SkipTest as error:
    print(f"skipped: {error}")
    sys.exit(0)

import portops
import portops.torch as pt
import torch
from portops._schema import OPERATORS
from torch import Tensor, nn

if "deform_conv2d" not in OPERATORS:
    print("skipped: this build has no deform_conv2d")
    sys.exit(0)
try:
    import torchvision
except ImportError:
    torchvision = None

warnings.filterwarnings("ignore", message=".*undefined gradient support.*")
NAMES = ("input", "offset", "weight", "bias", "mask")


def arguments(
    device: str,
    dtype: torch.dtype = torch.float64,
    images: int = 3,
    groups: int = 1,
    offset_groups: int = 1,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    mask: bool = True,
    bias: bool = True,
    kernel: tuple[int, int] = (3, 2),
) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(3)

    def made(*extents: int) -> Tensor:
        return torch.randn(extents, generator=generator, dtype=torch.float64).to(device, dtype).requires_grad_()

    pairs = [(value, value) if isinstance(value, int) else value for value in (stride, padding, dilation)]
    size = [
        (extent + 2 * p - d * (k - 1) - 1) // s + 1 for extent, k, s, p, d in zip((8, 7), kernel, *pairs)
    ]
    taps = offset_groups * kernel[0] * kernel[1]
    return {
        "input": made(images, 4, 8, 7),
        "offset": made(images, 2 * taps, *size),
        "weight": made(8, 4 // groups, *kernel),
        "bias": made(8) if bias else None,
        "stride": stride,
        "padding": padding,
        "dilation": dilation,
        "mask": made(images, taps, *size) if mask else None,
    }


def fresh(given: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.detach().clone(memory_format=torch.preserve_format).requires_grad_() if isinstance(value, Tensor) else value
        for name, value in given.items()
    }


VARIANTS: tuple[dict[str, Any], ...] = (
    {},
    {"groups": 2},
    {"offset_groups": 2},
    {"groups": 4, "offset_groups": 4, "kernel": (2, 2)},
    {"stride": (2, 1), "padding": (1, 2), "dilation": (2, 3)},
    {"stride": 2, "padding": 1, "mask": False},
    {"bias": False, "mask": False},
    {"images": 0},
    {"images": 37, "kernel": (1, 1)},
)


class Backbone(nn.Module):
    """Residual blocks with deformable layers, as detectors have them: offsets and masks come from a convolution. It does
    not begin with zeros, as it would in a detector: see test_one_pixel_outside."""

    def __init__(self, layer: Callable[..., nn.Module]) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.offsets = nn.ModuleList([nn.Conv2d(8, 27, 3, 1, 1) for _ in range(2)])
        self.layers = nn.ModuleList([layer(8, 8, 3, padding=1, bias=False) for _ in range(2)])
        self.norms = nn.ModuleList([nn.BatchNorm2d(8) for _ in range(2)])
        self.head = nn.Linear(8, 4)
        for offset in self.offsets:
            nn.init.normal_(offset.weight, std=0.02)
            nn.init.uniform_(offset.bias, 0.05, 0.1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for offset, layer, norm in zip(self.offsets, self.layers, self.norms):
            down, across, mask = offset(x).chunk(3, 1)
            x = torch.relu(x + norm(layer(x, torch.cat([down, across], 1), mask.sigmoid())))
        return self.head(x.mean((2, 3)))


def train(model: nn.Module, steps: int, device: str) -> list[float]:
    generator = torch.Generator().manual_seed(11)
    optimizer = torch.optim.SGD(model.parameters(), 0.05, 0.9)
    losses = []
    for _ in range(steps):
        x = torch.randn(2, 3, 16, 16, generator=generator, dtype=torch.float64).to(device)
        target = torch.randint(4, (2,), generator=generator).to(device)
        loss = nn.functional.cross_entropy(model(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


class AloneTest(unittest.TestCase):
    """Without torchvision."""

    def test_gradcheck(self) -> None:
        for device, variant in itertools.product(DEVICES, VARIANTS[:6]):
            with self.subTest(device=device, **variant):
                given = arguments(device, images=1, **variant)
                names = [name for name in NAMES if given[name] is not None]

                def call(*tensors: Tensor, given: Any = given, names: Any = names) -> Tensor:
                    return pt.deform_conv2d(**{**given, **dict(zip(names, tensors))})

                self.assertTrue(
                    torch.autograd.gradcheck(call, [given[name] for name in names], fast_mode=True, nondet_tol=1e-12)
                )

    def test_half_types(self) -> None:
        for device, dtype in itertools.product(DEVICES, (torch.float16, torch.bfloat16)):
            given = arguments(device, dtype)
            wide = {k: v.detach().double() if isinstance(v, Tensor) else v for k, v in given.items()}
            out, expected = pt.deform_conv2d(**given), pt.deform_conv2d(**wide)
            self.assertEqual(out.dtype, dtype)
            torch.testing.assert_close(out.double(), expected, rtol=0.05, atol=0.2)
            out.sum().backward()
            self.assertEqual(given["weight"].grad.dtype, dtype)

    def test_deterministic(self) -> None:
        torch.use_deterministic_algorithms(True)
        try:
            for device in DEVICES:
                results = []
                for _ in range(2):
                    given = arguments(device, torch.float32)
                    pt.deform_conv2d(**given).sum().backward()
                    results.append([given[name].grad for name in NAMES])
                self.assertTrue(all(map(torch.equal, *results)))
        finally:
            torch.use_deterministic_algorithms(False)

    def test_errors(self) -> None:
        given = arguments("cpu")
        for name, wrong, message in (
            ("input", torch.rand(3), "expected four each"),
            ("offset", torch.rand(3, 5, 6, 6), "multiple of"),
            ("offset", torch.rand(3, 12, 5, 6).double(), "offset has extents"),
            ("weight", torch.rand(8, 3, 3, 2).double(), "channels"),
            ("bias", torch.rand(5).double(), "bias has extents"),
            ("padding", -1, "padding is"),
        ):
            with self.subTest(name), self.assertRaisesRegex(portops.Error, message):
                pt.deform_conv2d(**{**given, name: wrong})

    def test_patch_without_torchvision(self) -> None:
        code = (
            "import sys\nsys.modules['torchvision'] = None\nimport portops, portops.torch as pt\n"
            "try:\n    pt.patch_torchvision()\nexcept portops.Error as error:\n    print(error)\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
        self.assertIn("torchvision cannot be imported", done.stdout)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


@unittest.skipIf(torchvision is None, "torchvision cannot be imported")
class TorchvisionTest(unittest.TestCase):
    def compare(self, given: dict[str, Any], error: float, function: Optional[Callable[..., Tensor]] = None) -> None:
        theirs = fresh(given)
        out = (function or pt.deform_conv2d)(**given)
        expected = torchvision.ops.deform_conv2d(**theirs)
        torch.testing.assert_close(out, expected, rtol=error, atol=error)
        grad = torch.randn(out.shape, generator=torch.Generator().manual_seed(5)).to(out)
        out.backward(grad)
        expected.backward(grad)
        for name in NAMES:
            if given[name] is not None:
                mine, reference = given[name].grad, theirs[name].grad
                torch.testing.assert_close(mine, reference, rtol=error, atol=error, msg=lambda text, name=name: f"{name}: {text}")

    def test_forward_and_gradients(self) -> None:
        for device, variant in itertools.product(DEVICES, VARIANTS):
            for dtype, error in ((torch.float64, 1e-10), (torch.float32, 2e-4)):
                with self.subTest(device=device, dtype=dtype, **variant):
                    self.compare(arguments(device, dtype, **variant), error)

    def test_strides(self) -> None:
        for device in DEVICES:
            given = arguments(device)
            for name in ("input", "offset", "weight", "mask"):
                for made in (
                    given[name].detach().to(memory_format=torch.channels_last),
                    given[name].detach().transpose(2, 3).contiguous().transpose(2, 3),
                    given[name].detach().repeat_interleave(2, 3)[..., ::2],
                ):
                    self.compare({**fresh(given), name: made.requires_grad_()}, 1e-10)

    def test_whole_positions(self) -> None:
        """Where derivatives jump, and at exactly one pixel above or left of the image, where samples are 0 but grow inwards.
        Offsets of zeros and a padding lead there, at the beginning of many trainings."""
        for device in DEVICES:
            for offset in (0.0, -1.0, 2.0):
                given = arguments(device, padding=1)
                given["offset"] = torch.full_like(given["offset"], offset).requires_grad_()
                self.compare(given, 1e-10)

    def test_module(self) -> None:
        for options in ({}, {"stride": 2, "padding": (1, 2), "dilation": 2, "groups": 2, "bias": False}):
            torch.manual_seed(1)
            theirs = torchvision.ops.DeformConv2d(4, 6, 3, **options)
            torch.manual_seed(1)
            mine = pt.DeformConv2d(4, 6, 3, **options)
            self.assertEqual(repr(mine), repr(theirs))
            self.assertEqual(list(mine.state_dict()), list(theirs.state_dict()))
            for name, value in theirs.state_dict().items():
                self.assertTrue(torch.equal(mine.state_dict()[name], value))
            mine.load_state_dict(theirs.state_dict())
        with self.assertRaisesRegex(ValueError, "divisible by groups"):
            pt.DeformConv2d(3, 6, 3, groups=2)

    def test_training_beside_torchvision(self) -> None:
        for device in DEVICES:
            torch.manual_seed(2)
            theirs = Backbone(torchvision.ops.DeformConv2d).to(device).double()
            mine = Backbone(pt.DeformConv2d).to(device).double()
            mine.load_state_dict(theirs.state_dict())
            for a, b in zip(train(mine, 20, device), train(theirs, 20, device)):
                self.assertAlmostEqual(a, b, delta=1e-9)


@unittest.skipIf(torchvision is None, "torchvision cannot be imported")
class PatchTest(unittest.TestCase):
    def calls(self, function: Callable[[], Any]) -> int:
        """How often the extension's operator runs in it."""
        from portops.torch import _library

        count = 0
        kernel = _library.cores["deform_conv2d"]

        def spy(*given: Any) -> Any:
            nonlocal count
            count += 1
            return kernel(*given)

        _library.cores["deform_conv2d"] = spy
        try:
            function()
        finally:
            _library.cores["deform_conv2d"] = kernel
        return count

    def test_in_place_and_undone(self) -> None:
        given = arguments("cpu")
        call = lambda: torchvision.ops.deform_conv2d(**given)
        self.assertEqual(self.calls(call), 0)
        with pt.patch_torchvision() as patch:
            self.assertIs(pt.patch_torchvision(), patch)
            self.assertEqual(self.calls(call), 1)
            with torch.no_grad():
                self.assertEqual(self.calls(call), 1)
            with torch.inference_mode():
                self.assertEqual(self.calls(call), 1)
            layer = torch.jit.script(torchvision.ops.DeformConv2d(4, 8, (3, 2)).double())
            self.assertEqual(self.calls(lambda: layer(given["input"], given["offset"], given["mask"])), 1)
        gc.collect()
        self.assertEqual(self.calls(call), 0)
        patch.undo()
        call().sum().backward()

    def test_values_and_gradients(self) -> None:
        for device, variant in itertools.product(DEVICES, VARIANTS):
            given = arguments(device, **variant)
            theirs = fresh(given)
            expected = torchvision.ops.deform_conv2d(**theirs)
            expected.square().sum().backward()
            with pt.patch_torchvision():
                out = torchvision.ops.deform_conv2d(**given)
                out.square().sum().backward()
            torch.testing.assert_close(out, expected)
            for name in NAMES:
                if given[name] is not None:
                    torch.testing.assert_close(given[name].grad, theirs[name].grad)

    def test_their_gradient_operator(self) -> None:
        given = {k: v.detach() if isinstance(v, Tensor) else v for k, v in arguments("cpu").items()}
        grad = torch.randn(3, 8, 6, 6, dtype=torch.float64)
        tensors = [given[name] for name in ("input", "weight", "offset", "mask", "bias")]
        for use_mask in (True, False):
            call = lambda use=use_mask: torch.ops.torchvision._deform_conv2d_backward(
                grad, *tensors, 1, 1, 0, 0, 1, 1, 1, 1, use
            )
            expected = call()
            with pt.patch_torchvision():
                for mine, reference in zip(call(), expected):
                    torch.testing.assert_close(mine, reference)

    def test_autocast_and_compile(self) -> None:
        given = arguments("cpu", torch.float32)
        torch._dynamo.reset()
        with pt.patch_torchvision():
            with torch.autocast("cpu", torch.bfloat16):
                self.assertEqual(torchvision.ops.deform_conv2d(**given).dtype, torch.bfloat16)
            layer = torchvision.ops.DeformConv2d(4, 8, (3, 2))
            compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
            operands = [given["input"], given["offset"], given["mask"]]
            out = None

            def run() -> None:
                nonlocal out
                out = compiled(*operands)

            self.assertEqual(self.calls(run), 1)
            torch.testing.assert_close(out, layer(*operands))
            out.sum().backward()

    def test_a_model_that_is_there(self) -> None:
        for device in DEVICES:
            torch.manual_seed(2)
            theirs = Backbone(torchvision.ops.DeformConv2d).to(device).double()
            mine = Backbone(torchvision.ops.DeformConv2d).to(device).double()
            mine.load_state_dict(theirs.state_dict())
            expected = train(theirs, 20, device)
            with pt.patch_torchvision():
                for a, b in zip(train(mine, 20, device), expected):
                    self.assertAlmostEqual(a, b, delta=1e-9)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "2")
    unittest.main()
