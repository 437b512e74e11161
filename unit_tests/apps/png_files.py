# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes and reads 8-bit PNG files for the tests of the programs, with nothing but Python's own library."""

from __future__ import annotations

import struct
import zlib

CHANNELS = {0: 1, 2: 3, 6: 4}  # by colour type: grey, RGB, RGBA


def write(path: str, width: int, height: int, data: bytes, colour_type: int = 2) -> None:
    stride = width * CHANNELS[colour_type]
    rows = b"".join(b"\0" + data[row * stride : (row + 1) * stride] for row in range(height))
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, colour_type, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        for kind, body in chunks:
            file.write(struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)))


def _paeth(left: int, above: int, corner: int) -> int:
    estimate = left + above - corner
    return min((abs(estimate - left), 0, left), (abs(estimate - above), 1, above), (abs(estimate - corner), 2, corner))[
        2
    ]


def read(path: str) -> tuple[int, int, bytes]:
    """Width, height and the RGB values of a picture, grey or RGB, that is not interlaced."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    position, packed = 8, b""
    while position < len(data):
        length, kind = struct.unpack(">I4s", data[position : position + 8])
        body = data[position + 8 : position + 8 + length]
        position += length + 12
        if kind == b"IHDR":
            width, height, *layout = struct.unpack(">IIBBBBB", body)
            assert layout in ([8, 0, 0, 0, 0], [8, 2, 0, 0, 0]), layout
            channels = CHANNELS[layout[1]]
        elif kind == b"IDAT":
            packed += body
    rows, stride = zlib.decompress(packed), channels * width
    pixels, above = bytearray(), bytearray(stride)
    for start in range(0, height * (stride + 1), stride + 1):
        kind, row = rows[start], bytearray(rows[start + 1 : start + 1 + stride])
        for i in range(stride if kind else 0):
            left, corner = (row[i - channels], above[i - channels]) if i >= channels else (0, 0)
            predicted = (0, left, above[i], (left + above[i]) // 2, _paeth(left, above[i], corner))[kind]
            row[i] = (row[i] + predicted) & 0xFF
        pixels += row
        above = row
    return width, height, bytes(value for value in pixels for _ in range(3 // channels))
