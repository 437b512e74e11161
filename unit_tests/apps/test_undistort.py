# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs portops_undistort, named by the environment variable PORTOPS_UNDISTORT, and computes its pictures again."""

from __future__ import annotations

import math
import os
import random
import re
import unittest
from dataclasses import dataclass
from functools import cached_property, partial

import png_files
from picture_fixture import LIGHT, PictureProgramTest, level_of, limit_files

Picture = tuple[int, int, bytes]
WIDTH, HEIGHT = 21, 14
MIDDLE = (WIDTH - 1) / 2, (HEIGHT - 1) / 2
HALF_DIAGONAL = math.hypot(WIDTH, HEIGHT) / 2


def bisect(is_below, low: float, high: float) -> float:
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return low


@dataclass
class Lens:
    k1: float
    k2: float = 0.0
    k3: float = 0.0
    centre: tuple[float, float] = MIDDLE
    radius: float = HALF_DIAGONAL

    def options(self) -> tuple[str, ...]:
        centre = ",".join(map(repr, self.centre))
        coefficients = f"--k1={self.k1}", f"--k2={self.k2}", f"--k3={self.k3}"
        return *coefficients, f"--center={centre}", f"--radius={self.radius!r}"

    def distorted(self, r: float) -> float:
        return r * (1 + self.k1 * r**2 + self.k2 * r**4 + self.k3 * r**6)

    @cached_property
    def end(self) -> float:
        """Where distorted(r) stops to grow; a large number where it does not."""

        def slope(r: float) -> float:
            return 1 + 3 * self.k1 * r**2 + 5 * self.k2 * r**4 + 7 * self.k3 * r**6

        steps = (step / 1000 for step in range(4000))
        return bisect(lambda r: slope(r) > 0, 0.0, next((r for r in steps if slope(r) <= 0), 4.0))

    def undistorted(self, r: float) -> float:
        return bisect(lambda x: self.distorted(x) < r, 0.0, self.end) if r <= self.distorted(self.end) else math.inf

    def source(self, x: float, y: float, distort: bool = False) -> tuple[float, float]:
        x, y = x - self.centre[0], y - self.centre[1]
        r = math.hypot(x, y) / self.radius
        if r == 0:
            return self.centre
        scale = self.undistorted(r) / r if distort else self.distorted(r) / r if r <= self.end else math.inf
        if scale == math.inf:
            return math.inf, math.inf
        return self.centre[0] + scale * x, self.centre[1] + scale * y


def sample(picture: Picture, x: float, y: float, channel: int) -> float:
    """The level between the pixels around, by their light."""
    width, height, data = picture
    if not (-1 < x < width and -1 < y < height):
        return 0.0
    left, top, light = math.floor(x), math.floor(y), 0.0
    for column, across in ((left, 1 - (x - left)), (left + 1, x - left)):
        for row, down in ((top, 1 - (y - top)), (top + 1, y - top)):
            if 0 <= column < width and 0 <= row < height:
                light += across * down * LIGHT[data[3 * (row * width + column) + channel]]
    return level_of(light)


def grey(width: int, height: int, level) -> bytes:
    return bytes(round(level(x, y)) for y in range(height) for x in range(width) for _ in range(3))


