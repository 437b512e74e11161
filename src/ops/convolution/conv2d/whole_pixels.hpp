// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/pixel_sampling.hpp"

#include <cstdint>

namespace portops::impl {

/// On GPUs: samples at whole positions, as ConvolvePixels takes them (see pixel_sampling.hpp).
template <class T>
class WholePixels {
 public:
  using A = Arithmetic<T>;
  static constexpr int groups_together = 1;  // a sample costs nothing that is worth sharing
  static constexpr int taps_together = 12;

  explicit WholePixels(const ImageStep& step) : taps_(step.windows) {}

  /// Nothing is shifted.
  struct Shift {};

  KOKKOS_FUNCTION Shift read(const PixelPlace& /*at*/, std::int32_t /*sample*/) const { return {}; }

  KOKKOS_FUNCTION SampleCorners<A, 1> find(const PixelPlace& at, std::int32_t k, std::int32_t l, const Shift& /*shift*/,
                                           const Tensor32<const T>& of) const {
    const std::int32_t y = taps_.y(at, k), x = taps_.x(at, l);
    const bool is_inside = y >= 0 && y < taps_.height && x >= 0 && x < taps_.width;
    return {{is_inside ? y * of.stride[2] + x * of.stride[3] : 0}, {A(1)}, A(0), is_inside};
  }

 private:
  TapPositions taps_;
};

}  // namespace portops::impl
