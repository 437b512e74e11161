#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the tables of docs/performance.md and docs/performance/ from what compare_with_pytorch.py measured.

    write_tables.py ROWS.json... [--docs FOLDER]

Each page says between two comments what belongs there, and everything between them is replaced:

    <!-- table: REGEX -->   the cases whose name REGEX finds, a row a shape and a column an element type
    <!-- summary -->        of every page how many cases it has, and how they compare with the best peer
    <!-- behind -->         the cases of all pages that a peer is faster in
    <!-- random -->         of random cases, which are in no table, the same as in the summary, an operator a row
    <!-- device -->         the device, the rate of its copy and what else the files say of their run
    <!-- end of table -->

The best peer is PyTorch, eager or compiled, whichever was faster in the same run. The files must be of one device; of
a case in several of them the last one counts. A case in no table or in two is an error; a table whose cases were not
measured stays as it is, and counts nowhere.
"""
import argparse
import json
import pathlib
import re
import statistics
import sys

TYPES = ("f64", "f32", "tf32", "f16", "bf16")
MARKED = re.compile(r"(<!-- (table|summary|behind|random|device)(?:: (.*?))? -->\n).*?(<!-- end of table -->)", re.DOTALL)


class Wrong(Exception):
    """Files or pages that do not fit together."""


class Row:
    """One case. `ratio` is the best peer's time over that of portops, or None where there is no peer."""

    def __init__(self, measured):
        self.case, self.us = measured["case"], measured["portops_us"]
        self.share = measured["floor_us"] / self.us
        words = self.case.split()
        self.type = next((word for word in words if word in TYPES), None)
        self.label = " ".join(word for word in words if word != self.type)
        peers = {name: measured[f"{name}_us"] for name in ("eager", "compiled") if measured.get(f"{name}_us")}
        self.peer = min(peers, key=peers.get) if peers else None
        self.ratio = peers[self.peer] / self.us if peers else None

    def cell(self):
        return f"{self.us:.1f} · {self.share:.0%} · " + (f"{self.ratio:.2f}" if self.ratio else "—")


def load(paths):
    """The rows by case, those of random cases, and the line about the device."""
    rows, random, devices = {}, {}, {}
    for path in paths:
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            devices[found["device_name"]] = found["copy_bytes_per_second"], found["torch"]
            for measured in found["rows"]:
                if "error" in measured:
                    raise Wrong(f"{path}: {measured['case']} failed: {measured['error']}")
                (rows if found["random"] is None else random)[measured["case"]] = Row(measured)
        except (OSError, ValueError, KeyError) as error:
            raise Wrong(f"{path} is not what compare_with_pytorch.py writes: {error!r}") from None
    if len(devices) != 1:
        raise Wrong(f"one device expected, the files are of {', '.join(devices)}")
    (name, (copy, torch)), = devices.items()
    return rows, random, f"{name}, copy {copy / 1e9:.0f} GB/s, PyTorch {torch.partition('+')[0]}."


def matching(rows, pattern):
    return [row for row in rows.values() if re.search(pattern, row.case)]


def table(rows):
    types = [name for name in (*TYPES, None) if any(row.type == name for row in rows)]
    lines = ["| case | " + " | ".join(name or "µs" for name in types) + " |", "| --- |" + " ---: |" * len(types)]
    shapes = {}
    for row in rows:
        shapes.setdefault(row.label, {})[row.type] = row
    for label, by_type in shapes.items():
        lines.append(f"| {label} | " + " | ".join(by_type[t].cell() if t in by_type else "" for t in types) + " |")
    return lines


def compared(heading, groups):
    """A line for each group of rows: how many they are, and how they compare with the floor and the best peer."""
    lines = [f"| {heading} | cases | median share of the floor | median ratio | behind a peer | least ratio |",
             "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for name, rows in groups.items():
        ratios = [row.ratio for row in rows if row.ratio]
        share = statistics.median(row.share for row in rows)
        median, least = (f"{statistics.median(ratios):.2f}", f"{min(ratios):.2f}") if ratios else ("—", "—")
        lines.append(f"| {name} | {len(rows)} | {share:.0%} | {median} | {sum(r < 1 for r in ratios)} | {least} |")
    return lines


def by_operator(rows):
    groups = {}
    for row in rows:
        groups.setdefault(row.case.split()[0], []).append(row)
    return dict(sorted(groups.items()))


def behind(rows):
    lines = ["| case | portops, µs | share | peer | ratio |", "| --- | ---: | ---: | --- | ---: |"]
    for row in sorted((row for row in rows if row.ratio and row.ratio < 1), key=lambda row: row.ratio):
        lines.append(f"| {row.case} | {row.us:.1f} | {row.share:.0%} | {row.peer} | {row.ratio:.2f} |")
    return lines


def title_of(text):
    heading = re.search(r"^# (?:Performance of )?(.*)$", text, re.MULTILINE)
    return heading[1][0].upper() + heading[1][1:]


def write(rows, random, device, docs):
    texts = {path: path.read_text(encoding="utf-8") for path in [docs / "performance.md", *sorted(docs.glob("performance/*.md"))]}
    tables, places = {}, {}
    for path, text in texts.items():
        for _, kind, pattern, _ in MARKED.findall(text):
            if kind != "table":
                continue
            found = matching(rows, pattern)
            if not found:
                continue
            for row in found:
                if row.case in places:
                    raise Wrong(f"{row.case} is in {places[row.case]} and in {path}, /{pattern}/")
                places[row.case] = f"{path}, /{pattern}/"
            tables.setdefault(f"[{title_of(text)}]({path.relative_to(docs)})", []).extend(found)
    if missing := [case for case in rows if case not in places]:
        raise Wrong(f"{len(missing)} cases are in no table: {'; '.join(missing[:8])}")

    def replaced(match):
        kind, pattern = match[2], match[3]
        if (kind == "table" and not matching(rows, pattern)) or (kind == "random" and not random):
            return match[0]
        lines = {"table": lambda: table(matching(rows, pattern)), "summary": lambda: compared("page", tables),
                 "behind": lambda: behind(rows.values()), "random": lambda: compared("operator", by_operator(random.values())),
                 "device": lambda: [device]}[kind]()
        return match[1] + "\n".join(lines) + "\n" + match[4]

    for path, text in texts.items():
        path.write_text(MARKED.sub(replaced, text), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=pathlib.Path, help="what compare_with_pytorch.py --json wrote")
    parser.add_argument("--docs", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent / "docs")
    arguments = parser.parse_args()
    try:
        rows, random, device = load(arguments.files)
        write(rows, random, device, arguments.docs)
    except Wrong as error:
        print(f"write_tables: {error}", file=sys.stderr)
        return 1
    print(f"{len(rows)} cases, {len(random)} random ones")
    return 0


if __name__ == "__main__":
    sys.exit(main())
