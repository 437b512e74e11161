// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/tensor_ref.hpp"

namespace portops::impl {

/// The tensors of a call of deform_conv2d_grad: those of deform_conv2d, with out_grad and the results.
struct DeformConv2dGradTensors {
  TensorRef x, offset, weight, mask, out_grad;
  TensorRef x_grad, offset_grad, weight_grad, mask_grad, bias_grad;
};

}  // namespace portops::impl
