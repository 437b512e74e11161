// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/deform_conv2d/check_deform_conv2d.hpp"

#include <cstddef>

// The fused path: no columns in device memory.

namespace portops::impl {

/// Whether this build, the context's device and the call allow it.
bool can_fuse(const Context& ctx, const Windows& windows, const DeformConv2dTensors& tensors);

void deform_conv2d_fused(const Context& ctx, const Windows& windows, const DeformConv2dTensors& tensors);

/// The workspace that it needs.
std::size_t fused_workspace(const Context& ctx, const Windows& windows, const DeformConv2dTensors& tensors);

}  // namespace portops::impl
