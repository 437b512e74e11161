#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times on the clock of deformable convolution as a PyTorch program calls it: portops.torch's beside torchvision's.

A time is that of a call in a loop whose end waits for the device, the median of several such loops, which take turns. Of the
gradient, a step is the forward pass and that of all gradients; "backward" is what the second adds. Needs portops
(PYTHONPATH=BUILD/python), PyTorch and torchvision.
"""
import argparse
import functools
import statistics
import time

import portops.torch
import torch
from pytorch_cases.common import NAMES
from pytorch_cases.deform_conv2d import BIG, FEW, OTHERS, RES4, SEED, inputs
from torchvision.ops import deform_conv2d

FUNCTIONS = {"portops": portops.torch.deform_conv2d, "torchvision": deform_conv2d}


def calls(shape, dtype, device):
    """By function, a forward pass without a graph, and one with it and then all gradients."""
    values = inputs(shape, dtype, device)
    tensors = [values[name] for name in ("x", "offset", "weight")]
    if shape.channels_last:
        tensors = [t.contiguous(memory_format=torch.channels_last) for t in tensors]
    wanted = [t.detach().requires_grad_() for t in tensors + [values[name] for name in ("mask", "bias") if name in values]]
    out_grad = torch.randn(shape.out(), device=device, dtype=NAMES[dtype])

    def call(function):
        x, offset, weight, *others = wanted
        named = dict(zip([name for name in ("mask", "bias") if name in values], others))
        return function(x, offset, weight, stride=shape.stride, padding=shape.padding, dilation=shape.dilation, **named)

    def forward(function):
        with torch.no_grad():
            call(function)

    def step(function):
        torch.autograd.grad(call(function), wanted, out_grad)

    return forward, step


def seconds(call, device, at_least):
    """Of one call."""
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    call()
    wait()
    count, taken = 1, 0.0
    while True:
        begin = time.perf_counter()
        for _ in range(count):
            call()
        wait()
        taken = time.perf_counter() - begin
        if taken >= at_least:
            return taken / count
        count = max(2 * count, int(count * at_least / max(taken, 1e-9)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--filter", default="", help="of the shapes' names")
    parser.add_argument("--dtypes", nargs="+", help="f32, tf32, f16, f64")
    parser.add_argument("--seconds", type=float, default=0.1, help="the least that a loop takes")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    dtypes = given.dtypes or (["f32", "tf32", "f16"] if given.device == "cuda" else ["f32"])
    print(f"{'ms a call':40} {'forward':>9} {'torchvision':>12} {'ratio':>6} {'step':>9} {'torchvision':>12} {'ratio':>6} "
          f"{'backward':>9}")
    for shape in (SEED, RES4, BIG, *OTHERS, *FEW):
        if given.filter not in shape.name:
            continue
        for dtype in dtypes:
            torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
            timed = {}
            for name, call in zip(("forward", "step"), calls(shape, "f32" if dtype == "tf32" else dtype, given.device)):
                rounds = {peer: [] for peer in FUNCTIONS}
                for _ in range(given.rounds):
                    for peer, function in FUNCTIONS.items():
                        rounds[peer].append(seconds(functools.partial(call, function), given.device, given.seconds))
                timed[name] = {peer: 1e3 * statistics.median(values) for peer, values in rounds.items()}
            text = f"{shape.name + ' ' + dtype:40}"
            for times in timed.values():
                text += f" {times['portops']:9.4f} {times['torchvision']:12.4f} {times['torchvision'] / times['portops']:6.2f}"
            backward = [timed["step"][peer] - timed["forward"][peer] for peer in FUNCTIONS]
            print(f"{text} {backward[1] / backward[0]:9.2f}", flush=True)


if __name__ == "__main__":
    main()
