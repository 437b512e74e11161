// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sanitized.hpp"

#include <gtest/gtest.h>

#include <string>

namespace portops::test {

// Here alone, so that all other tests are compiled as without one: a compiler's cache has them then.
bool is_sanitized() {
#if defined(PORTOPS_SANITIZED)
  return true;
#else
  return false;
#endif
}

void skip_where_sanitized() {
  if (!is_sanitized()) return;
  const std::string reason = "more of what other tests do, and too long under a sanitizer";
  [&] { GTEST_SKIP() << reason; }();
  throw testing::AssertionException({testing::TestPartResult::kSkip, __FILE__, __LINE__, reason.c_str()});
}

}  // namespace portops::test
