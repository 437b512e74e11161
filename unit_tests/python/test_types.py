# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The annotations: mypy is content with the package, and with what users write; the stub names what is there."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import portops
from portops import _core

PACKAGE = pathlib.Path(portops.__file__).parent

RIGHT = """
import numpy as np
import numpy.typing as npt
import portops

x: npt.NDArray[np.float32] = np.zeros((3, 4), np.float32)
out: npt.NDArray[np.float32] = portops.lerp(x, x, 0.3)
portops.lerp(x, x, x, out=out, context=portops.context(deterministic=True))
parts: list[npt.NDArray[np.float32]] = portops.split(x, [1, 2], axis=0)
levels = portops.Levels.from_lengths([1, 2])
ragged = portops.Ragged(x, levels)
pooled = portops.sequence_pool(ragged, "max", index=True)
print(pooled.out, pooled.index, portops.p_norm(x, "fro", axis=(0, 1)), portops.p_norm(x, axis=1))
with portops.context(backend="serial") as context:
    context.fence()
try:
    portops.reshape(x, [4, -1])
except portops.Error:
    pass
"""
WRONG = {
    'portops.lerp(np.zeros(3), "y")': 'Argument 2 to "lerp"',
    "portops.p_norm(np.zeros(3), axis=0.5)": 'Argument "axis" to "p_norm"',
    "portops.reshape(np.zeros(3))": 'Missing positional argument "shape"',
    "portops.context(device=3)": 'Unexpected keyword argument "device"',
    "portops.sequence_pool(np.zeros(3))": 'Argument 1 to "sequence_pool"',
}


class StubTest(unittest.TestCase):
    def test_the_stub_names_what_is_there(self) -> None:
        stub = ast.parse((PACKAGE / "_core.pyi").read_text(encoding="utf-8"))
        functions = {node.name for node in stub.body if isinstance(node, ast.FunctionDef)}
        classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef) if not node.name.endswith("Entry")}
        public = {name for name in vars(_core) if not name.startswith("_")}
        self.assertEqual(public, functions | set(classes))
        for name, node in classes.items():
            stated = {member.name for member in node.body if isinstance(member, ast.FunctionDef)}
            there = {member for member in vars(getattr(_core, name)) if not member.startswith("_")}
            self.assertEqual(there, {member for member in stated if not member.startswith("_")}, name)

    def test_every_operator_is_a_documented_function(self) -> None:
        for name in portops.operators:
            function = getattr(portops, name)
            self.assertTrue(inspect.isfunction(function))
            for part in ("Args:", "Returns:", "Raises:", "portops.Error"):
                self.assertIn(part, function.__doc__ or "", name)
            for parameter in inspect.signature(function).parameters:
                self.assertIn(f"    {parameter}: ", function.__doc__ or "", name)


@unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not installed")
class MypyTest(unittest.TestCase):
    def run_mypy(self, *arguments: str) -> str:
        with tempfile.TemporaryDirectory() as cache:
            return subprocess.run(
                [sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, *arguments],
                capture_output=True,
                text=True,
                env={**os.environ, "MYPYPATH": str(PACKAGE.parent)},
            ).stdout

    def test_the_package(self) -> None:
        said = self.run_mypy("--ignore-missing-imports", str(PACKAGE))
        self.assertIn("Success: no issues found", said)

    def test_what_users_write(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            right, wrong = pathlib.Path(folder) / "right.py", pathlib.Path(folder) / "wrong.py"
            right.write_text(RIGHT, encoding="utf-8")
            wrong.write_text("import numpy as np\nimport portops\n\n" + "\n".join(WRONG) + "\n", encoding="utf-8")
            said = self.run_mypy(str(right), str(wrong))
        self.assertNotIn("right.py", said)
        for line, message in enumerate(WRONG.values(), 4):
            self.assertRegex(said, rf"wrong\.py:{line}: error: .*{message}")


if __name__ == "__main__":
    unittest.main()
