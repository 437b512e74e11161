// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <portops/ops/multiply.hpp>

#include "ops/arithmetic/binary_tests.hpp"

namespace portops::test {
namespace {

struct Multiply {
  static constexpr const char* name = "multiply";
  static constexpr bool reads_x = true, reads_y = true;
  static inline const auto call = &multiply;
  static inline const auto grad = &multiply_grad;
  static inline const auto grad_workspace = &multiply_grad_workspace;

  template <class A>
  static A out(A x, A y) {
    return x * y;
  }
  template <class A>
  static A x_grad(A, A y, A out_grad) {
    return out_grad * y;
  }
  template <class A>
  static A y_grad(A x, A, A out_grad) {
    return out_grad * x;
  }
};

using MultiplyTest = BinaryTest<Multiply>;
PORTOPS_BINARY_TESTS(MultiplyTest)

}  // namespace
}  // namespace portops::test
