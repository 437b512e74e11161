// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "ops/convolution/conv2d/depthwise/depthwise_units.hpp"

#include <string>

namespace portops::impl {

/// Convolutions to few channels on a GPU for one element type: what a depthwise one gives of each channel of
/// `from`, call.windows.channels of them, added up. call.weight: [channel of `to`][channel of `from`][k][l].
template <Backend B, class T>
struct FewChannelsKernels {
  static void convolve(const Context& ctx, const std::string& label, const DepthwiseCall& call);
};

}  // namespace portops::impl
