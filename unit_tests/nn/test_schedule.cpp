// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/support.hpp"

#include <portops/nn/schedule.hpp>

#include <gtest/gtest.h>

#include <cmath>

namespace portops::test {
namespace {

TEST(ScheduleTest, Constant) {
  EXPECT_EQ(nn::constant_schedule(0.1)(0), 0.1);
  EXPECT_EQ(nn::constant_schedule(0.1)(1'000'000'000'000), 0.1);
}

// The numbers of torch.optim.lr_scheduler.StepLR(step_size = 3, gamma = 0.5).
TEST(ScheduleTest, Steps) {
  const nn::Schedule schedule = nn::step_schedule(0.8, 3, 0.5);
  const double expected[] = {0.8, 0.8, 0.8, 0.4, 0.4, 0.4, 0.2};
  for (int step = 0; step < 7; ++step) EXPECT_DOUBLE_EQ(schedule(step), expected[step]) << step;
}

// Those of CosineAnnealingLR(T_max = 4, eta_min = 0.2), as far as step 4.
TEST(ScheduleTest, Cosine) {
  const nn::Schedule schedule = nn::cosine_schedule(1.0, 4, 0.2);
  const double root = std::sqrt(0.5), expected[] = {1.0, 0.6 + 0.4 * root, 0.6, 0.6 - 0.4 * root, 0.2, 0.2};
  for (int step = 0; step < 6; ++step) EXPECT_NEAR(schedule(step), expected[step], 1e-15) << step;
  EXPECT_EQ(schedule(1'000'000'000'000), 0.2);
}

TEST(ScheduleTest, WarmUp) {
  const nn::Schedule schedule = nn::warm_up(3, nn::step_schedule(0.8, 2, 0.5));
  const double expected[] = {0.2, 0.4, 0.6, 0.8, 0.8, 0.4, 0.4, 0.2};
  for (int step = 0; step < 8; ++step) EXPECT_NEAR(schedule(step), expected[step], 1e-15) << step;
  EXPECT_EQ(nn::warm_up(0, nn::constant_schedule(3))(0), 3);
}

TEST(ScheduleTest, Errors) {
  expect_error([] { nn::step_schedule(1, 0, 0.5); }, "portops::nn::step_schedule: interval is 0, expected 1 or more");
  expect_error([] { nn::cosine_schedule(1, 0); }, "portops::nn::cosine_schedule: steps is 0, expected 1 or more");
  expect_error([] { nn::warm_up(-1, nn::constant_schedule(1)); },
               "portops::nn::warm_up: steps is -1, expected 0 or more");
}

}  // namespace
}  // namespace portops::test
