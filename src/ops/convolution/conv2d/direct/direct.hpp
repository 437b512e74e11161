// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "ops/convolution/convolution_tensors.hpp"
#include "ops/convolution/windows.hpp"

#include <cstddef>

// Direct convolution: the path of hosts wherever images are not too small.

namespace portops::impl {

bool suits_direct(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors);

void convolve_directly(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors);
std::size_t direct_workspace(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors);

}  // namespace portops::impl
