# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the portops command as a user would: everything that it can do."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import threading
import unittest

import npy_files
from command_fixture import COMMAND, CommandTest, backends, call, need
from left_out import is_sanitized


def to_f32(value: float) -> float:
    return struct.unpack("<f", struct.pack("<f", value))[0]


class TellingTest(CommandTest):
    def test_list(self) -> None:
        lines = call("list").stdout.splitlines()
        self.assertIn(f"{lines[0].split()[0]}_grad", [line.split()[0] for line in lines])
        self.assertTrue(all(len(line.split()) > 1 for line in lines))

    def test_info_of_every_operator(self) -> None:
        lines = call("list").stdout.splitlines()
        for line in lines[:: 8 if is_sanitized() else 1]:
            name = line.split()[0]
            result = call("info", name)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            for part in (f"{name}: ", "\nInputs\n", "\nOutputs\n", "\nRules\n", f"\n  portops run {name} "):
                self.assertIn(part, result.stdout)

    def test_info_of_lerp(self) -> None:
        text = call("info", "lerp").stdout
        for part in (
            "out = x + weight",
            "tensor or number, default 0.5",
            "out = broadcast(x, y, weight)",
            "out may be the same tensor as x",
            "lerp_grad",
            "[weight=FILE.npy|NUMBER]",
        ):
            self.assertIn(part, text)
        text = call("info", "lerp_grad").stdout
        self.assertIn("x, y (unless weight_grad is wanted)", text)
        self.assertIn("[x_grad=FILE.npy]", text)

    def test_info_of_p_norm(self) -> None:
        text = call("info", "p_norm").stdout
        for part in (
            "p_norm: The norm of order p over one axis or more.",
            "number or fro, default 2 ",
            "integers, default -1 ",
            "number, default 1e-12 ",
            "boolean, default false ",
            "out = reduced(x)",
            "gradient  p_norm_grad",
            "portops run p_norm x=FILE.npy out=FILE.npy [porder=VALUE] [axis=VALUE] [epsilon=VALUE] [keepdim=VALUE] "
            "[asvector=VALUE]",
        ):
            self.assertIn(part, text)
        self.assertIn("out_grad = reduced(x)", call("info", "p_norm_grad").stdout)

    def test_info_of_the_build(self) -> None:
        text = call("info").stdout
        for part in ("version ", "backends ", "element types  ", "products       own"):
            self.assertIn(part, text)

    def test_devices(self) -> None:
        lines = call("devices").stdout.splitlines()
        self.assertEqual(lines[0].split(), ["backend", "device", "concurrency", "memory"])
        end = lines.index("")
        self.assertGreaterEqual(end, 2)
        self.assertTrue({line.split()[0] for line in lines[1:end]} <= set(backends()))

    def test_defaults_from_the_environment(self) -> None:
        def defaults(**variables: str) -> list[list[str]]:
            lines = call("devices", env={**os.environ, **variables}).stdout.splitlines()
            return [line.split()[:2] for line in lines[lines.index("Defaults of calls") + 1 :]]

        def expect(deterministic: str, math: str, products: str, **variables: str) -> None:
            told = [["deterministic", deterministic], ["math", math], ["products", products]]
            self.assertEqual(defaults(**variables), told)

        expect("off", "ieee", "automatic", PORTOPS_DETERMINISTIC="", PORTOPS_MATH="", PORTOPS_PRODUCTS="")
        expect("on", "tf32", "own", PORTOPS_DETERMINISTIC="1", PORTOPS_MATH="tf32", PORTOPS_PRODUCTS="own")
        expect("off", "ieee", "automatic", PORTOPS_DETERMINISTIC="0", PORTOPS_MATH="ieee", PORTOPS_PRODUCTS="automatic")
        expect("off", "ieee", "kokkos_kernels", PORTOPS_PRODUCTS="kokkos_kernels")
        for variable, expected in (
            ("PORTOPS_DETERMINISTIC", "0 or 1"),
            ("PORTOPS_MATH", "ieee or tf32"),
            ("PORTOPS_PRODUCTS", "automatic, own or kokkos_kernels"),
        ):
            wrong = call("devices", env={**os.environ, variable: "fast"})
            self.assertEqual(wrong.returncode, 2)
            self.assertIn(f"the environment variable {variable} is 'fast', expected {expected}", wrong.stderr)

    def test_help_and_version(self) -> None:
        self.assertRegex(call("--version").stdout, r"^portops \d+\.\d+\.\d+\n$")
        for arguments in (["--help"], ["run", "--help"], ["info", "--help"]):
            result = call(*arguments)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertIn("--help", result.stdout)

    def test_full_standard_output(self) -> None:
        with open("/dev/full", "w") as full:
            result = subprocess.run([COMMAND, "list"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual((result.returncode, result.stderr.count("\n")), (2, 1))


class RunTest(CommandTest):
    def test_weight_is_a_number_a_file_or_left_out(self) -> None:
        self.write_pair()
        self.run_ok("lerp", "x=x.npy", "y=y.npy", "weight=0.25", "out=out.npy")
        self.assertEqual(npy_files.read(self.path("out.npy")), ("<f4", (2, 3), [2.5, 5.75, 9.0, 4.75, 8.0, 11.25]))
        self.run_ok("lerp", "x=x.npy", "y=y.npy", "out=out.npy")
        self.assertEqual(npy_files.read(self.path("out.npy"))[2], [5.0, 10.5, 16.0, 6.5, 12.0, 17.5])
        self.write("0.3", (1,), [1.0])
        self.run_ok("lerp", "x=x.npy", "y=y.npy", "weight=./0.3", "out=out.npy")
        self.assertEqual(npy_files.read(self.path("out.npy"))[2], [10.0, 20.0, 30.0, 10.0, 20.0, 30.0])

    def test_options_may_stand_anywhere(self) -> None:
        self.write_pair()
        for backend in ("serial", "openmp"):
            if backend in backends():
                self.run_ok(
                    "--backend",
                    backend,
                    "lerp",
                    "x=x.npy",
                    "--deterministic",
                    "out=out.npy",
                    "--math=tf32",
                    "--products=kokkos_kernels",
                    "weight=1",
                    "y=y.npy",
                    "--dtype=f64",
                )
                self.assertEqual(npy_files.read(self.path("out.npy"))[0], "<f8")
                self.assertEqual(npy_files.read(self.path("out.npy"))[2], [10.0, 20.0, 30.0] * 2)

    def test_gradients(self) -> None:
        self.write_pair()
        self.write("w.npy", (), [0.25])
        self.write("g.npy", (2, 3), [1, 2, 3, 4, 5, 6])
        self.run_ok(
            "lerp_grad",
            "x=x.npy",
            "y=y.npy",
            "weight=w.npy",
            "out_grad=g.npy",
            "x_grad=xg.npy",
            "y_grad=yg.npy",
            "weight_grad=wg.npy",
        )
        self.assertEqual(npy_files.read(self.path("xg.npy")), ("<f4", (2, 3), [0.75, 1.5, 2.25, 3.0, 3.75, 4.5]))
        self.assertEqual(npy_files.read(self.path("yg.npy")), ("<f4", (3,), [1.25, 1.75, 2.25]))
        total = sum(g * (y - x) for g, x, y in zip(range(1, 7), range(6), [10, 20, 30] * 2))
        self.assertEqual(npy_files.read(self.path("wg.npy")), ("<f4", (), [total]))
        # One gradient alone, for which the elements of x and y are not even read.
        self.run_ok("lerp_grad", "x=x.npy", "y=y.npy", "weight=0.25", "out_grad=g.npy", "y_grad=alone.npy")
        self.assertEqual(self.contents()["alone.npy"], self.contents()["yg.npy"])

    def p_norm(self, *attributes: str) -> tuple[tuple[int, ...], list[float]]:
        """The extents and elements of the norms of x.npy."""
        self.run_ok("p_norm", "x=x.npy", "out=out.npy", *attributes)
        return npy_files.read(self.path("out.npy"))[1:]

    def test_norms(self) -> None:
        self.write("x.npy", (2, 2, 2), [3, -4, 0, 0, 6, 8, 0, 0])
        self.assertEqual(self.p_norm(), ((2, 2), [5.0, 0.0, 10.0, 0.0]))
        self.assertEqual(self.p_norm("porder=fro"), ((2, 2), [5.0, 0.0, 10.0, 0.0]))
        self.assertEqual(self.p_norm("porder=inf"), ((2, 2), [4.0, 0.0, 8.0, 0.0]))
        self.assertEqual(self.p_norm("porder=-inf", "keepdim=true"), ((2, 2, 1), [3.0, 0.0, 6.0, 0.0]))
        self.assertEqual(self.p_norm("porder=1", "axis=0,2"), ((2,), [21.0, 0.0]))
        self.assertEqual(self.p_norm("porder=1", "axis=-1,0", "keepdim=true"), ((1, 2, 1), [21.0, 0.0]))
        self.assertEqual(self.p_norm("porder=0", "asvector=true"), ((), [4.0]))
        self.assertEqual(self.p_norm("porder=0", "asvector=true", "keepdim=true"), ((1, 1, 1), [4.0]))

    def test_gradient_of_the_norm(self) -> None:
        self.write("x.npy", (2, 2, 2), [3, -4, 0, 0, 6, 8, 0, 0])
        self.write("g.npy", (2, 2), [1, 2, 3, 4])
        for porder, expected in (
            ("porder=fro", [0.6, -0.8, 0.0, 0.0, 1.8, 2.4, 0.0, 0.0]),
            ("porder=1", [1.0, -1.0, 0.0, 0.0, 3.0, 3.0, 0.0, 0.0]),
            ("porder=inf", [0.0, -1.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0]),
            ("porder=0", [0.0] * 8),
        ):
            self.p_norm(porder)
            self.run_ok("p_norm_grad", "x=x.npy", "out=out.npy", "out_grad=g.npy", "x_grad=xg.npy", porder)
            descr, shape, values = npy_files.read(self.path("xg.npy"))
            self.assertEqual((descr, shape), ("<f4", (2, 2, 2)))
            for found, value in zip(values, expected):
                self.assertAlmostEqual(found, value, places=5)
        self.write("g.npy", (1, 2, 1), [1, 2])
        attributes = ("porder=inf", "axis=0,2", "keepdim=true")
        self.p_norm(*attributes)
        self.run_ok("p_norm_grad", "x=x.npy", "out=out.npy", "out_grad=g.npy", "x_grad=xg.npy", *attributes)
        self.assertEqual(npy_files.read(self.path("xg.npy"))[2], [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0])

    def test_fortran_order_byte_order_and_versions(self) -> None:
        rows = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
        by_columns = [rows[r][c] for c in range(3) for r in range(2)]
        self.write("x.npy", (2, 3), by_columns, fortran=True, version=2)
        self.write("y.npy", (2, 3), [8.0] * 6, descr=">f4", version=3)
        self.run_ok("lerp", "x=x.npy", "y=y.npy", "weight=0.5", "out=out.npy")
        self.assertEqual(
            npy_files.read(self.path("out.npy")),
            ("<f4", (2, 3), [0.5 * (8.0 + value) for row in rows for value in row]),
        )

    def test_every_element_type_without_dtype(self) -> None:
        for descr in ("<f8", "<f4", "<f2"):
            self.write_pair(descr)
            self.run_ok("lerp", "x=x.npy", "y=y.npy", "weight=0.5", "out=out.npy")
            self.assertEqual(npy_files.read(self.path("out.npy")), (descr, (2, 3), [5.0, 10.5, 16.0, 6.5, 12.0, 17.5]))

    def test_dtype_rounds_once(self) -> None:
        # Just above half-way between two numbers of f16 and of bf16: by way of f32 both would be rounded down.
        value = {"f16": 1.0 + 2.0**-11 + 2.0**-40, "bf16": 1.0 + 2.0**-8 + 2.0**-40}
        rounded = {"f16": 1.0 + 2.0**-10, "bf16": 1.0 + 2.0**-7}
        for dtype, written_as in (("f16", "<f2"), ("bf16", "<f4")):
            self.write("x.npy", (), [value[dtype]], descr="<f8")
            self.run_ok("lerp", "x=x.npy", "y=x.npy", "weight=0", "out=out.npy", "--dtype", dtype)
            self.assertEqual(npy_files.read(self.path("out.npy")), (written_as, (), [rounded[dtype]]))

    def test_dtype_converts_mixed_inputs(self) -> None:
        self.write("x.npy", (1,), [0.1], descr="<f8")
        self.write("y.npy", (1,), [0.5], descr="<f2")
        self.run_ok("lerp", "x=x.npy", "y=y.npy", "weight=0", "out=out.npy", "--dtype", "f32")
        self.assertEqual(npy_files.read(self.path("out.npy")), ("<f4", (1,), [to_f32(0.1)]))

    def test_no_elements(self) -> None:
        self.write("x.npy", (0, 3), [])
        self.write("y.npy", (3,), [1, 2, 3])
        self.run_ok("lerp", "x=x.npy", "y=y.npy", "out=out.npy")
        self.assertEqual(npy_files.read(self.path("out.npy")), ("<f4", (0, 3), []))

    def test_one_input_twice_and_an_existing_output(self) -> None:
        self.write_pair()
        self.write("out.npy", (1,), [1])
        os.chmod(self.path("out.npy"), 0o640)
        os.symlink("out.npy", self.path("link.npy"))
        self.run_ok("lerp", "x=x.npy", "y=x.npy", "weight=nan", "out=link.npy")
        self.assertEqual(npy_files.read(self.path("out.npy"))[1], (2, 3))
        self.assertTrue(os.path.islink(self.path("link.npy")))
        self.assertEqual(os.stat(self.path("out.npy")).st_mode & 0o777, 0o640)

    def test_pipes(self) -> None:
        self.write_pair()
        need("lerp")
        os.mkfifo(self.path("pipe"))
        with open(self.path("x.npy"), "rb") as file:
            data = file.read()

        def feed() -> None:
            with open(self.path("pipe"), "wb") as pipe:
                pipe.write(data)

        feeder = threading.Thread(target=feed)
        feeder.start()
        self.run_ok("lerp", "x=pipe", "y=y.npy", "weight=1", "out=/dev/null")
        feeder.join()

    def test_a_signal_leaves_nothing_behind(self) -> None:
        self.write_pair()
        need("lerp")
        os.mkfifo(self.path("pipe"))
        before = sorted(os.listdir(self.folder))
        # The output is under way while the elements of y are awaited from the pipe.
        command = [COMMAND, "run", "lerp", "x=x.npy", "y=pipe", "out=out.npy"]
        with subprocess.Popen(command, cwd=self.folder) as process, open(self.path("pipe"), "wb", buffering=0) as pipe:
            pipe.write(npy_files.header("<f4", (3,)))
            while not any(name.endswith(".part") for name in os.listdir(self.folder)):
                self.assertIsNone(process.poll())
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(60), -signal.SIGTERM)
        self.assertEqual(sorted(os.listdir(self.folder)), before)


if __name__ == "__main__":
    unittest.main()
