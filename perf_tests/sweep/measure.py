# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs portops_perf and the peers, piece by piece, so that a sweep can stop and go on."""
from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

from . import results

SUFFIX = re.compile(r"/iterations:\d+/manual_time$")
# Of a process: short enough that little is lost with it.
CASES_AT_ONCE = 16
COUNTERS = ("bytes_per_second", "flops_per_second", "of_copy", "of_floor")
# What begins the names of rows that are no operator's.
NO_OPERATORS = {"autograd", "ceiling", "graph", "launch"}
# What is measured with 1, 2, 4, … threads.
SCALING = re.compile(r"openmp/(ceiling/copy|lerp/f32/4x16x1024x1024|lerp_grad_xy/f32/4x16x1024x1024|"
                     r"p_norm(_grad)?/f32/300x250x250/axis:-1/p:2|deform_conv2d(_grad)?/(seed|res4)/f32)")


class Failed(Exception):
    """A program that did not run as it should."""


class TimedOut(Exception):
    """A program that took longer than it was given."""


@dataclasses.dataclass(frozen=True)
class Piece:
    """What one process measures: rows of portops_perf, or an operator beside PyTorch on a device."""
    name: str
    cases: tuple[str, ...] = ()  # with Google Benchmark's suffixes
    threads: int | None = None
    operator: str | None = None
    device: str | None = None

    def rows(self) -> list[str]:
        """The names of the rows it brings."""
        return [row_name(case, self.threads) for case in self.cases]


def row_name(case: str, threads: int | None) -> str:
    return SUFFIX.sub("", case) + (f"@threads:{threads}" if threads else "")


def run(command: list[str], timeout: float | None, threads: int | None = None) -> str:
    environment = dict(os.environ)
    if threads:
        environment["OMP_NUM_THREADS"] = str(threads)
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout, check=False)
    except OSError as error:
        raise Failed(f"{command[0]} cannot be run: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise TimedOut from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise Failed(f"{pathlib.Path(command[0]).name} ended with {done.returncode}: {said[-1] if said else 'no message'}")
    return done.stdout


def list_cases(program: list[str], pattern: str) -> list[str]:
    return run([*program, "--benchmark_list_tests=true", f"--benchmark_filter={pattern}"], timeout=300).split()


def context_of(program: list[str]) -> dict:
    """What the program says of itself, from a row that takes no time."""
    first = run([*program, "--benchmark_filter=launch/host", "--benchmark_format=json"], timeout=300)
    return json.loads(first)["context"]


def thread_counts(cores: int) -> list[int]:
    counts = [1]
    while 2 * counts[-1] < cores:
        counts.append(2 * counts[-1])
    return counts + [cores] if cores > counts[-1] else counts


def plan(cases: list[str], cores: int, with_scaling: bool, peer_devices: list[str]) -> list[Piece]:
    """All pieces of a sweep, ceilings first. Of the peers the operators that the cases are of, each with its gradient."""
    groups: dict[tuple, list[str]] = {}
    for case in cases:
        parts = results.parts_of(row_name(case, None))
        groups.setdefault((parts["operator"] != "ceiling", parts["backend"], parts["operator"], parts["type"]), []).append(case)
    pieces = []
    for key in sorted(groups, key=lambda k: (k[0], k[1], k[2], k[3] or "")):
        listed = groups[key]
        for at in range(0, len(listed), CASES_AT_ONCE):
            pieces.append(Piece(" ".join(k for k in key[1:] if k), tuple(listed[at:at + CASES_AT_ONCE])))
    scaling = tuple(case for case in cases if SCALING.fullmatch(row_name(case, None)))
    if with_scaling and scaling:
        pieces += [Piece(f"openmp with {count} threads", scaling, threads=count) for count in thread_counts(cores)]
    operators = sorted({re.sub(r"_grad(_[a-z]+)?$", "", key[2]) for key in groups} - NO_OPERATORS)
    return pieces + [Piece(f"PyTorch {device} {operator}", operator=operator, device=device)
                     for device in peer_devices for operator in operators]


def escaped(case: str) -> str:
    return re.sub(r"([.+*?^$()\[\]{}|\\])", r"\\\1", case)


def rows_of(output: dict, threads: int | None) -> dict[str, dict]:
    """The rows by name: the seconds of every repetition, and the counters' medians."""
    rows: dict[str, dict] = {}
    for run_of_case in output["benchmarks"]:
        if run_of_case.get("run_type") == "aggregate":
            continue
        name = row_name(run_of_case["run_name"], threads)
        row = rows.setdefault(name, {"seconds": []})
        if run_of_case.get("error_occurred"):
            row["error"] = run_of_case.get("error_message", "failed")
            continue
        row["seconds"].append(run_of_case["real_time"] * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}[run_of_case["time_unit"]])
        for counter in COUNTERS:
            if counter in run_of_case:
                row.setdefault(counter, []).append(run_of_case[counter])
    for row in rows.values():
        for counter in COUNTERS:
            if counter in row:
                row[counter] = statistics.median_high(row[counter])
    return rows


def measure_cases(program: list[str], piece: Piece, repetitions: int, timeout: float | None) -> dict[str, dict]:
    pattern = "^(" + "|".join(escaped(case) for case in piece.cases) + ")$"
    output = run([*program, f"--benchmark_filter={pattern}", f"--benchmark_repetitions={repetitions}",
                  "--benchmark_format=json"], timeout, piece.threads)
    return rows_of(json.loads(output), piece.threads)


def missing_peers() -> str | None:
    """Why PyTorch cannot be run beside portops, if it cannot."""
    missing = [name for name in ("torch", "torchvision") if importlib.util.find_spec(name) is None]
    return f"{' and '.join(missing)}: not installed for {sys.executable}" if missing else None


def measure_peers(script: str, bridge: str, piece: Piece, timeout: float | None) -> dict[str, dict]:
    """PyTorch's rows of an operator and its gradient, by device and case: microseconds of portops, of the floor and of each peer."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "rows.json"
        try:
            run([sys.executable, script, "--bridge", bridge, "--device", piece.device,
                 "--filter", f"^{piece.operator}(_grad)? ", "--compiled", "--json", str(path)], timeout)
        except Failed:
            # Single rows may fail and say so; without any the script itself did.
            if not path.exists():
                raise
        listed = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return {f"{piece.device}/{row['case']}": row for row in listed}
