// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/map/map.hpp"
#include "ops/arithmetic/divide/divide_kernels.hpp"

#include <array>

namespace portops::impl {

struct Divide {
  static constexpr int inputs = 2;
  static constexpr int outputs = 1;
  static constexpr bool sums = false;
  static constexpr bool branches = true;
  /// x or y alone, or both: the operands have their places, whichever is broadcast.
  static constexpr std::array inputs_in_packs{InputSet{0}, InputSet{1}, InputSet{0, 1}};

  template <class A>
  KOKKOS_FUNCTION void operator()(const A (&in)[inputs], A (&out)[outputs]) const {
    out[0] = in[0] / in[1];
  }
};

/// x_grad alone, of y and out_grad.
struct DivideGradX {
  static constexpr int inputs = 2;
  static constexpr int outputs = 1;
  static constexpr bool sums = true;
  static constexpr bool branches = true;

  template <class A>
  KOKKOS_FUNCTION void operator()(const A (&in)[inputs], A (&out)[outputs]) const {
    const auto& [y, out_grad] = in;
    out[0] = out_grad / y;
  }
};

/// y_grad, the last output, alone or behind x_grad.
template <int wanted>
struct DivideGrad {
  static constexpr int inputs = 3;
  static constexpr int outputs = wanted;
  static constexpr bool sums = true;
  /// out_grad with x, with y, with both.
  static constexpr std::array inputs_in_packs{InputSet{0, 2}, InputSet{1, 2}, InputSet{0, 1, 2}};

  template <class A>
  KOKKOS_FUNCTION void operator()(const A (&in)[inputs], A (&out)[outputs]) const {
    const auto& [x, y, out_grad] = in;
    const A of_x = out_grad / y;
    out[0] = of_x;
    out[wanted - 1] = -of_x * (x / y);
  }
};

template <Backend B, class T>
void DivideKernels<B, T>::divide(const Context& ctx, const Loop& loop) {
  static const MapLabels labels("divide");
  map<B, T>(ctx, labels, Divide{}, loop);
}

template <Backend B, class T>
void DivideKernels<B, T>::divide_grad(const Context& ctx, const Loop& loop) {
  static const MapLabels labels("divide_grad");
  if (loop.inputs == 2) return map<B, T>(ctx, labels, DivideGradX{}, loop);
  loop.outputs == 1 ? map<B, T>(ctx, labels, DivideGrad<1>{}, loop) : map<B, T>(ctx, labels, DivideGrad<2>{}, loop);
}

}  // namespace portops::impl
