# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of portops_train share: calls in a folder of their own, on images made up here. The environment variable PORTOPS_TRAIN
names the program."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import time
import unittest

import idx_files
from left_out import skip_if_left_out

PROGRAM = os.environ["PORTOPS_TRAIN"]
SMALL = ("--data=images", "--classes=4", "--width=0.125", "--batch=16", "--epochs=3", "--learning-rate=0.01")


def small(*changes: str) -> list[str]:
    """SMALL, with other values for the options that are named, and more of them."""
    return list({option.partition("=")[0]: option for option in (*SMALL, *changes)}.values())


class TrainProgramTest(unittest.TestCase):
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

    def wrong(self, *arguments: str, expect: str, **options) -> subprocess.CompletedProcess[str]:
        before = sorted(os.listdir(self.folder))
        result = self.call(*arguments, **options)
        self.assertEqual(result.returncode, 2, result)
        self.assertRegex(result.stderr, r"^portops_train: [^\n]+\n$")
        self.assertIn(expect, result.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), before)
        return result
