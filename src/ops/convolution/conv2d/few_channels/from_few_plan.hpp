// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/tile_shape.hpp"
#include "ops/convolution/windows.hpp"

#include <cstddef>
#include <cstdint>

namespace portops::impl {

enum class FromFewCall : std::uint8_t { forward, weight_grad };

/// How a GPU's teams share out a convolution of few channels, and its weight_grad: by tiles of pixels of an image of
/// out, whose x a team has in scratch. A thread has a strip, four pixels of a row, and some of their output channels; a
/// team takes some rows of strips (a round), then the next ones. By extents and layouts alone, so that sums are the
/// same everywhere.
///
/// Where output channels are neighbours in packs, so are the pixels of a strip, and the threads that share it out.
/// Elsewhere rows of pixels are neighbours: then those of a strip lie as far apart as a row has strips, and a warp's
/// threads are neighbouring strips.
struct FromFewPlan {
  static constexpr int threads = 256;
  static constexpr int strip = 4;       ///< pixels
  static constexpr int own_bytes = 16;  ///< of a thread's output channels, as numbers in scratch
  static constexpr int most_elements = 13, most_lanes = 8;

  Windows windows;
  bool has_packs;                                  ///< of output channels
  std::int32_t own_outs;                           ///< output channels of a thread
  std::int32_t lanes = 1;                          ///< threads that share out a strip's output channels
  std::int64_t parts = 1;                          ///< teams that do
  std::int32_t across = 1, rows = 1;               ///< strips of a round
  std::int32_t rounds = 1;                         ///< of a tile
  std::int64_t tiles_across = 1, tiles_down = 1;   ///< of an image
  std::int64_t patch_height = 1, patch_width = 1;  ///< what a tile reads of a channel of x

  /// `number`: bytes of one in scratch.
  FromFewPlan(const Windows& windows, FromFewCall call, bool has_packs, std::size_t number);

  /// Whether channels, windows and output channels are few, neighbouring pixels and taps read x not far from each
  /// other, images have strips for an eighth of a team's threads at least, and what these read fits scratch.
  bool suits() const;

  std::int32_t part_outs() const { return lanes * own_outs; }
  std::int64_t tiles() const { return windows.images * tiles_down * tiles_across; }
  /// Of weight_grad: elements of windows that a thread has sums of, which teams share out; tiles whose sums a team adds
  /// up, the chunks of which are added up in a fixed order; how many there are.
  std::int64_t element_parts() const { return ceil_div(windows.column(), most_elements); }
  std::int64_t part_elements() const { return ceil_div(windows.column(), element_parts()); }
  std::int64_t chunk_tiles() const;
  std::int64_t chunks() const { return ceil_div(tiles(), chunk_tiles()); }

  std::int64_t patch_size() const { return windows.channels * patch_height * patch_width; }

 private:
  std::int64_t enough_chunks() const;
  void cut_columns(std::int64_t least_tiles);
  void cut_rows(std::int64_t most_rows, std::int64_t most_rounds);
  bool fits() const { return static_cast<std::size_t>(patch_size()) * number_ <= most_patch_bytes; }

  static constexpr std::size_t most_patch_bytes = 24 << 10;
  std::size_t number_;
};

}  // namespace portops::impl
