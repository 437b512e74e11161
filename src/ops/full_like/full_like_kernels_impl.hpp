// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/map/map.hpp"
#include "ops/full_like/full_like_kernels.hpp"

namespace portops::impl {

struct FullLikeRounded {
  static constexpr int inputs = 1;
  static constexpr int outputs = 1;
  static constexpr bool sums = false;

  const float* fill_value;

  KOKKOS_FORCEINLINE_FUNCTION void operator()(const float (&)[inputs], float (&out)[outputs]) const {
    out[0] = *fill_value;
  }
};

template <Backend B, class T>
void FullLikeKernels<B, T>::fill_rounded(const Context& ctx, const MapLabels& labels, const Loop& loop,
                                         const float* fill_value) {
  // Only the 16-bit types round: numbers of the others are operands.
  if constexpr (sizeof(T) == 2) {
    map<B, T>(ctx, labels, FullLikeRounded{fill_value}, loop);
  }
}

}  // namespace portops::impl
