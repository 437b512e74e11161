// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/divide.hpp"
#include "core/lanes/pack.hpp"
#include "ops/convolution/image_step.hpp"

#include <Kokkos_Core.hpp>

#include <cstdint>

// How a GPU's thread samples x for a pixel of out, with numbers of 32 bits. How it finds samples is a parameter of
// ConvolvePixels, a class Samples:
//
//   Samples(const ImageStep&)
//   groups_together                  how many a thread takes where each has one output channel
//   taps_together                    for PixelsWeightGrad: how many a thread reads before it waits for the first
//   shift = read(place, sample)      what is read for sample number deformable_group · taps + tap
//   find(place, k, l, shift, x)      the sample at tap (k, l), as SampleCorners; x: the tensor that it is of

namespace portops::impl {

/// A tensor whose elements have numbers of 32 bits.
template <class E>
struct Tensor32 {
  E* data;
  std::int32_t stride[4];

  explicit Tensor32(const Tensor4& tensor) : data(static_cast<E*>(tensor.data)) {
    for (int axis = 0; axis < 4; ++axis) stride[axis] = static_cast<std::int32_t>(tensor.stride[axis]);
  }
  KOKKOS_FUNCTION std::int32_t offset(std::int32_t a, std::int32_t b, std::int32_t c, std::int32_t d) const {
    return a * stride[0] + b * stride[1] + c * stride[2] + d * stride[3];
  }
};

/// A pixel of out.
struct PixelPlace {
  std::int32_t image, i, j;
};

/// Finds the pixels of all images, which are counted one image after the other.
class PixelsOfImages {
 public:
  explicit PixelsOfImages(const Windows& w)
      : pixels_(static_cast<std::uint32_t>(w.pixels())), out_width_(static_cast<std::uint32_t>(w.out_width)) {}

  KOKKOS_FUNCTION PixelPlace operator()(std::int64_t index) const {
    const auto narrow = [](std::uint32_t number) { return static_cast<std::int32_t>(number); };
    const std::uint32_t image = pixels_.quotient(static_cast<std::uint32_t>(index));
    const std::uint32_t pixel = static_cast<std::uint32_t>(index) - image * pixels_.value();
    const std::uint32_t i = out_width_.quotient(pixel);
    return {narrow(image), narrow(i), narrow(pixel - i * out_width_.value())};
  }

 private:
  Divisor pixels_, out_width_;
};

/// Whether a thread can read or write so many neighbouring channels of a pixel at once, from any multiple of as many
/// on.
template <class T>
bool has_channel_packs(const Tensor4& tensor, int channels) {
  if (tensor.stride[1] != 1) return false;
  if (reinterpret_cast<std::uintptr_t>(tensor.data) % (channels * sizeof(T)) != 0) return false;
  return tensor.stride[0] % channels == 0 && tensor.stride[2] % channels == 0 && tensor.stride[3] % channels == 0;
}

/// A sample, without its image and channel.
template <class A, int corners>
struct SampleCorners {
  std::int32_t offset[corners];  ///< of a corner that does not exist, that of another
  A weight[corners];             ///< with the mask's factor, 0 for one that does not exist; a corner alone has none
  A nothing;                     ///< what a sample outside of the image is
  bool is_inside;

  template <class T>
  KOKKOS_FUNCTION A value(const T* x) const {
    if constexpr (corners == 1) {
      return is_inside ? static_cast<A>(x[offset[0]]) : nothing;
    } else {
      A value = weight[0] * static_cast<A>(x[offset[0]]);
      PORTOPS_UNROLL
      for (int k = 1; k < corners; ++k) value = Kokkos::fma(weight[k], static_cast<A>(x[offset[k]]), value);
      return is_inside ? value : nothing;
    }
  }
};

/// Where taps sample x before anything is shifted, in 32 bits.
struct TapPositions {
  std::int32_t height, width;  ///< of x
  std::int32_t stride_y, stride_x, top, left, dilation_y, dilation_x;

  explicit TapPositions(const Windows& w)
      : height(narrow(w.height)),
        width(narrow(w.width)),
        stride_y(narrow(w.stride_y)),
        stride_x(narrow(w.stride_x)),
        top(narrow(w.top)),
        left(narrow(w.left)),
        dilation_y(narrow(w.kernel_height > 1 ? w.dilation_y : 0)),
        dilation_x(narrow(w.kernel_width > 1 ? w.dilation_x : 0)) {}

  KOKKOS_FUNCTION std::int32_t y(const PixelPlace& at, std::int32_t k) const {
    return at.i * stride_y - top + k * dilation_y;
  }
  KOKKOS_FUNCTION std::int32_t x(const PixelPlace& at, std::int32_t l) const {
    return at.j * stride_x - left + l * dilation_x;
  }

 private:
  static std::int32_t narrow(std::int64_t number) { return static_cast<std::int32_t>(number); }
};

}  // namespace portops::impl
