# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs portops_classify, named by the environment variable PORTOPS_CLASSIFY, on texts made up here."""

from __future__ import annotations

import os
import random
import re
import subprocess
import tempfile
import unittest

from left_out import skip_if_left_out

PROGRAM = os.environ["PORTOPS_CLASSIFY"]
FISH = "salmon trout carp pike eel".split()
BIRDS = "robin wren finch crow owl".split()
TREES = "oak ash elm yew fir".split()
ANY = "the a of small great near far and".split()


def sentences(count: int, classes: dict[str, list[str]], seed: int = 1) -> str:
    """Lines of words that any class may have, among them two of the class's own."""
    rng = random.Random(seed)
    lines = []
    for i in range(count):
        label = list(classes)[i % len(classes)]
        words = rng.choices(classes[label], k=2) + rng.choices(ANY, k=rng.randrange(1, 9))
        rng.shuffle(words)
        lines.append(f"{label}\t{' '.join(words)}.\n")
    return "".join(lines)


class ClassifyTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="portops_test_")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.write("animals.txt", sentences(600, {"fish": FISH, "bird": BIRDS, "tree": TREES}))

    def write(self, name: str, text: str) -> None:
        with open(os.path.join(self.folder, name), "w", encoding="utf-8", newline="") as file:
            file.write(text)

    def call(self, *arguments: str, env: dict[str, str] | None = None, **options) -> subprocess.CompletedProcess[str]:
        result = subprocess.run(
            [PROGRAM, *arguments],
            cwd=self.folder,
            capture_output=True,
            encoding="utf-8",
            timeout=300,
            check=False,
            env=os.environ | (env or {}),
            **options,
        )
        return skip_if_left_out(result)

    def run_ok(self, *arguments: str, **options) -> str:
        result = self.call(*arguments, **options)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def epochs(self, output: str) -> list[tuple[float, float, float]]:
        """Loss, accuracy and accuracy on the held-out lines after each epoch."""
        rows = re.findall(r"^ *(\d+) +(\S+) +(\S+) % +(\S+) %$", output, re.MULTILINE)
        self.assertEqual([int(row[0]) for row in rows], list(range(1, len(rows) + 1)))
        return [(float(loss), float(learned), float(held_out)) for _, loss, learned, held_out in rows]

    def result(self, output: str) -> tuple[float, str, float]:
        found = re.search(r"^result +(\S+) % .*; always '(.*)' would be right in (\S+) %$", output, re.MULTILINE)
        self.assertIsNotNone(found, output)
        return float(found[1]), found[2], float(found[3])

    def speaking(self, output: str) -> dict[str, list[str]]:
        return {label: words.split() for label, words in re.findall(r"^speak +(\S+) +(.*)$", output, re.MULTILINE)}

    # --- what is learned -----------------------------------------------------------------------------------

    def test_a_text_is_learned(self) -> None:
        for optimizer in ("adam", "momentum", "sgd"):
            with self.subTest(optimizer):
                output = self.run_ok("animals.txt", "--optimizer", optimizer, "--words=5", "--batch=32")
                epochs = self.epochs(output)
                self.assertEqual(len(epochs), 10)
                losses = [epoch[0] for epoch in epochs]
                self.assertEqual(losses, sorted(losses, reverse=True))
                self.assertLess(losses[-1], losses[0] / 3)
                self.assertEqual(epochs[-1][1:], (100, 100))
                accuracy, _, always = self.result(output)
                self.assertEqual(accuracy, 100)
                self.assertLess(always, 50)
                words = self.speaking(output)
                self.assertEqual({label: set(words[label]) for label in words},
                                 {"fish": set(FISH), "bird": set(BIRDS), "tree": set(TREES)})

    def test_element_types(self) -> None:
        for dtype in ("f64", "f32", "f16", "bf16"):
            with self.subTest(dtype):
                output = self.run_ok("animals.txt", "--dtype", dtype, "--optimizer=sgd", "--batch=32")
                self.assertIn(f" in {dtype}, by sgd from a learning rate of ", output)
                self.assertEqual(self.result(output)[0], 100)

    def test_what_cannot_be_told_from_words(self) -> None:
        self.write("same.txt", "most\tone two\n" * 60 + "few\ttwo one\n" * 40)
        accuracy, label, always = self.result(self.run_ok("same.txt", "--held-out=0.5"))
        self.assertEqual((accuracy, label), (always, "most"))

    def test_lines_without_words_are_of_the_most_frequent_class(self) -> None:
        self.write("bare.txt", "".join(f"most\t{i}\nmost\t.\nfew\t\n" for i in range(40)))
        accuracy, label, always = self.result(self.run_ok("bare.txt"))
        self.assertEqual((accuracy, label), (always, "most"))

    # --- the same bits -------------------------------------------------------------------------------------

    def bits(self, *arguments: str, threads: int = 1) -> list[str]:
        output = self.run_ok("animals.txt", "--epochs=3", *arguments, env={"OMP_NUM_THREADS": str(threads)})
        return [line for line in output.splitlines() if not line.startswith(("time", "backend"))]

    def test_every_run_and_number_of_threads_gives_the_same(self) -> None:
        first = self.bits()
        self.assertEqual(self.bits(), first)
        self.assertNotEqual(self.bits("--seed=2"), first)
        for threads in (1, 2, 3, 5):
            self.assertEqual(self.bits(threads=threads), first)

    def test_every_backend(self) -> None:
        accuracies = []
        for backend in ("serial", "openmp", "cuda"):
            result = self.call("animals.txt", "--backend", backend)
            if result.returncode == 0:
                self.assertIn(f"\nbackend  {backend}, ", result.stdout)
                accuracies.append(self.result(result.stdout)[0])
        self.assertEqual(set(accuracies), {100})

    # --- what is printed and read --------------------------------------------------------------------------

    def test_output(self) -> None:
        lines = self.run_ok("animals.txt", "--epochs=2", "--batch=100", "--min-count=3", "--learning-rate=0.25").splitlines()
        self.assertEqual(lines[:3], ["lines    540 to learn from, 60 held out",
                                     "words    23 that occur 3 times or more", "classes  3"])
        self.assertEqual(lines[3], "table    [24, 3] in f32, by adam from a learning rate of 0.25")
        self.assertRegex(lines[4], r"^backend  \w+, .+$")
        self.assertEqual(lines[5:7], ["", "epoch     loss  accuracy  held out"])
        self.assertEqual(lines[9], "")
        self.assertEqual([line.split()[:2] for line in lines[11:14]], [["speak", name] for name in self.by_frequency()])
        self.assertRegex(lines[14], r"^time     [\d.]+ us a step of 100 lines, [\d.]+ million words a second, in the "
                                    r"fastest epoch$")
        self.assertEqual(len(lines), 15)

    def by_frequency(self) -> list[str]:
        """The classes as they are listed, with all of them in the same order for the same seed."""
        return list(self.speaking(self.run_ok("animals.txt", "--epochs=1")))

    def test_the_most_frequent_classes_are_listed(self) -> None:
        self.write("many.txt", "".join(f"c{i}\tword{chr(97 + i)}\n" * (40 - i) for i in range(15)))
        output = self.run_ok("many.txt", "--epochs=1", "--words=1")
        self.assertEqual(len(self.speaking(output)), 12)
        self.assertIn("\n… 3 more\n", output)

    def test_several_files_and_standard_input(self) -> None:
        with open(os.path.join(self.folder, "animals.txt"), encoding="utf-8") as file:
            text = file.read()
        lines = text.splitlines(keepends=True)
        self.write("first.txt", "".join(lines[:200]))
        whole = self.bits()
        rest = "\r\n".join(line.rstrip("\n") for line in lines[200:])  # no line end behind the last
        output = self.run_ok("first.txt", "-", "--epochs=3", input="\n\n" + rest, env={"OMP_NUM_THREADS": "1"})
        self.assertEqual([line for line in output.splitlines() if not line.startswith(("time", "backend"))], whole)

    # --- what is refused -----------------------------------------------------------------------------------

    def wrong(self, *arguments: str, expect: str, **options) -> None:
        result = self.call(*arguments, **options)
        self.assertEqual((result.returncode, result.stdout), (2, ""), result)
        self.assertRegex(result.stderr, r"^portops_classify: [^\n]+\n$")
        self.assertIn(expect, result.stderr)

    def test_wrong_options(self) -> None:
        self.wrong(expect="FILE")
        for number in ("0", "1", "-0.1", "nan", "inf", "half"):
            self.wrong("animals.txt", f"--held-out={number}",
                       expect=f"--held-out is '{number}', expected a number between 0 and 1")
        for number in ("0", "-1", "nan", "inf", "fast"):
            self.wrong("animals.txt", f"--learning-rate={number}",
                       expect=f"--learning-rate is '{number}', expected a positive number")
        for option in ("--epochs=0", "--epochs=x", "--batch=0", "--batch=2000000", "--min-count=0", "--words=-1",
                       "--seed=-1", "--seed=x", "--what=1"):
            self.wrong("animals.txt", option, expect=option.split("=", maxsplit=1)[0])
        self.wrong("animals.txt", "--optimizer=lbfgs", expect="'lbfgs', expected adam, momentum or sgd")
        self.wrong("animals.txt", "--dtype=i64", expect="'i64', expected f64, f32, f16 or bf16")
        self.wrong("animals.txt", "--dtype=f16", expect="'f16', which cannot hold adam's second moments")
        self.wrong("animals.txt", "--backend=tpu", expect="'tpu'")

    def test_a_loss_that_is_no_number(self) -> None:
        result = self.call("animals.txt", "--learning-rate=1e300")
        self.assertEqual(result.returncode, 2, result)
        self.assertRegex(result.stderr, r"^portops_classify: a loss is NaN or Inf [^\n]+ a smaller --learning-rate may help\n$")
        self.assertNotIn("nan", result.stdout)
        self.assertNotIn("result", result.stdout)

    def test_wrong_texts(self) -> None:
        self.wrong("none.txt", expect="none.txt: cannot be read: No such file")
        self.wrong(".", expect=".: is a folder, expected a file of labelled lines")
        self.write("wrong.txt", "a\tone\n\nno tab here\n")
        self.wrong("wrong.txt", expect="wrong.txt:3: no tab, expected a label, a tab and the text")
        self.wrong("-", input="a\tone\n\tno label\n", expect="-:2: no label before the tab")
        self.wrong("-", input="", expect="the text has 0 lines, expected at least 2")
        self.wrong("-", input="a\tone\n", expect="the text has 1 line, expected at least 2")
        self.wrong("-", input="a\tone\na\ttwo\n", expect="all lines have the label 'a', expected two labels or more")


if __name__ == "__main__":
    unittest.main()
