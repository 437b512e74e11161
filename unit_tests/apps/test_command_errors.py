# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the portops command as nobody should: status 2, one line that tells why, and nothing left behind."""

from __future__ import annotations

import os
import resource
import subprocess
import unittest

import npy_files
from command_fixture import COMMAND, CommandTest, backends, call, need


class WrongCallTest(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        self.write_pair()

    def wrong_lerp(self, *arguments: str, expect: tuple[str, ...] | list[str] = ()) -> None:
        self.run_wrong("run", "lerp", *arguments, expect=expect)

    def test_words(self) -> None:
        self.run_wrong(expect=["no command", "list, info, devices, run or program"])
        self.run_wrong("frobnicate", expect=["'frobnicate' is not a command"])
        self.run_wrong("--frobnicate", expect=["'--frobnicate'"])
        self.run_wrong("run", expect=["OP"])
        self.run_wrong("list", "info", expect=["info"])
        self.run_wrong("info", "lrep", expect=["'lrep'", "the closest are "])
        self.run_wrong("info", "list", expect=["'list'"])
        self.run_wrong("run", "lrep", "x=x.npy", expect=["'lrep'", "the closest are "])
        self.run_wrong("run", "lerp", "--frobnicate", expect=["--frobnicate"])
        self.run_wrong("run", "lerp", "--dtype", expect=["--dtype"])
        self.run_wrong("run", "lerp", "--dtype", "f32", "--dtype", "f64", expect=["--dtype"])

    def test_options(self) -> None:
        complete = ("x=x.npy", "y=y.npy", "out=out.npy")
        self.wrong_lerp(*complete, "--dtype", "int8", expect=["'int8'", "f64, f32, f16 or bf16"])
        self.wrong_lerp(*complete, "--math", "fp8", expect=["'fp8'", "ieee or tf32"])
        self.wrong_lerp(*complete, "--products", "blas", expect=["'blas'", "automatic, own or kokkos_kernels"])
        self.wrong_lerp(*complete, "--backend", "tpu", expect=["'tpu'", ", ".join(backends()[:1])])
        self.wrong_lerp(*complete, "--backend", "", expect=["--backend", "''"])

    def test_absent_gpu(self) -> None:
        if any(line.startswith("cuda ") for line in call("devices").stdout.splitlines()):
            self.skipTest("there is a GPU")
        self.wrong_lerp("x=x.npy", "y=y.npy", "out=out.npy", "--backend", "cuda", expect=["cuda"])

    def test_arguments(self) -> None:
        self.wrong_lerp("x.npy", expect=["'x.npy'", "NAME=FILE.npy"])
        self.wrong_lerp("=x.npy", expect=["'=x.npy'"])
        self.wrong_lerp("", expect=["''"])
        self.wrong_lerp("x=", expect=["x is empty", "x=FILE.npy"])
        self.wrong_lerp("x=x.npy", "z=1", expect=["'z'", "x, y, weight, out"])
        self.wrong_lerp("x=x.npy", "x=x.npy", expect=["x is given twice"])
        self.wrong_lerp("weight=1", "weight=w.npy", expect=["weight is given twice"])
        self.wrong_lerp("x=x.npy", "out=out.npy", expect=["input y is missing", "y=FILE.npy"])
        self.wrong_lerp("x=x.npy", "y=y.npy", expect=["output out is missing", "out=FILE.npy"])
        self.wrong_lerp("x=x.npy", "y=y.npy", "out=out.npy", "weight=1e999", expect=["'1e999' is out of range"])
        self.run_wrong(
            "run",
            "lerp_grad",
            "x=x.npy",
            "y=y.npy",
            "out_grad=x.npy",
            expect=["no output", "x_grad, y_grad, weight_grad"],
        )
        self.run_wrong(
            "run",
            "lerp_grad",
            "x=x.npy",
            "y=y.npy",
            "weight=1",
            "out_grad=x.npy",
            "weight_grad=g.npy",
            expect=["weight_grad cannot be computed", "weight is a number"],
        )

    def test_attributes(self) -> None:
        def wrong(*arguments: str, expect: str) -> None:
            message = f"portops: p_norm: {expect}\n"
            self.run_wrong("run", "p_norm", "x=x.npy", "out=out.npy", *arguments, expect=[message])

        wrong("porder=abc", expect="porder is 'abc', expected a number, such as 0.5 or inf, or fro")
        wrong("porder=Fro", expect="porder is 'Fro', expected a number, such as 0.5 or inf, or fro")
        wrong("porder=", expect="porder is '', expected a number, such as 0.5 or inf, or fro")
        wrong("porder=nan", expect="porder is nan, expected a number")
        wrong("porder=1", "porder=fro", expect="porder is given twice, expected once")
        wrong("epsilon=-1", expect="epsilon is -1, expected a finite number that is not negative")
        wrong("epsilon=fro", expect="epsilon is 'fro', expected a number, such as 0.5 or inf")
        wrong("keepdim=1", expect="keepdim is '1', expected true or false")
        wrong("axis=3", expect="axis is 3, expected -2 to 1 (x has rank 2)")
        wrong("axis=1,-1", expect="axis names axis 1 twice, expected each once")
        wrong("axis=", expect="axis is '', expected integers separated by commas, such as 1,2, or [] for none")
        wrong("axis=0;1", expect="axis is '0;1', expected integers separated by commas, such as 1,2, or [] for none")
        wrong("ord=1", expect="there is no argument 'ord', expected x, porder, axis, epsilon, keepdim, asvector, out")
        self.run_wrong(
            "run",
            "p_norm_grad",
            "x=x.npy",
            "out=y.npy",
            "out_grad=y.npy",
            "x_grad=g.npy",
            expect=["p_norm_grad: out has extents [3], expected [2] (reduced(x))"],
        )

    def test_extents_and_types(self) -> None:
        self.write("z.npy", (2, 4), [0] * 8)
        self.wrong_lerp("x=x.npy", "y=z.npy", "out=out.npy", expect=["[2, 3]", "[2, 4]"])
        self.run_wrong(
            "run",
            "lerp_grad",
            "x=x.npy",
            "y=y.npy",
            "out_grad=y.npy",
            "x_grad=g.npy",
            expect=["out_grad", "[3]", "[2, 3]"],
        )
        self.write("d.npy", (3,), [0] * 3, descr="<f8")
        self.wrong_lerp("x=x.npy", "y=d.npy", "out=out.npy", expect=["f32", "f64", "--dtype"])

    def test_input_files(self) -> None:
        with open(self.path("x.npy"), "rb") as file:
            whole = file.read()
        broken = {
            "text.npy": (b"no array", "is not a .npy file"),
            "empty.npy": (b"", "is not a .npy file"),
            "short.npy": (whole[:-1], "truncated"),
            "header.npy": (whole[:20], "truncated"),
            "long.npy": (whole + b"x", "longer than its header says"),
            "lying.npy": (npy_files.header("<f4", (1 << 40,)) + bytes(24), "truncated"),
            "negative.npy": (npy_files.header("<f4", (-2, -3)) + bytes(24), "negative"),
            "overflow.npy": (npy_files.header("<f4", (1 << 62, 1 << 62)) + bytes(24), "64 bits"),
            "int.npy": (npy_files.header("<i4", (3,)) + bytes(12), "int32"),
            "index.npy": (npy_files.header("<i8", (3,)) + bytes(24), "holds i64, expected float16, float32 or float64"),
            "deep.npy": (npy_files.header("<f4", (1,) * 9) + bytes(4), "at most 8"),
        }
        for name, (data, reason) in broken.items():
            with open(self.path(name), "wb") as file:
                file.write(data)
            self.wrong_lerp(f"x={name}", "y=y.npy", "out=out.npy", expect=[name, reason])
        self.wrong_lerp("x=none.npy", "y=y.npy", "out=out.npy", expect=["none.npy", "No such file"])
        self.wrong_lerp("x=/", "y=y.npy", "out=out.npy", expect=["is a folder"])
        self.wrong_lerp("x=line\nbreak.npy", "y=y.npy", "out=out.npy", expect=["line break.npy"])

    def test_truncated_pipe(self) -> None:
        need("lerp")
        os.mkfifo(self.path("pipe"))
        for data, reason in (
            (npy_files.header("<f4", (3,)) + bytes(11), "truncated"),
            (npy_files.header("<f4", (3,)) + bytes(13), "longer"),
        ):
            with subprocess.Popen(
                [COMMAND, "run", "lerp", "x=pipe", "y=y.npy", "out=out.npy"],
                cwd=self.folder,
                stderr=subprocess.PIPE,
                text=True,
            ) as process:
                with open(self.path("pipe"), "wb") as pipe:
                    pipe.write(data)
                _, error = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 2)
                self.assertIn(reason, error)
            self.assertEqual(sorted(os.listdir(self.folder)), ["pipe", "x.npy", "y.npy"])

    def test_output_files(self) -> None:
        self.wrong_lerp("x=x.npy", "y=y.npy", "out=x.npy", expect=["same file"])
        self.wrong_lerp("x=x.npy", "y=y.npy", "out=./x.npy", expect=["same file"])
        self.wrong_lerp("x=x.npy", "y=y.npy", "out=none/out.npy", expect=["none/out.npy", "No such file"])
        self.wrong_lerp("x=x.npy", "y=y.npy", "out=.", expect=["is a folder"])
        self.run_wrong(
            "run",
            "lerp_grad",
            "x=x.npy",
            "y=y.npy",
            "out_grad=x.npy",
            "x_grad=g.npy",
            "y_grad=./g.npy",
            expect=["x_grad", "y_grad", "same file"],
        )

    @unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_protected_output(self) -> None:
        self.write("out.npy", (1,), [1])
        os.chmod(self.path("out.npy"), 0o444)
        self.wrong_lerp("x=x.npy", "y=y.npy", "out=out.npy", expect=["Permission denied"])

    def test_full_disk(self) -> None:
        self.wrong_lerp("x=x.npy", "y=y.npy", "out=/dev/full", expect=["/dev/full", "No space left"])
        # Two outputs, of which only the first fits: neither appears, and an older one stays.
        self.write("big.npy", (1 << 16,), [1.0] * (1 << 16))
        self.write("xg.npy", (1,), [1])
        self.write("small.npy", (), [1.0])

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))

        self.run_wrong(
            "run",
            "lerp_grad",
            "x=small.npy",
            "y=big.npy",
            "out_grad=big.npy",
            "x_grad=xg.npy",
            "y_grad=yg.npy",
            preexec_fn=limit,
            expect=["yg.npy", "File too large"],
        )


if __name__ == "__main__":
    unittest.main()
