#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times programs in ONNX files beside ONNX Runtime on the CPU, in turns, and compares what both compute.

    compare_with_onnxruntime.py --portops COMMAND [--threads N] [--rounds N] MODEL.onnx...

Inputs are random numbers. A time is that of the middle run, on the clock; of several rounds the least one counts. Needs numpy and onnxruntime."""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

import numpy as np
import onnxruntime

SECONDS = 2.0


def session_of(model: pathlib.Path, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def inputs_of(session: onnxruntime.InferenceSession) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    return {each.name: rng.uniform(-1, 1, each.shape).astype(np.float32) for each in session.get_inputs()}


def time_peer(session: onnxruntime.InferenceSession, inputs: dict[str, np.ndarray]) -> float:
    session.run(None, inputs)
    times, start = [], time.perf_counter()
    while len(times) < 3 or time.perf_counter() - start < SECONDS:
        begin = time.perf_counter()
        session.run(None, inputs)
        times.append(time.perf_counter() - begin)
    return 1e3 * statistics.median(times)


class Portops:
    def __init__(self, command: str, threads: int) -> None:
        self.command = command
        self.env = os.environ | {"OMP_NUM_THREADS": str(threads), "OMP_PROC_BIND": "spread", "OMP_PLACES": "threads"}

    def call(self, *arguments: str) -> str:
        return subprocess.run([self.command, "program", *arguments], env=self.env, check=True, text=True, stdout=subprocess.PIPE).stdout

    def time(self, model: pathlib.Path) -> float:
        return float(re.search(r"^time +(\S+) ms a run", self.call("time", str(model)), re.MULTILINE)[1])

    def results(self, model: pathlib.Path, inputs: dict[str, np.ndarray], names: list[str]) -> list[np.ndarray]:
        with tempfile.TemporaryDirectory() as folder:
            words = []
            for name, array in inputs.items():
                np.save(f"{folder}/{name}.in.npy", array)
                words.append(f"{name}={folder}/{name}.in.npy")
            words += [f"{name}={folder}/{name}.npy" for name in names]
            self.call("run", str(model), *words)
            return [np.load(f"{folder}/{name}.npy") for name in names]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--portops", required=True, help="the command portops")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    portops = Portops(arguments.portops, arguments.threads)
    print(f"ONNX Runtime {onnxruntime.__version__}, {arguments.threads} threads")
    print("| program | portops, ms | ONNX Runtime, ms | ratio | apart |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for model in arguments.models:
        session = session_of(model, arguments.threads)
        inputs, names = inputs_of(session), [each.name for each in session.get_outputs()]
        apart = max(
            float(np.abs(ours - theirs).max() / np.abs(theirs).max())
            for ours, theirs in zip(portops.results(model, inputs, names), session.run(names, inputs))
        )
        ours, theirs = [], []
        for _ in range(arguments.rounds):
            ours.append(portops.time(model))
            theirs.append(time_peer(session, inputs))
        print(f"| {model.stem} | {min(ours):.3f} | {min(theirs):.3f} | {min(theirs) / min(ours):.2f} | {apart:.1e} |", flush=True)


if __name__ == "__main__":
    main()
