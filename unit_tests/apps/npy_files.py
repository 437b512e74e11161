# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes and reads .npy files for the tests of the programs, with nothing but Python's own library."""

from __future__ import annotations

import ast
import math
import struct

_FORMATS = {"f2": "e", "f4": "f", "f8": "d", "i8": "q"}


def header(descr: str, shape: tuple[int, ...], fortran: bool = False, version: int = 1) -> bytes:
    """All that precedes the elements."""
    text = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {tuple(shape)!r}, }}\n".encode()
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text


def elements(descr: str, values: list[float]) -> bytes:
    return struct.pack(f"{descr[0]}{len(values)}{_FORMATS[descr[1:]]}", *values)


def write(
    path: str,
    shape: tuple[int, ...],
    values: list[float],
    descr: str = "<f4",
    fortran: bool = False,
    version: int = 1,
) -> None:
    """`values` in the order in which they lie in the file."""
    assert math.prod(shape) == len(values)
    with open(path, "wb") as file:
        file.write(header(descr, shape, fortran, version) + elements(descr, values))


def read(path: str) -> tuple[str, tuple[int, ...], list[float]]:
    """descr, shape and the values of a file of version 1.0 in C order."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    start = 10 + struct.unpack("<H", data[8:10])[0]
    assert start % 64 == 0 and data[start - 1 : start] == b"\n"
    fields = ast.literal_eval(data[10:start].decode())
    assert not fields["fortran_order"]
    descr = fields["descr"]
    count = (len(data) - start) // int(descr[2:])
    assert count == math.prod(fields["shape"])
    return descr, fields["shape"], list(struct.unpack(f"{descr[0]}{count}{_FORMATS[descr[1:]]}", data[start:]))
