# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs portops_crossfade, named by the environment variable PORTOPS_CROSSFADE, and computes its pictures again."""

from __future__ import annotations

import os
import random
import re
import unittest

import png_files
from picture_fixture import LIGHT, PictureProgramTest, level_of, limit_files


def ramp(width: int) -> list[float]:
    ramps = (min(max(1.5 * ((column + 0.5) / width - 1 / 6), 0.0), 1.0) for column in range(width))
    return [t * t * (3 - 2 * t) for t in ramps]


def cropped(picture: tuple[int, int, bytes], width: int, height: int) -> bytes:
    left, top = (picture[0] - width) // 2, (picture[1] - height) // 2
    starts = (3 * ((top + row) * picture[0] + left) for row in range(height))
    return b"".join(picture[2][start : start + 3 * width] for start in starts)


class CrossfadeTest(PictureProgramTest):
    program = os.environ["PORTOPS_CROSSFADE"]

    def setUp(self) -> None:
        super().setUp()
        rng = random.Random(1)
        self.a, self.b = rng.randbytes(3 * 20 * 12), rng.randbytes(3 * 20 * 12)
        png_files.write(self.path("a.png"), 20, 12, self.a)
        png_files.write(self.path("b.png"), 20, 12, self.b)

    def fade(self, *arguments: str) -> tuple[int, int, bytes]:
        self.run_ok(*arguments, "--repeat", "1")
        return png_files.read(self.path("crossfade.png"))

    def assert_fades(self, found: bytes, a: bytes, b: bytes, weights: list[float], tolerance: float = 0.501) -> None:
        """Half a level is what rounding to 8 bits takes; the rest is the rounding of the arithmetic."""
        worst = 0.0
        for i, level in enumerate(found):
            weight = weights[i // 3 % len(weights)]
            light = LIGHT[a[i]] + weight * (LIGHT[b[i]] - LIGHT[a[i]])
            worst = max(worst, abs(level - level_of(light)))
        self.assertLess(worst, tolerance)

    def test_shipped_photographs(self) -> None:
        output = self.run_ok("--repeat", "3")
        self.assertRegex(output, r"time +[\d.]+ us a call \(mean of 3\), [\d.]+ MB moved, [\d.]+ GB/s\n")
        self.assertIn("cropped  both to their middle 451 x 300\n", output)
        self.assertIn(f"{os.path.realpath(self.folder)}/crossfade.png, 451 x 300\n", output)
        shipped = [png_files.read(name) for name in re.findall(r"(?:from|to) +(/.*\.png),", output)]
        self.assertEqual([picture[:2] for picture in shipped], [(451, 300), (600, 400)])
        width, height, found = png_files.read(self.path("crossfade.png"))
        self.assertEqual((width, height), (451, 300))
        a, b = (cropped(picture, width, height) for picture in shipped)
        self.assert_fades(found, a, b, ramp(width))
        edges = (found[:3], a[:3]), (found[-3:], b[-3:])
        self.assertTrue(all(pixel == expected for pixel, expected in edges))

    def test_element_types(self) -> None:
        # Inputs and result are rounded by half an ulp, which moves the level by up to 112 (the slope 255 · 1.055 / 2.4)
        # times 2^-12 in f16, 2^-9 in bf16.
        for dtype, tolerance in (("f64", 0.5001), ("f32", 0.501), ("f16", 0.56), ("bf16", 0.94)):
            with self.subTest(dtype):
                options = ("a.png", "b.png", "--dtype", dtype)
                self.assertEqual(self.fade(*options, "--weight", "0"), (20, 12, self.a))
                self.assertEqual(self.fade(*options, "--weight", "1"), (20, 12, self.b))
                self.assert_fades(self.fade(*options, "--weight", "0.25")[2], self.a, self.b, [0.25], tolerance)
                if dtype in ("f64", "f32"):  # in the others the weights of the ramp are rounded themselves
                    self.assert_fades(self.fade(*options)[2], self.a, self.b, ramp(20), tolerance)

    def test_frames(self) -> None:
        width, height, found = self.fade("a.png", "b.png", "--frames", "3")
        self.assertEqual((width, height), (60, 12))
        for frame, weight in enumerate((0.0, 0.5, 1.0)):
            picture = b"".join(found[3 * (60 * row + 20 * frame) :][: 3 * 20] for row in range(12))
            self.assert_fades(picture, self.a, self.b, [weight])

    def test_every_backend(self) -> None:
        first = self.fade("a.png", "b.png")
        for backend in ("serial", "openmp", "cuda"):
            result = self.call("a.png", "b.png", "--backend", backend)
            if result.returncode == 0:
                self.assertIn(f"backend  {backend}", result.stdout)
                self.assertEqual(png_files.read(self.path("crossfade.png")), first)

    def test_grey_and_transparent_pictures(self) -> None:
        png_files.write(self.path("grey.png"), 1, 2, b"\x10\xf0", colour_type=0)
        png_files.write(self.path("clear.png"), 1, 2, b"\x10\x20\x30\x00\x10\x20\x30\xff", colour_type=6)
        self.assertEqual(self.fade("grey.png", "clear.png", "--weight", "0"), (1, 2, b"\x10\x10\x10\xf0\xf0\xf0"))
        self.assertEqual(self.fade("grey.png", "clear.png", "--weight", "1"), (1, 2, b"\xff\xff\xff\x10\x20\x30"))

    def test_wrong_calls(self) -> None:
        with open(self.path("a.png"), "rb") as file:
            whole = file.read()
        for name, data in (("short.png", whole[: len(whole) // 2]), ("text.png", b"no picture"), ("empty.png", b"")):
            with open(self.path(name), "wb") as file:
                file.write(data)
            self.wrong(name, "b.png", expect=f"{name}: cannot be read as PNG")
        self.wrong("none.png", "b.png", expect="none.png: cannot be read: No such file")
        self.wrong("a.png", expect="one picture is named, expected two")
        self.wrong("a.png", "b.png", "a.png", expect="a.png")
        for weight in ("2", "-0.1", "nan", "half"):
            self.wrong("a.png", "b.png", f"--weight={weight}", expect=f"'{weight}', expected a number from 0 to 1")
        self.wrong("a.png", "b.png", "--weight=0", "--frames=2", expect="--frames")
        self.wrong("a.png", "b.png", "--frames=1", expect="--frames")
        self.wrong("a.png", "b.png", "--repeat=0", expect="--repeat")
        self.wrong("a.png", "b.png", "--dtype=f8", expect="'f8', expected f64, f32, f16 or bf16")
        self.wrong("a.png", "b.png", "--backend=tpu", expect="'tpu'")
        self.wrong("a.png", "b.png", "--output=./a.png", expect="same file")
        self.wrong("a.png", "b.png", "--output=", expect="--output")
        self.wrong("a.png", "b.png", "--output=none/out.png", expect="none/out.png: cannot be written: No such file")

    def test_full_disk(self) -> None:
        self.wrong("a.png", "b.png", "--output=/dev/full", expect="/dev/full: cannot be written")
        self.wrong("a.png", "b.png", expect="crossfade.png: cannot be written", preexec_fn=limit_files)


if __name__ == "__main__":
    unittest.main()
