// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "support/reference_sums.hpp"

#include <cmath>

// lerp and its gradients, written plainly.

namespace portops::test {

/// What lerp must give, to the bit: computed in the arithmetic that the header names, rounded once.
template <class T>
T lerp_reference(T x, T y, T weight) {
  using A = std::conditional_t<std::is_same_v<T, double>, double, float>;
  return static_cast<T>(std::fma(static_cast<A>(weight), static_cast<A>(y) - static_cast<A>(x), static_cast<A>(x)));
}

/// The same with a number for weight, which is not rounded to a 16-bit type.
template <class T>
T lerp_reference(T x, T y, double weight)
  requires(!std::is_same_v<T, double>)
{
  const auto a = static_cast<float>(x);
  return static_cast<T>(std::fma(static_cast<float>(weight), static_cast<float>(y) - a, a));
}

/// The three gradients in float64. The tensors' host copies are read.
template <class T>
struct LerpGradReference {
  ReferenceSums x, y, weight;

  LerpGradReference(const TestTensor<T>& x_in, const TestTensor<T>& y_in, const TestTensor<T>& weight_in,
                    const TestTensor<T>& out_grad)
      : x(x_in.extents()), y(y_in.extents()), weight(weight_in.extents()) {
    const Extents& shape = out_grad.extents();
    const std::int64_t size = shape.product();
    for (std::int64_t i = 0; i < size; ++i) {
      const double g = out_grad[i];
      const double w = weight_in.broadcast(shape, i);
      const double from = x_in.broadcast(shape, i);
      const double to = y_in.broadcast(shape, i);
      x.add(x_in.broadcast_index(shape, i), g - w * g, std::abs(g) + std::abs(w * g));
      y.add(y_in.broadcast_index(shape, i), w * g, std::abs(w * g));
      weight.add(weight_in.broadcast_index(shape, i), g * (to - from), std::abs(g) * (std::abs(to) + std::abs(from)));
    }
  }
};

}  // namespace portops::test
