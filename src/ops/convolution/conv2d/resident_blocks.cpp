// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/conv2d/resident_blocks.hpp"

#include "ops/convolution/conv2d/conv2d_convolution.hpp"

#include <algorithm>

namespace portops::impl {

bool has_resident_blocks(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors) {
  if (size_of(tensors.x.type()) > 2 || !can_fuse(ctx, windows, tensors)) return false;
  return std::ranges::any_of(fused_forms(ctx, Conv2dConvolution::fused(), {windows, tensors}),
                             [](const FusedForm& form) { return form.residence == Residence::patches; });
}

}  // namespace portops::impl
