// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "support.hpp"

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

/// A gradient in float64, and the magnitudes that were summed.
struct ReferenceSums {
  std::vector<double> value;
  std::vector<double> magnitude;

  explicit ReferenceSums(const Extents& extents)
      : value(static_cast<std::size_t>(extents.product()), 0.0), magnitude(value) {}

  void add(std::int64_t index, double term, double term_magnitude) {
    value[static_cast<std::size_t>(index)] += term;
    magnitude[static_cast<std::size_t>(index)] += term_magnitude;
  }
};

/// The three gradients in float64. The tensors' host copies are read.
template <class T>
struct LerpGradReference {
  ReferenceSums x, y, weight;

  LerpGradReference(const TestTensor<T>& x_in, const TestTensor<T>& y_in, const TestTensor<T>& weight_in,
                    const TestTensor<T>& out_grad)
      : x(x_in.extents()), y(y_in.extents()), weight(weight_in.extents()) {
    const Extents& shape = out_grad.extents();
    for (std::int64_t i = 0; i < shape.product(); ++i) {
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

/// That a gradient is as near to the reference as the design promises: 1e-12 (f64) or 2e-6 of the magnitude summed, and
/// one rounding of the half types.
template <class T>
void expect_near(TestTensor<T>& gradient, const ReferenceSums& expected, const std::string& what) {
  gradient.download();
  const double summing = std::is_same_v<T, double> ? 1e-12 : 2e-6;
  const double last = sizeof(T) == 2 ? 1.01 * rounding<T>() : 0.0;
  for (std::int64_t i = 0; i < gradient.extents().product(); ++i) {
    const double value = expected.value[static_cast<std::size_t>(i)];
    const double tolerance = summing * expected.magnitude[static_cast<std::size_t>(i)] + last * std::abs(value) +
                             (std::is_same_v<T, f16> ? 0x1p-25 : 0.0);
    if (std::abs(gradient[i] - value) <= tolerance) continue;
    ADD_FAILURE() << what << "[" << i << "] is " << gradient[i] << ", expected " << value << " within " << tolerance;
    return;
  }
}

}  // namespace portops::test
