// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/lanes/host_caches.hpp"

#include <gtest/gtest.h>

#include <string>

// Hosts write large outputs past their caches, in other ways than small ones. So that tests of few elements see both
// ways, those on OpenMP write outputs of any size past the caches, and those on Serial do not.

namespace portops::test {
namespace {

class HostCaches : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& test) override {
    if (std::string(test.name()).ends_with("/openmp")) kept_ = impl::set_kept_by_host_caches(0);
  }
  void OnTestEnd(const testing::TestInfo&) override {
    if (kept_ >= 0) impl::set_kept_by_host_caches(kept_);
    kept_ = -1;
  }

  std::int64_t kept_ = -1;
};

// The framework deletes it.
const bool is_listening = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new HostCaches);
  return true;
}();

}  // namespace
}  // namespace portops::test
