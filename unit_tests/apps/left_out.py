# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of the programs do in a build without some operators or element types, and under sanitizers."""

from __future__ import annotations

import os
import re
import subprocess
import unittest


def skip_if_left_out(result: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    """Skips the test where the program says that the build lacks the operator or the element type."""
    if re.search(r" \(PORTOPS_(OPERATORS|ELEMENT_TYPES)\)", result.stderr or ""):
        raise unittest.SkipTest(result.stderr.strip())
    return result


def is_sanitized() -> bool:
    return bool(os.environ.get("PORTOPS_SANITIZED"))


def skip_where_sanitized() -> None:
    """Skips a test that calls what others call, and takes long under sanitizers."""
    if is_sanitized():
        raise unittest.SkipTest("too long under a sanitizer")
