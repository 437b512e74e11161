# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs portops_train on images made up here: what it learns, prints and refuses."""

from __future__ import annotations

import gzip
import json
import os
import pty
import re
import signal
import struct
import subprocess
import time
import unittest

import idx_files
import png_files
from left_out import skip_where_sanitized
from train_fixture import PROGRAM, SMALL, TrainProgramTest, small

FASHION = "/usr/share/datasets/fashion-mnist"


class TrainTest(TrainProgramTest):
    # --- what is learned -----------------------------------------------------------------------------------

    def test_images_are_learned(self) -> None:
        output = self.run_ok(*SMALL)
        epochs = self.epochs(output)
        self.assertEqual([epoch[0] for epoch in epochs], ["1", "2", "3"])
        self.assertLess(float(epochs[-1][1]), float(epochs[0][1]) / 2)
        self.assertEqual(self.result(output), 100)
        self.assertEqual(float(epochs[-1][4]), 100)
        self.assertNotIn("\x1b", output)  # which is for terminals

    def test_element_types(self) -> None:
        skip_where_sanitized()
        for dtype in ("f64", "f32", "f16", "bf16"):
            with self.subTest(dtype):
                output = self.run_ok(*SMALL, "--dtype", dtype)
                self.assertIn(f" in {dtype}, batches of 16", output)
                self.assertGreater(self.result(output), 95)

    def test_moved_and_mirrored_images(self) -> None:
        skip_where_sanitized()
        # Mirrored images of these classes are those of others: nobody can tell more than half of them.
        output = self.run_ok(*SMALL, "--augment")
        self.assertIn(", images moved and mirrored\n", output)
        self.assertLess(float(self.epochs(output)[-1][2]), 75)

    def test_every_backend(self) -> None:
        skip_where_sanitized()
        for backend in ("serial", "openmp", "cuda"):
            result = self.call(*SMALL, "--backend", backend)
            if result.returncode == 0:
                self.assertIn(f"\nbackend  {backend}, ", result.stdout)
                self.assertEqual(self.result(result.stdout), 100)

    def test_fashion_mnist(self) -> None:
        if not os.path.isdir(FASHION):
            self.skipTest("there is no " + FASHION)
        output = self.run_ok("--items=3000", "--test-items=500", "--width=0.25", "--epochs=2", "--batch=32")
        self.assertIn(f"{FASHION}: 3000 images to learn from, 500 to test, 28 x 28, 10 classes", output)
        self.assertIn(" 9 Ankle boot ", output)
        self.assertGreater(self.result(output), 70)

    # --- what is printed and written -----------------------------------------------------------------------

    def test_confusion(self) -> None:
        skip_where_sanitized()
        output = self.run_ok(*SMALL, "--test-items=62")
        rows = re.findall(r"^ +(\d) (\d)((?: +\d+){4}) +(\S+) %$", output, re.MULTILINE)
        self.assertEqual([row[:2] for row in rows], [(str(label), str(label)) for label in range(4)])
        for label, row in enumerate(rows):
            counts = [int(count) for count in row[2].split()]
            self.assertEqual(sum(counts), 16 if label < 2 else 15)
            self.assertAlmostEqual(float(row[3]), 100 * counts[label] / sum(counts), places=2)

    def test_picture(self) -> None:
        self.run_ok(*SMALL, "--picture=p.png")
        width, height, rgb = png_files.read(self.path("p.png"))
        cell = 12 * 4 + 8
        self.assertEqual((width, height), (17 * cell + 8, 4 * cell + 8))
        self.assertEqual(rgb[:3], b"\xff\xff\xff")
        # The best item of the first class has its bright square above at the left; there are no mistakes beside it.
        inside = 3 * ((8 + 8) * width + 8 + 8)
        self.assertTrue(160 <= rgb[inside] < 255 and rgb[inside] == rgb[inside + 1] == rgb[inside + 2])
        self.assertEqual(rgb[3 * (16 * width + 8 + cell + 8)], 255)

    def test_progress_on_a_terminal(self) -> None:
        # A line that is taken away again, by the next one or by the end of the epoch.
        shown = re.compile(rb"step \d+ of 12, \S+ ms each, [^\r\n]+ to go\r\x1b\[K")
        output = b""
        terminal, of_program = pty.openpty()
        command = [PROGRAM, *small("--epochs=100000")]
        with subprocess.Popen(command, cwd=self.folder, stdout=of_program, stderr=subprocess.DEVNULL) as process:
            os.close(of_program)
            for _ in range(200):
                # However fast it is: for the program more time passes than between two lines.
                process.send_signal(signal.SIGSTOP)
                time.sleep(0.4)
                process.send_signal(signal.SIGCONT)
                output += os.read(terminal, 65536)
                if shown.search(output):
                    break
            process.kill()
        os.close(terminal)
        self.assertRegex(output, shown)

    def test_gzipped_files_are_the_same(self) -> None:
        skip_where_sanitized()
        idx_files.write_folder(self.path("packed"), ending=".gz")
        plain = self.run_ok(*small("--epochs=1"))
        packed = self.run_ok(*small("--epochs=1", "--data=packed/"))
        self.assertEqual([epoch[:5] for epoch in self.epochs(packed)], [epoch[:5] for epoch in self.epochs(plain)])

    def test_timing(self) -> None:
        lines = self.run_ok(*SMALL, "--timing=5").splitlines()
        for line, what in zip(lines[-3:], ("step", "infer", "program")):
            self.assertRegex(line, rf"^{what} +\S+ ms, of which the host took \S+; memory at most \d+\.\d MiB beside the images$")
            self.assertGreater(float(re.search(r"(\S+) MiB", line)[1]), 0)
        self.assertEqual(os.listdir(self.folder), ["images"])

    def test_timeline(self) -> None:
        self.assertRegex(self.run_ok(*small("--epochs=1"), "--timeline=t.json"), r"\ntimeline /\S+/t.json\n")
        trace = json.loads(self.read("t.json"))["traceEvents"]
        calls = [event["name"] for event in trace if event["ph"] == "X"]
        self.assertEqual(calls, 12 * ["forward", "backward", "sum", "update"])  # alone nothing is sent
        self.assertEqual({event["pid"] for event in trace}, {0})

    # --- the same bits -------------------------------------------------------------------------------------

    def test_every_run_and_number_of_threads_gives_the_same(self) -> None:
        skip_where_sanitized()
        bits = []
        for run, threads in enumerate((1, 2, 3)):
            self.run_ok(*SMALL, "--deterministic", f"--checkpoint={run}", env={"OMP_NUM_THREADS": str(threads)})
            bits.append(self.read(str(run)))
        self.assertEqual(bits[0], bits[1])
        self.assertEqual(bits[0], bits[2])
        self.run_ok(*SMALL, "--deterministic", "--captured", "--checkpoint=captured")
        self.assertEqual(self.read("captured"), bits[0])
        self.run_ok(*SMALL, "--deterministic", "--checkpoint=other", "--seed=2")
        self.assertNotEqual(self.read("other"), bits[0])

    # --- what goes wrong -----------------------------------------------------------------------------------

    def test_wrong_options(self) -> None:
        for option in ("--epochs=0", "--batch=0", "--batch=x", "--classes=1", "--classes=257", "--items=-1", "--seed=-1",
                       "--timing=-1", "--what=1"):
            self.wrong(*small(option), expect=option.split("=", maxsplit=1)[0])
        for number in ("0", "-1", "nan", "inf", "wide"):
            self.wrong(*small(f"--width={number}"), expect=f"--width is '{number}', expected a positive number")
            self.wrong(*small(f"--learning-rate={number}"), expect=f"--learning-rate is '{number}', expected")
        self.wrong(*SMALL, "--dtype=i64", expect="'i64', expected f64, f32, f16 or bf16")
        self.wrong(*SMALL, "--math=tf16", expect="'tf16'")
        self.wrong(*SMALL, "--backend=tpu", expect="'tpu'")
        self.wrong(*SMALL, "--resume", expect="--resume needs --checkpoint")
        self.wrong(*SMALL, "--captured", "--no-captured", expect="--captured")
        self.wrong(*SMALL, "--bucket-bytes=0", expect="--bucket-bytes")
        self.wrong(*SMALL, "--timeline=t", "--timing=1", expect="--timeline is of training, and --timing trains nothing")
        self.wrong(*SMALL, "--timeline=none/t", expect="none/t: cannot be written: No such file")
        self.wrong(*SMALL, "--timeline=mistakes.png", expect="--picture and --timeline are the same file mistakes.png")
        self.wrong(*SMALL, "--picture=none/p.png", expect="none/p.png: cannot be written: No such file")
        result = self.wrong(*SMALL, "--checkpoint=none/c", expect="none/c: cannot be written: No such file")
        self.assertEqual(result.stdout, "")  # before anything is learned

    def test_files_that_are_the_same(self) -> None:
        skip_where_sanitized()
        os.symlink("later", self.path("link"))
        for options, expect in (
            (("--picture=c", "--checkpoint=./c"), "--picture and --checkpoint are the same file ./c, expected"),
            (("--picture=link", "--checkpoint=later"), "--picture and --checkpoint are the same file later, expected"),
            (("--picture=images/train-images-idx3-ubyte",), "a file of --data and --picture are the same file images/"),
            (("--checkpoint=images/t10k-labels-idx1-ubyte", "--resume"), "a file of --data and --checkpoint are the"),
            (("--picture=c", "--program=c"), "--picture and --program are the same file c, expected"),
            (("--program=c", "--checkpoint=c"), "--program and --checkpoint are the same file c, expected"),
        ):
            with self.subTest(options):
                if "--program=c" in options and "--program" not in self.run_ok("--help"):
                    self.skipTest("this build writes no programs")
                before = self.read("images/train-images-idx3-ubyte")
                self.wrong(*SMALL, *options, expect=expect)
                self.assertEqual(self.read("images/train-images-idx3-ubyte"), before)

    def test_the_smallest_images(self) -> None:
        # One to a step, of which the last layer has four pixels.
        idx_files.write_folder(self.path("smallest"), train=4, test=4, side=8)
        output = self.run_ok(*small("--data=smallest", "--batch=1", "--epochs=1"))
        self.assertIn("4 images to learn from, 4 to test, 8 x 8, 4 classes", output)
        self.assertEqual(len(self.epochs(output)), 1)

    def test_wrong_files(self) -> None:
        images, labels = "images/train-images-idx3-ubyte", "images/t10k-labels-idx1-ubyte"
        good_images, good_labels = self.read(images), self.read(labels)

        def write_images(content: bytes) -> None:
            idx_files.write(self.path(images), content)

        def write_labels(content: bytes) -> None:
            idx_files.write(self.path(labels), content)

        for content, expect in (
            (b"", "is no file in the format IDX"),
            (b"\0\0\x08", "is no file in the format IDX"),
            (b"\x89PNG\r\n\x1a\n", "is no file in the format IDX"),
            (idx_files.array((2, 12, 12), bytes(288), kind=13), "holds elements of the type 13, expected 8"),
            (idx_files.array((288,), bytes(288)), "has 1 axes, expected 3"),
            (good_images[:9], "truncated: it ends within its header"),
            (good_images[:-1], f"truncated: extents [192, 12, 12] are {192 * 144} elements, found {192 * 144 - 1}"),
            (good_images + b"\0", "is longer than its header says"),
            (idx_files.array((2**32 - 1, 2**32 - 1, 2**32 - 1), b""), "expected at most 2147483648 elements"),
            (idx_files.array((2**31 - 1, 1, 1), b"x"), "elements, found 1"),
            (idx_files.array((2, 3, 12), bytes(72)), "images are 3 by 12, expected 8 by 8 to 256 by 256"),
            (idx_files.array((1, 8, 7), bytes(56)), "images are 8 by 7, expected 8 by 8 to 256 by 256"),
            (idx_files.array((1, 257, 12), bytes(257 * 12)), "images are 257 by 12"),
            (idx_files.array((0, 12, 12), b""), "there are no images"),
        ):
            with self.subTest(expect):
                write_images(content)
                result = self.wrong(*SMALL, expect=expect)
                self.assertTrue(result.stderr.startswith(f"portops_train: {images}: "), result.stderr)
        write_images(good_images[: 16 + 144 * 191].replace(struct.pack(">I", 192), struct.pack(">I", 191), 1))
        self.wrong(*SMALL, expect="train-labels-idx1-ubyte: there are 192 labels, expected 191, one for each image")
        write_images(idx_files.array((192, 9, 16), good_images[16:]))
        self.wrong(*SMALL, expect="images: the images to test are 12 by 12, expected 9 by 16")
        write_images(good_images)

        write_labels(good_labels[:20] + b"\x07" + good_labels[21:])
        self.wrong(*SMALL, expect=f"{labels}: item 12 has the label 7, expected less than 4 (--classes)")
        os.remove(self.path(labels))
        self.wrong(*SMALL, expect=f"{labels}: is not there, nor with .gz behind")
        os.mkdir(self.path(labels))
        self.wrong(*SMALL, expect=f"{labels}: is a folder")
        os.rmdir(self.path(labels))
        packed = gzip.compress(good_labels)
        for content, expect in (
            (packed[:-12], "truncated: extents [64] are 64 elements, found "),
            (packed[:-4], "truncated: the end of what gzip has packed is missing"),
            (packed[:-8] + bytes(8), "cannot be read: "),
        ):
            with open(self.path(labels + ".gz"), "wb") as file:
                file.write(content)
            self.wrong(*SMALL, expect=f"{labels}.gz: {expect}")
        self.wrong(*small("--data=none"), expect="none/train-images-idx3-ubyte: is not there")

    def test_a_loss_that_is_no_number(self) -> None:
        options = small("--epochs=30", "--dtype=f16", "--learning-rate=1000")
        result = self.wrong(*options, expect="a new training with a smaller --learning-rate may help")
        self.assertIn("a loss is NaN or Inf ", result.stderr)
        self.assertNotIn("result", result.stdout)


if __name__ == "__main__":
    unittest.main()
