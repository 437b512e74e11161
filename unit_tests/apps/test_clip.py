# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs portops_clip, named by the environment variable PORTOPS_CLIP, and computes its norms again."""

from __future__ import annotations

import math
import os
import random
import re
import resource
import subprocess
import tempfile
import unittest

import npy_files
from left_out import skip_if_left_out

PROGRAM = os.environ["PORTOPS_CLIP"]
SHAPES = {"a.npy": (2, 3), "b.npy": (5,), "c.npy": (), "d.npy": (3, 4, 2)}
# How a file holds the elements, and by how much the type rounds one.
TYPES = {"f64": ("<f8", 2**-53), "f32": ("<f4", 2**-24), "f16": ("<f2", 2**-11), "bf16": ("<f4", 2**-8)}


def norm(values: list[float], order: float) -> float:
    if order == math.inf:
        return max(map(abs, values))
    return math.fsum(abs(value) ** order for value in values) ** (1 / order)


class ClipTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="portops_test_")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.mkdir(self.path("clipped"))

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def write(self, name: str, shape: tuple[int, ...], values: list[float], **options) -> None:
        npy_files.write(self.path(name), shape, values, **options)

    def write_all(self, descr: str, digits: int = 7) -> dict[str, list[float]]:
        """A file of each shape, of numbers between 0.5 and 2, and negative ones, with so many binary digits after the
        point."""
        rng = random.Random(1)
        gradients = {}
        for name, shape in SHAPES.items():
            whole = [rng.randrange(2 ** (digits - 1), 2 ** (digits + 1)) for _ in range(math.prod(shape))]
            gradients[name] = [rng.choice((-1, 1)) * value / 2**digits for value in whole]
            self.write(name, shape, gradients[name], descr=descr)
        return gradients

    def call(self, *arguments: str, **options) -> subprocess.CompletedProcess[str]:
        result = subprocess.run(
            [PROGRAM, *arguments],
            cwd=self.folder,
            capture_output=True,
            encoding="utf-8",
            timeout=300,
            check=False,
            **options,
        )
        return skip_if_left_out(result)

    def run_ok(self, *arguments: str) -> str:
        result = self.call(*arguments, "--repeat=1")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def clip(self, *arguments: str) -> str:
        return self.run_ok(*arguments, "--output=clipped")

    def clipped(self, name: str) -> list[float]:
        return npy_files.read(self.path(f"clipped/{name}"))[2]

    def global_norms(self, output: str) -> tuple[float, float]:
        found = re.search(r"^global +norm (\S+) before, (\S+) after, of order \S+$", output, re.MULTILINE)
        self.assertIsNotNone(found, output)
        return float(found[1]), float(found[2])

    def factor(self, output: str) -> float:
        found = re.search(r"^factor +(\S+), for a norm of at most \S+$", output, re.MULTILINE)
        self.assertIsNotNone(found, output)
        return float(found[1])

    # --- what is computed ----------------------------------------------------------------------------------

    def test_element_types(self) -> None:
        for dtype, (descr, rounding) in TYPES.items():
            with self.subTest(dtype):
                gradients = self.write_all(descr)
                everything = [value for values in gradients.values() for value in values]
                output = self.clip(*SHAPES, "--max-norm=0.75", "--dtype", dtype)
                factor = 0.75 / norm(everything, 2)
                found = {name: npy_files.read(self.path(f"clipped/{name}")) for name in SHAPES}
                self.assertEqual([(file[0], file[1]) for file in found.values()], [(descr, s) for s in SHAPES.values()])
                # Two roundings in 16 bits, of the norm and of the result; or those of the sum and of each step.
                tolerance = (3 if dtype in ("f16", "bf16") else 20) * rounding
                for name, values in gradients.items():
                    for value, clipped in zip(values, found[name][2]):
                        self.assertLessEqual(abs(clipped - value * factor), tolerance * abs(value * factor))
                clipped = [value for file in found.values() for value in file[2]]
                self.assertLess(abs(norm(clipped, 2) - 0.75), tolerance * 0.75)
                printed = 1e-5 + 2 * tolerance  # six digits
                before, after = self.global_norms(output)
                self.assertLess(abs(before / norm(everything, 2) - 1), printed)
                self.assertLess(abs(after / 0.75 - 1), printed)
                self.assertLess(abs(self.factor(output) / factor - 1), printed)
                self.assertIn(f"clip     4 gradients in {dtype}, 36 elements\n", output)

    def test_orders(self) -> None:
        gradients = self.write_all("<f8")
        everything = [value for values in gradients.values() for value in values]
        for text, order in (("1", 1.0), ("2", 2.0), ("3", 3.0), ("0.5", 0.5), ("2.3", 2.3), ("inf", math.inf)):
            with self.subTest(text):
                output = self.clip(*SHAPES, f"--porder={text}", "--max-norm=0.3", "--dtype=f64")
                self.assertIn(f"after, of order {text}\n", output)
                factor = 0.3 / norm(everything, order)
                clipped = [value for name in SHAPES for value in self.clipped(name)]
                self.assertAlmostEqual(norm(clipped, order) / 0.3, 1, delta=1e-13)
                for value, found in zip(everything, clipped):
                    self.assertAlmostEqual(found / (value * factor), 1, delta=1e-13)

    def test_small_gradients_stay(self) -> None:
        for dtype, (descr, _) in TYPES.items():
            digits = {"f64": 52, "f32": 23, "f16": 10, "bf16": 7}[dtype]
            gradients = self.write_all(descr, digits)
            for max_norm in ("64", "100", "77.7", "12345"):
                with self.subTest(dtype=dtype, max_norm=max_norm):
                    output = self.clip(*SHAPES, f"--max-norm={max_norm}", "--dtype", dtype)
                    self.assertEqual(self.factor(output), 1)
                    exact = dtype in ("f16", "bf16") or max_norm == "64"
                    for name, values in gradients.items():
                        for value, found in zip(values, self.clipped(name)):
                            unit = 2.0 ** (math.frexp(value)[1] - 1 - digits)
                            self.assertLessEqual(abs(found - value), 0 if exact else 2 * unit)

    def test_default_is_a_norm_of_order_2_of_at_most_1(self) -> None:
        self.write("a.npy", (2,), [3, 0])
        self.write("b.npy", (1,), [-4])
        output = self.clip("a.npy", "b.npy")
        self.assertEqual(self.global_norms(output), (5, 1))
        self.assertIn("for a norm of at most 1\n", output)
        for found, expected in zip(self.clipped("a.npy") + self.clipped("b.npy"), (0.6, 0, -0.8)):
            self.assertAlmostEqual(found, expected, delta=1e-7)

    def test_fortran_order(self) -> None:
        self.write("a.npy", (2, 3), [1, 4, 2, 5, 3, 6], fortran=True)
        columns = [100 * i + 10 * j + k for k in range(1, 3) for j in range(1, 4) for i in range(1, 3)]
        self.write("b.npy", (2, 3, 2), columns, fortran=True)
        self.clip("a.npy", "b.npy", "--max-norm=65536")
        self.assertEqual(npy_files.read(self.path("clipped/a.npy")), ("<f4", (2, 3), [1, 2, 3, 4, 5, 6]))
        rows = [100 * i + 10 * j + k for i in range(1, 3) for j in range(1, 4) for k in range(1, 3)]
        self.assertEqual(npy_files.read(self.path("clipped/b.npy")), ("<f4", (2, 3, 2), rows))

    def test_files_are_converted(self) -> None:
        self.write("a.npy", (2,), [0.5, 0.25], descr="<f8")
        self.write("b.npy", (1,), [0.125], descr=">f2")
        self.clip("a.npy", "b.npy")
        self.assertEqual(npy_files.read(self.path("clipped/a.npy")), ("<f4", (2,), [0.5, 0.25]))
        self.assertEqual(npy_files.read(self.path("clipped/b.npy")), ("<f4", (1,), [0.125]))

    def test_tensors_without_elements(self) -> None:
        self.write("none.npy", (0, 3), [])
        self.write("a.npy", (1, 2), [30, -40])
        self.write("nothing.npy", (4, 0), [])
        output = self.clip("none.npy", "a.npy", "nothing.npy")
        self.assertRegex(output, r"(?m)^none.npy +\[0, 3\] +0 +0$")
        self.assertEqual(self.global_norms(output), (50, 1))
        for found, expected in zip(self.clipped("a.npy"), (0.6, -0.8)):
            self.assertAlmostEqual(found, expected, delta=1e-7)
        output = self.clip("none.npy", "nothing.npy")
        self.assertEqual((self.global_norms(output), self.factor(output)), ((0, 0), 1))
        self.assertEqual(npy_files.read(self.path("clipped/none.npy")), ("<f4", (0, 3), []))
        self.assertEqual(npy_files.read(self.path("clipped/nothing.npy")), ("<f4", (4, 0), []))

    def test_zeros_stay(self) -> None:
        self.write("a.npy", (3,), [0, 0, 0])
        for order in ("1", "2", "inf"):
            output = self.clip("a.npy", "--max-norm=0.1", f"--porder={order}")
            self.assertEqual((self.global_norms(output), self.factor(output)), ((0, 0), 1))
            self.assertEqual(self.clipped("a.npy"), [0, 0, 0])

    def test_what_is_not_finite(self) -> None:
        self.write("a.npy", (2,), [1, -2])
        self.write("b.npy", (1,), [math.inf])
        output = self.clip("a.npy", "b.npy")
        self.assertEqual((self.global_norms(output)[0], self.factor(output)), (math.inf, 0))
        self.assertEqual(self.clipped("a.npy"), [0, 0])
        self.assertTrue(math.isnan(self.clipped("b.npy")[0]))
        self.write("b.npy", (1,), [math.nan])
        output = self.clip("a.npy", "b.npy")
        self.assertIn("global   norm nan before, nan after", output)
        self.assertIn("factor   nan", output)
        self.assertTrue(all(math.isnan(value) for value in self.clipped("a.npy") + self.clipped("b.npy")))

    def test_a_norm_too_large_for_the_type(self) -> None:
        self.write("a.npy", (2,), [60000, 60000])
        output = self.clip("a.npy", "--dtype=f16")
        self.assertEqual((self.global_norms(output), self.factor(output)), ((math.inf, 0), 0))
        self.assertEqual(self.clipped("a.npy"), [0, 0])
        self.assertAlmostEqual(self.global_norms(self.clip("a.npy", "--dtype=bf16"))[1], 1, delta=2**-6)

    def test_the_timed_calls_do_not_count(self) -> None:
        self.write_all("<f4")
        contents = []
        for repeats in ("1", "50"):
            result = self.call(*SHAPES, "--max-norm=0.7", "--output=clipped", "--repeat", repeats)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertIn(f"(mean of {repeats})", result.stdout)
            contents.append([self.clipped(name) for name in SHAPES])
        self.assertEqual(contents[0], contents[1])

    def test_every_backend(self) -> None:
        rng = random.Random(1)
        self.write("a.npy", (300, 700), [rng.gauss(0, 1) for _ in range(210000)])
        self.clip("a.npy")
        first = self.clipped("a.npy")
        for backend in ("serial", "openmp", "cuda"):
            result = self.call("a.npy", "--output=clipped", "--backend", backend, "--repeat=1")
            if result.returncode == 0:
                self.assertIn(f"backend  {backend}", result.stdout)
                self.assertEqual(self.clipped("a.npy"), first)

    # --- what is printed and written -----------------------------------------------------------------------

    def test_without_files(self) -> None:
        result = self.call("--repeat=3")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        lines = result.stdout.splitlines()
        self.assertEqual(lines[0], "clip     26 gradients in f32, 24875520 elements")
        self.assertRegex(lines[1], r"^gradient +extents +norm before +norm after$")
        self.assertRegex(lines[2], r"^layers.2.mlp.up +\[2048, 512\] +10\.\d+ +0\.\d+$")
        self.assertRegex(lines[3], r"^embedding +\[24000, 512\] +3\.\d+ +0\.\d+$")
        self.assertEqual(lines[7], "… 21 more")
        before, after = self.global_norms(result.stdout)
        self.assertAlmostEqual(before, 11.344, delta=0.03)
        self.assertAlmostEqual(after, 1, delta=1e-5)
        self.assertAlmostEqual(self.factor(result.stdout), 1 / before, delta=1e-6)
        self.assertRegex(lines[11], r"^time +[\d.]+ us a call \(mean of 3\), 298.51 MB moved, [\d.]+ GB/s$")
        self.assertEqual(len(lines), 12)
        self.assertEqual(os.listdir(self.folder) + os.listdir(self.path("clipped")), ["clipped"])

    def test_table(self) -> None:
        names = [f"{i}.npy" for i in range(13)]
        for i, name in enumerate(names):
            self.write(name, (1, 1), [8 if i == 7 else i / 16])
        listed = r"(?m)^(\d+)\.npy +\[1, 1\] +(\S+) +\S+$"
        found = re.findall(listed, self.run_ok(*names[:12]))
        self.assertEqual(found, [(str(i), "8" if i == 7 else f"{i / 16:g}") for i in range(12)])
        output = self.run_ok(*names)
        self.assertEqual([row[0] for row in re.findall(listed, output)], ["7", "12", "11", "10", "9"])
        self.assertIn("\n… 8 more\nglobal", output)
        self.write("3.npy", (1, 1), [math.nan])
        found = [row[0] for row in re.findall(listed, self.run_ok(*names))]
        self.assertEqual(found, ["3", "7", "12", "11", "10"])
        self.assertEqual(os.listdir(self.path("clipped")), [])

    def test_outputs(self) -> None:
        self.write("a.npy", (1,), [2])
        os.mkdir(self.path("more"))
        self.write("more/b.npy", (1,), [2])
        with open(self.path("clipped/a.npy"), "wb") as file:
            file.write(b"old")
        output = self.clip("a.npy", "more/b.npy", "--max-norm=4")
        self.assertTrue(output.endswith(f"output   2 files in {os.path.realpath(self.folder)}/clipped\n"), output)
        self.assertEqual(sorted(os.listdir(self.path("clipped"))), ["a.npy", "b.npy"])
        self.assertEqual(self.clipped("a.npy") + self.clipped("b.npy"), [2, 2])
        self.assertNotIn("output", self.run_ok("a.npy", "a.npy"))  # a file may be named twice if nothing is written

    # --- what is refused -----------------------------------------------------------------------------------

    def contents(self) -> dict[str, bytes]:
        contents = {}
        for folder, _, names in os.walk(self.folder):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    contents[os.path.join(folder, name)] = file.read()
        return contents

    def wrong(self, *arguments: str, expect: str, **options) -> None:
        before = self.contents()
        result = self.call(*arguments, **options)
        self.assertEqual((result.returncode, result.stdout), (2, ""), result)
        self.assertRegex(result.stderr, r"^portops_clip: [^\n]+\n$")
        self.assertIn(expect, result.stderr)
        self.assertEqual(self.contents(), before)

    def test_wrong_options(self) -> None:
        self.write("a.npy", (1,), [2])
        for number in ("0", "-1", "nan", "inf", "one", "1e-50", "1e50"):
            expect = f"--max-norm is '{number}', expected a number that is positive and finite in f32"
            self.wrong("a.npy", f"--max-norm={number}", expect=expect)
        for number in ("1e-9", "70000"):
            self.wrong("a.npy", f"--max-norm={number}", "--dtype=f16", expect="positive and finite in f16")
        for number in ("nan", "two"):
            self.wrong("a.npy", f"--porder={number}", expect=f"--porder is '{number}', expected a number")
        self.wrong("a.npy", "--repeat=0", expect="--repeat")
        self.wrong("a.npy", "--dtype=f8", expect="'f8', expected f64, f32, f16 or bf16")
        self.wrong("a.npy", "--backend=tpu", expect="'tpu'")
        self.wrong("a.npy", "--clip=1", expect="--clip")

    def test_wrong_files(self) -> None:
        self.write("a.npy", (1,), [2])
        with open(self.path("text.npy"), "wb") as file:
            file.write(b"no gradient at all")
        with open(self.path("a.npy"), "rb") as file, open(self.path("short.npy"), "wb") as short:
            short.write(file.read()[:-1])
        outputs = ((), ("--output=clipped",))
        for output in outputs:
            self.wrong("a.npy", "none.npy", *output, expect="none.npy: cannot be read: No such file")
            self.wrong("a.npy", "text.npy", *output, expect="text.npy: is not a .npy file")
            self.wrong("a.npy", "short.npy", *output, expect="short.npy: truncated")
            self.wrong("a.npy", "clipped", *output, expect="clipped: is a folder")

    def test_wrong_outputs(self) -> None:
        self.write("a.npy", (1,), [2])
        self.write("b.npy", (1,), [2])
        os.mkdir(self.path("more"))
        self.write("more/a.npy", (1,), [2])
        self.wrong("--output=clipped", expect="--output is given, but no gradients")
        self.wrong("a.npy", "--output=", expect="--output")
        for name in ("none", "b.npy"):
            self.wrong("a.npy", f"--output={name}", expect=f"--output is '{name}', expected a folder that is there")
        twice = "two gradients would be written to clipped/a.npy, expected different file names"
        self.wrong("a.npy", "b.npy", "more/a.npy", "--output=clipped", expect=twice)
        self.wrong("a.npy", "./a.npy", "--output=clipped", expect=twice)
        self.wrong("b.npy", "a.npy", "--output=.", expect="are the same file b.npy, expected different files")
        self.wrong("b.npy", "more/a.npy", "--output=more", expect="are the same file more/a.npy")
        os.link(self.path("a.npy"), self.path("clipped/b.npy"))
        self.wrong("a.npy", "b.npy", "--output=clipped", expect="are the same file a.npy")
        os.mkdir(self.path("clipped/a.npy"))
        self.wrong("a.npy", "--output=clipped", expect="clipped/a.npy: is a folder")

    def test_full_disk(self) -> None:
        self.write("a.npy", (1,), [2])
        self.write("b.npy", (1000,), [2] * 1000)
        with open(self.path("clipped/b.npy"), "wb") as file:
            file.write(b"old")

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

        written = "clipped/b.npy: cannot be written: File too large"
        self.wrong("a.npy", "b.npy", "--output=clipped", "--repeat=1", expect=written, preexec_fn=limit)


if __name__ == "__main__":
    unittest.main()
