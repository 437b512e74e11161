# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of the programs do in a build without some operators or element types."""

from __future__ import annotations

import re
import subprocess
import unittest


def skip_if_left_out(result: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    """Skips the test where the program says that the build lacks the operator or the element type."""
    if re.search(r" \(PORTOPS_(OPERATORS|ELEMENT_TYPES)\)", result.stderr or ""):
        raise unittest.SkipTest(result.stderr.strip())
    return result
