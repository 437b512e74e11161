# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a sweep runs on and with."""
from __future__ import annotations

import importlib.metadata
import os
import pathlib
import platform
import subprocess

GPU_FIELDS = ("name", "driver_version", "memory.total", "power.limit", "clocks.max.sm")
LIBRARIES = ("torch", "torchvision", "triton")


def output_of(*command: str, cwd: str | os.PathLike | None = None) -> str | None:
    """None where the command does not exist, or fails."""
    try:
        run = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return run.stdout.strip()


def processor() -> str:
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def gpus() -> list[dict]:
    listed = output_of("nvidia-smi", f"--query-gpu={','.join(GPU_FIELDS)}", "--format=csv,noheader")
    return [dict(zip(GPU_FIELDS, line.split(", "))) for line in (listed or "").splitlines()]


def describe_machine() -> dict:
    return {"processor": processor(), "cores": len(os.sched_getaffinity(0)),
            "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            "system": f"{platform.system()} {platform.release()}", "gpus": gpus()}


def describe_software(project: str | os.PathLike, context: dict) -> dict:
    """`context` is what portops_perf says of itself."""
    changes = output_of("git", "status", "--porcelain", cwd=project)
    libraries = {}
    for library in LIBRARIES:
        try:
            libraries[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {"portops": context.get("portops"), "compiler": context.get("compiler"), "kokkos": context.get("kokkos"),
            "commit": output_of("git", "rev-parse", "HEAD", cwd=project), "is_changed": bool(changes),
            "threads": {name: value for name, value in sorted(os.environ.items()) if name.startswith(("OMP_", "KOKKOS_"))},
            "libraries": libraries}
