// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/divide.hpp"
#include "core/lanes/tile_shape.hpp"
#include "core/types/element_type.hpp"
#include "core/types/macros.hpp"
#include "ops/convolution/fused/fused_sm90.hpp"
#include "ops/convolution/windows.hpp"

#include <algorithm>
#include <cstdint>

namespace portops::impl::fused_sm90 {

/// Bytes of shared memory that a block can have.
constexpr int most_shared_bytes = 227 * 1024;

/// So many bytes as a multiple of what swizzles repeat.
PORTOPS_FUNCTION constexpr int in_whole_swizzles(int bytes) { return (bytes + 1023) / 1024 * 1024; }

/// The pixels of x in the windows of a patch of pixels of out.
struct PatchWindow {
  std::int64_t width, height;

  explicit PatchWindow(const Windows& windows)
      : width(patch_side + (windows.kernel_width - 1) * windows.dilation_x),
        height(patch_side + (windows.kernel_height - 1) * windows.dilation_y) {}

  /// Whether they are neighbours, and not too many for a copy.
  static bool suits(const Windows& windows) {
    const PatchWindow patch(windows);
    return windows.stride_x == 1 && windows.stride_y == 1 && windows.taps() <= FusedPlan::most_phase_taps &&
           patch.width <= 256 && patch.height <= 256;
  }
};

/// What a resident block has in shared memory: the weight of its output channels, all steps of it; then for each of its
/// warpgroups stages for windows and, in f32 that is not rounded, the terms of one stage; biases; and barriers.
struct ResidentLayout {
  static constexpr int pixels = 64;  ///< of a tile, which is a warpgroup's
  /// Beyond, another stage has nothing to hide.
  static constexpr int most_stages = 8;

  static constexpr int most_warpgroups(int rows, int element) {
    if (rows > 64) return 2;
    return element == 4 && rows == 64 ? 3 : 4;
  }
  /// Of a block: a warp copies for each warpgroup.
  static constexpr int threads(int warpgroups) { return warpgroups * (128 + 32); }

  int warpgroups = 0;  ///< 0 where a multiprocessor has no room
  int stages = 0;
  int step_bytes = 0;   ///< of channels that a step takes of each pixel
  int stage_taps = 1;   ///< steps that take their windows from one stage
  int tile_stages = 0;  ///< of a tile
  int stage_bytes = 0, copied_bytes = 0;
  int term_bytes = 0;       ///< of a term of a stage
  int warpgroup_bytes = 0;  ///< of the stages, and terms, of a warpgroup
  int pitch = 8;            ///< pixels from eight of a tile to the next eight in a stage
  int tile_bytes = 0;       ///< of a step of the weight
  int tiles = 0;            ///< of pixels
  Divisor across, down;     ///< patches of an image
  bool is_patches = false;
  int windows = 0, biases = 0, barriers = 0, bytes = 0;

  ResidentLayout() = default;
  ResidentLayout(const FusedPlan& plan, const Windows& of)
      : step_bytes(plan.step_bytes()),
        tile_bytes(plan.rows * plan.row_bytes()),
        tiles(static_cast<int>(plan.pixel_tiles)),
        is_patches(plan.residence == Residence::patches) {
    const int element = static_cast<int>(size_of(plan.type));
    copied_bytes = stage_bytes = pixels * step_bytes;
    if (is_patches) {
      const PatchWindow patch(of);
      stage_taps = static_cast<int>(of.taps());
      pitch = static_cast<int>(patch.width);
      copied_bytes = static_cast<int>(patch.width * patch.height * step_bytes);
      stage_bytes = in_whole_swizzles(copied_bytes);
      across = Divisor(static_cast<std::uint32_t>(ceil_div(of.out_width, patch_side)));
      down = Divisor(static_cast<std::uint32_t>(ceil_div(of.out_height, patch_side)));
    }
    tile_stages = plan.steps / stage_taps;
    if (plan.steps > most_shared_bytes / tile_bytes) return;
    const int weight_bytes = plan.steps * tile_bytes;
    const bool splits = element == 4 && !plan.tf32;
    constexpr int terms = 3;
    if (splits) term_bytes = in_whole_swizzles(copied_bytes / 2);
    // Few stages do not hide what memory takes. One that is split is free while its products are underway.
    const int least_stages = splits ? 1 : is_patches ? 2 : 3;
    for (int count = most_warpgroups(plan.rows, element); count >= 2; --count) {
      const int fixed = weight_bytes + plan.rows * 4 + 16;
      const int left = (most_shared_bytes - fixed) / count - terms * term_bytes;
      stages = std::clamp(left / (stage_bytes + 16), 0, splits ? 2 : most_stages);
      if (stages < least_stages) continue;
      warpgroups = count;
      warpgroup_bytes = stages * stage_bytes + terms * term_bytes;
      windows = weight_bytes;
      biases = windows + count * warpgroup_bytes;
      barriers = biases + plan.rows * 4;
      bytes = barriers + 16 + count * stages * 16;
      return;
    }
  }
};

}  // namespace portops::impl::fused_sm90
