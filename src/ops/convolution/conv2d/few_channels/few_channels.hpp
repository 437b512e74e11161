// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/types/tensor_ref.hpp"
#include "ops/convolution/conv2d/few_channels/from_few_plan.hpp"
#include "ops/convolution/convolution_tensors.hpp"
#include "ops/convolution/windows.hpp"

#include <cstddef>

namespace portops::impl {

/// x_grad of conv2d on GPUs where x has few channels, as before a first layer, and windows lie next to each other.
/// Needs no workspace.
bool suits_few_channels_x_grad(const Context& ctx, const Windows& windows, const TensorRef& weight,
                               const TensorRef& out_grad, const TensorRef& x_grad);
void few_channels_x_grad(const Context& ctx, const Windows& windows, const TensorRef& weight, const TensorRef& out_grad,
                         const TensorRef& x_grad);

/// conv2d and its weight_grad on GPUs where x has few channels and windows are few numbers: see FromFewPlan. `out`: or
/// out_grad; it has neighbouring channels in packs, or neighbouring pixels. The first needs no workspace.
bool suits_from_few(const Context& ctx, const Windows& windows, FromFewCall call, const TensorRef& x,
                    const TensorRef& weight, const TensorRef& out);
void convolve_from_few(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors);
std::size_t from_few_weight_grad_workspace(const Context& ctx, const Windows& windows, const TensorRef& out_grad);
void from_few_weight_grad(const Context& ctx, const Windows& windows, const TensorRef& x, const TensorRef& out_grad,
                          const TensorRef& weight_grad);

}  // namespace portops::impl
