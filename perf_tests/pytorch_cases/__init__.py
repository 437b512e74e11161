# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cases of compare_with_pytorch.py, one family of operators a module.

A family is a module with a function `cases(device)` that lists its cases for "cuda" or "cpu", each a common.Case.
"""
from . import add, concat, deform_conv2d, lerp, p_norm, reshape, sequence, sparse_rows, trace

FAMILIES = (lerp, p_norm, deform_conv2d, add, reshape, trace, sparse_rows, concat, sequence)


def cases(device):
    return [case for family in FAMILIES for case in family.cases(device)]
