#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of cmake/PortopsSelection.cmake: what the options choose, what they refuse, and which files follow."""

from __future__ import annotations

import os
import pathlib
import subprocess
import tempfile
import unittest

SELECTION = pathlib.Path(__file__).resolve().parents[2] / "cmake" / "PortopsSelection.cmake"
TYPES = "f64;f32;f16;bf16"

# A project with the operators add, join and cut, the last two of which are the family lists.
FILES = {
    "src/ops/add/add.hpp": "",
    "src/ops/add/add.cpp": "",
    "src/ops/lists/shared.cpp": "",
    "src/ops/lists/join/join.hpp": "",
    "src/ops/lists/join/join.cpp": "",
    "src/ops/lists/cut/cut.hpp": "",
    "src/ops/lists/cut/cut.cpp": "",
    "src/ops/lists/cut/inner/inner.cpp": "",
    "src/core/core.cpp": "#include <vector>\n",
    "tests/ops/add/test_add.cpp": "",
    "tests/test_join.cpp": "#include <portops/ops/join.hpp>\n",
    "tests/test_inner.cpp": '#include "ops/lists/cut/inner/inner.hpp"\n',
    "tests/test_by_header.cpp": '#include <vector>\n#include "support/all.hpp"\n',
    "tests/support/all.hpp": '#include "support/all.hpp"\n',
    "tests/support/all.cpp": '#include "support/all.hpp"\n#include <portops/ops/add.hpp>\n',
}
SCRIPT = """
cmake_policy(VERSION 3.22)
set(PROJECT_SOURCE_DIR ${{CMAKE_CURRENT_LIST_DIR}})
function(portops_operator_families variable)
  set(${{variable}} add join cut PARENT_SCOPE)
endfunction()
set(PORTOPS_ELEMENT_TYPES "{types}")
set(PORTOPS_OPERATORS "{operators}")
include({selection})
message(STATUS "${{portops_ELEMENT_TYPES}}|${{portops_OPERATORS}}")
set(CMAKE_CURRENT_SOURCE_DIR ${{PROJECT_SOURCE_DIR}}/{folder})
file(GLOB_RECURSE files RELATIVE ${{CMAKE_CURRENT_SOURCE_DIR}} ${{CMAKE_CURRENT_SOURCE_DIR}}/*.cpp)
portops_keep_chosen(files)
message(STATUS "${{files}}")
"""


class SelectionTest(unittest.TestCase):
    def select(self, operators: str, types: str = TYPES, folder: str = "src") -> subprocess.CompletedProcess[str]:
        with tempfile.TemporaryDirectory() as project:
            for name, text in FILES.items():
                path = pathlib.Path(project, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            script = pathlib.Path(project, "select.cmake")
            text = SCRIPT.format(types=types, operators=operators, selection=SELECTION, folder=folder)
            script.write_text(text, encoding="utf-8")
            command = [os.environ.get("CMAKE", "cmake"), "-P", str(script)]
            return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    def chosen(self, operators: str, types: str = TYPES) -> list[str]:
        """The element types and operators that are chosen."""
        result = self.select(operators, types)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout.splitlines()[0].removeprefix("-- ").split("|")

    def left_out(self, operators: str, folder: str) -> set[str]:
        """The sources of a folder that are left out."""
        result = self.select(operators, folder=folder)
        kept = result.stdout.splitlines()[1].removeprefix("-- ").split(";")
        every = {name.removeprefix(f"{folder}/") for name in FILES if name.startswith(folder) and name.endswith(".cpp")}
        return every - set(kept)

    def refused(self, message: str, operators: str, types: str = TYPES) -> None:
        result = self.select(operators, types)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(message, " ".join(result.stderr.split()))

    def test_choices(self) -> None:
        self.assertEqual(self.chosen("all"), [TYPES, "add;join;cut"])
        self.assertEqual(self.chosen("cut;add", "bf16;f32"), ["f32;bf16", "add;cut"])
        self.assertEqual(self.chosen("lists"), [TYPES, "join;cut"])
        self.assertEqual(self.chosen("lists;join"), [TYPES, "join;cut"])

    def test_refusals(self) -> None:
        self.refused("PORTOPS_OPERATORS names 'ad', expected one or more of: all, add, join, cut, lists", "add;ad")
        self.refused("PORTOPS_OPERATORS names 'add_grad', expected", "add_grad")
        self.refused("PORTOPS_ELEMENT_TYPES names 'f8', expected one or more of: f64, f32, f16, bf16", "all", "f32;f8")
        self.refused("PORTOPS_ELEMENT_TYPES is empty, expected one or more of: f64, f32, f16, bf16", "all", "")
        self.refused("PORTOPS_OPERATORS is empty, expected one or more of: all, add, join, cut, lists", "")

    def test_sources(self) -> None:
        self.assertEqual(self.left_out("all", "src"), set())
        cut = {"ops/lists/cut/cut.cpp", "ops/lists/cut/inner/inner.cpp"}
        lists = cut | {"ops/lists/join/join.cpp", "ops/lists/shared.cpp"}
        self.assertEqual(self.left_out("add;join", "src"), cut)
        self.assertEqual(self.left_out("add", "src"), lists)
        self.assertEqual(self.left_out("lists", "src"), {"ops/add/add.cpp"})

    def test_what_includes_them(self) -> None:
        self.assertEqual(self.left_out("all", "tests"), set())
        of_add = {"ops/add/test_add.cpp", "test_by_header.cpp", "support/all.cpp"}
        self.assertEqual(self.left_out("lists", "tests"), of_add)
        self.assertEqual(self.left_out("add;join", "tests"), {"test_inner.cpp"})
        self.assertEqual(self.left_out("cut", "tests"), of_add | {"test_join.cpp"})


if __name__ == "__main__":
    unittest.main()
