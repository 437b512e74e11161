# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`portops program`: what PyTorch exported gives PyTorch's results, on every backend; what is told of a program; what is
refused."""

from __future__ import annotations

import ast
import math
import pathlib
import shutil
import struct
import unittest

import npy_files
from command_fixture import CommandTest, backends, call

EXPORTS = pathlib.Path(__file__).resolve().parents[1] / "graph" / "onnx" / "exports"
NAMES = sorted(path.stem for path in EXPORTS.glob("*.onnx"))


def setUpModule() -> None:
    result = call("program", "info", str(EXPORTS / "convolutional_18.onnx"))
    if "made without ONNX" in result.stderr:
        raise unittest.SkipTest(result.stderr.strip())


def read(path: pathlib.Path) -> tuple[tuple[int, ...], list[float]]:
    """Of NumPy's own files, whose headers may be longer than ours."""
    data = path.read_bytes()
    size = 10 + struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10:size].decode())
    kind = {"<f4": "f", "<i8": "q"}[header["descr"]]
    return header["shape"], list(struct.unpack(f"<{math.prod(header['shape'])}{kind}", data[size:]))


class ExportsTest(CommandTest):
    def test_they_are_there(self) -> None:
        self.assertGreaterEqual(len(NAMES), 10)

    def test_results_are_those_of_pytorch(self) -> None:
        for backend in backends():
            if backend == "cuda":
                continue
            for name in NAMES:
                with self.subTest(name=name, backend=backend):
                    result = call(
                        "program", "run", str(EXPORTS / f"{name}.onnx"), f"x={EXPORTS / name}.x.npy", "y=y.npy",
                        "--backend", backend, cwd=self.folder,
                    )  # fmt: skip
                    self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
                    shape, expected = read(EXPORTS / f"{name}.y.npy")
                    _, ours, values = npy_files.read(self.path("y.npy"))
                    self.assertEqual(ours, shape)
                    scale = max(map(abs, expected))
                    for value, wanted in zip(values, expected):
                        self.assertLessEqual(abs(value - wanted), 1e-5 * scale)

    def test_check_compares(self) -> None:
        name = str(EXPORTS / "deformable_19")
        result = call("program", "check", f"{name}.onnx", f"x={name}.x.npy", f"y={name}.y.npy")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("y: f32 [2, 5], up to ", result.stdout)
        self.assertIn("from the plain calls", result.stdout)
        self.assertIn("from the file", result.stdout)
        shape, values = read(EXPORTS / "deformable_19.y.npy")
        self.write("wrong.npy", shape, [value + 1 for value in values])
        result = call("program", "check", f"{name}.onnx", f"x={name}.x.npy", "y=wrong.npy", cwd=self.folder)
        self.assertEqual(result.returncode, 2)
        self.assertIn("differ by more than rounding: y from the file", result.stderr)


    def test_time(self) -> None:
        result = call("program", "time", str(EXPORTS / "convolutional_18.onnx"), "--repeat=3", "--backend", backends()[0])
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"^backend  \w+\ntime     [\d.]+ ms a run, the quickest [\d.]+, of 3\n$")
        self.run_wrong("program", "time", "none.onnx", "--repeat=-1", expect=["--repeat"])


class InfoTest(CommandTest):
    def test_inputs_operators_and_memory(self) -> None:
        result = call("program", "info", str(EXPORTS / "convolutional_11_script.onnx"), "batch=4")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for line in ("input      x: f32 [4, 3, 16, 16]", "output     y: f32 [4, 5]", "3 conv2d", "in one arena", "Plan"):
            self.assertIn(line, result.stdout)
        result = call("program", "info", str(EXPORTS / "convolutional_11_script.onnx"), "x=2,3,16,16")
        self.assertIn("input      x: f32 [2, 3, 16, 16]", result.stdout)


def field(number: int, content: bytes | int) -> bytes:
    """Of a message in the format of protocol buffers: an integer or bytes, fewer than 128."""
    if isinstance(content, int):
        return bytes((number << 3, content))
    return bytes((number << 3 | 2, len(content))) + content


class NamesOfStrangersTest(CommandTest):
    def test_they_forge_no_line_and_move_no_cursor(self) -> None:
        def value(name: bytes) -> bytes:
            extents = field(2, field(1, field(1, 2)))
            return field(1, name) + field(2, field(1, field(1, 1) + extents))

        def node(op: bytes, source: bytes, target: bytes) -> bytes:
            return field(1, source) + field(2, target) + field(4, op)

        x, a, y = b"x\x1b[2J", b"a\nforged a", b"y\x7f\nforged y"
        graph = field(1, node(b"Relu", x, a)) + field(1, node(b"Tanh", a, y))
        graph += field(2, b"g") + field(11, value(x)) + field(12, value(y))
        with open(self.path("net.onnx"), "wb") as file:
            file.write(field(1, 8) + field(8, field(2, 17)) + field(7, graph))
        for verb in ("info", "check"):
            result = call("program", verb, "net.onnx", cwd=self.folder)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertIn("y??forged y: f32 [2]", result.stdout)
            self.assertFalse([each for each in result.stdout if (each < " " and each != "\n") or each == "\x7f"])
            self.assertFalse([line for line in result.stdout.splitlines() if line.strip().startswith("forged")])
            if verb == "info":
                self.assertIn("input      x?[2J: f32 [2]", result.stdout)
                self.assertIn("a?forged a", result.stdout)


class RefusalTest(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        shutil.copy(EXPORTS / "convolutional_11_script.onnx", self.path("net.onnx"))

    def test_wrong_calls(self) -> None:
        for arguments, text in (
            (("info", "net.onnx"), "leaves its extent along axis 0 open, as 'batch'"),
            (("run", "net.onnx", "batch=2"), "no output is named, expected y=FILE.npy"),
            (("run", "net.onnx", "batch=2", "y=y.npy"), "input x is missing, expected x=FILE.npy, f32 [2, 3, 16, 16]"),
            (("run", "net.onnx", "batch=2", "z=z.npy"), "there is no input, output or open extent 'z'"),
            (("run", "net.onnx", "batch"), "expected NAME=FILE.npy"),
            (("run", "net.onnx", "batch=2", "batch=3"), "batch is given twice"),
            (("info", "none.onnx"), "it cannot be opened"),
            (("run",), "FILE"),
        ):
            self.run_wrong("program", *arguments, expect=[text])

    def test_a_file_of_other_extents(self) -> None:
        self.write("x.npy", (2, 3, 16, 15), [0.0] * (2 * 3 * 16 * 15))
        self.run_wrong("program", "run", "net.onnx", "x=x.npy", "y=y.npy", expect=["axis 3"])

    def test_a_file_that_is_cut_off(self) -> None:
        with open(self.path("net.onnx"), "r+b") as file:
            file.truncate(1000)
        self.run_wrong("program", "info", "net.onnx", expect=["it is no ONNX model, or was cut off"])


if __name__ == "__main__":
    unittest.main()
