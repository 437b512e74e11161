// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/map/map.hpp"
#include "ops/arithmetic/multiply/multiply_kernels.hpp"

#include <array>

namespace portops::impl {

/// The product; or sums of products, one gradient, of the other operand and out_grad.
template <bool sums_products>
struct Multiply {
  static constexpr int inputs = 2;
  static constexpr int outputs = 1;
  static constexpr bool sums = sums_products;

  template <class A>
  KOKKOS_FUNCTION void operator()(const A (&in)[inputs], A (&out)[outputs]) const {
    out[0] = in[0] * in[1];
  }
};

struct MultiplyGrad {
  static constexpr int inputs = 3;
  static constexpr int outputs = 2;
  static constexpr bool sums = true;
  /// out_grad with x, with y, with both.
  static constexpr std::array inputs_in_packs{InputSet{0, 2}, InputSet{1, 2}, InputSet{0, 1, 2}};

  template <class A>
  KOKKOS_FUNCTION void operator()(const A (&in)[inputs], A (&out)[outputs]) const {
    const auto& [x, y, out_grad] = in;
    out[0] = out_grad * y;
    out[1] = out_grad * x;
  }
};

template <Backend B, class T>
void MultiplyKernels<B, T>::multiply(const Context& ctx, const Loop& loop) {
  static const MapLabels labels("multiply");
  map<B, T>(ctx, labels, Multiply<false>{}, loop);
}

template <Backend B, class T>
void MultiplyKernels<B, T>::multiply_grad(const Context& ctx, const Loop& loop) {
  static const MapLabels labels("multiply_grad");
  loop.outputs == 1 ? map<B, T>(ctx, labels, Multiply<true>{}, loop) : map<B, T>(ctx, labels, MultiplyGrad{}, loop);
}

}  // namespace portops::impl
