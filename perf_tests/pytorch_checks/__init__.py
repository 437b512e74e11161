# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The families of check_with_pytorch.py, each a module that holds a common.Check and is found by that."""
import importlib
import inspect
import pkgutil

from .common import Check


def find_families():
    """The checks, by the names of their modules."""
    families = {}
    for entry in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{entry.name}")
        for _, member in inspect.getmembers(module, inspect.isclass):
            if issubclass(member, Check) and member.__module__ == module.__name__ and member is not Check:
                families[entry.name] = member
    return families


FAMILIES = find_families()
