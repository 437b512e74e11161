// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/deform_conv2d/deform_conv2d_tensors.hpp"

#include <cstddef>
#include <cstdint>

// The path of hosts for windows of few products: samples are found and multiplied many pixels at a time.

namespace portops::impl {

/// The most pixels of a strip.
inline constexpr int strip_pixels = 128;
/// The most output channels of a group on this path, and of all groups that a thread takes together.
inline constexpr int strip_sums = 32;

/// Whether x has pixels, and these, positions and the elements of a channel have numbers of 32 bits, which StripSamples
/// needs.
bool fits_strips(const Windows& windows, const TensorRef& x);

/// Whether the path is the faster one: on hosts, for groups whose windows have few elements, and few output channels.
bool suits_strips(const Context& ctx, const Windows& windows, const TensorRef& x);

/// On hosts. The forward path needs channels, an out that has elements, fits_strips(), and at most strip_sums output
/// channels a group. It takes no workspace: all is read and written where it lies.
void deform_conv2d_by_strips(const Context& ctx, const Windows& windows, const DeformConv2dTensors& tensors);

/// The gradient, for which the same holds; x_grad is made for `step` images at a time.
void deform_conv2d_grad_by_strips(const Context& ctx, const Windows& windows, const DeformConv2dGradTensors& tensors,
                                  std::int64_t step);
std::size_t strips_grad_workspace(const Windows& windows, const DeformConv2dGradTensors& tensors, std::int64_t step);

}  // namespace portops::impl
