// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/pack.hpp"
#include "ops/convolution/deform_conv2d/sample.hpp"
#include "ops/convolution/pixel_sampling.hpp"

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace portops::impl {

/// The corners of a sample: where two rows meet two columns, of which those that do not exist are others.
template <class A>
struct PixelCorners {
  std::int32_t rows[2], columns[2];
  bool row_exists[2], column_exists[2];
  A of_row[2], of_column[2];  ///< the corners' weights are the products of these; 0 where they do not exist

  /// Of a position in an image of these extents.
  KOKKOS_FORCEINLINE_FUNCTION PixelCorners(A v, A u, std::int32_t height, std::int32_t width) {
    const A floor_v = Kokkos::floor(v), floor_u = Kokkos::floor(u);
    const auto y = static_cast<std::int32_t>(floor_v), x = static_cast<std::int32_t>(floor_u);
    const A down = v - floor_v, right = u - floor_u;
    const bool above = y >= 0, below = y + 1 < height, left = x >= 0, after = x + 1 < width;
    row_exists[0] = above;
    row_exists[1] = below;
    column_exists[0] = left;
    column_exists[1] = after;
    of_row[0] = above ? A(1) - down : A(0);
    of_row[1] = below ? down : A(0);
    of_column[0] = left ? A(1) - right : A(0);
    of_column[1] = after ? right : A(0);
    rows[0] = above ? y : 0;
    rows[1] = below ? y + 1 : y;
    columns[0] = left ? x : 0;
    columns[1] = after ? x + 1 : x;
  }
};

/// A sample, without its image and channel, as gradients need it. No row exists of one outside.
template <class A>
struct PixelGradSample : PixelCorners<A> {
  A factor;        ///< the mask's
  A nothing;       ///< what a sample outside of the image is, but for the factor
  bool has_value;  ///< whether its value, beside its derivatives, takes the sample in: see Edge
};

/// On GPUs: samples at the positions of deform_conv2d, as ConvolvePixels takes them (see pixel_sampling.hpp).
template <class T>
class PixelSamples {
 public:
  using A = Arithmetic<T>;
  static constexpr int groups_together = 4;

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

  KOKKOS_FUNCTION SampleCorners<A, corners> find(const PixelPlace& at, std::int32_t k, std::int32_t l,
                                                 const Shift& shift, const Tensor32<const T>& of) const {
    const A v = static_cast<A>(taps_.y(at, k)) + shift.down;
    const A u = static_cast<A>(taps_.x(at, l)) + shift.right;
    SampleCorners<A, corners> found;
    found.is_inside = v > A(-1) && v < static_cast<A>(taps_.height) && u > A(-1) && u < static_cast<A>(taps_.width);
    found.nothing = shift.factor * (v != v || u != u ? Kokkos::Experimental::quiet_NaN_v<A> : A(0));
    // What is read for a sample outside does not count.
    const PixelCorners<A> at_corners(found.is_inside ? v : A(0), found.is_inside ? u : A(0), taps_.height, taps_.width);
    PORTOPS_UNROLL
    for (int c = 0; c < corners; ++c) {
      found.offset[c] = at_corners.rows[c / 2] * of.stride[2] + at_corners.columns[c % 2] * of.stride[3];
      found.weight[c] = at_corners.of_row[c / 2] * at_corners.of_column[c % 2] * shift.factor;
    }
    return found;
  }

  /// Where a row or column of taps samples x for the first pixel, without offsets.
  KOKKOS_FUNCTION std::int32_t v_of_tap(std::int32_t k) const { return k * taps_.dilation_y - taps_.top; }
  KOKKOS_FUNCTION std::int32_t u_of_tap(std::int32_t l) const { return l * taps_.dilation_x - taps_.left; }

  /// The sample for gradients of the tap whose v_of_tap() and u_of_tap() these are.
  KOKKOS_FUNCTION PixelGradSample<A> find_for_gradients(const PixelPlace& at, std::int32_t v_of_tap,
                                                        std::int32_t u_of_tap, const Shift& shift) const {
    const A v = static_cast<A>(at.i * taps_.stride_y + v_of_tap) + shift.down;
    const A u = static_cast<A>(at.j * taps_.stride_x + u_of_tap) + shift.right;
    const A before = position_before<A>(Edge::of_gradients), before_value = position_before<A>(Edge::of_values);
    const bool is_inside =
        v > before && v < static_cast<A>(taps_.height) && u > before && u < static_cast<A>(taps_.width);
    // What is read for a sample outside does not count.
    PixelGradSample<A> found{PixelCorners<A>(is_inside ? v : A(0), is_inside ? u : A(0), taps_.height, taps_.width),
                             shift.factor, v != v || u != u ? Kokkos::Experimental::quiet_NaN_v<A> : A(0),
                             is_inside && v > before_value && u > before_value};
    for (bool& exists : found.row_exists) exists = exists && is_inside;
    return found;
  }

 private:
  Tensor32<const T> offset_, mask_;
  TapPositions taps_;
};

}  // namespace portops::impl
