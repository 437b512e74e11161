// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/deform_conv2d/fused.hpp"

// Builds without the fused path.

namespace portops::impl {

bool can_fuse(const Context& /*ctx*/, const Windows& /*windows*/, const DeformConv2dTensors& /*tensors*/) {
  return false;
}

void deform_conv2d_fused(const Context& /*ctx*/, const Windows& /*windows*/, const DeformConv2dTensors& /*tensors*/) {}

std::size_t fused_workspace(const Context& /*ctx*/, const Windows& /*windows*/,
                            const DeformConv2dTensors& /*tensors*/) {
  return 0;
}

}  // namespace portops::impl
