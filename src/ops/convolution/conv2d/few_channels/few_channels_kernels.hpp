// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "ops/convolution/conv2d/depthwise/depthwise_units.hpp"
#include "ops/convolution/conv2d/few_channels/from_few_plan.hpp"
#include "ops/convolution/image_step.hpp"

#include <string>

namespace portops::impl {

/// A call of weight_grad; `sums`: memory for those of the plan's chunks.
struct FewChannelsWeightGrad {
  Tensor4 x, out_grad;
  void* sums;
  Tensor4 weight_grad;
};

/// Convolutions of few channels on a GPU for one element type.
template <Backend B, class T>
struct FewChannelsKernels {
  /// To few: what a depthwise one gives of each channel of `from`, call.windows.channels of them, added up.
  /// call.weight: [channel of `to`][channel of `from`][k][l].
  static void convolve(const Context& ctx, const std::string& label, const DepthwiseCall& call);
  /// From few, and their weight_grad.
  static void convolve_from(const Context& ctx, const std::string& label, const FromFewPlan& plan, const Tensor4& x,
                            const Tensor4& weight, const ConvolutionOut& to);
  static void weight_grad(const Context& ctx, const std::string& label, const std::string& join_label,
                          const FromFewPlan& plan, const FewChannelsWeightGrad& call);
};

}  // namespace portops::impl
