// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace portops::test {

/// Whether a sanitizer looks on, which makes the library several times as slow.
bool is_sanitized();

/// Ends a test as skipped under a sanitizer: one that differs from others by its size, or by how often it calls, and by
/// nothing that a sanitizer would find.
void skip_where_sanitized();

/// `all`, or `some` under a sanitizer: extents, or how often something is done, of which more would show it nothing
/// else.
template <class T>
T unless_sanitized(T all, T some) {
  return is_sanitized() ? some : all;
}

}  // namespace portops::test
