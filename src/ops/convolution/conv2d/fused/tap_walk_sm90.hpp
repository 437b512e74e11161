// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/conv2d/fused/tap_arguments_sm90.hpp"

// How pixels of a tile are gone through. For files compiled for sm_90a alone.

namespace portops::impl::tap_products {

/// A small number's place in rows of so many: few rows, for which a division would take longer.
struct Place {
  int row = 0, column;

  __device__ __forceinline__ Place(int index, int width) : column(index) {
#pragma unroll 1
    while (column >= width) {
      column -= width;
      ++row;
    }
  }
};

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

/// Where a lane of a consumer finds what it reads of a stage: of out_grad two neighbouring output channels of each 16,
/// of x one channel.
template <class F>
class LanePlaces {
 public:
  __device__ __forceinline__ LanePlaces(const Arguments& arguments, SharedAddress stage) {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const TapProductsPlan& plan = arguments.plan;
    const Windows& w = arguments.windows;
    const int pitch = x_pitch(F::channels, w.stride_x);
    first_pixel_ = lane % 4;
    x_ = stage + plan.tile_height * plan.tile_width * out_pitch(F::outs) + (warp * 8 + lane / 4) * 4;
    row_bytes_ = static_cast<int>(w.stride_y) * plan.region_width * pitch;
    column_bytes_ = static_cast<int>(w.stride_x) * pitch;
    out_grad = stage + first_pixel_ * out_pitch(F::outs) + lane / 4 * 8;
  }

  /// From so many pixels behind the lane's first one.
  __device__ __forceinline__ Walk<F::step_pixels> walk_from(int pixel, int tile_width) const {
    return {first_pixel_ + pixel, tile_width, x_, row_bytes_, column_bytes_};
  }

  SharedAddress out_grad;

 private:
  int first_pixel_, row_bytes_, column_bytes_;
  SharedAddress x_;
};

}  // namespace portops::impl::tap_products
