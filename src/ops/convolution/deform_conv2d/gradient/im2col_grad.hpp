// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "ops/convolution/deform_conv2d/deform_conv2d_tensors.hpp"
#include "ops/convolution/windows.hpp"

#include <cstddef>

// The portable path of the gradient: columns in memory, a step of images at a time, and matrix products of src/blas.

namespace portops::impl {

void deform_conv2d_grad_by_im2col(const Context& ctx, const Windows& windows, const DeformConv2dGradTensors& tensors,
                                  std::int64_t step);

/// The workspace that it needs.
std::size_t im2col_grad_workspace(const Context& ctx, const Windows& windows, const DeformConv2dGradTensors& tensors,
                                  std::int64_t step);

}  // namespace portops::impl
