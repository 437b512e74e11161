# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The file that a sweep writes: what was measured, on what, with what."""
from __future__ import annotations

import json
import os
import pathlib
import re
import statistics

FORMAT = 1
TYPES = ("f64", "f32", "f16", "bf16", "tf32")


class WrongFile(Exception):
    """A file that is not what a sweep writes."""


def new(machine: dict, software: dict, settings: dict) -> dict:
    return {"format": FORMAT, "machine": machine, "software": software, "settings": settings, "rows": {}, "peers": {},
            "missing": {}}


def load(path: str | os.PathLike) -> dict:
    try:
        with open(path, encoding="utf-8") as file:
            results = json.load(file)
    except OSError as error:
        raise WrongFile(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise WrongFile(f"{path} is not JSON: {error}") from None
    found = results.get("format") if isinstance(results, dict) else None
    if found != FORMAT:
        raise WrongFile(f"{path} is no file of a sweep: its format is {found}, expected {FORMAT}")
    return results


def save(results: dict, path: str | os.PathLike) -> None:
    """Whole or not at all, whenever the process ends."""
    path = pathlib.Path(path)
    unfinished = path.with_name(path.name + ".unfinished")
    with open(unfinished, "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1)
    os.replace(unfinished, path)


def seconds_of(row: dict) -> float:
    return statistics.median(row["seconds"])


def parts_of(name: str) -> dict:
    """What the name of a row says: backend, operator, element type, size, threads, instances and whose it is if not
    portops' own, where it has them."""
    name, _, threads = name.partition("@threads:")
    backend, operator, *others = name.split("/")
    parts = {"backend": backend, "operator": operator, "type": next((p for p in others if p in TYPES), None),
             "size": None, "instances": None, "peer": None, "threads": int(threads) if threads else None,
             "is_host_time": others[-1:] == ["host"]}
    for part in others:
        if found := re.fullmatch(r"(size|instances):(\d+)", part):
            parts[found[1]] = int(found[2])
        elif part.startswith("peer:"):
            parts["peer"] = part.removeprefix("peer:")
    return parts
