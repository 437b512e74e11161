#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a shared libportops exports: the functions that the public headers declare and do not define, and nothing else; and
of the C interface all that was released.

PORTOPS_LIBRARIES are the shared libraries, PORTOPS_INCLUDE the folder of the public headers, NM the program nm."""

from __future__ import annotations

import collections
import os
import pathlib
import re
import subprocess
import unittest

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "src"
SCHEMA = SOURCES / "ops" / "ops.yaml"
RELEASED_NAMES = SOURCES / "c_api" / "released_names.txt"
# Of classes that PORTOPS_EXPORT marks.
TYPE_INFORMATION = re.compile(r"(?:typeinfo|typeinfo name|vtable) for ")
NOT_IN_THE_LIBRARY = re.compile(r"\b(?:using|concept|static_assert|inline|PORTOPS_FUNCTION)\b|= (?:default|delete|0)$")


def statements(text: str) -> list[tuple[list[str], str]]:
    """Declarations that end with a semicolon, each with the namespaces and classes that it stands in."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/|^ *#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"= \{[^{}]*\}", "", text)  # defaults of arguments and members
    found, scopes, start = [], [], 0
    for match in re.finditer(r"[{};]|\b(?:public|protected|private):", text):
        statement = " ".join(text[start : match.start()].split())
        start = match.end()
        if match[0] == "{":
            scope = re.fullmatch(r"(?:.*> )?(?:namespace|class|struct)(?: PORTOPS_EXPORT)? ([\w:<>]+)(?: final)?(?: : .*)?", statement)
            scopes.append([scope[1] if scope else None, True])
        elif match[0] == "}":
            scopes.pop()
        elif match[0] == ";":
            if all(name and public for name, public in scopes):
                found.append(([name for name, _ in scopes], statement))
        else:
            scopes[-1][1] = match[0] == "public:"
    return found


def declared(text: str) -> collections.Counter[str]:
    """The functions that a header declares and does not define: how many overloads each has, by its full name."""
    functions: collections.Counter[str] = collections.Counter()
    for scopes, statement in statements(text):
        head, parenthesis, _ = statement.partition("(")
        name = re.search(r"(?:^|[\s&*])(operator\S+|~?\w+)$", head)
        if not parenthesis or not name or NOT_IN_THE_LIBRARY.search(statement):
            continue
        owner = scopes[:1] if "friend " in statement else scopes
        functions["::".join([*owner, name[1]])] += 1
    return functions


def declared_in_c(text: str) -> set[str]:
    """The functions that portops.h declares."""
    return set(re.findall(r"^PORTOPS_API [^;(]*?(portops_\w+)\(", text, flags=re.MULTILINE))


def released_in_c(text: str, families: list[str]) -> set[str]:
    """The functions that were released, but for those of operators that a build leaves out."""
    names = {line.split()[0] for line in text.splitlines() if line and not line.startswith("#")}
    every = re.findall(r"^- op: (\w+)$", SCHEMA.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return names - {f"portops_{name}" for name in every if name.removesuffix("_grad") not in families}


def name_of(symbol: str) -> str:
    """portops::Levels::offsets(int) const, portops::infer[abi:cxx11](…): without arguments and tags."""
    return re.sub(r"\[abi:\w+\]", "", symbol).partition("(")[0]


class ReadingTest(unittest.TestCase):
    def test_what_a_header_declares(self) -> None:
        header = """
            namespace portops {
            namespace impl {
            class Data;
            inline int helper(int x) { return call(x); }
            }  // namespace impl
            class EXPORTED;
            class Crate final : public Base {
             public:
              explicit Crate(int size);
              virtual void pack() = 0;

             protected:
              void open();
            };
            template <class T>
              requires Element<T>
            class Box {
             public:
              Box() = default;
              explicit Box(int size, Options options = {});
              ~Box();
              int size() const { return size_; }
              const std::vector<int>& get(int level = -1) const;
              Box& set(int);
              Box& set(double);
              friend bool operator==(const Box& a, const Box& b);

             private:
              int hidden() const;
              int size_ = value(3);
            };
            /// Not this(one);
            std::size_t work(const Box& x,
                             std::vector<int> y = {1, 2});
            }
        """
        self.assertEqual(
            declared(header),
            {
                "portops::Box::Box": 1,
                "portops::Box::~Box": 1,
                "portops::Box::get": 1,
                "portops::Box::set": 2,
                "portops::Crate::Crate": 1,
                "portops::operator==": 1,
                "portops::work": 1,
            },
        )


class ExportsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        listed = ""
        for library in os.environ["PORTOPS_LIBRARIES"].split(","):
            command = [os.environ["NM"], "-D", "--defined-only", "-C", "--format=posix", library]
            listed += subprocess.run(command, check=True, capture_output=True, text=True).stdout
        # A line is: symbol, type, address, size. Constructors and destructors have several symbols of one name.
        symbols = {re.sub(r" [A-Za-z](?: [0-9a-f]*){0,2}$", "", line) for line in listed.splitlines()}
        cls.types = {symbol for symbol in symbols if TYPE_INFORMATION.match(symbol)}
        cls.c_functions = {symbol for symbol in symbols if re.fullmatch(r"portops_\w+", symbol)}
        cls.functions = collections.Counter(name_of(symbol) for symbol in symbols - cls.types - cls.c_functions)
        cls.c_header = pathlib.Path(os.environ["PORTOPS_INCLUDE"], "portops.h").read_text(encoding="utf-8")
        cls.declared = collections.Counter()
        cls.headers = ""
        for header in sorted(pathlib.Path(os.environ["PORTOPS_INCLUDE"]).rglob("*.hpp")):
            text = header.read_text(encoding="utf-8")
            cls.headers += text
            cls.declared += declared(text)

    def test_the_functions_of_the_public_headers_and_no_others(self) -> None:
        self.assertEqual(sorted((self.functions - self.declared).elements()), [], "exported, but not declared")
        self.assertEqual(sorted((self.declared - self.functions).elements()), [], "declared, but not exported")

    def test_the_functions_of_c_and_no_others(self) -> None:
        self.assertEqual(self.c_functions, declared_in_c(self.c_header))

    def test_what_was_released_of_c_is_there(self) -> None:
        released = released_in_c(RELEASED_NAMES.read_text(encoding="utf-8"), os.environ["PORTOPS_OPERATORS"].split(","))
        self.assertIn("portops_last_error", released)
        self.assertEqual(released - self.c_functions, set())

    def test_the_types_that_are_marked_and_no_others(self) -> None:
        marked = re.findall(r"(?:class|struct) PORTOPS_EXPORT (\w+)", self.headers)
        self.assertIn("Error", marked)
        self.assertEqual({TYPE_INFORMATION.sub("", symbol) for symbol in self.types}, {f"portops::{name}" for name in marked})
        for name in marked:
            self.assertIn(f"typeinfo for portops::{name}", self.types)

    def test_every_operator(self) -> None:
        families = os.environ["PORTOPS_OPERATORS"].split(",")  # of this build
        schema = re.findall(r"^- op: (\w+)$", SCHEMA.read_text(encoding="utf-8"), flags=re.MULTILINE)
        operators = [name for name in schema if name.removesuffix("_grad") in families]
        self.assertGreaterEqual(len(operators), len(families))
        names = [f"{name}{ending}" for name in operators for ending in ("", "_workspace")]
        missing = [name for name in names if f" {name}(" in self.headers and f"portops::{name}" not in self.functions]
        self.assertEqual(missing, [])
        self.assertEqual([name for name in operators if f"portops::{name}" not in self.functions], [])


if __name__ == "__main__":
    unittest.main()
