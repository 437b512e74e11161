# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs portops_train on images made up here: its checkpoints, and what goes on from them."""

from __future__ import annotations

import json
import os
import resource
import struct
import unittest

from left_out import is_sanitized, skip_where_sanitized
from train_fixture import SMALL, TrainProgramTest, small


def limit_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (50000, 50000))  # enough for the picture


def divided(file: bytes) -> tuple[dict, bytes]:
    """The header of a file of tensors, and their elements."""
    length = struct.unpack("<Q", file[:8])[0]
    return json.loads(file[8 : 8 + length]), file[8 + length :]


def joined(header: dict, elements: bytes) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + elements


class CheckpointsTest(TrainProgramTest):
    def write(self, name: str, content: bytes) -> None:
        with open(self.path(name), "wb") as file:
            file.write(content)

    def test_resumed_training_ends_in_the_same_bits(self) -> None:
        skip_where_sanitized()
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

    def test_micro_batches_are_those_of_the_checkpoint(self) -> None:
        skip_where_sanitized()
        options = small("--epochs=1", "--checkpoint=c")
        self.run_ok(*options, "--micro-batches=2")
        self.assertIn("\nresumed  c, after epoch 1 of 1\n", self.run_ok(*options, "--resume"))
        header, elements = divided(self.read("c"))
        header["__metadata__"]["micro-batches"] = "17"
        self.write("c", joined(header, elements))
        self.wrong(*options, "--resume", expect="--micro-batches of the checkpoint is 17, expected one for each of 1 ")
        del header["__metadata__"]["micro-batches"]
        self.write("c", joined(header, elements))
        self.wrong(*options, "--resume", expect="c: was made with --micro-batches unknown, and cannot be resumed with 1")

    def test_files_are_those_of_safetensors(self) -> None:
        try:
            import safetensors
            import safetensors.numpy
        except ImportError:
            self.skipTest("Python lacks safetensors")
        self.run_ok(*small("--epochs=1", "--checkpoint=c", "--dtype=f16"))
        header, elements = divided(self.read("c"))
        found = safetensors.numpy.load_file(self.path("c"))
        metadata = header.pop("__metadata__")
        self.assertEqual(set(found), set(header))
        for name, its in header.items():
            with self.subTest(name):
                self.assertEqual(list(found[name].shape), its["shape"])
                self.assertEqual(found[name].tobytes(), elements[slice(*its["data_offsets"])])
        self.assertEqual(str(found["model.conv1.weight"].dtype), "float16")
        self.assertEqual(int(found["step"]), 12)
        with safetensors.safe_open(self.path("c"), framework="numpy") as file:
            self.assertEqual(file.metadata(), metadata)

    def test_batches_that_pytorch_has_counted_are_passed_over(self) -> None:
        skip_where_sanitized()
        options = small("--epochs=1", "--checkpoint=c")
        self.run_ok(*options)
        header, elements = divided(self.read("c"))
        counted = {"dtype": "I64", "shape": [], "data_offsets": [len(elements), len(elements) + 8]}
        for name, is_read in (("model.norm1.num_batches_tracked", True), ("norm1.num_batches_tracked", False)):
            with self.subTest(name):
                self.write("c", joined(header | {name: counted}, elements + bytes(8)))
                if is_read:
                    self.run_ok(*options, "--resume")
                else:
                    self.wrong(*options, "--resume", expect="nothing here has the names of 1: " + name)

    # --- what goes wrong -----------------------------------------------------------------------------------

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
            ("--math=tf32", "c: was made with --math ieee, and cannot be resumed with tf32"),
            ("--micro-batches=2", "c: was made with --micro-batches 1, and cannot be resumed with 2"),
        ):
            self.wrong(*small("--epochs=1", "--checkpoint=c", "--resume", change), expect=expect)
        whole = self.read("c")
        with open(self.path("c"), "wb") as file:
            file.write(whole[:-1])
        self.wrong(*options, "--resume", expect="c: ")
        for name in ("d", "e"):
            self.run_ok(*small("--epochs=1", f"--checkpoint={name}", "--deterministic"))
        self.assertEqual(self.read("d"), self.read("e"))
        self.assertIn("model.deform3.conv_offset.weight", divided(whole)[0])

    def test_steps_that_are_no_end_of_an_epoch(self) -> None:
        skip_where_sanitized()
        options = small("--epochs=2", "--checkpoint=c")
        self.run_ok(*options)
        header, elements = divided(self.read("c"))
        begin, end = header["step"]["data_offsets"]
        self.assertEqual(struct.unpack("<q", elements[begin:end]), (24,))
        for step in (-12, 6, 25, 36):
            self.write("c", joined(header, elements[:begin] + struct.pack("<q", step) + elements[end:]))
            expect = f"c: was made at step {step}, expected the end of an epoch: a multiple of 12, from 0 to 24"
            self.wrong(*options, "--resume", expect=expect)
        self.write("c", joined(header, elements[:begin] + struct.pack("<q", 12) + elements[end:]))
        self.assertIn("\nresumed  c, after epoch 1 of 2\n", self.run_ok(*options, "--resume"))

    def test_a_full_disk_keeps_the_checkpoint(self) -> None:
        options = small(f"--epochs={4 if is_sanitized() else 40}", "--checkpoint=c.safetensors")
        self.interrupted(*options)
        before, files = self.read("c.safetensors"), sorted(os.listdir(self.folder))
        self.assertGreater(len(before), 50000)
        result = self.call(*options, "--resume", preexec_fn=limit_files)
        self.assertEqual(result.returncode, 2)
        # The line of each epoch, and the last one, which is the error; what was learned is told nonetheless.
        self.assertEqual(len(set(result.stderr.splitlines())), 1)
        self.assertEqual(result.stderr.count("\n"), len(self.epochs(result.stdout)))
        self.assertRegex(result.stderr, r"^portops_train: .*c\.safetensors.*: File too large\n")
        if not is_sanitized():  # where it has not learned enough
            self.assertEqual(self.result(result.stdout), 100)
        self.assertEqual(self.read("c.safetensors"), before)
        self.assertEqual(sorted(set(os.listdir(self.folder)) - {"mistakes.png"}), files)


if __name__ == "__main__":
    unittest.main()
