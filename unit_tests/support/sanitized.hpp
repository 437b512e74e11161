// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace portops::test {

/// Ends a test as skipped under a sanitizer: one that differs from others by its size, or by how often it calls, and by
/// nothing that a sanitizer would find.
inline void skip_where_sanitized() {
#if defined(PORTOPS_SANITIZED)
  const std::string reason = "more of what other tests do, and too long under a sanitizer";
  [&] { GTEST_SKIP() << reason; }();
  throw testing::AssertionException({testing::TestPartResult::kSkip, __FILE__, __LINE__, reason.c_str()});
#endif
}

}  // namespace portops::test
