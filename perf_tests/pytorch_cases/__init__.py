# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cases of compare_with_pytorch.py, one family of operators a module.

A family is a module with a function `cases(device)` that lists its cases for "cuda" or "cpu", each a common.Case. It is
found by that.
"""
import importlib
import pkgutil

MODULES = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]


def cases(device):
    return [case for module in MODULES if hasattr(module, "cases") for case in module.cases(device)]
