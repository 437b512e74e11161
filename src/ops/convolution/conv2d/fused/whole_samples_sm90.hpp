// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/fused/fused_columns_sm90.hpp"

// The samples of the fused kernel of conv2d. For conv2d_sm90.cu alone.

namespace portops::impl::fused_sm90 {

/// Pixels of x, or 0.
struct WholeSamples {
  static constexpr int corner_count = 1;
  /// Of a launch: a gradient with a stride of 2 has so many.
  static constexpr int most_convolutions = 4;
  static constexpr int least_rows = 32;
  /// 16-bit types have few calls in registers.
  template <class T>
  static constexpr bool has_64_pixels = sizeof(T) == 4;
  /// Few sums leave registers for two: one begins or writes its sums while the other one multiplies.
  template <Precision precision>
  static constexpr int blocks_at_once(int rows) {
    return rows <= 64 ? 2 : 1;
  }
  template <Precision precision, int rows>
  static constexpr bool loads_ahead = true;

  /// Finds those of a phase, for the block's pixels.
  template <class T, Precision precision, int pixels>
  static __device__ void find(const FusedArguments& arguments, const Phase& phase, std::int64_t first_pixel,
                              char* table) {
    const Windows& windows = arguments.windows;
    const FusedOperands& operands = arguments.operands;
    auto* const places = reinterpret_cast<Place*>(table);
    const int pixel = static_cast<int>(threadIdx.x) % pixels;
    const bool is_there = first_pixel + pixel < windows.images * windows.pixels();
    const Pixel at = is_there ? locate(windows, first_pixel + pixel) : Pixel{};
    for (int tap = static_cast<int>(threadIdx.x) / pixels; tap < phase.taps; tap += threads / pixels) {
      const std::uint32_t k = arguments.kernel_width.quotient(phase.first_tap + tap);
      const std::uint32_t l = phase.first_tap + tap - k * arguments.kernel_width.value();
      const std::int64_t y = at.y * windows.stride_y - windows.top + k * windows.dilation_y;
      const std::int64_t x = at.x * windows.stride_x - windows.left + l * windows.dilation_x;
      const bool exists = is_there && y >= 0 && y < windows.height && x >= 0 && x < windows.width;
      const std::int64_t units = at.image * operands.x_image + y * operands.x_row + x * operands.x_pixel;
      places[tap * pixels + pixel] = exists ? static_cast<Place>(units * 16) : is_zero;
    }
  }
};

}  // namespace portops::impl::fused_sm90
