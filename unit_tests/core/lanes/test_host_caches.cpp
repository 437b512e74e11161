// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/lanes/host_caches.hpp"
#include "support/support.hpp"

namespace portops::test {
namespace {

class HostCachesTest : public OnEveryBackend {};

PORTOPS_ON_EVERY_BACKEND(HostCachesTest);

TEST_P(HostCachesTest, keep_what_is_small_but_in_tests_on_openmp) {
  EXPECT_EQ(impl::exceeds_host_caches(1), GetParam() == Backend::openmp);
  EXPECT_TRUE(impl::exceeds_host_caches(std::int64_t{1} << 30));
}

}  // namespace
}  // namespace portops::test
