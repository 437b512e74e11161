// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/macros.hpp"
#include "ops/convolution/windows.hpp"

#include <cstdint>

// What the kernels of tap_products.hpp and their plans know of both: forms of blocks, and how a tile lies in shared
// memory: its pixels of out_grad row by row, and then the pixels of x that its windows reach.

namespace portops::impl::tap_products {

constexpr int taps_at_once = 9;
constexpr int unit_channels = 4;  ///< of 16 bytes
constexpr int stages = 3;
constexpr int shared_bytes = 225 * 1024;  ///< for the stages of all blocks of a multiprocessor

constexpr int most_producers = 256;

/// Blocks that a multiprocessor has at once.
PORTOPS_FUNCTION constexpr int blocks_at_once(int channels) { return channels == 64 ? 1 : 2; }

/// Pixels of an instruction: of numbers that are rounded to tf32, and that are split into bf16 terms.
PORTOPS_FUNCTION constexpr int step_pixels(bool splits) { return splits ? 16 : 8; }

/// What a block consists of: warps that multiply, each for 8 channels, and others that bring tiles.
template <int outs_, int channels_, bool is_split_>
struct Form {
  static constexpr int outs = outs_, channels = channels_, blocks = blocks_at_once(channels);
  static constexpr bool is_split = is_split_;
  static constexpr int step_pixels = tap_products::step_pixels(is_split);
  static constexpr int warps = channels / 8, consumers = 32 * warps;
  static constexpr int producers = most_producers / blocks, threads = consumers + producers;
  static constexpr int consumer_registers = blocks == 1 ? 208 : 200, producer_registers = blocks == 1 ? 48 : 56;
};

/// Bytes from one pixel to the next, so that the four pixels and eight channels that a warp reads together meet
/// different banks, of x also where these pixels are two apart.
PORTOPS_FUNCTION constexpr int out_pitch(int outs) { return (outs + 8) * 4; }
PORTOPS_FUNCTION constexpr int x_pitch(int channels, std::int64_t stride_x) {
  return (channels + (stride_x % 2 == 0 ? 4 : 8)) * 4;
}

/// The rows of the kernel that a block's taps are in.
struct TapRows {
  int first, last;

  PORTOPS_FUNCTION TapRows(const Windows& windows, int first_tap) {
    const auto width = static_cast<int>(windows.kernel_width), taps = static_cast<int>(windows.taps());
    first = first_tap / width;
    const int end = first_tap + taps_at_once < taps ? first_tap + taps_at_once : taps;
    last = (end - 1) / width;
  }
};

/// How a block's sums lie in shared memory when all tiles have been multiplied: row by row and tap by tap, two channels
/// of each consumer; then a row of all output channels, channels and taps, for writing; then the sums of out_grad.
struct SumsLayout {
  int consumers, channels, outs;

  static constexpr int row_outs = 8;  ///< output channels of a row, one of each four lanes

  PORTOPS_FUNCTION constexpr SumsLayout(int outs_of_block, int channels_of_block)
      : consumers(4 * channels_of_block), channels(channels_of_block), outs(outs_of_block) {}
  PORTOPS_FUNCTION constexpr int rows() const { return outs / row_outs; }
  PORTOPS_FUNCTION constexpr int row_bytes() const { return taps_at_once * consumers * 8; }
  /// From one output channel to the next, with channels, or taps, fastest: different banks for what a warp writes.
  PORTOPS_FUNCTION constexpr int pitch(bool taps_fastest) const {
    return (channels * taps_at_once + (taps_fastest ? 1 : 8)) * 4;
  }
  PORTOPS_FUNCTION constexpr int row_at() const { return rows() * row_bytes(); }
  PORTOPS_FUNCTION constexpr int out_sums_at() const { return row_at() + row_outs * pitch(false); }
  PORTOPS_FUNCTION constexpr int bytes() const { return out_sums_at() + most_producers * 16; }
};

}  // namespace portops::impl::tap_products
