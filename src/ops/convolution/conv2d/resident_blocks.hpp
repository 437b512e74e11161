// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "ops/convolution/convolution_tensors.hpp"
#include "ops/convolution/windows.hpp"

namespace portops::impl {

/// Whether conv2d[fused] has blocks for the call that keep their weight and take patches of pixels, in 16-bit types: a
/// step of these takes 32 or 64 bytes of a pixel where it has no more, so that few channels waste nothing.
bool has_resident_blocks(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors);

}  // namespace portops::impl
