# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes folders of images in the format IDX, that of MNIST, for the tests of the programs."""

from __future__ import annotations

import gzip
import os
import random
import struct


def array(extents: tuple[int, ...], data: bytes, kind: int = 8) -> bytes:
    return struct.pack(">BBBB", 0, 0, kind, len(extents)) + struct.pack(f">{len(extents)}I", *extents) + data


def write(path: str, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(gzip.compress(content) if path.endswith(".gz") else content)


def patterns(items: int, side: int, seed: int) -> tuple[bytes, bytes]:
    """Images of four classes, and their labels: noise with a bright square, which is in the corner of the class, or
    near it."""
    rng = random.Random(seed)
    pixels, labels = bytearray(), bytearray()
    square = side // 3
    for item in range(items):
        label = item % 4
        image = bytearray(rng.randrange(96) for _ in range(side * side))
        top = rng.randrange(2) + label // 2 * (side - square - 1)
        left = rng.randrange(2) + label % 2 * (side - square - 1)
        for row in range(top, top + square):
            for column in range(left, left + square):
                image[row * side + column] = rng.randrange(160, 256)
        pixels += image
        labels.append(label)
    return bytes(pixels), bytes(labels)


def write_folder(folder: str, ending: str = "", train: int = 192, test: int = 64, side: int = 12) -> None:
    os.makedirs(folder, exist_ok=True)
    for part, items, seed in (("train", train, 1), ("t10k", test, 2)):
        pixels, labels = patterns(items, side, seed)
        write(os.path.join(folder, f"{part}-images-idx3-ubyte{ending}"), array((items, side, side), pixels))
        write(os.path.join(folder, f"{part}-labels-idx1-ubyte{ending}"), array((items,), labels))
