// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/divide.hpp"
#include "core/types/macros.hpp"
#include "ops/convolution/image_step.hpp"

#include <cstdint>

// What windows read of an image at whole positions, as the kernels of convolutions take it: see sampling.hpp.

namespace portops::impl {

/// A pixel of x, or 0 where the position is none.
struct WholeSample {
  static constexpr int corner_count = 1;
  static constexpr std::int32_t deformable_group = 0;

  std::int64_t image, y, x;
  bool exists;

  PORTOPS_FUNCTION bool is_outside() const { return !exists; }
  PORTOPS_FUNCTION std::int64_t offset(const PixelStrides& strides, int /*corner*/) const {
    return exists ? image * strides.image + y * strides.y + x * strides.x : 0;
  }
};

PORTOPS_FUNCTION float nothing_of(const WholeSample& /*sample*/) { return 0.0f; }

template <class A>
PORTOPS_FUNCTION void factored_weights(const WholeSample& /*sample*/, A (&weight)[1]) {
  weight[0] = A(1);
}

/// Finds them.
class WholeSampler {
 public:
  PORTOPS_FUNCTION explicit WholeSampler(const ImageStep& step) : windows_(step.windows) {}

  PORTOPS_FUNCTION WholeSample operator()(const SampleIndex& at) const {
    const std::int64_t i = quotient(at.pixel, windows_.out_width), j = at.pixel - i * windows_.out_width;
    const std::int64_t k = quotient(at.tap, windows_.kernel_width), l = at.tap - k * windows_.kernel_width;
    const std::int64_t y = i * windows_.stride_y - windows_.top + k * windows_.dilation_y;
    const std::int64_t x = j * windows_.stride_x - windows_.left + l * windows_.dilation_x;
    return {at.image, y, x, y >= 0 && y < windows_.height && x >= 0 && x < windows_.width};
  }

 private:
  Windows windows_;
};

}  // namespace portops::impl
