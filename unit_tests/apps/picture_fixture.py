# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of the programs that work on pictures share: calls in a folder of their own, and light."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import tempfile
import unittest

from left_out import skip_if_left_out


def light_of(level: int) -> float:
    value = level / 255
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def level_of(light: float) -> float:
    value = 12.92 * light if light <= 0.0031308 else 1.055 * light ** (1 / 2.4) - 0.055
    return 255 * min(max(value, 0.0), 1.0)


LIGHT = [light_of(level) for level in range(256)]


def limit_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))


class PictureProgramTest(unittest.TestCase):
    program = ""  # its file

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="portops_test_")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def call(self, *arguments: str, **options) -> subprocess.CompletedProcess[str]:
        result = subprocess.run(
            [self.program, *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            **options,
        )
        return skip_if_left_out(result)

    def run_ok(self, *arguments: str) -> str:
        result = self.call(*arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def wrong(self, *arguments: str, expect: str, **options) -> None:
        """The call exits 2 with one line, and leaves no file in the folder."""
        before = sorted(os.listdir(self.folder))
        result = self.call(*arguments, **options)
        self.assertEqual(result.returncode, 2, result)
        self.assertRegex(result.stderr, rf"^{re.escape(os.path.basename(self.program))}: [^\n]+\n$")
        self.assertIn(expect, result.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), before)
