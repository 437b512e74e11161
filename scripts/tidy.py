#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs clang-tidy on the sources that have changed since it was last content with them.

    tidy.py --build FOLDER --deps FILE --known FILE --passed FILE [--jobs N] REGEX

Sources are those of the folder's compile_commands.json whose path in the project matches REGEX. What clang-tidy says of one
follows from the source, from what it includes (FILE: `ninja -t deps` of the folder), from its compile command, from .clang-tidy and from the
installed packages: the key of a source is a hash of these. Sources whose key is a line of --known are passed over; the keys of
those that are clean are written to --passed. Exits with 1 where clang-tidy finds anything."""

from __future__ import annotations

import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

TIDY = ("clang-tidy", "-quiet", "-extra-arg-before=-std=c++20", "-warnings-as-errors=*")


@functools.cache
def digest(path: pathlib.Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "missing"


def included(deps: str, folder: pathlib.Path) -> dict[str, list[str]]:
    """What each object is made from, by its name in the folder."""
    result: dict[str, list[str]] = {}
    files: list[str] = []
    for line in deps.splitlines():
        if line.startswith(" "):
            files.append(os.path.normpath(folder / line.strip()))
        elif ": #deps " in line:
            files = result.setdefault(line.split(": #deps ")[0], [])
    return result


def key_of(entry: dict[str, str], files: list[str], project: pathlib.Path, common: str) -> str:
    """System headers are those of the packages, which are part of `common`."""
    own = sorted({file for file in [entry["file"], *files] if file.startswith(f"{project}/")})
    parts = [common, entry["command"].replace(str(project), "")]
    parts += [f"{file[len(str(project)):]} {digest(pathlib.Path(file))}" for file in own]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def check(build: pathlib.Path, source: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*TIDY, "-p", str(build), source], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("build", "deps", "known", "passed"):
        parser.add_argument(f"--{name}", required=True, type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("regex")
    arguments = parser.parse_args()
    build, project = arguments.build.resolve(), pathlib.Path.cwd()
    packages = subprocess.run(["dpkg-query", "--show"], text=True, check=True, stdout=subprocess.PIPE).stdout
    common = "\n".join([*TIDY, packages, digest(project / ".clang-tidy")])
    deps = included(arguments.deps.read_text(), build)
    known = set(arguments.known.read_text().split()) if arguments.known.is_file() else set()

    keys = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if re.match(arguments.regex, os.path.relpath(entry["file"], project)):
            # Without a list of what it includes nothing is known of it.
            files = deps.get(os.path.relpath(build / entry["output"], build))
            keys[entry["file"]] = key_of(entry, files, project, common) if files else None
    if not keys:
        sys.exit(f"no source matches {arguments.regex}")
    changed = [source for source, key in keys.items() if key not in known]
    print(f"{len(changed)} of {len(keys)} sources have changed", flush=True)

    failed = 0
    with arguments.passed.open("w") as passed, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for source, result in zip(changed, pool.map(functools.partial(check, build), changed)):
            if result.returncode == 0:
                if keys[source]:
                    print(keys[source], file=passed, flush=True)
                continue
            failed += 1
            print(f"{source}\n{result.stdout}{result.stderr}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
