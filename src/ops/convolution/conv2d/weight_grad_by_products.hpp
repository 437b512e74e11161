// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/types/tensor_ref.hpp"
#include "ops/convolution/windows.hpp"

#include <cstddef>

namespace portops::impl {

/// weight_grad[fused] on GPUs of compute capability 9.0: see fused/weight_products.hpp. Whether it takes the call:
/// 16-bit types, and groups of as many channels as fill half of a line.
bool suits_weight_products(const Context& ctx, const Windows& windows, const TensorRef& x, const TensorRef& out_grad);

void weight_grad_by_products(const Context& ctx, const Windows& windows, const TensorRef& x, const TensorRef& out_grad,
                             const TensorRef& weight_grad);
std::size_t weight_products_workspace(const Context& ctx, const Windows& windows, const TensorRef& x,
                                      const TensorRef& out_grad);

}  // namespace portops::impl
