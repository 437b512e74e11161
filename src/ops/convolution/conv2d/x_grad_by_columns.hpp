// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/types/tensor_ref.hpp"
#include "ops/convolution/windows.hpp"

#include <cstddef>

// x_grad of conv2d of few channels on GPUs. As a convolution it would have few output channels, which leave most of a
// tile of the fused path without work. So the gradients of all windows are a product, and each pixel of x adds up what
// the windows hold that reach it.

namespace portops::impl {

bool suits_x_grad_by_columns(const Context& ctx, const Windows& windows, const TensorRef& weight,
                             const TensorRef& out_grad, const TensorRef& x_grad);

void conv2d_x_grad_by_columns(const Context& ctx, const Windows& windows, const TensorRef& weight,
                              const TensorRef& out_grad, const TensorRef& x_grad);
std::size_t x_grad_by_columns_workspace(const Context& ctx, const Windows& windows, const TensorRef& weight,
                                        const TensorRef& out_grad);

}  // namespace portops::impl
