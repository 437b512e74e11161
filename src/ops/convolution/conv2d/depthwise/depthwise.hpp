// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "ops/convolution/convolution_tensors.hpp"

#include <cstddef>

// conv2d on GPUs where each channel has a window and an output channel of its own. Hosts: direct/depthwise.hpp.

namespace portops::impl {

/// Whether its kernels can and should be taken, for any pass: x, weight and out, or tensors of their extents.
bool suits_depthwise(const Context& ctx, const Windows& windows, const TensorRef& x, const TensorRef& weight,
                     const TensorRef& out);

void convolve_depthwise(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors);

void depthwise_x_grad(const Context& ctx, const Windows& windows, const TensorRef& weight, const TensorRef& out_grad,
                      const TensorRef& x_grad);

/// Whether depthwise_weight_grad() can give bias_grad too.
bool depthwise_gives_bias_grad(const Windows& windows, const TensorRef& x, const TensorRef& out_grad);

/// bias_grad may be empty, and is where it cannot be given.
void depthwise_weight_grad(const Context& ctx, const Windows& windows, const TensorRef& x, const TensorRef& out_grad,
                           const TensorRef& weight_grad, const TensorRef& bias_grad);
std::size_t depthwise_weight_grad_workspace(const Windows& windows, const TensorRef& x, const TensorRef& out_grad);

}  // namespace portops::impl
