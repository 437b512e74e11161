// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "ops/convolution/deform_conv2d/deform_conv2d_tensors.hpp"
#include "ops/convolution/windows.hpp"

#include <cstddef>

// The path of GPUs to the gradient of windows of few products: samples are found and multiplied pixel by pixel.

namespace portops::impl {

/// Whether it takes the call: as suits_pixels(), where few channels share a sample. (Of many, tiles of samples need
/// fewer atomic additions.) x_grad, which these add up in no fixed order, not in deterministic mode.
bool suits_pixels_grad(const Context& ctx, const Windows& windows, const DeformConv2dGradTensors& tensors);

void deform_conv2d_grad_by_pixels(const Context& ctx, const Windows& windows, const DeformConv2dGradTensors& tensors);
std::size_t pixels_grad_workspace(const Windows& windows, const DeformConv2dGradTensors& tensors);

}  // namespace portops::impl
