// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/lanes/tile_shape.hpp"
#include "ops/convolution/conv2d/fused/tap_forms.hpp"
#include "ops/convolution/conv2d/fused/tap_products.hpp"

#include <algorithm>

namespace portops::impl {
namespace {

using namespace tap_products;

/// Pixels of a share at most: their sums are one chain of additions, a step of 16 pixels each, with rounding; or in the
/// tensor cores, which truncate, to far less than what tf32 rounds away.
constexpr std::int64_t most_share_pixels(bool rounds) { return rounds ? 16384 : 128 * 16; }
constexpr std::int64_t most_parts = 512;

/// Pixels of x that a tile's windows reach along an axis.
std::int64_t reach(std::int64_t pixels, std::int64_t stride, std::int64_t taps, std::int64_t dilation) {
  return (pixels - 1) * stride + (taps - 1) * dilation + 1;
}

/// Rows of the kernel that the taps of a block are in, at most.
std::int64_t most_tap_rows(const Windows& w, int tap_chunks) {
  int rows = 0;
  for (int chunk = 0; chunk < tap_chunks; ++chunk) {
    const TapRows of_chunk(w, chunk * taps_at_once);
    rows = std::max(rows, of_chunk.last - of_chunk.first + 1);
  }
  return rows;
}

/// Chooses shares, so many at least, for tiles that take so many steps, and how many are added up in a cluster; returns
/// the time, 0 where there are no such shares.
double choose_shares(TapProductsPlan& plan, std::int64_t blocks, std::int64_t tiles, std::int64_t least_shares,
                     int multiprocessors, double of_tile, double of_block) {
  // A part, when parts are added up, and a kernel that does so, in steps' time.
  constexpr double of_part = 14.0, of_sums = 10.0;
  const std::int64_t at_once = std::int64_t{multiprocessors} * blocks_at_once(plan.channels);
  // Larger clusters do not find all multiprocessors: 120 of an H100's 132 were seen to be in reach of them.
  const std::int64_t in_clusters = at_once * 10 / 11;
  double least = 0;
  const auto consider = [&](std::int64_t cluster, std::int64_t wanted_parts) {
    const std::int64_t parts = std::max(wanted_parts, ceil_div(least_shares, cluster)), shares = cluster * parts;
    if (parts > most_parts || shares > tiles) return;
    const auto waves = static_cast<double>(ceil_div(blocks * shares, cluster <= 2 ? at_once : in_clusters));
    const double joined = parts == 1 ? 0 : of_sums + of_part * static_cast<double>(blocks * parts) / multiprocessors;
    const double time = waves * (of_tile * static_cast<double>(ceil_div(tiles, shares)) + of_block) + joined;
    if (least > 0 && time >= least) return;
    least = time;
    plan.shares = static_cast<int>(shares);
    plan.cluster = static_cast<int>(cluster);
  };
  for (const std::int64_t cluster : {1, 2, 8}) {
    const std::int64_t resident = std::max<std::int64_t>((cluster <= 2 ? at_once : in_clusters) / blocks, 1);
    consider(cluster, 1);
    // As many as there are tiles, in whole rounds.
    const std::int64_t rounds = ceil_div(tiles, std::min(resident, tiles));
    consider(cluster, std::max<std::int64_t>(ceil_div(tiles, rounds) / cluster, 1));
  }
  return least;
}

/// Chooses the tile that takes the least time; returns whether there is one that has room.
bool choose_tile(const Windows& w, int multiprocessors, TapProductsPlan& plan) {
  const std::int64_t most_bytes = shared_bytes / stages / blocks_at_once(plan.channels);
  const std::int64_t x_bytes = x_pitch(plan.channels, w.stride_x), out_bytes = out_pitch(plan.outs);
  const std::int64_t tap_rows = most_tap_rows(w, plan.tap_chunks);
  const std::int64_t blocks = w.groups * plan.out_tiles * plan.channel_tiles * plan.tap_chunks;
  double least = 0;
  const auto consider = [&](std::int64_t width, std::int64_t height) {
    const std::int64_t region_width = reach(width, w.stride_x, w.kernel_width, w.dilation_x);
    const std::int64_t region = region_width * reach(height, w.stride_y, tap_rows, w.dilation_y);
    const std::int64_t bytes = height * width * out_bytes + region * x_bytes;
    if (bytes > most_bytes) return;
    // In the time of a step of 64 channels and output channels: what a tile takes besides its steps, what bringing a
    // pixel takes, which all others wait for at the beginning, and what a block takes besides.
    constexpr double fixed = 1.5, of_pixel = 0.045, of_block = 14.0;
    const double size = static_cast<double>(plan.channels) / 64 * (!plan.rounds ? 3.0 : plan.outs == 64 ? 1.0 : 0.6);
    const double steps = static_cast<double>(ceil_div(height * width, step_pixels(!plan.rounds))) + fixed;
    const double brought = of_pixel * static_cast<double>(region * plan.channels + height * width * plan.outs) / 64;
    TapProductsPlan candidate = plan;
    candidate.tile_height = static_cast<int>(height);
    candidate.tile_width = static_cast<int>(width);
    candidate.vertical_tiles = static_cast<int>(ceil_div(w.out_height, height));
    candidate.horizontal_tiles = static_cast<int>(ceil_div(w.out_width, width));
    candidate.region_width = static_cast<int>(region_width);
    candidate.stage_bytes = static_cast<int>(ceil_div(bytes, 128) * 128);
    const std::int64_t tiles = w.images * candidate.vertical_tiles * candidate.horizontal_tiles;
    const std::int64_t most_tiles = most_share_pixels(plan.rounds) / (height * width);
    const double time =
        choose_shares(candidate, blocks, tiles, ceil_div(tiles, most_tiles), multiprocessors,
                      std::max(steps * size, brought) * blocks_at_once(plan.channels), of_block + brought);
    if (time <= 0 || (least > 0 && time >= least)) return;
    least = time;
    plan = candidate;
  };
  std::int64_t last_width = 0;
  for (const std::int64_t about : {32, 28, 24, 20, 16, 14, 12, 10, 8, 7, 6, 5, 4}) {
    const std::int64_t width = ceil_div(w.out_width, ceil_div(w.out_width, about));
    if (width == last_width) continue;
    last_width = width;
    const std::int64_t region_width = reach(width, w.stride_x, w.kernel_width, w.dilation_x);
    // bytes(height) = height * of_row + once
    const std::int64_t of_row = width * out_bytes + w.stride_y * region_width * x_bytes;
    const std::int64_t once = (reach(1, w.stride_y, tap_rows, w.dilation_y) - w.stride_y) * region_width * x_bytes;
    if (most_bytes < once + of_row) continue;
    const std::int64_t down = ceil_div(w.out_height, (most_bytes - once) / of_row);
    consider(width, ceil_div(w.out_height, down));
    if (down < w.out_height) consider(width, ceil_div(w.out_height, down + 1));
  }
  return least > 0;
}

}  // namespace

std::optional<TapProductsPlan> plan_tap_products(const Windows& w, bool rounds, int multiprocessors) {
  TapProductsPlan plan{.rounds = rounds};
  const std::int64_t outs = w.group_out_channels(), channels = w.group_channels();
  plan.outs = outs <= 32 || !rounds ? 32 : 64;
  plan.channels = ceil_div(channels, 32) % 2 == 1 ? 32 : 64;
  plan.out_tiles = static_cast<int>(ceil_div(outs, plan.outs));
  plan.channel_tiles = static_cast<int>(ceil_div(channels, plan.channels));
  plan.tap_chunks = static_cast<int>(ceil_div(w.taps(), taps_at_once));
  if (3 * w.taps() < 2 * taps_at_once * plan.tap_chunks) return std::nullopt;
  if (!choose_tile(w, multiprocessors, plan)) return std::nullopt;
  return plan;
}

}  // namespace portops::impl
