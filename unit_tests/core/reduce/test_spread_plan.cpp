// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/reduce/spread_plan.hpp"
#include "support/reduce_plan_rules.hpp"

namespace portops::test {
namespace {

TEST(SpreadPlanTest, keeps_the_rules_for_any_shape) {
  for_random_loops([](const impl::Loop& loop) {
    for (const Backend backend : {Backend::cuda, Backend::serial}) {
      for (const bool counts : {false, true}) {
        ASSERT_NO_FATAL_FAILURE(keeps_the_rules(impl::make_spread_plan(loop, backend, counts), loop));
      }
    }
  });
}

}  // namespace
}  // namespace portops::test
