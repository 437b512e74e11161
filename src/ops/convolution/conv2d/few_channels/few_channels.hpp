// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/types/tensor_ref.hpp"
#include "ops/convolution/windows.hpp"

namespace portops::impl {

/// x_grad of conv2d on GPUs where x has few channels, as before a first layer, and windows lie next to each other.
/// Needs no workspace.
bool suits_few_channels_x_grad(const Context& ctx, const Windows& windows, const TensorRef& weight,
                               const TensorRef& out_grad, const TensorRef& x_grad);
void few_channels_x_grad(const Context& ctx, const Windows& windows, const TensorRef& weight, const TensorRef& out_grad,
                         const TensorRef& x_grad);

}  // namespace portops::impl
