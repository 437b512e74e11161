// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/gpu_teams.hpp"
#include "core/lanes/power_of_two.hpp"
#include "core/lanes/tile_shape.hpp"
#include "ops/convolution/windows.hpp"

#include <algorithm>
#include <cstdint>

namespace portops::impl {

/// What is read and written beside what an ImageStep has. What is not wanted is null.
struct TapsGradTensors {
  Tensor4 weight;
  Tensor4 out_grad;  ///< channels are neighbours, but where the plan reads planes
  /// Sums, zeros to begin with. Its second axis counts packs: the stride is from one to the next.
  Tensor4 x_grad;
  Tensor4 offset_grad, mask_grad, weight_grad;
  void* products = nullptr;     ///< of samples, by blocks of packs, where there are several
  void* weight_sums = nullptr;  ///< of weight_grad, chunk by chunk

  bool wants_products() const { return offset_grad.data != nullptr || mask_grad.data != nullptr; }
};

/// How a gradient is cut into teams where these take it tap by tap: see taps_grad.hpp. By extents and the element type
/// alone, so that sums are the same everywhere.
struct TapsGradPlan {
  static constexpr int threads = 256;

  /// Whether each channel has one output channel of its own, and several share a sample. Then a pack may have channels
  /// of several groups.
  bool is_depthwise;
  /// Neighbouring channels of a pack: one where no two share their samples.
  int pack;
  /// Output channels of a group whose products a thread adds up.
  int own_outs;

  std::int64_t run;              ///< channels that are cut into packs together; the last one may have fewer
  std::int64_t run_packs;        ///< of a run
  std::int64_t packs;            ///< of a deformable group
  int pack_lanes;                ///< threads that take a pack of a sample each: a power of two
  int out_lanes;                 ///< threads that take own_outs output channels of a group each: a power of two
  std::int64_t pack_blocks;      ///< of pack_lanes packs, into which a deformable group is cut
  std::int64_t padded_channels;  ///< as many as all packs have

  std::int64_t units;                 ///< what teams take: a tap of a block of packs of a deformable group
  std::int64_t chunk_pixels, chunks;  ///< of the pixels of all images, for each unit

  int lanes() const { return pack_lanes * out_lanes; }
  /// Pixels that a team takes at once.
  int slots() const { return threads / lanes(); }
  bool has_padding() const { return run % pack != 0; }
  /// Whether out_grad is read element by element, and threads side by side take pixels side by side: in planes it lies
  /// best.
  bool reads_planes() const { return is_depthwise && has_padding() && lanes() == 1; }

  TapsGradPlan(const Windows& w, ElementType type) {
    constexpr int warp = 32;
    const std::int64_t outs = w.group_out_channels();
    is_depthwise = w.group_channels() == 1 && outs == 1 && w.deformable_channels() > 1;
    pack = w.deformable_channels() == 1 ? 1 : 4;
    own_outs = is_depthwise ? 1 : most_own_outs(outs, type);
    run = is_depthwise ? w.deformable_channels() : w.channel_run();
    run_packs = ceil_div(run, pack);
    packs = w.deformable_channels() / run * run_packs;
    padded_channels = w.deformable_groups * packs * pack;
    out_lanes = power_of_two_at_least(ceil_div(outs, own_outs), warp);
    pack_lanes = power_of_two_at_least(packs, warp / out_lanes);
    pack_blocks = ceil_div(packs, pack_lanes);
    units = w.deformable_groups * pack_blocks * w.taps();
    constexpr std::int64_t most_rounds = 128;  // of a team: longer chains of sums would drift
    const std::int64_t pixels = w.images * w.pixels();
    const std::int64_t rounds = ceil_div(ceil_div(pixels, wanted_chunks(units)), slots());
    chunk_pixels = std::clamp<std::int64_t>(rounds, 1, most_rounds) * slots();
    chunks = ceil_div(pixels, chunk_pixels);
  }

 private:
  /// What a thread takes at most: sums of four channels and 16 output channels fill its registers.
  int most_own_outs(std::int64_t outs, ElementType type) const {
    if (type == ElementType::f64) return 4;
    if (outs % 16 == 0) return 16;
    return outs % 8 == 0 && pack > 1 ? 8 : 4;
  }

  /// So many chunks that the teams at work at once are nearly as many as a GPU can have, in as few turns as can be.
  static std::int64_t wanted_chunks(std::int64_t units) {
    constexpr std::int64_t most_turns = 4;
    std::int64_t chunks = 1, most_filled = 0;  // in percent
    for (std::int64_t turns = 1; turns <= most_turns && most_filled < 90; ++turns) {
      const std::int64_t teams = turns * gpu_teams_at_once, fit = teams / units;
      const std::int64_t filled = fit * units * 100 / teams;
      if (filled <= most_filled) continue;
      most_filled = filled;
      chunks = fit;
    }
    return chunks;
  }
};

}  // namespace portops::impl
