// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nn/schedule.hpp"

#include "core/types/fail.hpp"

#include <cmath>
#include <numbers>
#include <utility>

namespace portops::nn {
namespace {

void check_steps(const char* function, const char* name, std::int64_t steps, std::int64_t least) {
  if (steps < least) impl::fail("portops::nn::", function, ": ", name, " is ", steps, ", expected ", least, " or more");
}

}  // namespace

Schedule constant_schedule(double rate) {
  return [=](std::int64_t) { return rate; };
}

Schedule step_schedule(double rate, std::int64_t interval, double factor) {
  check_steps("step_schedule", "interval", interval, 1);
  return [=](std::int64_t step) {
    const std::int64_t intervals = step / interval;
    return rate * std::pow(factor, static_cast<double>(intervals));
  };
}

Schedule cosine_schedule(double rate, std::int64_t steps, double lowest) {
  check_steps("cosine_schedule", "steps", steps, 1);
  return [=](std::int64_t step) {
    if (step >= steps) return lowest;
    const double share = static_cast<double>(step) / static_cast<double>(steps);
    return lowest + (rate - lowest) * (1 + std::cos(std::numbers::pi * share)) / 2;
  };
}

Schedule warm_up(std::int64_t steps, Schedule then) {
  check_steps("warm_up", "steps", steps, 0);
  return [steps, then = std::move(then)](std::int64_t step) {
    if (step >= steps) return then(step - steps);
    return then(0) * static_cast<double>(step + 1) / static_cast<double>(steps + 1);
  };
}

}  // namespace portops::nn
