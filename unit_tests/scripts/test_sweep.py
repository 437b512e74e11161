#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of scripts/sweep: with a program in place of portops_perf that says recorded times, and of what is made of them."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "perf_tests"))
sys.dont_write_bytecode = True

from sweep import measure, results, statistics  # noqa: E402

# Microseconds of each case; the rows that a sweep of a build with OpenMP alone might have.
TIMES = {
    "openmp/ceiling/copy": 100.0,
    "openmp/ceiling/copy/size:1000": 2.0,
    "openmp/ceiling/copy/size:10000000": 100000.0,
    "openmp/ceiling/gemm/f32": 500.0,
    "openmp/launch/host": 2.0,
    "openmp/lerp/f32/4x16x1024x1024": 900.0,
    "openmp/lerp/f32/size:1000": 3.0,
    "openmp/lerp/f32/size:100000": 40.0,
    "openmp/lerp/f32/size:10000000": 4000.0,
    "openmp/deform_conv2d/seed/f32": 20000.0,
    "openmp/lerp/f32/a/w:0.3": 50.0,
    "openmp/lerp/f32/a/w:0.3/peer:kokkos_kernels": 75.0,
    "openmp/p_norm/f16/too_large": 0.0,
}
SUFFIX = "/iterations:20/manual_time"

PROGRAM = f"""#!{sys.executable}
import json, os, re, sys
times = json.load(open(os.path.dirname(__file__) + "/times.json"))
options = dict(a.lstrip("-").split("=", 1) for a in sys.argv[1:])
with open(os.path.dirname(__file__) + "/calls", "a") as calls:
    calls.write(" ".join(sys.argv[1:]) + "\\n")
chosen = [n for n in times if re.search(options.get("benchmark_filter", "."), n + "{SUFFIX}")]
if options.get("benchmark_list_tests") == "true":
    print("\\n".join(n + "{SUFFIX}" for n in chosen))
    sys.exit()
if any("p_norm" in n for n in chosen) and os.path.exists(os.path.dirname(__file__) + "/broken"):
    sys.exit("it broke")
threads = int(os.environ.get("OMP_NUM_THREADS", "1"))
rows = []
for n in chosen:
    for k in range(int(options.get("benchmark_repetitions", "1"))):
        row = dict(run_name=n + "{SUFFIX}", run_type="iteration", real_time=times[n] * (1 + 0.001 * k) / threads, time_unit="us")
        if times[n] == 0:
            row.update(error_occurred=True, error_message="no memory")
        elif "host" not in n:
            row.update(bytes_per_second=1e9 * (1 + k), of_copy=0.5)
            if "gemm" in n or "conv" in n:
                row.update(flops_per_second=1e12, of_floor=0.25)
        rows.append(row)
print(json.dumps(dict(context=dict(portops="1.0", compiler="14", kokkos="a Kokkos"), benchmarks=rows)))
"""


