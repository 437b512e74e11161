// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/types/tensor_ref.hpp"
#include "ops/convolution/windows.hpp"

#include <cstddef>

namespace portops::impl {

/// weight_grad[fused], [taps] and [patches] on GPUs of compute capability 9.0: see fused/weight_products.hpp,
/// fused/tap_products.hpp, fused/patch_products.hpp and fused/window_gemm.hpp. Whether it takes the call: of
/// groups of 16 output channels or more whose channels fill units of 16 bytes.
bool suits_weight_products(const Context& ctx, const Windows& windows, const TensorRef& x, const TensorRef& out_grad);

/// Of those that it takes, whether by patches: for tests.
bool takes_patches(const Context& ctx, const Windows& windows, ElementType type);

/// bias_grad may be empty, and is where it cannot be given.
void weight_grad_by_products(const Context& ctx, const Windows& windows, const TensorRef& x, const TensorRef& out_grad,
                             const TensorRef& weight_grad, const TensorRef& bias_grad);
/// Whether it can give bias_grad too, and should.
bool weight_products_give_bias_grad(const Context& ctx, const Windows& windows, ElementType type);
std::size_t weight_products_workspace(const Context& ctx, const Windows& windows, const TensorRef& x,
                                      const TensorRef& out_grad);

}  // namespace portops::impl
