// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <portops/ops/sigmoid.hpp>

#include "ops/activations/activation_tests.hpp"

namespace portops::test {
namespace {

struct Sigmoid {
  static constexpr const char* name = "sigmoid";
  static constexpr bool keeps_out = true;
  static inline const auto call = &sigmoid;
  static inline const auto grad = &sigmoid_grad;

  static long double value(long double x) { return 1 / (1 + std::exp(-x)); }
  static long double slope(long double out) { return out * (1 - out); }
  static long double slope_magnitude(long double out) { return slope(out); }
  static double units(long double) { return 3.0; }
  static double slope_units(long double) { return 2.0; }
};

using SigmoidTest = ActivationTest<Sigmoid>;
PORTOPS_ACTIVATION_TESTS(SigmoidTest)

}  // namespace
}  // namespace portops::test
