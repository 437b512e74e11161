// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "ops/pool2d/pool2d_rules.hpp"

// A call of pool2d or its gradient, in a canonical form. Nothing here knows Kokkos.

namespace portops::impl {

/// Images, or their windows; strides in elements, 0 along axes of one.
template <class Index>
struct PoolTensorOf {
  void* data = nullptr;  ///< null: not wanted
  Index image = 0;
  Index channel = 0;
  Index row = 0;
  Index column = 0;
};

using PoolTensor = PoolTensorOf<std::int64_t>;

template <class Index>
PoolTensorOf<Index> tensor_of(const PoolTensor& tensor) {
  return {tensor.data, static_cast<Index>(tensor.image), static_cast<Index>(tensor.channel),
          static_cast<Index>(tensor.row), static_cast<Index>(tensor.column)};
}

struct PoolPlan {
  bool is_max = false;
  bool exclusive = true;
  /// Channels, not columns, are neighbours in the images: a thread takes channels of one pixel or window, else columns
  /// of one row.
  bool by_channels = false;
  /// On a GPU: whether neighbours may be read, or written, by accesses of 16 bytes wherever they begin.
  bool wide_images = false;
  bool wide_windows = false;
  /// 2 or 3 for K where windows are K by K pixels, two apart, with K − 2 in the padding, and everything is whole packs,
  /// else 0.
  int by_packs = 0;
  /// The neighbours of such a pack: as many channels as the widest access has; or, of columns of windows, half as many,
  /// whose pixels in a row are one such access, or 2 or 1.
  int pack = 0;
  /// Whether an image has one window, which is all of it, and the pixels of x lie at equal distances.
  bool is_whole = false;
  std::int64_t images = 0;
  std::int64_t channels = 0;
  PoolAxis down, across;
  PoolTensor x;      ///< or x_grad
  PoolTensor out;    ///< or out_grad
  PoolTensor index;  ///< of max

  /// Whether ints hold every number that a kernel comes to.
  bool is_small() const;
  /// Some of the images, of elements of so many bytes.
  PoolPlan part(std::int64_t first_image, std::int64_t count, int element_bytes) const;
};

/// `x` and `out` may be x_grad and out_grad.
PoolPlan make_pool_plan(const Pool2dExtents& windows, bool exclusive, const TensorRef& x, const TensorRef& out,
                        const TensorRef& index);

}  // namespace portops::impl
