# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads the includes of src: every file is in a room, rooms know only those below them, families of operators do not
know each other, nor do the operators of one, no file includes itself by a detour, and what applications include does not reach what they cannot."""

from __future__ import annotations

import pathlib
import re
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]

# From the bottom upwards. Rooms of one line stand side by side and do not know each other.
ROOMS = (
    ("core/types",),
    ("core/lanes",),
    ("core/exec",),
    ("core/check",),
    ("core/loop",),
    ("core/map", "core/reduce", "core/copy"),
    ("core/schema",),
    ("blas",),
    ("ops",),
    ("autograd",),
    ("nn",),
    ("graph", "comm"),
    ("c_api",),
)
FLOORS = {room: floor for floor, rooms in enumerate(ROOMS) for room in rooms}
# Nothing in these knows Kokkos.
PLAIN = ("core/types", "core/check", "core/loop", "core/schema")
CONFIG = "portops/core/config.hpp"
# Made by the build.
MADE = (CONFIG, "portops/autograd/operators.hpp")


class House:
    """The files of a folder, and which of them each includes."""

    def __init__(self, folder: pathlib.Path):
        self.problems: list[str] = []
        paths = [path for path in sorted(folder.rglob("*")) if path.suffix in (".hpp", ".cpp", ".cu")]
        self.files = {path.relative_to(folder).as_posix() for path in paths}
        self.public = {}  # <portops/...> by what they are here
        for file in self.files:
            folder_name, _, name = file.rpartition("/")
            if file.startswith("core/"):
                self.public.setdefault(f"portops/core/{name}", file)
            elif folder_name in ("autograd", "nn", "graph", "comm"):
                self.public[f"portops/{file}"] = file
            elif folder_name.endswith(f"/{name[: -len('.hpp')]}"):
                self.public[f"portops/ops/{name}"] = file
        self.includes = {path.relative_to(folder).as_posix(): self._read(path, folder) for path in paths}
        self.asking = [path.relative_to(folder).as_posix() for path in paths if _asks_unknowingly(path)]
        self.kokkos = {file for file in self.files if "#include <Kokkos_" in (folder / file).read_text(encoding="utf-8")}

    def _read(self, path: pathlib.Path, folder: pathlib.Path) -> list[str]:
        file = path.relative_to(folder).as_posix()
        found = []
        for name in re.findall(r'#include ["<]([^">]+)[">]', path.read_text(encoding="utf-8")):
            if name in MADE:
                continue
            target = self.public.get(name, name)
            if target in self.files:
                found.append(target)
            elif "/" in name and name.split("/")[0] in ("core", "blas", "ops", "autograd", "nn", "graph", "comm", "portops", "apps"):
                self.problems.append(f"{file} includes {name}, which is not there")
        return found

    def check(self) -> list[str]:
        for file, included in self.includes.items():
            if _room(file) is None:
                self.problems.append(f"{file} is in no room: {', '.join(FLOORS)}")
                continue
            for target in included:
                self._check_arrow(file, target)
        self._check_circles()
        self._check_kokkos()
        for file in self.asking:
            self.problems.append(f"{file} asks for PORTOPS_HAS_... before it includes {CONFIG}: it may go without")
        return self.problems

    def _check_arrow(self, file: str, target: str) -> None:
        here, there = _room(file), _room(target)
        if there is None:
            return
        if FLOORS[there] > FLOORS[here]:
            self.problems.append(f"{file} includes {target}: {here} stands below {there}")
        elif there != here and FLOORS[there] == FLOORS[here]:
            self.problems.append(f"{file} includes {target}: {here} and {there} stand side by side")
        elif here == there == "ops" and file.split("/")[1] != target.split("/")[1]:
            self.problems.append(f"{file} includes {target}, which belongs to another family of operators")
        elif here == there == "ops" and self._operator(target) not in (None, self._operator(file)):
            self.problems.append(f"{file} includes {target}, which belongs to another operator of the family")

    def _operator(self, file: str) -> str | None:
        """The operator of a family whose folder the file is in: one with a header and an entry point of its name."""
        _, family, name, *rest = file.split("/")
        own = {f"ops/{family}/{name}/{name}.{ending}" for ending in ("hpp", "cpp")}
        return name if rest and own <= self.files else None

    def _check_circles(self) -> None:
        done: set[str] = set()
        for start in sorted(self.files):
            path, open_files = [(start, iter(self.includes[start]))], {start}
            while path and start not in done:
                file, rest = path[-1]
                target = next((name for name in rest if name not in done), None)
                if target is None:
                    path.pop()
                    open_files.discard(file)
                    done.add(file)
                elif target in open_files:
                    circle = [name for name, _ in path]
                    circle = circle[circle.index(target) :]
                    self.problems.append(f"{' includes '.join([*circle, target])}: a circle")
                else:
                    path.append((target, iter(self.includes[target])))
                    open_files.add(target)

    def _check_kokkos(self) -> None:
        for file in sorted(self.files):
            if not file.startswith(tuple(f"{room}/" for room in PLAIN)):
                continue
            seen, rest = {file}, [file]
            while rest:
                name = rest.pop()
                if name in self.kokkos:
                    self.problems.append(f"{file} reaches Kokkos' headers through {name}: {_room(file)} knows no Kokkos")
                    break
                fresh = set(self.includes[name]) - seen
                seen |= fresh
                rest += sorted(fresh)


def _asks_unknowingly(path: pathlib.Path) -> bool:
    """Whether a file asks what the library was configured with where nothing has told it: then the answer is no."""
    before, asked, _ = path.read_text(encoding="utf-8").partition("defined(PORTOPS_HAS_")
    return bool(asked) and f'#include "{CONFIG}"' not in before


def _room(file: str) -> str | None:
    return next((room for room in FLOORS if file.startswith(f"{room}/")), None)


class IncludesTest(unittest.TestCase):
    def problems_of(self, files: dict[str, str]) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return House(pathlib.Path(folder)).check()

    def test_the_library_is_in_order(self):
        self.assertEqual(House(PROJECT / "src").check(), [])

    def test_the_rooms_are_in_the_design(self):
        design = (PROJECT / "docs" / "design.md").read_text(encoding="utf-8")
        self.assertEqual([room for room in FLOORS if f"`src/{room}`" not in design], [])

    def test_an_arrow_upwards(self):
        self.assertEqual(
            self.problems_of({"core/types/a.hpp": '#include "core/exec/b.hpp"\n', "core/exec/b.hpp": ""}),
            ["core/types/a.hpp includes core/exec/b.hpp: core/types stands below core/exec"],
        )

    def test_an_arrow_through_a_public_name(self):
        self.assertEqual(
            self.problems_of({"blas/a.cpp": '#include "portops/ops/add.hpp"\n', "ops/add/add.hpp": ""}),
            ["blas/a.cpp includes ops/add/add.hpp: blas stands below ops"],
        )

    def test_an_arrow_sideways(self):
        self.assertEqual(
            self.problems_of({"core/map/a.hpp": '#include "core/copy/b.hpp"\n', "core/copy/b.hpp": ""}),
            ["core/map/a.hpp includes core/copy/b.hpp: core/map and core/copy stand side by side"],
        )
        self.assertEqual(
            self.problems_of({"ops/add/a.hpp": '#include "ops/lerp/b.hpp"\n', "ops/lerp/b.hpp": ""}),
            ["ops/add/a.hpp includes ops/lerp/b.hpp, which belongs to another family of operators"],
        )

    def test_an_arrow_within_a_family(self):
        files = {"ops/parts/plan.hpp": "", "ops/parts/concat/concat.hpp": '#include "ops/parts/plan.hpp"\n'}
        files["ops/parts/concat/concat.cpp"] = ""
        self.assertEqual(self.problems_of(files), [])
        self.assertEqual(
            self.problems_of({**files, "ops/parts/split/a.hpp": '#include "portops/ops/concat.hpp"\n'}),
            ["ops/parts/split/a.hpp includes ops/parts/concat/concat.hpp, which belongs to another operator of the family"],
        )

    def test_the_autograd_room(self):
        files = {"autograd/a.hpp": '#include "portops/ops/add.hpp"\n', "ops/add/add.hpp": ""}
        self.assertEqual(self.problems_of(files), [])
        files = {"autograd/a.hpp": "", "ops/add/add.cpp": '#include "portops/autograd/a.hpp"\n'}
        self.assertEqual(
            self.problems_of(files), ["ops/add/add.cpp includes autograd/a.hpp: ops stands below autograd"]
        )

    def test_the_nn_room(self):
        files = {"nn/a.hpp": '#include "portops/autograd/b.hpp"\n', "autograd/b.hpp": ""}
        self.assertEqual(self.problems_of(files), [])
        files = {"nn/a.hpp": "", "autograd/b.hpp": '#include "portops/nn/a.hpp"\n'}
        self.assertEqual(self.problems_of(files), ["autograd/b.hpp includes nn/a.hpp: autograd stands below nn"])

    def test_the_graph_room(self):
        files = {"graph/a.hpp": '#include "portops/autograd/b.hpp"\n', "autograd/b.hpp": ""}
        self.assertEqual(self.problems_of(files), [])
        files = {"graph/a.hpp": "", "autograd/b.hpp": '#include "portops/graph/a.hpp"\n'}
        self.assertEqual(self.problems_of(files), ["autograd/b.hpp includes graph/a.hpp: autograd stands below graph"])
        files = {"graph/a.hpp": "", "nn/b.hpp": '#include "graph/a.hpp"\n'}
        self.assertEqual(self.problems_of(files), ["nn/b.hpp includes graph/a.hpp: nn stands below graph"])

    def test_the_comm_room(self):
        files = {"comm/a.hpp": '#include "portops/nn/b.hpp"\n', "nn/b.hpp": ""}
        self.assertEqual(self.problems_of(files), [])
        files = {"comm/a.hpp": "", "nn/b.hpp": '#include "portops/comm/a.hpp"\n'}
        self.assertEqual(self.problems_of(files), ["nn/b.hpp includes comm/a.hpp: nn stands below comm"])

    def test_a_circle(self):
        files = {"blas/a.hpp": '#include "blas/b.hpp"\n', "blas/b.hpp": '#include "blas/c.hpp"\n'}
        self.assertEqual(
            self.problems_of({**files, "blas/c.hpp": '#include "blas/a.hpp"\n'}),
            ["blas/a.hpp includes blas/b.hpp includes blas/c.hpp includes blas/a.hpp: a circle"],
        )

    def test_kokkos_where_nobody_knows_it(self):
        self.assertEqual(
            self.problems_of(
                {"core/types/a.hpp": '#include "core/types/b.hpp"\n', "core/types/b.hpp": "#include <Kokkos_Core.hpp>\n"}
            ),
            [
                f"core/types/{name}.hpp reaches Kokkos' headers through core/types/b.hpp: core/types knows no Kokkos"
                for name in "ab"
            ],
        )

    def test_a_question_that_nothing_before_it_answers(self):
        question = "#if defined(PORTOPS_HAS_CUDA)\n#endif\n"
        config = '#include "portops/core/config.hpp"\n'
        self.assertEqual(self.problems_of({"blas/a.hpp": config + question}), [])
        for text in (question, question + config):
            self.assertEqual(
                self.problems_of({"blas/a.hpp": text}),
                ["blas/a.hpp asks for PORTOPS_HAS_... before it includes portops/core/config.hpp: it may go without"],
            )

    def test_a_file_in_no_room_and_one_that_is_not_there(self):
        self.assertEqual(
            self.problems_of({"core/a.hpp": "", "core/types/b.hpp": '#include "core/types/none.hpp"\n'}),
            [
                "core/types/b.hpp includes core/types/none.hpp, which is not there",
                f"core/a.hpp is in no room: {', '.join(FLOORS)}",
            ],
        )


if __name__ == "__main__":
    unittest.main()
