// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/conv2d/conv2d_convolution.hpp"

#include "ops/convolution/layouts.hpp"

namespace portops::impl {

const ConvolutionLabels& Conv2dConvolution::labels() {
  static const ConvolutionLabels labels("conv2d");
  return labels;
}

bool Conv2dConvolution::samples_strips(const Windows& windows, const TensorRef& x) {
  constexpr std::int64_t few_channels = 16;
  return windows.group_channels() <= few_channels || !has_channels_last(x);
}

}  // namespace portops::impl
