#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Works on the operator schema, src/ops/ops.yaml. Needs Python 3.9 or later and PyYAML.

What is wrong is written to standard error as `file:line: message`, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import pathlib
import sys

try:
    from portops_schema import (
        autograd,
        c_calls,
        c_interface,
        checks,
        compatibility,
        declarations,
        loader,
        python,
        reference,
        tables,
        torch,
    )
    from portops_schema.model import Schema, SchemaError
except ModuleNotFoundError as error:
    if error.name != "yaml":
        raise
    sys.exit(
        f"{sys.argv[0]}: the Python module yaml is missing; it is packaged as python3-yaml (Debian) and PyYAML (PyPI)"
    )


TEMPLATE = "portops.h.in"
RELEASED_NAMES = "released_names.txt"


def load(schema: str, only: str | None) -> Schema:
    loaded = loader.load(schema)
    return loaded if only is None else loaded.only(only.split(","))


def generate(schema: str, output: str, only: str | None) -> None:
    text = tables.generate(load(schema, only))
    path = pathlib.Path(output)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def write_checks(schema: str, folder: str, only: str | None) -> None:
    loaded = load(schema, only)
    path = pathlib.Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    (path / "checks.hpp").write_text(checks.header(loaded), encoding="utf-8")
    (path / "checks.cpp").write_text(checks.source(loaded), encoding="utf-8")


def write_autograd(schema: str, header: str, source: str, only: str | None) -> None:
    loaded = load(schema, only)
    for name, text in ((header, autograd.header(loaded)), (source, autograd.source(loaded))):
        path = pathlib.Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def write_python(schema: str, folder: str, only: str | None) -> None:
    loaded = load(schema, only)
    modules = {
        "_operators.py": python.generate(loaded),
        "_schema.py": declarations.generate(loaded),
        "torch/_functions.py": torch.generate(loaded),
    }
    for name, text in modules.items():
        path = pathlib.Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def load_promises(c_api: pathlib.Path, released: str) -> c_interface.Promises:
    return c_interface.Promises(c_interface.read_released(c_api / RELEASED_NAMES), loader.load(released))


def write_c_interface(given: argparse.Namespace) -> None:
    c_api = pathlib.Path(given.c_api)
    loaded, promises = load(given.schema, given.only), load_promises(c_api, given.released)
    template = (c_api / TEMPLATE).read_text(encoding="utf-8")
    for name, text in (
        (given.header, c_interface.header(template, loaded, promises, given.version)),
        (given.source, c_interface.source(loaded, promises)),
    ):
        path = pathlib.Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def write_c_calls(given: argparse.Namespace) -> None:
    promises = load_promises(pathlib.Path(given.c_api), given.released)
    pathlib.Path(given.output).write_text(c_calls.calls(load(given.schema, given.only), promises), encoding="utf-8")


def release_c_interface(given: argparse.Namespace) -> None:
    c_api = pathlib.Path(given.c_api)
    names, promises = c_api / RELEASED_NAMES, load_promises(c_api, given.released)
    template = (c_api / TEMPLATE).read_text(encoding="utf-8")
    head = "".join(line for line in names.read_text(encoding="utf-8").splitlines(True) if line.startswith("#"))
    updated = c_interface.updated(template, loader.load(given.schema), promises, given.version)
    names.write_text(f"{head}\n{c_interface.written(updated)}", encoding="utf-8")


def print_families(schema: str) -> None:
    print("\n".join(dict.fromkeys(op.family for op in loader.load(schema).operators)))


def write_reference(schema: str, folder: str) -> None:
    promises = c_interface.Promises({}, loader.load(schema))
    beside = pathlib.Path(schema).parent  # the pages of a schema without a C interface have new functions
    names, released = beside.parent / "c_api" / RELEASED_NAMES, beside / "released.yaml"
    if names.exists() and released.exists():
        promises = load_promises(names.parent, str(released))
    pages = reference.pages(loader.load(schema), promises)
    path = pathlib.Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        (path / name).write_text(text, encoding="utf-8")
    for page in path.glob("*.md"):
        if page.name not in pages and reference.is_generated(page.read_text(encoding="utf-8", errors="replace")):
            page.unlink()


def check(baseline: str, current: str) -> None:
    compatibility.check(loader.load(baseline), loader.load(current))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    only = "these operators alone, with their gradients: names with commas between them"
    command = commands.add_parser("generate", help="write the C++ tables of the registry")
    command.add_argument("schema")
    command.add_argument("output", help="the C++ file to write")
    command.add_argument("--only", help=only)
    command.set_defaults(action=lambda given: generate(given.schema, given.output, given.only))
    command = commands.add_parser("checks", help="write checks.hpp and checks.cpp, the checks that entry points call")
    command.add_argument("schema")
    command.add_argument("folder", help="the folder to write them to")
    command.add_argument("--only", help=only)
    command.set_defaults(action=lambda given: write_checks(given.schema, given.folder, given.only))
    command = commands.add_parser("autograd", help="write the operators on variables, portops::autograd")
    command.add_argument("schema")
    command.add_argument("header", help="the public header, to write")
    command.add_argument("source", help="the C++ file to write")
    command.add_argument("--only", help=only)
    command.set_defaults(action=lambda given: write_autograd(given.schema, given.header, given.source, given.only))
    command = commands.add_parser("python", help="write the modules of the Python package that are made from the schema")
    command.add_argument("schema")
    command.add_argument("folder", help="that of the package, to write them to")
    command.add_argument("--only", help=only)
    command.set_defaults(action=lambda given: write_python(given.schema, given.folder, given.only))
    for name, action, what in (
        ("c", write_c_interface, "write portops.h and the functions that it declares"),
        ("c-calls", write_c_calls, "write calls of these functions by name, for the tests"),
        ("c-release", release_c_interface, f"enter what is new into {RELEASED_NAMES}, before released.yaml is replaced"),
    ):
        command = commands.add_parser(name, help=what)
        command.add_argument("schema")
        command.add_argument("released", help="the schema of the last release")
        command.add_argument("c_api", help=f"the folder of {TEMPLATE} and {RELEASED_NAMES}")
        if name != "c-calls":
            command.add_argument("version", help="of portops: 1.2.3")
        if name == "c":
            command.add_argument("header", help="portops.h, to write")
            command.add_argument("source", help="the C++ file to write")
        elif name == "c-calls":
            command.add_argument("output", help="the C++ file to write")
        if name != "c-release":
            command.add_argument("--only", help=only)
        command.set_defaults(action=action)
    command = commands.add_parser("families", help="list the operators, gradients left out")
    command.add_argument("schema")
    command.set_defaults(action=lambda given: print_families(given.schema))
    command = commands.add_parser("reference", help="write the reference pages; pages of no operator are removed")
    command.add_argument("schema")
    command.add_argument("folder", help="the folder of the pages")
    command.set_defaults(action=lambda given: write_reference(given.schema, given.folder))
    command = commands.add_parser("check", help="compare with the schema of the last release")
    command.add_argument("baseline", help="the released schema")
    command.add_argument("current")
    command.set_defaults(action=lambda given: check(given.baseline, given.current))
    given = parser.parse_args(arguments)
    try:
        given.action(given)
    except SchemaError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{error.filename}: cannot be written: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
