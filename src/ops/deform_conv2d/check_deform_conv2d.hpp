// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "ops/deform_conv2d/deform_conv2d.hpp"
#include "ops/deform_conv2d/windows.hpp"

#include <string_view>

// The checks of deform_conv2d and its gradient. All throw Error.

namespace portops::impl {

/// The tensors of a call of deform_conv2d, or of its gradient: with out_grad and the results.
struct DeformConv2dTensors {
  TensorRef x, offset, weight, mask, bias, out;
};
struct DeformConv2dGradTensors {
  TensorRef x, offset, weight, mask, out_grad;
  TensorRef x_grad, offset_grad, weight_grad, mask_grad, bias_grad;
};

/// The geometry that x, weight and the attributes give, as far as they fit together.
Windows make_windows(std::string_view op, const TensorRef& x, const TensorRef& weight,
                     const DeformConv2dParams& params);

Windows check_deform_conv2d(const Context& ctx, const DeformConv2dTensors& tensors, const DeformConv2dParams& params);
Windows check_deform_conv2d_grad(const Context& ctx, const DeformConv2dGradTensors& tensors,
                                 const DeformConv2dParams& params);

}  // namespace portops::impl
