// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "ops/convolution/conv2d/depthwise/depthwise_units.hpp"

#include <string>

namespace portops::impl {

/// The kernels of a depthwise conv2d on a GPU for one element type; they enqueue and return. They need what
/// suits_depthwise() asks for.
template <Backend B, class T>
struct DepthwiseKernels {
  static void convolve(const Context& ctx, const std::string& label, const DepthwiseCall& call);
  /// call.weight is not read. `sums`: memory for those of DepthwiseWeightGradTiles or DepthwiseWeightGradPlan. The
  /// first give bias_grad too, along its second axis, if it has data.
  static void weight_grad(const Context& ctx, const std::string& label, const std::string& join_label,
                          const DepthwiseCall& call, void* sums, const Tensor4& weight_grad, const Tensor4& bias_grad);
};

}  // namespace portops::impl
