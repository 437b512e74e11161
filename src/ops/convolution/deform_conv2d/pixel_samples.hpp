// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/pack.hpp"
#include "ops/convolution/deform_conv2d/sample.hpp"
#include "ops/convolution/pixel_sampling.hpp"

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace portops::impl {

/// On GPUs: samples at the positions of deform_conv2d, as ConvolvePixels takes them (see pixel_sampling.hpp).
template <class T>
class PixelSamples {
 public:
  using A = Arithmetic<T>;
  static constexpr int groups_together = 4;
  static constexpr int taps_together = 1;  // samples have four corners

  explicit PixelSamples(const ImageStep& step) : offset_(step.offset), mask_(step.mask), taps_(step.windows) {}

  /// An offset, and the mask's factor.
  struct Shift {
    A down, right, factor;
  };

  KOKKOS_FUNCTION Shift read(const PixelPlace& at, std::int32_t sample) const {
    const T* const offset = offset_.data + offset_.offset(at.image, 2 * sample, at.i, at.j);
    return {static_cast<A>(offset[0]), static_cast<A>(offset[offset_.stride[1]]),
            mask_.data == nullptr ? A(1) : static_cast<A>(mask_.data[mask_.offset(at.image, sample, at.i, at.j)])};
  }

  /// Where tap (k, l) samples the channels of a deformable group.
  KOKKOS_FUNCTION Position<A> position(const PixelPlace& at, std::int32_t k, std::int32_t l, const Shift& shift,
                                       std::int32_t deformable_group) const {
    return {at.image, deformable_group, static_cast<A>(taps_.y(at, k)) + shift.down,
            static_cast<A>(taps_.x(at, l)) + shift.right, shift.factor};
  }

  KOKKOS_FUNCTION SampleCorners<A, corners> find(const PixelPlace& at, std::int32_t k, std::int32_t l,
                                                 const Shift& shift, const Tensor32<const T>& of) const {
    const A v = static_cast<A>(taps_.y(at, k)) + shift.down;
    const A u = static_cast<A>(taps_.x(at, l)) + shift.right;
    SampleCorners<A, corners> found;
    found.is_inside = v > A(-1) && v < static_cast<A>(taps_.height) && u > A(-1) && u < static_cast<A>(taps_.width);
    found.nothing = shift.factor * (v != v || u != u ? Kokkos::Experimental::quiet_NaN_v<A> : A(0));
    // What is read for a sample outside does not count.
    const A inside_v = found.is_inside ? v : A(0), inside_u = found.is_inside ? u : A(0);
    const A floor_v = Kokkos::floor(inside_v), floor_u = Kokkos::floor(inside_u);
    const auto y = static_cast<std::int32_t>(floor_v), x = static_cast<std::int32_t>(floor_u);
    const A down = inside_v - floor_v, right = inside_u - floor_u;
    const bool above = y >= 0, below = y + 1 < taps_.height, left = x >= 0, after = x + 1 < taps_.width;
    const A of_row[2] = {above ? A(1) - down : A(0), below ? down : A(0)};
    const A of_column[2] = {left ? A(1) - right : A(0), after ? right : A(0)};
    const std::int32_t rows[2] = {(above ? y : 0) * of.stride[2], (below ? y + 1 : y) * of.stride[2]};
    const std::int32_t columns[2] = {(left ? x : 0) * of.stride[3], (after ? x + 1 : x) * of.stride[3]};
    PORTOPS_UNROLL
    for (int c = 0; c < corners; ++c) {
      found.offset[c] = rows[c / 2] + columns[c % 2];
      found.weight[c] = of_row[c / 2] * of_column[c % 2] * shift.factor;
    }
    return found;
  }

 private:
  Tensor32<const T> offset_, mask_;
  TapPositions taps_;
};

}  // namespace portops::impl
