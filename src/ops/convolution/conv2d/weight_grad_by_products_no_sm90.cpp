// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/conv2d/weight_grad_by_products.hpp"

// Builds without the kernels: nothing suits them.

namespace portops::impl {

bool suits_weight_products(const Context&, const Windows&, const TensorRef&, const TensorRef&) { return false; }

bool takes_patches(const Context&, const Windows&, ElementType) { return false; }

void weight_grad_by_products(const Context&, const Windows&, const TensorRef&, const TensorRef&, const TensorRef&,
                             const TensorRef&) {}

bool weight_products_give_bias_grad(const Context&, const Windows&, ElementType) { return false; }

std::size_t weight_products_workspace(const Context&, const Windows&, const TensorRef&, const TensorRef&) { return 0; }

}  // namespace portops::impl
