# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`pip install` of the checkout, into a folder of its own, and a call there. PORTOPS_WHEEL is a folder to build in, and
PORTOPS_WHEEL_OPTIONS are CMake's: those of the build that was tested, so that a compiler's cache serves."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import subprocess
import sys
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
NEEDED = ("pip", "nanobind", "scikit_build_core", "yaml")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]


@unittest.skipIf(MISSING, f"missing: {', '.join(MISSING)}")
@unittest.skipUnless("PORTOPS_WHEEL" in os.environ, "for ctest")
class WheelTest(unittest.TestCase):
    def test_install(self) -> None:
        folder = pathlib.Path(os.environ["PORTOPS_WHEEL"])
        target = folder / "installed"
        options = [f"-Ccmake.define.{option}" for option in os.environ["PORTOPS_WHEEL_OPTIONS"].split(";")]
        command = [sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-deps", "--no-index", "--upgrade"]
        command += ["--target", str(target), f"-Cbuild-dir={folder}", *options, str(PROJECT)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        program = "import portops, numpy; print(portops.__file__, portops.lerp(numpy.zeros(1), numpy.ones(1), 0.25)[0])"
        environment = {**os.environ, "PYTHONPATH": str(target)}
        said = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True, env=environment)
        self.assertEqual(said.stdout.split(), [str(target / "portops" / "__init__.py"), "0.25"])


if __name__ == "__main__":
    unittest.main()
