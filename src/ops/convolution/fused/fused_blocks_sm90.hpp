// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "blas/tensor_cores_sm90.hpp"
#include "core/lanes/divide.hpp"
#include "ops/convolution/fused/fused_sm90.hpp"

// How the fused kernels share out a call: what a block computes, and in which order. For _sm90.cu alone.

namespace portops::impl::fused_sm90 {

using blas::sm90::Precision;
using blas::sm90::RowsInRegisters;
using blas::sm90::SharedAddress;
using blas::sm90::Tile;

// Two warpgroups: with 64 pixels each, or with the same 64 pixels and every other step each.
constexpr int threads = 256;
constexpr int warpgroups = threads / 128;
constexpr int chunk_bytes = 128;
constexpr int most_splits = FusedPlan::most_splits;

/// How many warpgroups share the steps of a block with so many pixels.
__host__ __device__ constexpr int shares_of(int pixels) { return warpgroups * 64 / pixels; }

/// What kernels know of a convolution.
struct FusedArguments {
  Windows windows;
  FusedOperands operands;
  int splits, run_bytes, run_chunks, group_chunks, deformable_chunks, phase_taps, steps, row_tiles;
  bool is_alone;  ///< whether each block has a multiprocessor to itself
  Divisor kernel_width;

  /// The row and column of a tap in its window.
  struct Tap {
    int y, x;
  };
  __device__ __forceinline__ Tap tap(int number) const {
    const auto row = static_cast<int>(kernel_width.quotient(static_cast<std::uint32_t>(number)));
    return {row, number - row * static_cast<int>(kernel_width.value())};
  }
};

/// The convolutions of a launch, up to so many, whose blocks are neighbours along the grid's first axis.
template <int most>
struct FusedBatch {
  FusedArguments arguments[most];
  std::uint32_t first_block[most];
  int count = 0;

  void add(const FusedArguments& its, std::uint32_t blocks) {
    arguments[count] = its;
    first_block[count++] = blocks_;
    blocks_ += blocks;
  }
  std::uint32_t blocks() const { return blocks_; }

  /// That of this block.
  __device__ __forceinline__ int index() const {
    int i = 0;
    if constexpr (most > 1) {
      while (i + 1 < count && blockIdx.x >= first_block[i + 1]) ++i;
    }
    return i;
  }

 private:
  std::uint32_t blocks_ = 0;
};

/// A pixel of out. They are counted image by image, and in it in strips of 16 columns, so that those of a block lie
/// close together and sample the same pixels of x.
struct Pixel {
  std::int64_t image, y, x;
};

__device__ inline Pixel locate(const Windows& windows, std::int64_t index) {
  constexpr std::int64_t width = 16;
  const std::int64_t image = quotient(index, windows.pixels());
  const std::int64_t in_image = index - image * windows.pixels();
  const std::int64_t strip = quotient(in_image, width * windows.out_height);
  const std::int64_t in_strip = in_image - strip * width * windows.out_height;
  const std::int64_t left = windows.out_width - strip * width;
  const std::int64_t y = quotient(in_strip, left < width ? left : width);
  return {image, y, strip * width + in_strip - y * (left < width ? left : width)};
}

/// What a block computes: all steps, or its share of them, of a tile of output channels and pixels.
struct BlockTile {
  std::int64_t first_pixel;
  int group, split;
  int first_step, steps;           ///< of the group's steps, those of this block
  int channels;                    ///< output channels of the tile that there are
  std::int64_t first_out_channel;  ///< of all groups'

  /// `block` counts along the first axis of the grid, in the convolution.
  __device__ BlockTile(const FusedArguments& arguments, std::uint32_t block, int rows, int pixels)
      : first_pixel(static_cast<std::int64_t>(block) * pixels),
        group(static_cast<int>(blockIdx.y) / arguments.row_tiles),
        split(static_cast<int>(blockIdx.z)),
        first_step(arguments.steps * split / arguments.splits),
        steps(arguments.steps * (split + 1) / arguments.splits - first_step) {
    const std::int64_t first_channel = (static_cast<int>(blockIdx.y) % arguments.row_tiles) * rows;  // of the group
    const std::int64_t of_group = arguments.windows.group_out_channels();
    channels = static_cast<int>(min(of_group - first_channel, std::int64_t{rows}));
    first_out_channel = group * of_group + first_channel;
  }
};

/// Steps of a block whose samples are in shared memory together: taps of one deformable group.
struct Phase {
  int first_tap, taps;
  int deformable_group;
  int begin, end;              ///< of the block's steps
  int chunk, tap;              ///< where the first step lies; the tap is counted in the phase
  int first_taken, taken_end;  ///< the taps that the block's steps take, of the phase's: not all, where steps are few

  __device__ Phase(const FusedArguments& arguments, const BlockTile& tile, int first) : begin(first) {
    const int step = tile.first_step + begin;
    const int phase = step / (arguments.phase_taps * arguments.group_chunks);
    first_tap = phase * arguments.phase_taps;
    taps = min(arguments.phase_taps, static_cast<int>(arguments.windows.taps()) - first_tap);
    const int in_phase = step - first_tap * arguments.group_chunks;
    chunk = in_phase / taps;
    tap = in_phase % taps;
    const int first_chunk = tile.group * arguments.group_chunks;  // of the group
    deformable_group = (first_chunk + chunk) / arguments.deformable_chunks;
    const int end_chunk =
        min(arguments.group_chunks, (deformable_group + 1) * arguments.deformable_chunks - first_chunk);
    end = min(tile.steps, begin + (end_chunk - chunk) * taps - tap);
    const bool takes_few = tap + end - begin <= taps;
    first_taken = takes_few ? tap : 0;
    taken_end = takes_few ? tap + end - begin : taps;
  }
};

/// Calls action(chunk, tap) for a block's steps, one after the other; the tap is counted in the window.
template <class Action>
__device__ __forceinline__ void for_steps(const FusedArguments& arguments, const BlockTile& tile,
                                          const Action& action) {
  for (int i = 0; i < tile.steps;) {
    const Phase phase(arguments, tile, i);
    int chunk = phase.chunk, tap = phase.tap;
    for (; i < phase.end; ++i) {
      action(chunk, phase.first_tap + tap);
      if (++tap == phase.taps) {
        tap = 0;
        ++chunk;
      }
    }
  }
}

}  // namespace portops::impl::fused_sm90
