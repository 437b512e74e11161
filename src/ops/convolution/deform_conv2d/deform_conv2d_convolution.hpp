// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/convolution_labels.hpp"
#include "ops/convolution/deform_conv2d/deform_conv2d_kernels.hpp"
#include "ops/convolution/fused/fused.hpp"

namespace portops::impl {

/// What deform_conv2d is to the paths that convolutions share: see convolve.hpp.
struct DeformConv2dConvolution {
  template <Backend B, class T>
  using Kernels = DeformConv2dKernels<B, T>;

  static const ConvolutionLabels& labels();
  static const FusedKernels& fused();
  /// Whether x has pixels, and these, positions and the elements of a channel have numbers of 32 bits, which
  /// StripSamples needs.
  static bool fits_strips(const Windows& windows, const TensorRef& x);
  /// Whether samples are found in strips, channel by channel: few channels are faster so than one sample after the
  /// other.
  static bool samples_strips(const Windows& windows, const TensorRef& x);
};

}  // namespace portops::impl
