# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line of scripts/sweep."""
from __future__ import annotations

import argparse
import pathlib
import sys
import time

import rich.console
import rich.progress

from . import machine, measure, results

console = rich.console.Console(stderr=True)


def parse(description: str, arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="sweep", description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="measure, or go on measuring")
    run.add_argument("--build", required=True, type=pathlib.Path, help="a build folder with benchmarks")
    run.add_argument("--output", type=pathlib.Path, default=pathlib.Path("sweep.json"), help="the file (default: sweep.json)")
    run.add_argument("--budget", type=float, help="minutes after which to stop; the next run goes on (default: none)")
    run.add_argument("--filter", default=".", help="only rows that match this regular expression")
    run.add_argument("--repetitions", type=positive, default=5, help="of each row (default: 5)")
    run.add_argument("--no-peers", action="store_true", help="leave PyTorch out")
    run.add_argument("--no-scaling", action="store_true", help="leave out 1, 2, 4, … threads")
    page = commands.add_parser("report", help="make a page and pictures")
    page.add_argument("files", nargs="+", type=pathlib.Path, help="of sweeps, the oldest first")
    page.add_argument("--output", type=pathlib.Path, default=pathlib.Path("sweep-report"), help="a folder")
    page.add_argument("--threshold", type=float, default=3.0, help="percent that count as a change (default: 3)")
    pair = commands.add_parser("compare", help="what got slower or faster")
    pair.add_argument("old", type=pathlib.Path)
    pair.add_argument("new", type=pathlib.Path)
    pair.add_argument("--threshold", type=float, default=3.0, help="percent that count as a change (default: 3)")
    return parser.parse_args(arguments)


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not positive")
    return number


def open_results(path: pathlib.Path, project: pathlib.Path, program: list[str], settings: dict) -> dict:
    """Those of the file, if it is there and of the same machine, program and settings; else new ones."""
    fresh = results.new(machine.describe_machine(), machine.describe_software(project, measure.context_of(program)), settings)
    if not path.exists():
        return fresh
    found = results.load(path)
    for part in ("machine", "software", "settings"):
        for key, value in fresh[part].items():
            if found[part].get(key) != value:
                raise results.WrongFile(f"{path} was measured with another {key}: {found[part].get(key)!r}, now {value!r}; "
                                        "name another file with --output")
    return found


def private_root(project: pathlib.Path, build: pathlib.Path) -> str:
    """The private Debian root that scripts/demo or scripts/test has built in, or "": its programs start there alone."""
    folder = build.resolve()
    name = folder.name.partition("-")[0]
    return name if folder.parent == project / "build" and name in ("sid", "experimental") else ""


def run_sweep(project: pathlib.Path, arguments: argparse.Namespace) -> int:
    root = private_root(project, arguments.build)
    program = [str((arguments.build / "perf_tests" / "portops_perf").resolve())]
    if root:
        program = [str(project / "scripts" / "in-root"), root, *program]
    bridge = arguments.build / "perf_tests" / "libportops_bridge.so"
    begin = time.monotonic()
    settings = {"repetitions": arguments.repetitions}
    sweep = open_results(arguments.output, project, program, settings)
    cases = measure.list_cases(program, arguments.filter)
    backends = {case.partition("/")[0] for case in cases}
    devices = [device for backend, device in (("cuda", "cuda"), ("openmp", "cpu")) if backend in backends]
    if arguments.no_peers:
        devices = []
    elif why := f"the build is that of a private root ({root})" if root else measure.missing_peers():
        sweep["missing"]["PyTorch"] = why
        console.print(f"Without PyTorch: {why}", highlight=False)
        devices = []
    pieces = measure.plan(cases, sweep["machine"]["cores"], not arguments.no_scaling, devices)
    done = set(sweep["rows"]) | set(sweep.setdefault("operators", []))
    left = [piece for piece in pieces if not done.issuperset(piece.rows() or [piece.name])]
    progress = rich.progress.Progress(rich.progress.TextColumn("{task.description}"), rich.progress.BarColumn(),
                                      rich.progress.MofNCompleteColumn(), rich.progress.TimeRemainingColumn(), console=console)
    with progress:
        task = progress.add_task("", total=len(pieces), completed=len(pieces) - len(left))
        for piece in left:
            remaining = None if arguments.budget is None else arguments.budget * 60 - (time.monotonic() - begin)
            if remaining is not None and remaining <= 0:
                break
            progress.update(task, description=piece.name)
            try:
                if piece.operator:
                    script = str(project / "perf_tests" / "compare_with_pytorch.py")
                    sweep["peers"].update(measure.measure_peers(script, str(bridge.resolve()), piece, remaining))
                    sweep["operators"].append(piece.name)
                else:
                    sweep["rows"].update(measure.measure_cases(program, piece, arguments.repetitions, remaining))
            except measure.TimedOut:
                if piece is not left[0]:
                    break
                # It would never end within such a budget.
                sweep["missing"][piece.name] = f"takes longer than a budget of {arguments.budget:g} minutes"
            except measure.Failed as error:
                progress.console.print(f"{piece.name}: {error}", style="red", highlight=False)
                sweep["missing"][piece.name] = str(error)
            results.save(sweep, arguments.output)
            progress.advance(task)
        finished = progress.tasks[0].finished
    if not finished:
        console.print(f"The budget is spent; the same command goes on with {arguments.output}", highlight=False)
    console.print(f"{len(sweep['rows'])} rows and {len(sweep['peers'])} cases beside PyTorch in {arguments.output}",
                  highlight=False)
    return 0


def labels_of(files: list[pathlib.Path]) -> dict[str, dict]:
    """The sweeps by their files' names; by paths where these are the same."""
    stems = [file.stem for file in files]
    unique = len(set(stems)) == len(stems)
    return {stem if unique else str(file): results.load(file) for stem, file in zip(stems, files)}


def main(project: pathlib.Path, description: str, arguments: list[str]) -> int:
    options = parse(description, arguments)
    try:
        if options.command == "run":
            return run_sweep(project, options)
        # Measuring needs none of the packages that these need: a compute node may lack them.
        if options.command == "report":
            from . import report
            path = report.write_report(labels_of(options.files), options.output, options.threshold / 100)
            console.print(f"Written: {path}", highlight=False)
            return 0
        from . import compare
        out = rich.console.Console(width=None if sys.stdout.isatty() else 160)
        is_fine = compare.compare(results.load(options.old), results.load(options.new), options.threshold / 100, out)
        return 0 if is_fine else 1
    except (results.WrongFile, measure.Failed) as error:
        console.print(f"sweep: {error}", highlight=False, markup=False)
        return 2
