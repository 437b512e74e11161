// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/deform_conv2d/deform_conv2d_tensors.hpp"

// The path of GPUs for windows of few products: a thread computes a pixel.

namespace portops::impl {

/// Whether the path is the faster one: on GPUs, for groups whose windows have few elements, and few output channels.
bool suits_pixels(const Context& ctx, const Windows& windows);

/// On GPUs. Needs channels, and an out that has elements. Takes no workspace: all is read and written where it lies.
void deform_conv2d_by_pixels(const Context& ctx, const Windows& windows, const DeformConv2dTensors& tensors);

}  // namespace portops::impl
