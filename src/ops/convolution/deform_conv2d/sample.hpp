// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/macros.hpp"
#include "ops/convolution/image_step.hpp"

#include <cmath>
#include <cstdint>

// Where windows sample an image, on host and device. Nothing here knows Kokkos.

namespace portops::impl {

/// The four corners of a position between pixels are counted above left, above right, below left, below right.
inline constexpr int corners = 4;

/// A sample, as far as it does not depend on the channel.
template <class A>
struct Sample {
  static constexpr int corner_count = corners;

  std::int64_t image, y, x;       ///< the corner above left, moved into the image where it lies outside
  A down, right;                  ///< how far the position is from the corner above left
  A factor;                       ///< the mask's
  std::int32_t deformable_group;  ///< whose channels it is for
  bool exists[corners];           ///< whether the corner is a pixel; none is where the sample lies outside
  bool steps_down, steps_right;   ///< whether the corners below, or right, are other pixels than those above, or left
  bool is_nan;                    ///< whether the position is

  PORTOPS_FUNCTION bool is_outside() const { return !(exists[0] || exists[1] || exists[2] || exists[3]); }

  /// The bilinear weights of the corners; 0 for those that are no pixels.
  PORTOPS_FUNCTION void weights(A (&weight)[corners]) const {
    const A up = A(1) - down, left = A(1) - right;
    const A all[corners] = {up * left, up * right, down * left, down * right};
    PORTOPS_UNROLL
    for (int k = 0; k < corners; ++k) weight[k] = exists[k] ? all[k] : A(0);
  }

  /// The offset of a corner's channels from those of the whole tensor; of a corner that does not exist, that of
  /// another.
  PORTOPS_FUNCTION std::int64_t offset(const PixelStrides& strides, int corner) const {
    return image * strides.image + (y + (corner >= 2 && steps_down ? 1 : 0)) * strides.y +
           (x + (corner % 2 == 1 && steps_right ? 1 : 0)) * strides.x;
  }
};

/// Where a sample lies in x, with all that is read for it.
template <class A>
struct Position {
  std::int64_t image;
  std::int64_t deformable_group;
  A v, u;    ///< in pixels, down and right
  A factor;  ///< the mask's
};

/// Where samples begin above and left of the image. At exactly one pixel a sample is 0: for its value it lies outside,
/// and pixels are not read; its derivatives are the slopes inwards, as torchvision has them, and gradients take it in.
enum class Edge { of_values, of_gradients };

/// Samples lie below and right of this position.
template <class A>
PORTOPS_FUNCTION A position_before(Edge edge) {
  // The next number below −1.
  constexpr A below = sizeof(A) == sizeof(double) ? A(-0x1.0000000000001p0) : A(-0x1.000002p0);
  return edge == Edge::of_values ? A(-1) : below;
}

/// Finds samples, by the offsets and masks of a step's images. Positions are computed in type A.
template <class T, class A>
class Sampler {
 public:
  /// The mask's data may be null.
  PORTOPS_FUNCTION Sampler(const Windows& windows, const Tensor4& offset, const Tensor4& mask,
                           Edge edge = Edge::of_values)
      : windows_(windows), offset_(offset), mask_(mask), before_(position_before<A>(edge)) {}
  PORTOPS_FUNCTION explicit Sampler(const ImageStep& step) : Sampler(step.windows, step.offset, step.mask) {}

  PORTOPS_FUNCTION Sample<A> operator()(const SampleIndex& at) const {
    const std::int64_t i = quotient(at.pixel, windows_.out_width);
    const std::int64_t k = quotient(at.tap, windows_.kernel_width);
    return sample(position(at.image, i, at.pixel - i * windows_.out_width, at.deformable_group, k,
                           at.tap - k * windows_.kernel_width));
  }

  /// That of pixel (i, j) and tap (k, l).
  PORTOPS_FUNCTION Position<A> position(std::int64_t image, std::int64_t i, std::int64_t j,
                                        std::int64_t deformable_group, std::int64_t k, std::int64_t l) const {
    const std::int64_t channel = deformable_group * windows_.taps() + k * windows_.kernel_width + l;
    const std::int64_t whole_v = i * windows_.stride_y - windows_.top + k * windows_.dilation_y;
    const std::int64_t whole_u = j * windows_.stride_x - windows_.left + l * windows_.dilation_x;
    return {image, deformable_group, static_cast<A>(whole_v) + element(offset_, image, 2 * channel, i, j),
            static_cast<A>(whole_u) + element(offset_, image, 2 * channel + 1, i, j),
            mask_.data == nullptr ? A(1) : element(mask_, image, channel, i, j)};
  }

  PORTOPS_FUNCTION Sample<A> sample(const Position<A>& at) const {
    Sample<A> sample{};
    sample.image = at.image;
    sample.deformable_group = static_cast<std::int32_t>(at.deformable_group);
    sample.factor = at.factor;
    sample.is_nan = at.v != at.v || at.u != at.u;
    if (at.v > before_ && at.v < static_cast<A>(windows_.height) && at.u > before_ &&
        at.u < static_cast<A>(windows_.width)) {
      place(sample, at.v, at.u);
    }
    return sample;
  }

 private:
  PORTOPS_FUNCTION void place(Sample<A>& sample, A v, A u) const {
    const A floor_v = std::floor(v), floor_u = std::floor(u);
    const auto y = static_cast<std::int64_t>(floor_v), x = static_cast<std::int64_t>(floor_u);
    sample.down = v - floor_v;
    sample.right = u - floor_u;
    const bool above = y >= 0, below = y + 1 < windows_.height;
    const bool left = x >= 0, right = x + 1 < windows_.width;
    sample.exists[0] = above && left;
    sample.exists[1] = above && right;
    sample.exists[2] = below && left;
    sample.exists[3] = below && right;
    sample.y = above ? y : 0;
    sample.x = left ? x : 0;
    sample.steps_down = above && below;
    sample.steps_right = left && right;
  }

  PORTOPS_FUNCTION static A element(const Tensor4& tensor, std::int64_t image, std::int64_t channel, std::int64_t i,
                                    std::int64_t j) {
    return static_cast<A>(static_cast<const T*>(tensor.data)[tensor.offset(image, channel, i, j)]);
  }

  Windows windows_;
  Tensor4 offset_, mask_;
  A before_;
};

}  // namespace portops::impl
