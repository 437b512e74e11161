#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of perf_tests/write_tables.py, and that every table of the pages is one that it fills."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = PROJECT / "perf_tests" / "write_tables.py"
END = "<!-- end of table -->\n"
FRONT = f"# Performance\n<!-- device -->\n{END}<!-- summary -->\nold\n{END}<!-- behind -->\n{END}<!-- random -->\n{END}"
LERP = f"# Performance of lerp\nBefore.\n<!-- table: ^lerp -->\n| old |\n{END}After.\n"
NORM = f"# Performance of norms\n<!-- table: ^p_norm -->\n{END}"


def row(case: str, portops: float, **peers: float) -> dict:
    return {"case": case, "floor_us": 8.0, "portops_us": portops, **{f"{name}_us": us for name, us in peers.items()}}


ROWS = [row("lerp f32 [7] y", 10.0, eager=20.0, compiled=15.0), row("lerp f16 [7] y", 16.0, eager=12.0),
        row("p_norm f32 [9]", 8.0, conv=3.0)]


class WriteTablesTest(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.docs = pathlib.Path(temporary.name)
        (self.docs / "performance").mkdir()
        self.pages = {"performance.md": FRONT, "performance/lerp.md": LERP, "performance/norms.md": NORM}
        for path, text in self.pages.items():
            (self.docs / path).write_text(text, encoding="utf-8")

    def write(self, *files: list[dict], devices: tuple[str, ...] = ("GPU", "GPU"),
              seeds: tuple[str | None, ...] = (None, None)) -> tuple[int, str]:
        paths = []
        for rows, device, seed in zip(files, devices, seeds):
            paths.append(self.docs / f"{len(paths)}.json")
            paths[-1].write_text(json.dumps({"device_name": device, "copy_bytes_per_second": 3e12, "torch": "2.11.0+cu130",
                                             "random": seed, "rows": rows}), encoding="utf-8")
        done = subprocess.run([sys.executable, "-B", PROGRAM, *paths, "--docs", self.docs], capture_output=True, text=True,
                              timeout=60, check=False)
        return done.returncode, done.stderr

    def text(self, path: str) -> str:
        return (self.docs / path).read_text(encoding="utf-8")

    def test_fills_tables_and_nothing_else(self) -> None:
        self.assertEqual(self.write(ROWS), (0, ""))
        self.assertEqual(self.text("performance/lerp.md"),
                         "# Performance of lerp\nBefore.\n<!-- table: ^lerp -->\n| case | f32 | f16 |\n| --- | ---: | ---: |\n"
                         f"| lerp [7] y | 10.0 · 80% · 1.50 | 16.0 · 50% · 0.75 |\n{END}After.\n")
        self.assertIn("| p_norm [9] | 8.0 · 100% · — |", self.text("performance/norms.md"))

    def test_says_what_is_behind_a_peer(self) -> None:
        self.write(ROWS)
        front = self.text("performance.md")
        self.assertIn("GPU, copy 3000 GB/s, PyTorch 2.11.0.\n", front)
        self.assertIn("| [Lerp](performance/lerp.md) | 2 | 65% | 1.12 | 1 | 0.75 |", front)
        self.assertIn("| [Norms](performance/norms.md) | 1 | 100% | — | 0 | — |", front)
        self.assertIn("| lerp f16 [7] y | 16.0 | 50% | eager | 0.75 |", front)
        self.assertNotIn("| lerp f32 [7] y | 10.0", front)

    def test_a_second_run_changes_nothing(self) -> None:
        self.write(ROWS)
        once = [self.text(path) for path in self.pages]
        self.write(ROWS)
        self.assertEqual([self.text(path) for path in self.pages], once)

    def test_the_last_file_counts(self) -> None:
        self.write(ROWS, [row("lerp f16 [7] y", 4.0, eager=12.0)])
        self.assertIn("4.0 · 200% · 3.00", self.text("performance/lerp.md"))

    def test_tables_of_other_runs_stay(self) -> None:
        self.write(ROWS)
        before = self.text("performance/norms.md")
        self.assertEqual(self.write([row("lerp f16 [7] y", 4.0, eager=12.0)]), (0, ""))
        self.assertEqual(self.text("performance/norms.md"), before)
        self.assertNotIn("Norms", self.text("performance.md"))

    def test_random_cases_are_apart(self) -> None:
        self.assertEqual(self.write(ROWS, [row("trace f16 [5]", 2.0, eager=1.0), row("trace f32 [6]", 2.0, eager=6.0)],
                                    seeds=(None, "7")), (0, ""))
        self.assertIn("| trace | 2 | 400% | 1.75 | 1 | 0.50 |", self.text("performance.md"))
        self.assertNotIn("| trace f16 [5] |", self.text("performance.md"))

    def assert_refused(self, said: str, *files: list[dict], devices: tuple[str, ...] = ("GPU", "GPU")) -> None:
        code, message = self.write(*files, devices=devices)
        self.assertEqual(code, 1)
        self.assertIn(said, message)
        self.assertEqual({path: self.text(path) for path in self.pages}, self.pages)

    def test_refuses_what_does_not_fit(self) -> None:
        self.assert_refused("1 cases are in no table: trace f32 [3]", [*ROWS, row("trace f32 [3]", 1.0)])
        self.assert_refused("one device expected", ROWS, ROWS, devices=("GPU", "another"))
        self.assert_refused("p_norm f32 [9] failed: wrong", [*ROWS[:2], {"case": "p_norm f32 [9]", "error": "wrong"}])
        self.assert_refused("is not what compare_with_pytorch.py writes", [{"floor_us": 1}])
        twice = LERP.replace("^lerp", "^p_norm")
        (self.docs / "performance/lerp.md").write_text(twice, encoding="utf-8")
        self.pages["performance/lerp.md"] = twice
        self.assert_refused("p_norm f32 [9] is in", ROWS[2:])


class PagesTest(unittest.TestCase):
    def test_tables_are_closed(self) -> None:
        for path in [PROJECT / "docs/performance.md", *sorted((PROJECT / "docs/performance").glob("*.md"))]:
            comments = re.findall(r"<!-- (table: |summary|behind|random|device|end of table)", path.read_text(encoding="utf-8"))
            self.assertEqual(["end of table" if k % 2 else comment for k, comment in enumerate(comments)], comments, path)
            self.assertEqual(comments.count("end of table") * 2, len(comments), path)


if __name__ == "__main__":
    unittest.main()
