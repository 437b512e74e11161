// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/tile_shape.hpp"
#include "ops/convolution/image_step.hpp"
#include "ops/convolution/sampling.hpp"

namespace portops::impl {

/// Calls action<N>() with the number of neighbouring channels that a thread takes at once: on a GPU a pack of numbers
/// of type U that its widest access holds, if the channels of a group are so many or a multiple of it and x is aligned;
/// else one.
template <Backend B, class T, class U, class Action>
void with_channel_packs(const ImageStep& step, const Action& action) {
  if constexpr (B == Backend::cuda) {
    constexpr int widest = gpu_pack_bytes / static_cast<int>(sizeof(U));
    const PixelStrides strides = pixel_strides(step.x);
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(step.x.data) % gpu_pack_bytes == 0 &&
                            strides.image % widest == 0 && strides.y % widest == 0 && strides.x % widest == 0;
    if (!is_aligned || step.windows.channel_run() % widest != 0) return action.template operator()<1>();
    action.template operator()<widest>();
  } else {
    action.template operator()<64 / static_cast<int>(sizeof(Arithmetic<T>))>();
  }
}

}  // namespace portops::impl