class UndistortTest(PictureProgramTest):
    program = os.environ["PORTOPS_UNDISTORT"]

    def setUp(self) -> None:
        super().setUp()
        self.a = random.Random(1).randbytes(3 * WIDTH * HEIGHT)
        png_files.write(self.path("a.png"), WIDTH, HEIGHT, self.a)

    def undistort(self, *arguments: str) -> Picture:
        self.run_ok(*arguments, "--repeat=1")
        return png_files.read(self.path("undistorted.png"))

    def assert_model(self, found: Picture, picture: Picture, source, step: int = 1, tolerance: float = 0.51) -> None:
        """Half a level is what rounding to 8 bits takes; the rest is the rounding of positions to f32."""
        self.assertEqual(found[:2], picture[:2])
        worst = 0.0
        for i in range(0, len(found[2]), step):
            row, column = divmod(i // 3, found[0])
            x, y = source(column, row)
            worst = max(worst, abs(found[2][i] - sample(picture, x, y, i % 3)))
        self.assertLess(worst, tolerance)

    def test_shipped_photograph(self) -> None:
        output = self.run_ok("--repeat=3")
        time = r"time +[\d.]+ us a call \(mean of 3\), 0\.31 megapixels, [\d.]+ megapixels/s\n"
        self.assertRegex(output, time)
        self.assertIn("correct  k1 -0.2905, k2 0.1041, k3 0, centre 342.5,232.86, radius 532.89\n", output)
        self.assertIn(f"{os.path.realpath(self.folder)}/undistorted.png, 640 x 480\n", output)
        shipped = png_files.read(re.search(r"from +(/.*\.png), 640 x 480\n", output)[1])
        lens = Lens(-0.2905, 0.1041, centre=(342.5, 232.86), radius=532.89)
        self.assert_model(png_files.read(self.path("undistorted.png")), shipped, lens.source, step=31, tolerance=0.7)

    def test_lenses(self) -> None:
        lenses = (
            Lens(-0.3),
            Lens(0.2, -0.05),
            Lens(-0.2, 0.1, -0.02),
            Lens(0.0, 0.0, 0.05, centre=(4.0, 17.5)),
            Lens(-0.1, centre=(0.0, 0.0), radius=9.5),
        )
        for lens in lenses:
            for distort in (False, True):
                with self.subTest(lens, distort=distort):
                    found = self.undistort("a.png", *lens.options(), *["--distort"][: int(distort)])
                    self.assert_model(found, (WIDTH, HEIGHT, self.a), partial(lens.source, distort=distort))

    def test_middle_and_half_diagonal_are_the_default(self) -> None:
        found = self.undistort("a.png", *Lens(-0.3).options())
        self.assertEqual(self.undistort("a.png", "--k1=-0.3"), found)

    def test_end_of_the_lens(self) -> None:
        """Where the model would show the middle again, from the other side, the picture is black."""
        width, height = 61, 40
        png_files.write(self.path("white.png"), width, height, b"\xff" * (3 * width * height))
        self.assertAlmostEqual(Lens(-0.9).end, math.sqrt(1 / 2.7))
        for coefficients in ((-0.9,), (-0.9, 0.3), (-1.2, 0.0, 0.5), (0.5, -0.9), (0.5, 0.0, -2.0)):
            lens = Lens(*coefficients, centre=(30.0, 19.5), radius=37.0)
            for direction, end in (((), lens.end), (("--distort",), lens.distorted(lens.end))):
                with self.subTest(lens, direction=direction):
                    _, _, data = self.undistort("white.png", *lens.options(), *direction)
                    for i in range(0, len(data), 3):
                        row, column = divmod(i // 3, width)
                        x, y = lens.source(column, row, bool(direction))
                        r = math.hypot(column - 30.0, row - 19.5) / 37.0
                        if r > end:
                            self.assertEqual(data[i], 0, (column, row))
                        elif 0 <= x <= width - 1 and 0 <= y <= height - 1:
                            self.assertEqual(data[i], 255, (column, row))

    def test_without_distortion(self) -> None:
        for options in ((), ("--distort",), ("--center=3.3,100.7", "--radius=0.7"), ("--k2=0", "--k3=0")):
            self.assertEqual(self.undistort("a.png", "--k1=0", *options), (WIDTH, HEIGHT, self.a))

    def test_distorted_and_corrected(self) -> None:
        def level(x: int, y: int) -> float:
            return 128 + 50 * math.sin(x / 7) + 50 * math.cos(y / 6)

        width, height = 64, 48
        smooth = grey(width, height, level)
        png_files.write(self.path("smooth.png"), width, height, smooth)
        lens = ("--k1=-0.25", "--k2=0.06")
        self.run_ok("smooth.png", *lens, "--distort", "--output=distorted.png", "--repeat=1")
        _, _, distorted = png_files.read(self.path("distorted.png"))
        _, _, found = self.undistort("distorted.png", *lens)
        inner = [3 * (y * width + x) for y in range(2, height - 2) for x in range(2, width - 2)]
        self.assertGreater(max(abs(distorted[i] - smooth[i]) for i in inner), 50)
        self.assertLess(max(abs(found[i] - smooth[i]) for i in inner), 3)

    def test_lines_become_straight(self) -> None:
        width, height, spacing = 120, 90, 20
        lens = Lens(-0.25, 0.05, centre=(61.5, 40.25), radius=80.0)

        def level(x: int, y: int) -> float:
            """White lines at 10, 30, 50, … of the corrected picture."""
            nearest = min(abs(at % spacing - 10) for at in lens.source(x, y, distort=True))
            return 255 * max(0.0, 1 - nearest / 3)

        grid = grey(width, height, level)
        png_files.write(self.path("grid.png"), width, height, grid)
        corrected = self.undistort("grid.png", *lens.options())[2]

        def bend(data: bytes) -> float:
            """How far the middle of a line's light is off its place at most, half-way between the lines that cross."""
            across = [(3, 3 * (y * width + x)) for x in range(10, width, spacing) for y in range(20, height, spacing)]
            down = [(3 * width, 3 * (y * width + x)) for x in range(20, width, spacing) for y in range(10, 80, spacing)]
            worst = 0.0
            for stride, place in across + down:
                light = {i: LIGHT[data[place + i * stride]] for i in range(-8, 9)}
                total = sum(light.values())
                middle = sum(i * value for i, value in light.items()) / total if total else math.inf
                worst = max(worst, abs(middle))
            return worst

        self.assertGreater(bend(grid), 2)
        self.assertLess(bend(corrected), 0.2)

    def test_every_backend(self) -> None:
        first = self.undistort("a.png", "--k1=-0.3")
        for backend in ("serial", "openmp", "cuda"):
            result = self.call("a.png", "--k1=-0.3", "--backend", backend)
            if result.returncode == 0:
                self.assertIn(f"backend  {backend}", result.stdout)
                found = png_files.read(self.path("undistorted.png"))
                self.assertLessEqual(max(abs(a - b) for a, b in zip(found[2], first[2])), 1)

    def test_grey_and_transparent_pictures(self) -> None:
        png_files.write(self.path("grey.png"), 1, 2, b"\x10\xf0", colour_type=0)
        png_files.write(self.path("clear.png"), 1, 2, b"\x10\x20\x30\x00\x10\x20\x30\xff", colour_type=6)
        self.assertEqual(self.undistort("grey.png", "--k1=0"), (1, 2, b"\x10\x10\x10\xf0\xf0\xf0"))
        self.assertEqual(self.undistort("clear.png", "--k1=0"), (1, 2, b"\xff\xff\xff\x10\x20\x30"))

    def test_wrong_calls(self) -> None:
        for name, data in (("text.png", b"no picture"), ("empty.png", b"")):
            with open(self.path(name), "wb") as file:
                file.write(data)
            self.wrong(name, "--k1=0", expect=f"{name}: cannot be read as PNG")
        self.wrong("none.png", "--k1=0", expect="none.png: cannot be read: No such file")
        self.wrong("a.png", expect="a picture is named without a lens, expected --k1, --k2 or --k3")
        self.wrong("a.png", "--center=1,2", "--radius=3", expect="without a lens")
        self.wrong("a.png", "a.png", "--k1=0", expect="a.png")
        for option in ("--k1", "--k2", "--k3"):
            for number in ("much", "inf", "nan", ""):
                self.wrong("a.png", f"{option}={number}", expect=f"{option}")
        self.wrong("a.png", "--k1=much", expect="--k1 is 'much', expected a number")
        for centre in ("1", "1,", ",1", "1,2,3", "1,inf", "a,b"):
            expect = f"--center is '{centre}', expected two numbers"
            self.wrong("a.png", "--k1=0", f"--center={centre}", expect=expect)
        for radius in ("0", "-1", "inf", "nan", "far"):
            expect = f"--radius is '{radius}', expected a positive number"
            self.wrong("a.png", "--k1=0", f"--radius={radius}", expect=expect)
        self.wrong("a.png", "--k1=0", "--repeat=0", expect="--repeat")
        self.wrong("a.png", "--k1=0", "--backend=tpu", expect="'tpu'")
        self.wrong("a.png", "--k1=0", "--output=./a.png", expect="same file")
        self.wrong("a.png", "--k1=0", "--output=", expect="--output")
        self.wrong("a.png", "--k1=0", "--output=none/b.png", expect="none/b.png: cannot be written: No such file")

    def test_full_disk(self) -> None:
        self.wrong("a.png", "--k1=0", "--output=/dev/full", expect="/dev/full: cannot be written")
        self.wrong("a.png", "--k1=0", expect="undistorted.png: cannot be written", preexec_fn=limit_files)


if __name__ == "__main__":
    unittest.main()
