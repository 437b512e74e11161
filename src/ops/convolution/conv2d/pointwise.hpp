// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "ops/convolution/convolution_tensors.hpp"
#include "ops/convolution/windows.hpp"

#include <cstddef>

// Windows that are pixels of x: matrix products of tensors as they lie.

namespace portops::impl {

/// Whether the windows are the pixels of x, one after the other.
bool is_pointwise(const Windows& windows);

/// Whether, on a GPU, matrix products alone are the faster way, and x, weight and out lie so that it can be taken.
bool suits_products(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors);

void convolve_by_products(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors);
std::size_t products_workspace(const Context& ctx);

/// Whether, on a GPU, weight_grad is faster as a product for each image, of planes as they lie: where the sums of all
/// images are not too large beside the planes.
bool suits_products_of_planes(const Context& ctx, const Windows& windows, const TensorRef& x,
                              const TensorRef& out_grad);

void weight_grad_by_planes(const Context& ctx, const Windows& windows, const TensorRef& x, const TensorRef& out_grad,
                           const TensorRef& weight_grad);
std::size_t weight_grad_by_planes_workspace(const Context& ctx, const Windows& windows, const TensorRef& weight_grad);

}  // namespace portops::impl
