// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/conv2d/few_channels/from_few_plan.hpp"

#include <algorithm>

namespace portops::impl {
namespace {

/// As small that nothing overflows.
bool has_small_steps(const Windows& w) {
  constexpr std::int64_t most = 64;
  return std::max({w.stride_y, w.stride_x, w.dilation_y, w.dilation_x}) <= most;
}

}  // namespace

FromFewPlan::FromFewPlan(const Windows& w, FromFewCall call, bool packs, std::size_t number)
    : windows(w), has_packs(packs), own_outs(own_bytes / static_cast<std::int32_t>(number)), number_(number) {
  if (!has_small_steps(w) || w.pixels() == 0) return;
  while (lanes < most_lanes && part_outs() < w.out_channels) lanes *= 2;
  // Fewer lanes where these leave fewer without an output channel, and images have strips for all threads nevertheless.
  // (Teams that share out the output channels read the same of x.)
  const std::int32_t least_lanes = call == FromFewCall::forward ? 2 : 4;
  for (std::int32_t fewer = lanes / 2; fewer >= least_lanes; fewer /= 2) {
    const auto outs_of_all = [&](std::int32_t of) {
      return ceil_div(w.out_channels, std::int64_t{of} * own_outs) * of * own_outs;
    };
    const bool has_strips = ceil_div(w.out_width, strip) * w.out_height >= threads / fewer;
    if (has_strips && outs_of_all(fewer) < outs_of_all(lanes)) lanes = fewer;
  }
  parts = ceil_div(w.out_channels, part_outs());
  cut_columns(1);
  // Enough tiles for a GPU, and of these as large ones as can be: what they read overlaps, and a team waits for each.
  constexpr std::int64_t most_rounds = 32;
  const std::int64_t enough_tiles = call == FromFewCall::forward ? 512 : enough_chunks();
  cut_rows(threads, 1);
  cut_rows(threads, std::clamp<std::int64_t>(ceil_div(tiles(), enough_tiles), 1, most_rounds));
  while (!fits()) {
    if (rounds > 1) {
      cut_rows(rows, rounds - 1);
    } else if (rows > 1) {
      cut_rows(ceil_div(rows, 2), 1);
    } else if (across > 1) {
      cut_columns(2 * tiles_across);
      cut_rows(1, 1);
    } else {
      break;
    }
  }
}

void FromFewPlan::cut_columns(std::int64_t least_tiles) {
  // Rows are cut into a few tiles more where so more of a team's threads have a strip.
  constexpr std::int64_t most_more = 4, all = 100, worth_it = 10;
  const std::int64_t strips = ceil_div(windows.out_width, strip), slots = threads / lanes;
  const std::int64_t first = std::clamp<std::int64_t>(ceil_div(strips, slots), std::min(least_tiles, strips), strips);
  std::int64_t best = -worth_it;
  for (std::int64_t tiles = first; tiles <= std::min(first + most_more, strips); ++tiles) {
    const std::int64_t of_row = ceil_div(strips, tiles), of_team = std::min(slots / of_row, windows.out_height);
    const std::int64_t at_work = all * strips * of_team / (tiles * slots);
    if (at_work < best + worth_it) continue;
    best = at_work;
    tiles_across = ceil_div(strips, of_row);
    across = static_cast<std::int32_t>(of_row);
  }
}

void FromFewPlan::cut_rows(std::int64_t most_rows, std::int64_t most_rounds) {
  const Windows& w = windows;
  rows = static_cast<std::int32_t>(std::min({most_rows, std::int64_t{threads / lanes / across}, w.out_height}));
  const std::int64_t all = ceil_div(w.out_height, rows);
  tiles_down = ceil_div(all, most_rounds);
  rounds = static_cast<std::int32_t>(ceil_div(all, tiles_down));
  patch_height = (std::int64_t{rows} * rounds - 1) * w.stride_y + (w.kernel_height - 1) * w.dilation_y + 1;
  patch_width = (std::int64_t{across} * strip - 1) * w.stride_x + (w.kernel_width - 1) * w.dilation_x + 1;
}

std::int64_t FromFewPlan::enough_chunks() const {
  constexpr std::int64_t teams = 264;  // that a GPU has at once
  return std::max<std::int64_t>(teams / (parts * element_parts()), 1);
}

std::int64_t FromFewPlan::chunk_tiles() const {
  constexpr std::int64_t most_pixels = 128;  // sums of more of a thread would drift
  const std::int64_t pixels = rounds * std::min<std::int64_t>(strip, windows.out_width);  // of a tile
  return std::clamp<std::int64_t>(ceil_div(tiles(), enough_chunks()), 1,
                                  std::max<std::int64_t>(most_pixels / pixels, 1));
}

bool FromFewPlan::suits() const {
  const Windows& w = windows;
  // Sums of more elements, in one chain, would drift; products of more output channels are faster by tensor cores.
  constexpr std::int64_t most_channels = 4, most_column = 64, most_out_channels = 64;
  return w.groups == 1 && w.channels <= most_channels && w.column() <= most_column && w.out_channels >= own_outs &&
         w.out_channels <= most_out_channels && w.area() > 0 && w.pixels() > 0 && has_small_steps(w) &&
         std::int64_t{rows} * across * lanes >= threads / 8 && fits();
}

}  // namespace portops::impl
