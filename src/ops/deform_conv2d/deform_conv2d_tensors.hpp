// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/types/tensor_ref.hpp"
#include "ops/deform_conv2d/windows.hpp"

namespace portops::impl {

/// The tensors of a call of deform_conv2d.
struct DeformConv2dTensors {
  TensorRef x, offset, weight, mask, bias, out;
};

/// The tensors of a call of its gradient: with out_grad and the results.
struct DeformConv2dGradTensors {
  TensorRef x, offset, weight, mask, out_grad;
  TensorRef x_grad, offset_grad, weight_grad, mask_grad, bias_grad;
};

}  // namespace portops::impl
