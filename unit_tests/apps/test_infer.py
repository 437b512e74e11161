# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs portops_infer, named by the environment variable PORTOPS_INFER, on a network exported by PyTorch and on one that
portops_train has learned, and compares with what `portops program run` computes."""

from __future__ import annotations

import os
import pathlib
import random
import re
import shutil
import subprocess
import unittest

import idx_files
import npy_files
import png_files
from left_out import is_sanitized
from picture_fixture import PictureProgramTest

EXPORTS = pathlib.Path(__file__).parent.parent / "graph" / "onnx" / "exports"
MODEL = "model.onnx"  # [2, 3, 16, 16], 5 classes, probabilities


def command(name: str) -> str:
    file = os.environ.get("PORTOPS_" + name)
    if not file:
        raise unittest.SkipTest("this build lacks a program: " + name.lower())
    return file


class InferTest(PictureProgramTest):
    program = os.environ["PORTOPS_INFER"]

    def setUp(self) -> None:
        super().setUp()
        shutil.copy(EXPORTS / "convolutional_18.onnx", self.path(MODEL))
        rng = random.Random(1)
        self.pictures = {}
        for name in ("a.png", "b.png", "c.png"):
            rgb = bytes(rng.randrange(256) for _ in range(3 * 16 * 16))
            png_files.write(self.path(name), 16, 16, rgb)
            self.pictures[name] = rgb

    def scores(self, output: str) -> dict[str, list[tuple[str, float]]]:
        """Of each picture the classes that are told, and their scores."""
        found = {}
        for name, classes in re.findall(r"^(\S+\.png): (.*)$", output, re.MULTILINE):
            found[name] = [(each.rpartition(" ")[0], float(each.rpartition(" ")[2])) for each in classes.split(", ")]
        return found

    def expected(self, images: list[float], extents: tuple[int, ...]) -> list[float]:
        npy_files.write(self.path("x.npy"), extents, images)
        subprocess.run(
            [command("COMMAND"), "program", "run", MODEL, "x=x.npy", "y=y.npy"], cwd=self.folder, check=True
        )
        return npy_files.read(self.path("y.npy"))[2]

    def test_pictures_in_colour(self) -> None:
        found = self.scores(self.run_ok(MODEL, *self.pictures, "--top=5"))
        self.assertEqual(list(found), list(self.pictures))
        planes = []
        for name in ("a.png", "b.png"):
            planes += [self.pictures[name][3 * i + channel] / 255 for channel in range(3) for i in range(256)]
        expected = self.expected(planes, (2, 3, 16, 16))
        for number, name in enumerate(("a.png", "b.png")):
            scores = [score for _, score in found[name]]
            self.assertEqual(scores, sorted(scores, reverse=True))
            self.assertAlmostEqual(sum(scores), 1, places=3)
            for label, score in found[name]:
                self.assertAlmostEqual(score, expected[5 * number + int(label)], delta=1e-4)

    def test_each_alone_and_all_together(self) -> None:
        together = self.scores(self.run_ok(MODEL, *self.pictures))
        for name in self.pictures:
            self.assertEqual(self.scores(self.run_ok(MODEL, name))[name], together[name])

    def test_extents_that_the_file_leaves_open(self) -> None:
        shutil.copy(EXPORTS / "convolutional_11_script.onnx", self.path("open.onnx"))
        self.wrong("open.onnx", "a.png", expect="leaves its extent along axis 0 open")
        found = [self.scores(self.run_ok("open.onnx", *self.pictures, f"--images={n},3,16,16")) for n in (1, 2, 3)]
        self.assertEqual(found[0], found[1])
        self.assertEqual(found[0], found[2])

    def test_names(self) -> None:
        with open(self.path("names"), "w", encoding="utf-8") as file:
            file.write("sea\nhigh wood\nhill\nmoor\ntown\n")
        numbers, words = self.run_ok(MODEL, "a.png", "--top=5"), self.run_ok(MODEL, "a.png", "--top=5", "--names=names")
        names = ("sea", "high wood", "hill", "moor", "town")
        by_number = [(names[int(label)], score) for label, score in self.scores(numbers)["a.png"]]
        self.assertEqual(self.scores(words)["a.png"], by_number)
        with open(self.path("names"), "a", encoding="utf-8") as file:
            file.write("one more\n")
        self.wrong(MODEL, "a.png", "--names=names", expect="names: has 6 lines, expected one for each of 5 classes")
        self.wrong(MODEL, "a.png", "--names=none", expect="none: cannot be read")

    def test_a_network_that_was_trained_here(self) -> None:
        idx_files.write_folder(self.path("images"))
        test = idx_files.patterns(64, 12, 2)  # what write_folder has written to test
        for item in range(6):
            png_files.write(self.path(f"{item}.png"), 12, 12, test[0][144 * item : 144 * (item + 1)], colour_type=0)
        for dtype in ("f16",) if is_sanitized() else ("f32", "f16"):
            with self.subTest(dtype):
                trained = subprocess.run(
                    [command("TRAIN"), "--data=images", "--classes=4", "--width=0.125", "--batch=16", "--epochs=3",
                     "--learning-rate=0.01", f"--program={MODEL}", "--program-batch=4", f"--dtype={dtype}"],
                    cwd=self.folder, capture_output=True, text=True, check=False,
                )  # fmt: skip
                self.assertEqual((trained.returncode, trained.stderr), (0, ""))
                self.assertIn(f"\nprogram  {os.path.realpath(self.path(MODEL))}\n", trained.stdout)
                self.assertIn("result   100.00 %", trained.stdout)
                found = self.scores(self.run_ok(MODEL, *(f"{item}.png" for item in range(6)), "--top=1"))
                self.assertEqual([int(found[f"{item}.png"][0][0]) for item in range(6)], list(test[1][:6]))
                for name in found:
                    self.assertGreater(found[name][0][1], 0.5)

    def test_wrong_calls(self) -> None:
        self.wrong(expect="MODEL is required")
        self.wrong(MODEL, expect="PICTURES is required")
        self.wrong("none.onnx", "a.png", expect="none.onnx: ")
        self.wrong("a.png", "a.png", expect="a.png: ")
        self.wrong(MODEL, "none.png", expect="none.png: ")
        self.wrong(MODEL, MODEL, expect=MODEL + ": ")
        self.wrong(MODEL, "a.png", "--backend=tpu", expect="'tpu'")
        self.wrong(MODEL, "a.png", "--top=0", expect="--top")
        for extents in ("1,3,16", "1,3,0,16", "wide"):
            self.wrong(MODEL, "a.png", f"--images={extents}", expect=f"'{extents}'")
        self.wrong(MODEL, "a.png", "--images=1,1,16,16", expect=MODEL + ": ")
        png_files.write(self.path("small.png"), 15, 16, bytes(3 * 15 * 16))
        self.wrong(MODEL, "a.png", "small.png", expect="small.png: is 15 x 16, expected 16 x 16")
        shutil.copy(EXPORTS / "transformer_18.onnx", self.path("transformer.onnx"))
        self.wrong("transformer.onnx", "a.png",
                   expect="transformer.onnx: the input x is f32 [2, 7, 12], expected images, [N, 1, H, W] or [N, 3, H, W]")


if __name__ == "__main__":
    unittest.main()
