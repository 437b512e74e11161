// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/reduce_plan_rules.hpp"

namespace portops::test {
namespace {

TEST(ReducePlanTest, keeps_the_rules_for_any_shape) {
  for_random_loops(
      [](const impl::Loop& loop) { ASSERT_NO_FATAL_FAILURE(keeps_the_rules(impl::make_reduce_plan(loop), loop)); });
}

}  // namespace
}  // namespace portops::test
