// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/conv2d/conv2d_convolution.hpp"

// Builds without the fused path.

namespace portops::impl {

const FusedKernels& Conv2dConvolution::fused() {
  static const FusedKernels none{labels(), nullptr, nullptr, nullptr, nullptr};
  return none;
}

}  // namespace portops::impl
