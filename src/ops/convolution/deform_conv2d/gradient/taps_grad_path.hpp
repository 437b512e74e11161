// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "ops/convolution/deform_conv2d/deform_conv2d_tensors.hpp"
#include "ops/convolution/windows.hpp"

#include <cstddef>

// The gradient on GPUs, but that of bias, tap by tap and without columns in memory: for few products.

namespace portops::impl {

/// Whether it takes the call. x_grad, which atomic additions add up in no fixed order, not in deterministic mode.
bool suits_taps_grad(const Context& ctx, const Windows& windows, const DeformConv2dGradTensors& tensors);

void deform_conv2d_grad_by_taps(const Context& ctx, const Windows& windows, const DeformConv2dGradTensors& tensors);

/// The workspace, in bytes, of a call.
std::size_t taps_grad_workspace(const Windows& windows, const DeformConv2dGradTensors& tensors);

}  // namespace portops::impl
