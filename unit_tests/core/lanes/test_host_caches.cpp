// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/lanes/host_caches.hpp"
#include "support/support.hpp"

namespace portops::test {
namespace {

class HostCachesTest : public OnEveryBackend {};

PORTOPS_ON_EVERY_BACKEND(HostCachesTest);

TEST_P(HostCachesTest, keep_what_is_small_but_in_the_tests_of_one_host_backend) {
  const std::vector<Backend> all = enabled_backends();
  const bool has_openmp = std::find(all.begin(), all.end(), Backend::openmp) != all.end();
  EXPECT_EQ(impl::exceeds_host_caches(1), GetParam() == (has_openmp ? Backend::openmp : Backend::serial));
  EXPECT_TRUE(impl::exceeds_host_caches(std::int64_t{1} << 30));
}

}  // namespace
}  // namespace portops::test
