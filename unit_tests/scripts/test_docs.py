# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What can be checked of the documentation: code ends before a heading, links lead somewhere, rows of tables have the
cells of their heads, and the examples that are built and run are those that are shown."""

from __future__ import annotations

import pathlib
import re
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def split(page: pathlib.Path) -> tuple[str, list[str]]:
    """The text of a page without its code, and its blocks of code. Fails where a heading lies within code."""
    text, blocks, fence = [], [], None
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("```"):
            fence = [] if fence is None else blocks.append("\n".join(fence))
        elif fence is None:
            text.append(line)
        else:
            assert not re.match(r"##+ ", line), f"{page.name}:{number}: a heading within code: {line}"
            fence.append(line)
    assert fence is None, f"{page.name}: code does not end"
    return "\n".join(text), blocks


def anchors(text: str) -> set[str]:
    """Those that GitHub makes of headings."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        words = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower())
        name = base = words.replace(" ", "-")
        for again in range(1, 100):
            if name not in found:
                break
            name = f"{base}-{again}"
        found.add(name)
    return found


def cells(row: str) -> int:
    """How many a row of a table has."""
    return re.sub(r"`[^`]*`", "", row).replace("\\|", "").count("|") - 1


class DocsTest(unittest.TestCase):
    def test_tables(self) -> None:
        for page in PAGES:
            head = None
            for number, line in enumerate(split(page)[0].splitlines(), 1):
                if not line.startswith("|"):
                    head = None
                    continue
                head = head or line
                self.assertEqual(cells(line), cells(head), f"{page.name}, line {number} without code: {line}")

    def test_links(self) -> None:
        self.assertGreater(len(PAGES), 5)
        for page in PAGES:
            text, _ = split(page)
            for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", text)):
                if re.match(r"[a-z]+:", target):
                    continue
                with self.subTest(page=page.name, target=target):
                    name, _, anchor = target.partition("#")
                    file = (page.parent / name).resolve() if name else page
                    self.assertTrue(file.exists())
                    if anchor:
                        self.assertIn(anchor, anchors(split(file)[0]))

    def test_examples_are_shown(self) -> None:
        shown = "\n".join(block for page in PAGES for block in split(page)[1])
        examples = 0
        for file in sorted((ROOT / "docs" / "examples").iterdir()):
            parts = re.split(r"^ *// \[example\]\n", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
            for example in parts[1::2]:
                with self.subTest(file.name):
                    self.assertIn(textwrap.dedent(example).strip(), shown)
                examples += 1
        self.assertGreaterEqual(examples, 3)


if __name__ == "__main__":
    unittest.main()
