// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "ops/pool2d/pool2d_rules.hpp"

// A call of pool2d or its gradient, in a canonical form. Nothing here knows Kokkos.

namespace portops::impl {

/// Images, or their windows; strides in elements.
struct PoolTensor {
  PoolTensor() = default;
  explicit PoolTensor(const TensorRef& tensor);

  void* data = nullptr;  ///< null: not wanted
  std::int64_t image = 0;
  std::int64_t channel = 0;
  std::int64_t row = 0;
  std::int64_t column = 0;
};

struct PoolPlan {
  bool is_max = false;
  bool exclusive = true;
  /// Channels, not columns, are neighbours in the images: a thread takes channels of one pixel or window, else columns
  /// of one row.
  bool by_channels = false;
  /// On a GPU: whether neighbours may be read, or written, by accesses of 16 bytes wherever they begin.
  bool wide_images = false;
  bool wide_windows = false;
  std::int64_t images = 0;
  std::int64_t channels = 0;
  PoolAxis down, across;
  PoolTensor x;      ///< or x_grad
  PoolTensor out;    ///< or out_grad
  PoolTensor index;  ///< of max
};

/// `x` and `out` may be x_grad and out_grad.
PoolPlan make_pool_plan(const Pool2dExtents& windows, bool exclusive, const TensorRef& x, const TensorRef& out,
                        const TensorRef& index);

}  // namespace portops::impl
