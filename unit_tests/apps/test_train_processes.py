# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs portops_train by several processes, with the launcher that the environment variable PORTOPS_MPIEXEC names."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
import unittest

import idx_files
from left_out import is_sanitized, skip_if_left_out, skip_where_sanitized

PROGRAM = os.environ["PORTOPS_TRAIN"]
LAUNCHER = os.environ.get("PORTOPS_MPIEXEC", "")
SMALL = ("--data=images", "--classes=4", "--width=0.125", "--batch=16", "--learning-rate=0.01", "--deterministic")
# More processes than processors, as root, in a container: for Open MPI to allow.
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
    "OMP_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "passive",
    # Under sanitizers: the engines leave memory behind.
    "ASAN_OPTIONS": "allocator_may_return_null=1:detect_leaks=0",
}


def numbers_of_epochs(output: str) -> list[list[float]]:
    """Of each epoch its number, and loss and accuracy, as it was learned and on the test images."""
    rows = re.findall(r"^ +(\d+) +(\S+) +(\S+) % +(\S+) +(\S+) %", output, re.MULTILINE)
    return [[float(number) for number in row] for row in rows]


@unittest.skipUnless(os.path.exists(LAUNCHER), "portops was built without MPI")
class ProcessesTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="portops_test_")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        idx_files.write_folder(os.path.join(self.folder, "images"))

    def call(self, processes: int, *arguments: str) -> subprocess.CompletedProcess[str]:
        launcher = [LAUNCHER, "-n", str(processes)] if processes > 0 else []
        return self.run_command(*launcher, PROGRAM, *SMALL, *arguments)

    def run_command(self, *command: str) -> subprocess.CompletedProcess[str]:
        result = subprocess.run(
            command,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            env=os.environ | ENVIRONMENT,
        )
        return skip_if_left_out(result)

    def train(self, processes: int, checkpoint: str, *arguments: str) -> str:
        result = self.call(processes, f"--checkpoint={checkpoint}", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        # Times aside, and what a launcher that looks like a terminal is shown between.
        output = re.sub(r"\n\x1b\[K[^\n]* to go", "", result.stdout[result.stdout.index("\nepoch") :])
        output = re.sub(r"\n?\x1b\[K", "", output)
        return re.sub(r"\S+ s$", "", output, flags=re.MULTILINE)

    def read(self, name: str) -> bytes:
        with open(os.path.join(self.folder, name), "rb") as file:
            return file.read()

    def test_any_number_of_processes_comes_to_the_same_bits(self) -> None:
        options = ("--epochs=2", "--micro-batches=4")
        expected = self.train(0, "alone", *options)
        for processes in (2,) if is_sanitized() else (2, 4):
            self.assertEqual(self.train(processes, f"by-{processes}", *options), expected)
            self.assertEqual(self.read(f"by-{processes}"), self.read("alone"))

    def test_one_process_is_the_program_without_a_launcher(self) -> None:
        skip_where_sanitized()
        self.assertEqual(self.train(1, "launched", "--epochs=1"), self.train(0, "alone", "--epochs=1"))
        self.assertEqual(self.read("launched"), self.read("alone"))

    def test_another_number_of_processes_goes_on_from_a_checkpoint(self) -> None:
        skip_where_sanitized()
        options = ("--epochs=2", "--micro-batches=3")
        self.train(2, "whole", *options)
        self.train(3, "parts", *options)
        self.assertEqual(self.read("parts"), self.read("whole"))
        # What is there already is all that is asked for.
        output = self.call(1, "--checkpoint=whole", "--resume", *options).stdout
        self.assertIn("resumed  whole, after epoch 2 of 2", output)

    def test_micro_batches_are_those_of_the_checkpoint(self) -> None:
        skip_where_sanitized()
        self.train(4, "c", "--epochs=1")
        result = self.call(2, "--checkpoint=c", "--resume", "--epochs=1")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("resumed  c, after epoch 1 of 1", result.stdout)
        self.train(0, "of-one", "--epochs=1")
        result = self.call(2, "--checkpoint=of-one", "--resume", "--epochs=1")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(
            "--micro-batches of the checkpoint is 1, expected one for each of 2 processes", result.stderr + result.stdout
        )

    def test_gzipped_images_come_to_the_same_bits(self) -> None:
        skip_where_sanitized()
        idx_files.write_folder(os.path.join(self.folder, "packed"), ending=".gz")
        self.train(2, "plain", "--epochs=2")
        packed = tuple(option.replace("--data=images", "--data=packed") for option in SMALL)
        result = self.run_command(LAUNCHER, "-n", "2", PROGRAM, *packed, "--epochs=2", "--checkpoint=packed-c")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.read("packed-c"), self.read("plain"))

    # --- whole batches are normalised ----------------------------------------------------------------------

    def test_whole_batches_are_the_same_but_for_rounding(self) -> None:
        skip_where_sanitized()
        # In the end a batch of a single image, of which three processes have nothing.
        idx_files.write_folder(os.path.join(self.folder, "images"), train=193)
        options = ("--epochs=2", "--dtype=f64", "--synchronise-batch-norm")
        expected = self.train(0, "alone", *options)
        self.assertEqual(self.train(0, "plain", *options[:2]), expected)
        for processes in (2, 3, 4):
            found = self.train(processes, f"by-{processes}", *options)
            self.assertEqual(len(numbers_of_epochs(found)), 2)
            for line, expected_line in zip(numbers_of_epochs(found), numbers_of_epochs(expected)):
                for number, expected_number in zip(line, expected_line):
                    self.assertAlmostEqual(number, expected_number, delta=2e-4)  # what is printed has four digits
        self.train(4, "again", *options)
        self.assertEqual(self.read("again"), self.read("by-4"))

    def test_whole_batches_in_every_type(self) -> None:
        skip_where_sanitized()
        idx_files.write_folder(os.path.join(self.folder, "images"), train=49)
        for dtype in ("f32", "f16", "bf16"):
            with self.subTest(dtype):
                output = self.train(4, dtype, "--epochs=1", f"--dtype={dtype}", "--synchronise-batch-norm")
                self.assertLess(numbers_of_epochs(output)[0][1], 2)

    def test_whole_batches_belong_to_no_number_of_processes(self) -> None:
        self.train(2, "c", "--epochs=1", "--synchronise-batch-norm")
        result = self.call(3, "--checkpoint=c", "--resume", "--epochs=1", "--synchronise-batch-norm")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("resumed  c, after epoch 1 of 1", result.stdout)
        for processes, options, expect in (
            (2, ("--checkpoint=c", "--resume"), "was made with --micro-batches one each, --synchronise-batch-norm, and cannot be resumed with 2"),
            (2, ("--synchronise-batch-norm", "--micro-batches=4"), "--micro-batches is 4, expected one for each of 2 processes"),
        ):
            result = self.call(processes, "--epochs=1", *options)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(expect, result.stderr + result.stdout)

    # --- what is done when ---------------------------------------------------------------------------------

    def test_timeline(self) -> None:
        self.train(2, "c", "--epochs=1", "--micro-batches=4", "--bucket-bytes=5000", "--timeline=t.json")
        trace = json.loads(self.read("t.json"))["traceEvents"]
        names = {event["args"]["name"] for event in trace if event["name"] == "process_name"}
        self.assertEqual(names, {"process 0", "process 1"})
        for process in (0, 1):
            events = [event for event in trace if event["pid"] == process and event["ph"] == "X"]
            for step in range(1, 13):
                of_step = [event for event in events if event["args"]["step"] == step]
                calls = sorted((event for event in of_step if event["tid"] == 0), key=lambda event: event["ts"])
                # Each process has two micro-batches.
                self.assertEqual([event["name"] for event in calls], 2 * ["forward", "backward"] + ["sum", "update"])
                for event, following in zip(calls, calls[1:]):
                    self.assertLessEqual(event["ts"] + event["dur"], following["ts"] + 0.002)
                buckets = [event for event in of_step if event["name"] == "bucket"]
                self.assertGreater(len(buckets), 2)
                self.assertEqual(sorted(event["tid"] for event in buckets), list(range(1, len(buckets) + 1)))
                last_backward, waiting = calls[3], calls[4]
                first = min(buckets, key=lambda event: event["tid"])
                # While the pass goes on, the first one is sent; all are there when the waiting ends.
                self.assertGreater(first["ts"], last_backward["ts"])
                self.assertLess(first["ts"], last_backward["ts"] + last_backward["dur"])
                for event in buckets:
                    self.assertGreater(event["args"]["bytes"], 0)
                    self.assertLessEqual(event["ts"] + event["dur"], waiting["ts"] + waiting["dur"] + 0.002)

    # --- what goes wrong -----------------------------------------------------------------------------------

    def test_processes_that_were_called_differently(self) -> None:
        idx_files.write_folder(os.path.join(self.folder, "others"), train=100)
        self.train(2, "c", "--epochs=1")
        with_seed = lambda seed: (*SMALL, "--epochs=1", f"--seed={seed}")
        with_batch = tuple(option.replace("--batch=16", "--batch=8") for option in SMALL)
        with_data = tuple(option.replace("--data=images", "--data=others") for option in SMALL)
        resumed = (*SMALL, "--epochs=1", "--checkpoint=c", "--resume")
        begun = (*SMALL, "--epochs=1", "--checkpoint=other")
        for first, second, expect in (
            (with_seed(1), with_seed(2), r"--seed 2 i64 \[0\], process 0 has --seed 1 "),
            (SMALL, (*SMALL, "--timeline=t"), r"--timeline i64 \[0\], process 0 has no --timeline "),
            (SMALL, (*SMALL, "--synchronise-batch-norm"), r"--micro-batches one each, --synchronise-batch-norm i64 \[0\], process 0 has --micro-batches 2 "),
            (SMALL, with_batch, r"--batch 8 i64 \[0\], process 0 has --batch 16 "),
            (SMALL, with_data, r"--data 100 items, checksum \d+ i64 \[0\], process 0 has --data 192 items, "),
            (resumed, begun, r"step 0 i64 \[0\], process 0 has step 12 "),
        ):
            with self.subTest(expect):
                result = self.run_command(
                    *(LAUNCHER, "-n", "1", PROGRAM, *first), *(":", "-n", "1", PROGRAM, *second)
                )
                self.assertNotEqual(result.returncode, 0)
                self.assertRegex(result.stderr + result.stdout, "process 1 of 2 has " + expect)

    def test_errors_end_the_job_and_name_a_process(self) -> None:
        result = self.call(2, "--micro-batches=1")
        self.assertNotEqual(result.returncode, 0)
        self.assertRegex(
            result.stderr + result.stdout,
            r"portops: process [01] of 2 \([^)]*\): --micro-batches is 1, expected one for each of 2 processes or more",
        )


if __name__ == "__main__":
    unittest.main()
