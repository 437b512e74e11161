// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/types/tensor_ref.hpp"
#include "ops/convolution/windows.hpp"

#include <cstddef>

namespace portops::impl {

/// weight_grad of conv2d: on hosts from tiles of x; on GPUs pixel by pixel of groups of few channels, else by windows
/// in memory, some images at a time. Needs windows: no extent is 0. bias_grad: may be empty, and is where
/// weight_grad_gives_bias_grad() is false.
void conv2d_weight_grad(const Context& ctx, const Windows& windows, const TensorRef& x, const TensorRef& out_grad,
                        const TensorRef& weight_grad, const TensorRef& bias_grad = {});
/// Whether it can give bias_grad too.
bool weight_grad_gives_bias_grad(const Context& ctx, const Windows& windows, const TensorRef& x,
                                 const TensorRef& out_grad, const TensorRef& weight_grad);
/// Whether it reads out_grad with its channels last, on a GPU, there or in a copy.
bool weight_grad_wants_channels_last(const Context& ctx, const Windows& windows, const TensorRef& x,
                                     const TensorRef& out_grad, const TensorRef& weight_grad);
std::size_t weight_grad_workspace(const Context& ctx, const Windows& windows, const TensorRef& x,
                                  const TensorRef& out_grad, const TensorRef& weight_grad);

}  // namespace portops::impl
