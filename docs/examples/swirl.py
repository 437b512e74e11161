#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Swirls a picture around its centre, with NumPy and one call of deform_conv2d: swirl.py PICTURE OUTPUT

A window of one tap and weight 1, as many groups as channels: each pixel is the sample that its offset points to.
"""

import sys

import numpy as np
import portops
from PIL import Image


def swirled(picture, turns=0.35):
    """The picture, [H, W, C] in f32, turned by so much at its centre and less and less around it."""
    height, width, channels = picture.shape
    rows, columns = np.mgrid[:height, :width].astype(np.float32)
    down, across = rows - height / 2, columns - width / 2
    angle = 2 * np.pi * turns * np.exp(-np.hypot(down, across) / (0.2 * min(height, width)))
    sine, cosine = np.sin(angle), np.cos(angle)
    offset = np.stack([cosine * down - sine * across - down, sine * down + cosine * across - across])
    x = picture.transpose(2, 0, 1)[None]  # [1, C, H, W], read where it lies
    weight = np.ones((channels, 1, 1, 1), np.float32)
    return portops.deform_conv2d(x, offset[None].astype(np.float32), weight, groups=channels)[0].transpose(1, 2, 0)


if __name__ == "__main__":
    original = np.asarray(Image.open(sys.argv[1]).convert("RGB"), np.float32)
    Image.fromarray(swirled(original).round().astype(np.uint8)).save(sys.argv[2])
