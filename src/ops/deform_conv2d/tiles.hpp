// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/deform_conv2d/deform_conv2d_tensors.hpp"

#include <cstddef>
#include <cstdint>

// The path of hosts: columns are made tile by tile, in a core's cache, and multiplied there.

namespace portops::impl {

/// On hosts. Needs channels and an out that has elements. x that has more than a few channels, which are not its last
/// axis, is copied for `step` images at a time.
void deform_conv2d_by_tiles(const Context& ctx, const Windows& windows, const DeformConv2dTensors& tensors,
                            std::int64_t step);

std::size_t tiles_workspace(const Context& ctx, const Windows& windows, const DeformConv2dTensors& tensors,
                            std::int64_t step);

}  // namespace portops::impl
