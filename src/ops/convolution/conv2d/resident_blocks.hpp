// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "ops/convolution/convolution_tensors.hpp"
#include "ops/convolution/windows.hpp"

namespace portops::impl {

/// Whether conv2d[fused] has blocks for the call that keep their weight, and that take no more channels than there are:
/// in 16-bit types.
bool has_resident_blocks(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors);

}  // namespace portops::impl
