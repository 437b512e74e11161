// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/deform_conv2d/deform_conv2d_tensors.hpp"

// The path of GPUs for windows of few products: a thread computes a pixel.

namespace portops::impl {

/// Whether x has pixels, and these, all elements and all positions have numbers of 32 bits, which ConvolvePixels needs.
bool fits_pixels(const Windows& windows, const DeformConv2dTensors& tensors);

/// Whether the path is the faster one: on GPUs, for groups whose windows have few elements, and few output channels.
bool suits_pixels(const Context& ctx, const Windows& windows, const DeformConv2dTensors& tensors);

/// On GPUs. Needs channels, an out that has elements, and fits_pixels(). Takes no workspace: all is read and written
/// where it lies.
void deform_conv2d_by_pixels(const Context& ctx, const Windows& windows, const DeformConv2dTensors& tensors);

}  // namespace portops::impl
