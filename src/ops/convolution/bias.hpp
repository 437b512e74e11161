// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/types/tensor_ref.hpp"

#include <cstddef>
#include <string>

// What convolutions do with a bias alone.

namespace portops::impl {

/// Writes a channel's bias to all of its pixels, or 0. A tensor of fewer than four axes is filled with 0.
void fill_with_bias(const Context& ctx, const std::string& label, const TensorRef& tensor, const TensorRef& bias = {});

/// The sum over all axes of out_grad but the channels, for the operator `op`.
void sum_bias_grad(const Context& ctx, const char* op, const std::string& fill_label, const TensorRef& out_grad,
                   const TensorRef& bias_grad);
std::size_t bias_grad_workspace(const TensorRef& out_grad, const TensorRef& bias_grad);

}  // namespace portops::impl
