// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "support/reference_sums.hpp"

#include <portops/ops/add.hpp>

// add and its gradients, written plainly.

namespace portops::test {

/// What add must give, to the bit: computed in the arithmetic that the header names, rounded once.
template <class T>
T add_reference(T x, T y) {
  using A = std::conditional_t<std::is_same_v<T, double>, double, float>;
  return static_cast<T>(static_cast<A>(x) + static_cast<A>(y));
}

/// The same with a number for y, which is not rounded to a 16-bit type.
template <class T>
T add_reference(T x, double y)
  requires(!std::is_same_v<T, double>)
{
  return static_cast<T>(static_cast<float>(x) + static_cast<float>(y));
}

/// The gradient of an operand in float64.
template <class T>
ReferenceSums add_grad_reference(const TestTensor<T>& operand, const TestTensor<T>& out_grad) {
  ReferenceSums sums(operand.extents());
  const Extents& shape = out_grad.extents();
  for (std::int64_t i = 0; i < shape.product(); ++i) {
    sums.add(operand.broadcast_index(shape, i), out_grad[i], std::abs(out_grad[i]));
  }
  return sums;
}

/// Runs add and expects the reference, to the bit.
template <class T>
void expect_exact_sum(const Context& ctx, const TestTensor<T>& x, const TestTensor<T>& y, TestTensor<T>& out) {
  add(ctx, x.ref(), y.ref(), out.ref());
  out.download();
  const Extents& shape = out.extents();
  for (std::int64_t i = 0; i < shape.product(); ++i) {
    const T expected = add_reference(x.element(x.broadcast_index(shape, i)), y.element(y.broadcast_index(shape, i)));
    if (same_bits(expected, out.element(i))) continue;
    ADD_FAILURE() << "out[" << i << "] of " << shape.to_string() << " is " << out[i] << ", expected "
                  << static_cast<double>(expected);
    return;
  }
}

}  // namespace portops::test
