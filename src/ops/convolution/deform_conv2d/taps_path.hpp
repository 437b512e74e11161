// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/convolution_tensors.hpp"

#include <cstddef>

// The result on GPUs, tap by tap and without columns in memory: for groups of 8 to 16 channels.

namespace portops::impl {

/// Whether it takes the call.
bool suits_taps(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors);

/// Needs an out that has elements.
void deform_conv2d_by_taps(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors);

/// The workspace, in bytes, of a call.
std::size_t taps_workspace(const Windows& windows, const ConvolutionTensors& tensors);

}  // namespace portops::impl
