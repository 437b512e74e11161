#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares portops with PyTorch over grids of shapes, attributes, types and layouts.

    check_with_pytorch.py --bridge BUILD/perf_tests/libportops_bridge.so [--device cuda|cpu] [--family p_norm]
                          [--filter TEXT] [--products automatic|own|kokkos_kernels]

PyTorch computes in float64 from the same elements. Every family begins in ieee and without deterministic mode,
whatever the environment says. Exits with 1 where anything disagrees. The families are in
pytorch_checks; the head of each says what it compares and what is meant to differ. That of deform_conv2d needs
torchvision.
"""
import argparse
import sys

import torch
from pytorch_cases.bridge import add_products_option, open_portops
from pytorch_checks import FAMILIES

SHOWN = 20


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bridge", required=True, help="libportops_bridge.so of a build with benchmarks")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--family", choices=FAMILIES, help="only this one")
    parser.add_argument("--filter", default="", help="only comparisons whose name contains this")
    add_products_option(parser)
    arguments = parser.parse_args()
    portops = open_portops(arguments.bridge, arguments.device, arguments.products)
    disagreements = 0
    for name in [arguments.family] if arguments.family else FAMILIES:
        torch.manual_seed(1)
        portops.set_context()  # the family before may have changed it
        check = FAMILIES[name](portops, arguments.filter)
        check.all(arguments.device)
        print(f"{name}: {check.results} results of {check.elements} elements compared with PyTorch {torch.__version__} "
              f"in float64, {len(check.disagreements)} disagree"
              + (f", {check.refused} calls left out for their products" if check.refused else ""), flush=True)
        for text in check.disagreements[:SHOWN]:
            print(f"  {text}")
        disagreements += len(check.disagreements)
    portops.finish()
    return 1 if disagreements else 0


if __name__ == "__main__":
    sys.exit(main())
