# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs portops_train, named by the environment variable PORTOPS_TRAIN, on images made up here."""

from __future__ import annotations

import gzip
import json
import os
import re
import resource
import signal
import struct
import subprocess
import tempfile
import time
import unittest

import idx_files
import png_files
from left_out import skip_if_left_out

PROGRAM = os.environ["PORTOPS_TRAIN"]
FASHION = "/usr/share/datasets/fashion-mnist"
SMALL = ("--data=images", "--classes=4", "--width=0.125", "--batch=16", "--epochs=3", "--learning-rate=0.01")


def small(*changes: str) -> list[str]:
    """SMALL, with other values for the options that are named, and more of them."""
    return list({option.partition("=")[0]: option for option in (*SMALL, *changes)}.values())


def limit_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (50000, 50000))  # enough for the picture


class TrainTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="portops_test_")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        idx_files.write_folder(self.path("images"))

    def path(self, *names: str) -> str:
        return os.path.join(self.folder, *names)

    def read(self, name: str) -> bytes:
        with open(self.path(name), "rb") as file:
            return file.read()

    def call(self, *arguments: str, env: dict[str, str] | None = None, **options) -> subprocess.CompletedProcess[str]:
        result = subprocess.run(
            [PROGRAM, *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
            env=os.environ | (env or {}),
            **options,
        )
        return skip_if_left_out(result)

    def run_ok(self, *arguments: str, **options) -> str:
        result = self.call(*arguments, **options)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def epochs(self, output: str) -> list[tuple[str, ...]]:
        """Of each epoch its number, and loss and accuracy, as it was learned and on the test images."""
        return re.findall(r"^ +(\d+) +(\S+) +(\S+) % +(\S+) +(\S+) % +\S+ s$", output, re.MULTILINE)

    def result(self, output: str) -> float:
        return float(re.search(r"^result +(\S+) % of the \d+ test images are told rightly$", output, re.MULTILINE)[1])

    def interrupted(self, *arguments: str) -> None:
        """Ends a call as soon as it has written the checkpoint of its first epoch."""
        with subprocess.Popen([PROGRAM, *arguments], cwd=self.folder, stdout=subprocess.DEVNULL) as process:
            while process.poll() is None and not os.path.exists(self.path("c.safetensors")):
                time.sleep(0.001)
            process.send_signal(signal.SIGSTOP)  # so that it does not end of itself
            process.kill()

    # --- what is learned -----------------------------------------------------------------------------------

    def test_images_are_learned(self) -> None:
        output = self.run_ok(*SMALL)
        epochs = self.epochs(output)
        self.assertEqual([epoch[0] for epoch in epochs], ["1", "2", "3"])
        self.assertLess(float(epochs[-1][1]), float(epochs[0][1]) / 2)
        self.assertEqual(self.result(output), 100)
        self.assertEqual(float(epochs[-1][4]), 100)

    def test_element_types(self) -> None:
        for dtype in ("f64", "f32", "f16", "bf16"):
            with self.subTest(dtype):
                output = self.run_ok(*SMALL, "--dtype", dtype)
                self.assertIn(f" in {dtype}, batches of 16", output)
                self.assertGreater(self.result(output), 95)

    def test_moved_and_mirrored_images(self) -> None:
        # Mirrored images of these classes are those of others: nobody can tell more than half of them.
        output = self.run_ok(*SMALL, "--augment")
        self.assertIn(", images moved and mirrored\n", output)
        self.assertLess(float(self.epochs(output)[-1][2]), 75)

    def test_every_backend(self) -> None:
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

    def test_gzipped_files_are_the_same(self) -> None:
        idx_files.write_folder(self.path("packed"), ending=".gz")
        plain = self.run_ok(*small("--epochs=1"))
        packed = self.run_ok(*small("--epochs=1", "--data=packed/"))
        self.assertEqual([epoch[:5] for epoch in self.epochs(packed)], [epoch[:5] for epoch in self.epochs(plain)])

    def test_timing(self) -> None:
        lines = self.run_ok(*SMALL, "--timing=5").splitlines()
        for line, what in zip(lines[-2:], ("step", "infer")):
            self.assertRegex(line, rf"^{what} +\S+ ms, of which the host took \S+; memory at most \d+\.\d MiB beside the images$")
            self.assertGreater(float(re.search(r"(\S+) MiB", line)[1]), 0)
        self.assertEqual(os.listdir(self.folder), ["images"])

    # --- the same bits -------------------------------------------------------------------------------------

    def test_every_run_and_number_of_threads_gives_the_same(self) -> None:
        bits = []
        for run, threads in enumerate((1, 2, 3)):
            self.run_ok(*SMALL, "--deterministic", f"--checkpoint={run}", env={"OMP_NUM_THREADS": str(threads)})
            bits.append(self.read(str(run)))
        self.assertEqual(bits[0], bits[1])
        self.assertEqual(bits[0], bits[2])
        self.run_ok(*SMALL, "--deterministic", "--checkpoint=other", "--seed=2")
        self.assertNotEqual(self.read("other"), bits[0])

    def test_resumed_training_ends_in_the_same_bits(self) -> None:
        for dtype in ("f32", "f16"):
            with self.subTest(dtype):
                options = (*SMALL, "--deterministic", "--dtype", dtype, "--augment")
                self.run_ok(*options, f"--checkpoint=whole-{dtype}")
                self.interrupted(*options, "--checkpoint=c.safetensors")
                output = self.run_ok(*options, "--checkpoint=c.safetensors", "--resume")
                self.assertRegex(output, r"\nresumed  c.safetensors, after epoch [123] of 3\n")
                self.assertEqual(self.read("c.safetensors"), self.read(f"whole-{dtype}"))
                # There is nothing more to learn, but to be told.
                again = self.run_ok(*options, "--checkpoint=c.safetensors", "--resume")
                self.assertIn("after epoch 3 of 3\n", again)
                self.assertEqual(self.epochs(again), [])
                self.assertEqual(self.result(again), self.result(output))
                os.remove(self.path("c.safetensors"))

    # --- what goes wrong -----------------------------------------------------------------------------------

    def wrong(self, *arguments: str, expect: str, **options) -> subprocess.CompletedProcess[str]:
        before = sorted(os.listdir(self.folder))
        result = self.call(*arguments, **options)
        self.assertEqual(result.returncode, 2, result)
        self.assertRegex(result.stderr, r"^portops_train: [^\n]+\n$")
        self.assertIn(expect, result.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), before)
        return result

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
        self.wrong(*SMALL, "--picture=none/p.png", expect="none/p.png: cannot be written: No such file")

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
            (idx_files.array((2, 3, 12), bytes(72)), "images are 3 by 12, expected 4 by 4 to 256 by 256"),
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

    def test_checkpoints_that_cannot_be_resumed(self) -> None:
        options = small("--epochs=1", "--checkpoint=c")
        self.wrong(*options, "--resume", expect="c: ")
        self.run_ok(*options)
        self.wrong(*options, expect="c: is there already: --resume goes on from it")
        for change, expect in (
            ("--width=0.25", "conv"),
            ("--dtype=bf16", "c: "),
            ("--classes=5", "head."),
            ("--batch=8", "c: was made with --batch 16, and cannot be resumed with 8"),
            ("--epochs=2", "c: was made with --epochs 1, and cannot be resumed with 2"),
            ("--seed=2", "c: was made with --seed 1, and cannot be resumed with 2"),
            ("--items=100", "c: was made with --data 192 items, checksum "),
        ):
            self.wrong(*small("--epochs=1", "--checkpoint=c", "--resume", change), expect=expect)
        whole = self.read("c")
        with open(self.path("c"), "wb") as file:
            file.write(whole[:-1])
        self.wrong(*options, "--resume", expect="c: ")
        self.run_ok(*small("--epochs=1", "--checkpoint=d"))
        self.assertEqual(self.read("d"), whole)
        header = json.loads(whole[8 : 8 + struct.unpack("<Q", whole[:8])[0]])
        self.assertIn("model.deform3.conv_offset.weight", header)

    def test_a_full_disk_keeps_the_checkpoint(self) -> None:
        options = small("--epochs=40", "--checkpoint=c.safetensors")
        self.interrupted(*options)
        before, files = self.read("c.safetensors"), sorted(os.listdir(self.folder))
        self.assertGreater(len(before), 50000)
        result = self.call(*options, "--resume", preexec_fn=limit_files)
        self.assertEqual(result.returncode, 2)
        # The line of each epoch, and the last one, which is the error; what was learned is told nonetheless.
        self.assertEqual(len(set(result.stderr.splitlines())), 1)
        self.assertEqual(result.stderr.count("\n"), len(self.epochs(result.stdout)))
        self.assertRegex(result.stderr, r"^portops_train: .*c\.safetensors.*: File too large\n")
        self.assertEqual(self.result(result.stdout), 100)
        self.assertEqual(self.read("c.safetensors"), before)
        self.assertEqual(sorted(set(os.listdir(self.folder)) - {"mistakes.png"}), files)

    def test_a_loss_that_is_no_number(self) -> None:
        options = small("--epochs=30", "--dtype=f16", "--learning-rate=1000")
        result = self.wrong(*options, expect="a loss is NaN or Inf ")
        self.assertNotIn("result", result.stdout)


if __name__ == "__main__":
    unittest.main()
