// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/windows.hpp"

#include <cstddef>
#include <cstdint>

namespace portops::impl {

/// Sums of weight_grad, and of bias_grad, that blocks leave in parts, and where their sums go.
struct WeightParts {
  float* sums = nullptr;  ///< part by part [output channel][tap][channel of the group], then part by part of out_grad
  bool taps_fastest = false;  ///< instead: [output channel][channel of the group][tap]
  Tensor4 weight_grad;
  void* bias_grad = nullptr;  ///< the sums of out_grad over its pixels, if they are wanted
  std::int64_t bias_grad_stride = 0;

  /// Those of out_grad, of so many parts.
  PORTOPS_FUNCTION float* bias_sums(const Windows& windows, int parts) const {
    return sums + parts * (windows.out_channels * windows.group_column());
  }
  static std::size_t bytes(const Windows& windows, int parts) {
    const std::int64_t of_part = windows.out_channels * (windows.group_column() + 1);
    return static_cast<std::size_t>(parts) * static_cast<std::size_t>(of_part) * sizeof(float);
  }
};

}  // namespace portops::impl
