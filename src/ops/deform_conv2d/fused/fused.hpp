// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/deform_conv2d/deform_conv2d_tensors.hpp"

#include <cstddef>
#include <optional>
#include <vector>

// The fused path: no columns in device memory.

namespace portops::impl {

/// Whether this build, the context's device and the call allow it.
bool can_fuse(const Context& ctx, const Windows& windows, const DeformConv2dTensors& tensors);

/// How a call is cut into the work of blocks of threads: output channels, pixels, and blocks that share the inner axis.
struct FusedForm {
  int rows, pixels, splits;
};

/// All that there are for a call.
std::vector<FusedForm> fused_forms(const Context& ctx, const Windows& windows, ElementType type);

/// In the form that is expected to be the fastest, or in that one.
void deform_conv2d_fused(const Context& ctx, const Windows& windows, const DeformConv2dTensors& tensors,
                         const std::optional<FusedForm>& form = {});

/// The workspace that it needs.
std::size_t fused_workspace(const Context& ctx, const Windows& windows, const DeformConv2dTensors& tensors);

}  // namespace portops::impl