class SweepTest(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.programs = self.folder / "build" / "perf_tests"
        self.programs.mkdir(parents=True)
        self.file = self.folder / "sweep.json"
        self.set_times(TIMES)
        program = self.programs / "portops_perf"
        program.write_text(PROGRAM, encoding="utf-8")
        program.chmod(0o755)

    def set_times(self, times: dict[str, float]) -> None:
        (self.programs / "times.json").write_text(json.dumps(times), encoding="utf-8")

    def sweep(self, *arguments: object) -> tuple[int, str, str]:
        run = subprocess.run([sys.executable, PROJECT / "scripts" / "sweep", *map(str, arguments)], capture_output=True,
                             text=True, timeout=300, check=False)
        return run.returncode, run.stdout, " ".join(run.stderr.split())

    def measure(self, *options: object, file: pathlib.Path | None = None) -> dict:
        code, _, said = self.sweep("run", "--build", self.folder / "build", "--output", file or self.file, "--no-peers",
                                   "--repetitions", 3, *options)
        self.assertEqual(code, 0, said)
        return results.load(file or self.file)

    def calls(self) -> list[str]:
        """Those of the program that measured rows."""
        lines = (self.programs / "calls").read_text(encoding="utf-8").splitlines()
        return [line for line in lines if "repetitions" in line]


class RunTest(SweepTest):
    def test_measures_every_row(self) -> None:
        sweep = self.measure("--no-scaling")
        self.assertEqual(set(sweep["rows"]), set(TIMES))
        self.assertEqual(sweep["rows"]["openmp/lerp/f32/size:1000"]["of_copy"], 0.5)
        self.assertEqual(sweep["rows"]["openmp/lerp/f32/size:1000"]["bytes_per_second"], 2e9)
        for time, expected in zip(sweep["rows"]["openmp/launch/host"]["seconds"], (2e-6, 2.002e-6, 2.004e-6)):
            self.assertAlmostEqual(time, expected, 12)
        self.assertEqual(sweep["rows"]["openmp/p_norm/f16/too_large"], {"seconds": [], "error": "no memory"})
        self.assertEqual(sweep["software"]["kokkos"], "a Kokkos")
        self.assertGreaterEqual(sweep["machine"]["cores"], 1)
        self.assertRegex(self.calls()[0], "ceiling")

    def test_measures_with_more_and_more_threads(self) -> None:
        sweep = self.measure("--filter", "openmp/lerp/f32/4x16")
        cores = sweep["machine"]["cores"]
        names = [f"openmp/lerp/f32/4x16x1024x1024@threads:{count}" for count in measure.thread_counts(cores)]
        self.assertEqual(set(sweep["rows"]), {"openmp/lerp/f32/4x16x1024x1024", *names})
        self.assertAlmostEqual(sweep["rows"][names[-1]]["seconds"][0], 900e-6 / cores)

    def test_goes_on(self) -> None:
        self.measure("--no-scaling", "--filter", "launch|ceiling")
        before = len(self.calls())
        self.assertEqual(set(self.measure("--no-scaling")["rows"]), set(TIMES))
        again = self.calls()[before:]
        self.assertFalse([call for call in again if "launch" in call or "ceiling" in call])
        self.measure("--no-scaling")
        self.assertEqual(len(self.calls()), before + len(again))

    def test_stops_when_the_budget_is_spent(self) -> None:
        code, _, said = self.sweep("run", "--build", self.folder / "build", "--output", self.file, "--no-peers", "--budget", 0)
        self.assertEqual(code, 0)
        self.assertIn("The budget is spent; the same command goes on", said)
        self.assertFalse(self.file.exists())

    def test_says_what_failed_and_goes_on(self) -> None:
        (self.programs / "broken").touch()
        sweep = self.measure("--no-scaling")
        self.assertEqual(set(sweep["rows"]), set(TIMES) - {"openmp/p_norm/f16/too_large"})
        self.assertEqual(sweep["missing"], {"openmp p_norm f16": "portops_perf ended with 1: it broke"})

    def test_refuses(self) -> None:
        def refused(message: str, *arguments: object) -> None:
            code, _, said = self.sweep(*arguments)
            self.assertEqual(code, 2, said)
            self.assertRegex(said, message)

        self.measure("--no-scaling", "--filter", "launch")
        refused("another repetitions: 3, now 7; name another file", "run", "--build", self.folder / "build", "--output",
                self.file, "--repetitions", 7)
        refused("portops_perf cannot be run: No such file", "run", "--build", self.folder)
        refused("0 is not positive", "run", "--build", self.folder / "build", "--repetitions", 0)
        refused("none.json cannot be read: No such file", "compare", self.file, self.folder / "none.json")
        (self.folder / "text").write_text("[1", encoding="utf-8")
        refused("text is not JSON", "report", self.folder / "text")
        (self.folder / "other").write_text("{}", encoding="utf-8")
        refused("other is no file of a sweep: its format is None, expected 1", "compare", self.file, self.folder / "other")

    def test_says_which_module_is_missing(self) -> None:
        (self.folder / "rich.py").write_text("raise ModuleNotFoundError(name='rich')", encoding="utf-8")
        run = subprocess.run([sys.executable, PROJECT / "scripts" / "sweep", "compare", "a", "b"], capture_output=True, text=True,
                             timeout=60, check=False, env={**os.environ, "PYTHONPATH": str(self.folder)})
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertIn("lacks the module rich; Debian has what is needed as", run.stderr)

    def test_plans_peers_of_the_operators_alone(self) -> None:
        cases = [f"openmp/{name}{SUFFIX}" for name in ("lerp_grad_xy/f32/a", "ceiling/copy", "lerp/f16/b", "pool2d_grad/c/f32")]
        pieces = measure.plan(cases, 4, False, ["cuda", "cpu"])
        self.assertEqual([piece.name for piece in pieces],
                         ["openmp ceiling", "openmp lerp f16", "openmp lerp_grad_xy f32", "openmp pool2d_grad f32",
                          "PyTorch cuda lerp", "PyTorch cuda pool2d", "PyTorch cpu lerp", "PyTorch cpu pool2d"])

    def test_counts_threads(self) -> None:
        self.assertEqual([measure.thread_counts(cores) for cores in (1, 2, 6, 16)], [[1], [1, 2], [1, 2, 4, 6], [1, 2, 4, 8, 16]])


class CompareTest(SweepTest):
    def compared(self, times: dict[str, float]) -> tuple[int, str]:
        self.measure("--no-scaling")
        self.set_times(times)
        self.measure("--no-scaling", file=self.folder / "new.json")
        code, said, _ = self.sweep("compare", self.file, self.folder / "new.json")
        return code, said

    def test_nothing_changed(self) -> None:
        code, said = self.compared(TIMES)
        self.assertEqual(code, 0)
        self.assertIn("12 rows in both: 0 slower, 0 faster by more than 3% with 95 % confidence", said)

    def test_something_got_slower(self) -> None:
        code, said = self.compared({**TIMES, "openmp/lerp/f32/size:1000": 3.5, "openmp/launch/host": 1.5})
        self.assertEqual(code, 1)
        self.assertRegex(said, r"size:1000 +3\.0 +3\.5 +1\.167 +1\.16\d to 1\.16\d +slower")
        self.assertRegex(said, r"launch/host +2\.0 +1\.5 +0\.750 .* faster")
        self.assertIn("1 slower, 1 faster", said)

    def test_faster_alone_is_no_failure(self) -> None:
        self.assertEqual(self.compared({**TIMES, "openmp/launch/host": 1.0})[0], 0)

    def test_ratios(self) -> None:
        old = [1.0, 1.01, 0.99, 1.0, 1.02]
        self.assertEqual(statistics.ratio_of_medians(old, [1.2 * time for time in old]).verdict(0.03), "slower")
        self.assertEqual(statistics.ratio_of_medians(old, [0.8 * time for time in old]).verdict(0.03), "faster")
        noisy = [0.6, 1.5, 1.1, 0.8, 1.7]
        ratio = statistics.ratio_of_medians(old, noisy)
        self.assertEqual(ratio.verdict(0.03), "same")
        self.assertAlmostEqual(ratio.value, 1.1)
        self.assertLess(ratio.low, 1.0)
        self.assertGreater(ratio.high, 1.1)


class ReportTest(SweepTest):
    def test_stands_alone(self) -> None:
        self.measure()
        self.set_times({**TIMES, "openmp/lerp/f32/size:100000": 60.0})
        sweep = self.measure("--no-scaling", file=self.folder / "new.json")
        sweep["peers"] = {
            "cpu/lerp a": {"case": "lerp a", "floor_us": 1.0, "portops_us": 2.0, "eager_us": 3.0},
            "cpu/lerp b": {"case": "lerp b", "floor_us": 1.0, "portops_us": 2.0, "eager_us": 1.0},
            "cpu/lerp c": {"case": "lerp c", "error": "differs from float64"},
        }
        sweep["missing"] = {"PyTorch <here>": "not installed"}
        results.save(sweep, self.folder / "new.json")
        code, _, said = self.sweep("report", self.file, self.folder / "new.json", "--output", self.folder / "report")
        self.assertEqual(code, 0, said)
        page = (self.folder / "report" / "index.html").read_text(encoding="utf-8")
        self.assertEqual(re.findall(r'(?:src|href)="[^#][^"]*"|<script|@import', page), [])
        pictures = ["bandwidth_lerp", "devices", "roofline_openmp_new", "roofline_openmp_sweep", "peers_cpu_new", "peers_cpu_eager_new",
                    "peers_openmp_new", "peers_openmp_sweep", "peers_openmp_kokkos_kernels_new",
                    "peers_openmp_kokkos_kernels_sweep", "changes_sweep_new",
                    "scaling_threads"]
        self.assertEqual(sorted(re.findall(r'<div id="([^"]*)">', page)), sorted(pictures))
        for picture in pictures:
            self.assertEqual((self.folder / "report" / f"{picture}.png").read_bytes()[:4], b"\x89PNG")
            self.assertTrue((self.folder / "report" / f"{picture}.svg").read_text(encoding="utf-8") in page, picture)
        for text in ("<td>openmp/lerp/f32/size:100000</td><td>40.0</td><td>60.1</td><td>1.5</td>", "<td>slower</td>",
                     "<td>lerp b</td><td>eager</td><td>0.5</td>", "differs from float64", "no memory",
                     "PyTorch &lt;here&gt;", "<td>openmp/deform_conv2d/seed/f32</td><td>20020.0</td><td>25%</td><td>100%</td>"):
            self.assertTrue(text in page, text)

    def test_of_little(self) -> None:
        self.measure("--no-scaling", "--filter", "launch")
        code, _, said = self.sweep("report", self.file, "--output", self.folder / "report")
        self.assertEqual(code, 0, said)
        self.assertTrue("2.00 µs" in (self.folder / "report" / "index.html").read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
