// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "ops/convolution/deform_conv2d/deform_conv2d_tensors.hpp"
#include "ops/convolution/windows.hpp"

#include <cstddef>

// The path of hosts to the gradient of windows of few products: samples are found and multiplied many pixels at a time.

namespace portops::impl {

/// Needs what convolve_by_strips needs; x_grad is made for `step` images at a time.
void deform_conv2d_grad_by_strips(const Context& ctx, const Windows& windows, const DeformConv2dGradTensors& tensors,
                                  std::int64_t step);
std::size_t strips_grad_workspace(const Windows& windows, const DeformConv2dGradTensors& tensors, std::int64_t step);

}  // namespace portops::impl
