#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times deform_conv2d and its gradient over the number of channels, to find cliffs between neighbours.

    sweep_channels.py measure --bridge BUILD/perf_tests/libportops_bridge.so FILE.csv
    sweep_channels.py draw FILE.csv FILE.svg

x is [1, C, 100, 152] for C = 8, 16, 24 … 320, to 128 output channels, 3×3 with mask and bias; a time is that in which
kernels of a call run, on a GPU. Drawing needs matplotlib.
"""
import argparse
import csv

KINDS = ("f32", "tf32", "f16", "bf16", "f64")
OPERATORS = ("deform_conv2d", "deform_conv2d_grad")
CHANNELS = range(8, 321, 8)


def measured(case, portops):
    """Microseconds of a call; two sets of inputs take turns."""
    import torch
    from compare_with_pytorch import kernel_seconds, use_math

    use_math(case.math)
    portops.set_context(case.math, False)
    prepared = [portops.arguments(case.tensors("cuda")) for _ in range(2)]
    microseconds = kernel_seconds([lambda a=a: portops.run(case.op, a) for a in prepared], 10) * 1e6
    torch.cuda.synchronize()
    return microseconds


def measure(arguments):
    from pytorch_cases.bridge import open_portops
    from pytorch_cases.deform_conv2d import DeformConv2d, Shape

    portops = open_portops(arguments.bridge, "cuda")
    with open(arguments.csv, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("operator", "type", "channels", "microseconds"))
        for operator in OPERATORS:
            for kind in KINDS:
                for channels in CHANNELS:
                    shape = Shape(f"{channels} channels", (1, channels, 100, 152), 128)
                    microseconds = measured(DeformConv2d(operator, shape, kind), portops)
                    writer.writerow((operator, kind, channels, f"{microseconds:.1f}"))
    portops.finish()


def draw(arguments):
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "portops", "font.size": 9, "axes.grid": True,
                                "grid.alpha": 0.3, "axes.spines.top": False, "axes.spines.right": False})
    from matplotlib import pyplot

    with open(arguments.csv, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    figure, plots = pyplot.subplots(1, len(OPERATORS), figsize=(9, 3.6), layout="constrained")
    for plot, operator in zip(plots, OPERATORS):
        for kind in KINDS:
            points = [(int(row["channels"]), float(row["microseconds"])) for row in rows
                      if row["operator"] == operator and row["type"] == kind]
            if points:
                plot.plot(*zip(*points), label=kind, marker=".", markersize=3, linewidth=1)
        plot.set(title=operator, xlabel="channels of x", ylabel="µs a call", xlim=(0, None), ylim=(0, None))
        plot.legend()
    figure.savefig(arguments.svg, format="svg", metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("measure")
    command.add_argument("--bridge", required=True, help="libportops_bridge.so of a build with benchmarks")
    command.add_argument("csv")
    command.set_defaults(run=measure)
    command = commands.add_parser("draw")
    command.add_argument("csv")
    command.add_argument("svg")
    command.set_defaults(run=draw)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
