// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/conv2d/conv2d_kernels.hpp"
#include "ops/convolution/convolution_labels.hpp"
#include "ops/convolution/fused/fused.hpp"

namespace portops::impl {

/// What conv2d is to the paths that convolutions share: see convolve.hpp.
struct Conv2dConvolution {
  template <Backend B, class T>
  using Kernels = Conv2dKernels<B, T>;

  static const ConvolutionLabels& labels();
  static const FusedKernels& fused();
  static bool fits_strips(const Windows& /*windows*/, const TensorRef& /*x*/) { return true; }
  /// Whether the pixels of a channel are taken along a row, or the channels of a pixel together.
  static bool samples_strips(const Windows& windows, const TensorRef& x);
};

}  // namespace portops::impl
