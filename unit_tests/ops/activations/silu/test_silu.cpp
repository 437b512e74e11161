// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <portops/ops/silu.hpp>

#include "ops/activations/activation_tests.hpp"

namespace portops::test {
namespace {

long double sigmoid(long double x) { return 1 / (1 + std::exp(-x)); }

struct Silu {
  static constexpr const char* name = "silu";
  static constexpr bool keeps_out = false;
  static inline const auto call = &silu;
  static inline const auto grad = &silu_grad;

  static long double value(long double x) { return x == -INFINITY ? -0.0L : x * sigmoid(x); }
  static long double slope(long double x) { return std::isinf(x) ? x > 0 : sigmoid(x) * (1 + x * sigmoid(-x)); }
  static long double slope_magnitude(long double x) {
    return std::isinf(x) ? 1 : sigmoid(x) * (1 + std::abs(x) * sigmoid(-x));
  }
  static double units(long double) { return 4.0; }
  static double slope_units(long double) { return 6.0; }
};

using SiluTest = ActivationTest<Silu>;
PORTOPS_ACTIVATION_TESTS(SiluTest)

}  // namespace
}  // namespace portops::test
