// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "ops/convolution/convolution_tensors.hpp"
#include "ops/convolution/windows.hpp"

#include <cstddef>

// Windows of few channels, as first layers have them. With the channels last, all that a row of a window reads of x are
// neighbours. So such a row is a pixel with as many channels, for the fused path.

namespace portops::impl {

/// Whether that makes the fused path possible where columns would be in memory without.
bool suits_window_rows(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors);

void convolve_by_window_rows(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors);
std::size_t window_rows_workspace(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors);

}  // namespace portops::impl
