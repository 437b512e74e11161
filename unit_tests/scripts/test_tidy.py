#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of scripts/tidy.py: which sources are looked at again, beside a clang-tidy that finds the word 'bad'."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TIDY = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "tidy.py"
TOOLS = {
    "clang-tidy": '#!/bin/sh\nfor last; do :; done\necho "$last" >>looked_at\n! grep -n bad "$last"\n',
    "dpkg-query": "#!/bin/sh\ncat packages\n",
}
DEPS = """\
src/a.cpp.o: #deps 3, deps mtime 1 (VALID)
    ../src/a.cpp
    ../src/shared.hpp
    /usr/include/stdio.h

src/b.cpp.o: #deps 1, deps mtime 1 (VALID)
    ../src/b.cpp

"""


class TidyTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.project = pathlib.Path(folder.name).resolve()
        self.write("src/a.cpp", "a")
        self.write("src/b.cpp", "b")
        self.write("src/shared.hpp", "shared")
        self.write(".clang-tidy", "Checks")
        self.write("packages", "1")
        self.write("build/deps", DEPS)
        for name, text in TOOLS.items():
            self.write(f"tools/{name}", text).chmod(0o755)
        self.commands("-O2")

    def write(self, name: str, text: str) -> pathlib.Path:
        path = self.project / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    def commands(self, options: str) -> None:
        entries = [
            {"directory": "build", "command": f"c++ {options}", "file": f"{self.project}/src/{name}.cpp", "output": f"src/{name}.cpp.o"}
            for name in ("a", "b")
        ]
        self.write("build/compile_commands.json", json.dumps(entries))

    def run_tidy(self) -> tuple[int, list[str]]:
        """The exit code, and the sources that were looked at."""
        looked_at = self.write("looked_at", "")
        words = ["--build", "build", "--deps", "build/deps", "--known", "build/known", "--passed", "build/passed", "^src/"]
        path = f"{self.project / 'tools'}:{os.environ['PATH']}"
        result = subprocess.run([sys.executable, "-B", TIDY, *words], cwd=self.project, env={**os.environ, "PATH": path}, stdout=subprocess.PIPE)
        known, passed = self.project / "build/known", self.project / "build/passed"
        known.write_text((known.read_text() if known.exists() else "") + passed.read_text())
        return result.returncode, sorted(pathlib.Path(line).stem for line in looked_at.read_text().split())

    def test_what_is_unchanged_is_passed_over(self) -> None:
        self.assertEqual(self.run_tidy(), (0, ["a", "b"]))
        self.assertEqual(self.run_tidy(), (0, []))
        self.write("src/shared.hpp", "other")
        self.assertEqual(self.run_tidy(), (0, ["a"]))
        self.write("src/shared.hpp", "shared")  # as it was
        self.assertEqual(self.run_tidy(), (0, []))

    def test_what_is_common_counts_for_all(self) -> None:
        self.run_tidy()
        self.commands("-O3")
        self.assertEqual(self.run_tidy(), (0, ["a", "b"]))
        self.write(".clang-tidy", "Others")
        self.assertEqual(self.run_tidy(), (0, ["a", "b"]))
        self.write("packages", "2")
        self.assertEqual(self.run_tidy(), (0, ["a", "b"]))
        self.assertEqual(self.run_tidy(), (0, []))

    def test_findings_are_not_forgotten(self) -> None:
        self.write("src/b.cpp", "bad")
        self.assertEqual(self.run_tidy(), (1, ["a", "b"]))
        self.assertEqual(self.run_tidy(), (1, ["b"]))

    def test_sources_of_which_nothing_is_known_are_looked_at(self) -> None:
        self.write("build/deps", "")
        self.run_tidy()
        self.assertEqual(self.run_tidy(), (0, ["a", "b"]))


if __name__ == "__main__":
    unittest.main()
