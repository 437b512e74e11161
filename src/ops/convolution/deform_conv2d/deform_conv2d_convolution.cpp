// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/deform_conv2d/deform_conv2d_convolution.hpp"

namespace portops::impl {

const ConvolutionLabels& DeformConv2dConvolution::labels() {
  static const ConvolutionLabels labels("deform_conv2d");
  return labels;
}

bool DeformConv2dConvolution::fits_strips(const Windows& w, const TensorRef& x) {
  constexpr std::int64_t most = INT32_MAX;
  // How far the last of `extent` elements lies from the first one; too far, where the stride alone is too large.
  const auto reach = [](std::int64_t extent, std::int64_t stride) {
    if (extent <= 1) return std::int64_t{0};
    if (extent > most || stride > most || stride < -most) return most + 1;
    return (extent - 1) * (stride < 0 ? -stride : stride);
  };
  return w.height <= most && w.width <= most && w.area() > 0 && w.area() <= most && has_narrow_positions(w) &&
         reach(w.height, x.stride(2)) + reach(w.width, x.stride(3)) <= most;
}

bool DeformConv2dConvolution::samples_strips(const Windows& windows, const TensorRef& x) {
  constexpr std::int64_t few_channels = 16;
  return windows.channel_run() <= few_channels && fits_strips(windows, x);
}

}  // namespace portops::impl
