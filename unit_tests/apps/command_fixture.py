# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of the portops command share. The environment variable PORTOPS_COMMAND names the command."""

from __future__ import annotations

import os
import subprocess
import tempfile
import unittest

import npy_files
from left_out import skip_if_left_out

COMMAND = os.environ["PORTOPS_COMMAND"]


def call_any(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, timeout=300, check=False, **options)


def call(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    return skip_if_left_out(call_any(*arguments, **options))


def need(operator: str) -> None:
    """Skips the test where the build lacks the operator."""
    call("info", operator)


def told(what: str) -> list[str]:
    """What `portops info` tells of the build in the line that begins so."""
    for line in call("info").stdout.splitlines():
        if line.startswith(what):
            return line.removeprefix(what).strip().split(", ")
    return []


def backends() -> list[str]:
    return told("backends")


class CommandTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="portops_test_")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def write(self, name: str, shape: tuple[int, ...], values: list[float], **options) -> None:
        npy_files.write(self.path(name), shape, values, **options)

    def write_pair(self, descr: str = "<f4") -> None:
        self.write("x.npy", (2, 3), [0, 1, 2, 3, 4, 5], descr=descr)
        self.write("y.npy", (3,), [10, 20, 30], descr=descr)

    def run_ok(self, *arguments: str) -> None:
        result = call("run", *arguments, cwd=self.folder)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def run_wrong(self, *arguments: str, expect: tuple[str, ...] | list[str] = (), **options) -> None:
        """The call exits 2 with one line, and changes nothing in the folder."""
        before = self.contents()
        result = call(*arguments, cwd=self.folder, **options)
        self.assertEqual(result.returncode, 2, result)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertTrue(result.stderr.startswith("portops: ") and result.stderr.endswith("\n"), result.stderr)
        for text in expect:
            self.assertIn(text, result.stderr)
        self.assertEqual(self.contents(), before)

    def contents(self) -> dict[str, bytes]:
        contents = {}
        for name in os.listdir(self.folder):
            with open(self.path(name), "rb") as file:
                contents[name] = file.read()
        return contents
