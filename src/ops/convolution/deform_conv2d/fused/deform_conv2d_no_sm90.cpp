// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/deform_conv2d/deform_conv2d_convolution.hpp"

// Builds without the fused path.

namespace portops::impl {

const FusedKernels& DeformConv2dConvolution::fused() {
  static const FusedKernels none{labels(), nullptr, nullptr, nullptr, nullptr};
  return none;
}

}  // namespace portops::impl
