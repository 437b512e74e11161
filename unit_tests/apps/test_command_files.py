# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the portops command does with files other than by their plain names, and with many of them."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import unittest

import npy_files
from command_fixture import COMMAND, CommandTest, call, need

OUT = [2.5, 5.75, 9.0, 4.75, 8.0, 11.25]
LERP = ("lerp", "x=x.npy", "y=y.npy", "weight=0.25")


class LinkTest(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        self.write_pair()

    def expect_out(self, name: str) -> None:
        self.assertEqual(npy_files.read(self.path(name)), ("<f4", (2, 3), OUT))

    def test_a_dangling_link_stays_and_its_target_is_written(self) -> None:
        os.mkdir(self.path("folder"))
        os.symlink("folder/second.npy", self.path("first.npy"))
        os.symlink("out.npy", self.path("folder/second.npy"))  # relative to the folder that it lies in
        self.run_ok(*LERP, "out=first.npy")
        self.assertTrue(os.path.islink(self.path("first.npy")) and os.path.islink(self.path("folder/second.npy")))
        self.expect_out("folder/out.npy")
        self.assertEqual(sorted(os.listdir(self.path("folder"))), ["out.npy", "second.npy"])
        os.symlink(self.path("absolute.npy"), self.path("third.npy"))
        self.run_ok(*LERP, "out=third.npy")
        self.assertTrue(os.path.islink(self.path("third.npy")))
        self.expect_out("absolute.npy")

    def test_links_that_lead_nowhere(self) -> None:
        for target, reason in (("none/out.npy", "No such file"), ("link.npy", "Too many levels of symbolic links")):
            os.symlink(target, self.path("link.npy"))
            result = call("run", *LERP, "out=link.npy", cwd=self.folder)
            self.assertEqual((result.returncode, result.stderr.count("\n")), (2, 1))
            self.assertTrue(result.stderr.startswith("portops: link.npy: cannot be written: " + reason), result.stderr)
            self.assertEqual(sorted(os.listdir(self.folder)), ["link.npy", "x.npy", "y.npy"])
            os.remove(self.path("link.npy"))

    def test_a_dangling_link_is_the_file_that_it_names(self) -> None:
        os.symlink("target.npy", self.path("link.npy"))
        gradients = ("lerp_grad", "x=x.npy", "y=y.npy", "out_grad=x.npy")
        for names in (("link.npy", "target.npy"), ("./target.npy", "link.npy")):
            result = call("run", *gradients, f"x_grad={names[0]}", f"y_grad={names[1]}", cwd=self.folder)
            self.assertEqual(result.returncode, 2)
            self.assertEqual(
                result.stderr,
                f"portops: lerp_grad: outputs x_grad and y_grad are the same file {names[1]}, "
                "expected different files\n",
            )
            self.assertEqual(sorted(os.listdir(self.folder)), ["link.npy", "x.npy", "y.npy"])


class DescriptorTest(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        self.write_pair()

    def test_an_output_without_a_name(self) -> None:
        with open(self.path("removed.npy"), "wb") as file:
            os.remove(file.name)
            for folder in ("/dev/fd", "/proc/self/fd"):
                name = f"{folder}/{file.fileno()}"
                self.run_wrong("run", *LERP, f"out={name}", pass_fds=[file.fileno()],
                               expect=[f"portops: {name}: cannot be written: No such file or directory\n"])

    def test_a_closed_output(self) -> None:
        # Numbers that the command could give to a file that it opens itself: that one is not meant.
        for number in range(3, 12):
            name = f"/dev/fd/{number}"
            self.run_wrong("run", *LERP, f"out={name}",
                           expect=[f"portops: {name}: cannot be written: No such file or directory\n"])

    def test_an_open_output(self) -> None:
        with open(self.path("out.npy"), "wb") as file:
            result = call("run", *LERP, f"out=/dev/fd/{file.fileno()}", cwd=self.folder, pass_fds=[file.fileno()])
            self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(npy_files.read(self.path("out.npy"))[2], OUT)


class ManyFilesTest(CommandTest):
    def test_more_files_than_may_be_open(self) -> None:
        count = 100

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

        names = [f"x{i}.npy" for i in range(count)]
        for i, name in enumerate(names):
            self.write(name, (1,), [i])
        out_names = [f"out{i}.npy" for i in range(count)]
        for arguments in (
            ("concat", "x=" + ",".join(names), "out=all.npy"),
            ("split", "x=all.npy", "sections=" + ",".join(["1"] * count), "out=" + ",".join(out_names)),
            ("concat_grad", "x=" + ",".join(names), "out_grad=all.npy", "x_grad=" + ",".join(out_names)),
        ):
            result = call("run", *arguments, cwd=self.folder, preexec_fn=limit)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(npy_files.read(self.path("all.npy"))[2], list(range(count)))
        self.assertEqual([npy_files.read(self.path(name))[2] for name in out_names], [[i] for i in range(count)])

    def test_a_signal_leaves_none_of_many_behind(self) -> None:
        count = 100
        need("lerp")
        os.mkfifo(self.path("pipe"))
        outputs = ",".join(f"out{i}.npy" for i in range(count))
        sections = ",".join(["1"] * count)
        command = [COMMAND, "run", "split", "x=pipe", f"sections={sections}", f"out={outputs}"]
        with subprocess.Popen(command, cwd=self.folder) as process, open(self.path("pipe"), "wb", buffering=0) as pipe:
            pipe.write(npy_files.header("<f4", (count,)))  # and no elements
            while len(os.listdir(self.folder)) < 1 + count:
                self.assertIsNone(process.poll())
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(60), -signal.SIGTERM)
        self.assertEqual(os.listdir(self.folder), ["pipe"])


if __name__ == "__main__":
    unittest.main()
