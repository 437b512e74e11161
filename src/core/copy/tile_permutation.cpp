// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/copy/tile_permutation.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace portops::impl {
namespace {

using Axis = TilePermutation::Axis;
using Axes = std::array<Axis, max_rank>;
using Order = std::array<int, max_rank>;

/// Words of a line of a tile: neighbours, as far as the tile has all of the faster axes.
std::int64_t line_of(const Axes& axes, const Order& order, int rank) {
  std::int64_t line = 1;
  for (int i = 0; i < rank; ++i) {
    line *= axes[order[i]].tile;
    if (axes[order[i]].tile < axes[order[i]].extent) break;
  }
  return line;
}

/// Lengthens the tile along the fastest axes of an order until its lines have so many words, in parts of an axis that
/// are as equal as can be.
void lengthen(Axes& axes, const Order& order, int rank, std::int64_t words) {
  std::int64_t line = 1;
  for (int i = 0; i < rank && line < words; ++i) {
    Axis& axis = axes[order[i]];
    const std::int64_t wanted = std::min(axis.extent, ceil_div(words, line));
    if (wanted > axis.tile) axis.tile = static_cast<int>(ceil_div(axis.extent, axis.extent / wanted));
    line *= axis.tile;
    if (axis.tile < axis.extent) return;
  }
}

std::int64_t volume_of(const Axes& axes, int rank) {
  return std::accumulate(axes.begin(), axes.begin() + rank, std::int64_t{1},
                         [](std::int64_t volume, const Axis& axis) { return volume * axis.tile; });
}

/// Sets the distances in a tile's scratch, and returns the words that it takes. Neighbours in `from`, which lie along
/// `fastest`, meet in different banks: an odd number of words of 4 bytes, or more, lies between them, unless that takes
/// much more room; then two at most meet.
std::int64_t lay_out_scratch(Axes& axes, int rank, int fastest, int word_bytes) {
  std::int64_t pitch = 1;
  for (int i = 0; i < rank; ++i) {
    if (i == fastest && i > 0) {
      const std::int64_t padded = word_bytes == 2 ? 2 * ((pitch + 1) / 2 | 1) : pitch | 1;
      if (padded <= most_scratch(pitch)) pitch = padded;
    }
    axes[i].scratch = static_cast<int>(pitch);
    pitch *= axes[i].tile;
  }
  return pitch;
}

}  // namespace

std::int64_t TilePermutation::tiles() const {
  return std::accumulate(axis.begin(), axis.begin() + rank, std::int64_t{1},
                         [](std::int64_t count, const Axis& a) { return count * a.tiles(); });
}

std::optional<TilePermutation> make_tile_permutation(const CopyPlan& plan, int most) {
  constexpr int long_row_bytes = 256, least_line_bytes = 32;
  const int rank = plan.to.axes.rank;
  if (!plan.same_axes || rank < 2) return {};
  TilePermutation result;
  result.rank = rank;
  Order in_to{};
  for (int i = 0; i < rank; ++i) {
    const int axis = rank - 1 - i;
    in_to[i] = result.in_from[i] = i;
    result.axis[i].extent = plan.to.axes.extent[axis];
    result.axis[i].from = plan.from.axes.stride[axis];
    result.axis[i].to = plan.to.axes.stride[axis];
    if (result.axis[i].from == 0) return {};
  }
  std::stable_sort(result.in_from.begin(), result.in_from.begin() + rank,
                   [&](int a, int b) { return std::abs(result.axis[a].from) < std::abs(result.axis[b].from); });
  const bool has_same_order = std::is_sorted(result.in_from.begin(), result.in_from.begin() + rank);
  const bool has_same_rows = result.in_from[0] == 0;
  if (has_same_order || (has_same_rows && result.axis[0].extent * plan.word_bytes >= long_row_bytes)) return {};

  // The longest lines whose box fits.
  const Axes whole = result.axis;
  Axes& axes = result.axis;
  for (std::int64_t line = 64;; line /= 2) {
    if (line * plan.word_bytes < least_line_bytes) return {};
    axes = whole;
    lengthen(axes, in_to, rank, line);
    lengthen(axes, result.in_from, rank, line);
    if (volume_of(axes, rank) <= most) break;
  }
  // What is left of the room makes the shorter lines longer.
  for (;;) {
    const std::int64_t volume = volume_of(axes, rank);
    if (2 * volume > most) break;
    const Axes before = axes;
    const std::int64_t of_from = line_of(axes, result.in_from, rank), of_to = line_of(axes, in_to, rank);
    const bool from_first = of_from <= of_to;
    lengthen(axes, from_first ? result.in_from : in_to, rank, 2 * std::min(of_from, of_to));
    if (volume_of(axes, rank) == volume) {
      lengthen(axes, from_first ? in_to : result.in_from, rank, 2 * std::max(of_from, of_to));
    }
    if (volume_of(axes, rank) == volume) break;
    if (volume_of(axes, rank) > most) {
      axes = before;
      break;
    }
  }

  std::int64_t reach_from = 0, reach_to = 0;
  for (int i = 0; i < rank; ++i) {
    const Axis& axis = axes[i];
    reach_from += std::abs(axis.from) * (axis.tile - 1);
    reach_to += axis.to * (axis.tile - 1);
  }
  if (std::max({reach_from, reach_to, result.tiles()}) >= INT32_MAX) return {};
  result.volume = static_cast<int>(volume_of(axes, rank));
  result.scratch = static_cast<int>(lay_out_scratch(axes, rank, result.in_from[0], plan.word_bytes));
  return result;
}

}  // namespace portops::impl
