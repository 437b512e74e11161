// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/column_access.hpp"
#include "core/lanes/divide.hpp"
#include "ops/convolution/conv2d/conv2d_kernels.hpp"
#include "ops/convolution/pixel_sampling.hpp"

#include <algorithm>
#include <cstdint>

namespace portops::impl {

/// On GPUs: x_grad from the gradients of columns, of which a tap has a multiple of `pack` channels. An item a pixel of
/// x, so many channels of it: it adds up what the windows hold that reach it, in the order of their taps. Needs numbers
/// of 32 bits: see fits_pixels().
template <class T, int pack>
class ColumnsToX {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;

  ColumnsToX(const Windows& windows, const WindowColumns& layout, const A* columns, const Tensor4& x_grad)
      : windows_(windows),
        pixel_(layout.pixel),
        row_(layout.row),
        columns_(columns),
        x_grad_(x_grad),
        by_packs_(layout.pixel / pack),
        by_width_(windows.width),
        by_height_(windows.height),
        by_stride_y_(divisor(windows.stride_y)),
        by_stride_x_(divisor(windows.stride_x)) {}

  std::int64_t items() const { return windows_.images * windows_.area() * (pixel_ / pack); }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    const std::int64_t row_of_packs = by_packs_.quotient(item), first = (item - row_of_packs * (pixel_ / pack)) * pack;
    const std::int64_t row = by_width_.quotient(row_of_packs), x = row_of_packs - row * windows_.width;
    const std::int64_t image = by_height_.quotient(row), y = row - image * windows_.height;
    A sum[pack] = {};
    for (std::int64_t k = 0; k < windows_.kernel_height; ++k) {
      const std::int64_t i = window(y + windows_.top - k * windows_.dilation_y, by_stride_y_, windows_.out_height);
      if (i < 0) continue;
      const A* const tap = columns_ + (image * windows_.pixels() + i * windows_.out_width) * row_ +
                           k * windows_.kernel_width * pixel_ + first;
      for (std::int64_t l = 0; l < windows_.kernel_width; ++l) {
        const std::int64_t j = window(x + windows_.left - l * windows_.dilation_x, by_stride_x_, windows_.out_width);
        if (j < 0) continue;
        const auto word = *reinterpret_cast<const Word<A, pack>*>(tap + j * row_ + l * pixel_);
        PORTOPS_UNROLL
        for (int c = 0; c < pack; ++c) sum[c] += word[c];
      }
    }
    PORTOPS_UNROLL
    for (int c = 0; c < pack; ++c) {
      if (first + c >= windows_.channels) break;
      static_cast<T*>(x_grad_.data)[x_grad_.offset(image, first + c, y, x)] = static_cast<T>(sum[c]);
    }
  }

 private:
  /// A stride that no position reaches divides 0 alone.
  static Divisor divisor(std::int64_t stride) {
    return Divisor(static_cast<std::uint32_t>(std::min<std::int64_t>(stride, INT32_MAX)));
  }

  /// The window whose tap lies there, counted along an axis; −1 for none.
  KOKKOS_FORCEINLINE_FUNCTION static std::int64_t window(std::int64_t from_first, const Divisor& stride,
                                                         std::int64_t windows) {
    if (from_first < 0) return -1;
    const auto position = static_cast<std::uint32_t>(from_first);
    const std::uint32_t index = stride.quotient(position);
    return index * stride.value() == position && index < windows ? index : std::int64_t{-1};
  }

  Windows windows_;
  std::int64_t pixel_, row_;
  const A* columns_;
  Tensor4 x_grad_;
  IndexDivisor by_packs_, by_width_, by_height_;
  Divisor by_stride_y_, by_stride_x_;
};

}  // namespace portops::impl
