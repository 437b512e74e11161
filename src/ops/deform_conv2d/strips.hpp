// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/deform_conv2d/deform_conv2d_tensors.hpp"

// The path of hosts for windows of few products: samples are found and multiplied many pixels at a time.

namespace portops::impl {

/// The most output channels of a group on this path, and of all groups that a thread takes together.
inline constexpr int strip_sums = 32;

/// Whether x has pixels, and positions and the elements of a channel have numbers of 32 bits, which StripSamples needs.
bool fits_strips(const Windows& windows, const TensorRef& x);

/// Whether the path is the faster one: on hosts, for groups whose windows have few elements, and few output channels.
bool suits_strips(const Context& ctx, const Windows& windows, const TensorRef& x);

/// On hosts. Needs channels, an out that has elements, fits_strips(), and at most strip_sums output channels a group.
/// Takes no workspace: all is read and written where it lies.
void deform_conv2d_by_strips(const Context& ctx, const Windows& windows, const DeformConv2dTensors& tensors);

}  // namespace portops::impl
