// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/conv2d/fused/tap_copies_sm90.hpp"

namespace portops::impl::tap_products {

/// Goes through a tile's pixels, so many at a time: where the window of each lies in the stage.
template <int step_pixels>
class Walk {
 public:
  __device__ __forceinline__ Walk(int pixel, int width, SharedAddress first, int row_bytes, int column_bytes)
      : width_(width) {
    const Place begin(pixel, width), step(step_pixels, width);
    column_ = begin.column;
    columns_ = step.column;
    place_ = first + begin.row * row_bytes + begin.column * column_bytes;
    bytes_ = step.row * row_bytes + step.column * column_bytes;
    turn_ = row_bytes - width * column_bytes;
  }
  __device__ __forceinline__ SharedAddress place() const { return place_; }
  __device__ __forceinline__ void advance() {
    column_ += columns_;
    place_ += bytes_;
    if (column_ >= width_) {
      column_ -= width_;
      place_ += turn_;
    }
  }

 private:
  int width_, column_, columns_, bytes_, turn_;
  SharedAddress place_;
};

}  // namespace portops::impl::tap_products
