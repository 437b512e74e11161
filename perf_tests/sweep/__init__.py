# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The performance laboratory behind scripts/sweep: measures, compares and reports."""
