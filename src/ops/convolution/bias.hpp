// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/types/tensor_ref.hpp"
#include "ops/convolution/convolution_labels.hpp"

#include <cstddef>

// What convolutions do with a bias alone.

namespace portops::impl {

/// Writes a channel's bias to all of its pixels or, without a bias, 0 to all elements of a tensor of any rank.
void fill_with_bias(const Context& ctx, const ConvolutionLabels& labels, const TensorRef& tensor,
                    const TensorRef& bias = {});

/// The sum over all axes of out_grad but the channels, for the operator `op`.
void sum_bias_grad(const Context& ctx, const char* op, const ConvolutionLabels& labels, const TensorRef& out_grad,
                   const TensorRef& bias_grad);
std::size_t bias_grad_workspace(const TensorRef& out_grad, const TensorRef& bias_grad);

}  // namespace portops::impl
