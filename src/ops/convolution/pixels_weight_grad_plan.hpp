// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/tile_shape.hpp"
#include "ops/convolution/windows.hpp"

#include <algorithm>
#include <cstdint>

namespace portops::impl {

/// How weight_grad is cut into teams where these sample pixel by pixel: a unit is what a team multiplies, for a chunk
/// of the pixels of all images. By extents alone, so that sums are the same everywhere.
struct PixelsWeightGradPlan {
  Windows windows;

  /// Of a team at most: channels, elements of their windows, and output channels.
  static constexpr int block_channels = 4, block_elements = 12, block_outs = 32;
  /// That it samples at once at most.
  static constexpr int pixels_at_once = 512;

  PORTOPS_FUNCTION bool is_depthwise() const { return windows.group_out_channels() == 1; }
  PORTOPS_FUNCTION std::int64_t weights() const { return windows.out_channels * windows.group_column(); }
  PORTOPS_FUNCTION std::int64_t all_pixels() const { return windows.images * windows.pixels(); }

  /// Neighbouring channels of which a team may take some: those that have their samples and, unless each has one of its
  /// own, their output channels in common.
  PORTOPS_FUNCTION std::int64_t run() const { return run_; }
  PORTOPS_FUNCTION std::int64_t run_blocks() const { return run_blocks_; }
  /// Taps that a team takes of its channels, and into how many parts these cut a window.
  PORTOPS_FUNCTION std::int64_t part_taps() const { return part_taps_; }
  PORTOPS_FUNCTION std::int64_t tap_parts() const { return tap_parts_; }
  PORTOPS_FUNCTION std::int64_t out_parts() const { return out_parts_; }
  PORTOPS_FUNCTION std::int64_t units() const { return units_; }
  PORTOPS_FUNCTION std::int64_t chunk_pixels() const { return chunk_pixels_; }
  PORTOPS_FUNCTION std::int64_t chunks() const { return chunks_; }

  explicit PixelsWeightGradPlan(const Windows& w) : windows(w) {
    run_ = is_depthwise() ? w.deformable_channels() : w.channel_run();
    run_blocks_ = ceil_div(run_, block_channels);
    out_parts_ = is_depthwise() ? 1 : ceil_div(w.group_out_channels(), block_outs);
    const std::int64_t most_taps =
        is_depthwise() ? 1 : block_elements / std::clamp<std::int64_t>(run_, 1, block_channels);
    tap_parts_ = ceil_div(w.taps(), most_taps);
    part_taps_ = ceil_div(w.taps(), std::max<std::int64_t>(tap_parts_, 1));
    units_ = w.channels / run_ * run_blocks_ * tap_parts_ * out_parts_;
    // Enough teams for a GPU, each of enough pixels for their sums to be worth adding up, and of few enough for a
    // chain: as many times what a team samples at once.
    constexpr std::int64_t enough_teams = 1024, most_pixels = 4096;
    const std::int64_t wanted = ceil_div(all_pixels(), std::max<std::int64_t>(1, enough_teams / units_));
    chunk_pixels_ =
        std::clamp<std::int64_t>(ceil_div(wanted, pixels_at_once) * pixels_at_once, pixels_at_once, most_pixels);
    chunks_ = ceil_div(all_pixels(), chunk_pixels_);
  }

 private:
  std::int64_t run_, run_blocks_, tap_parts_, part_taps_, out_parts_, units_, chunk_pixels_, chunks_;
};

}  // namespace portops::impl
