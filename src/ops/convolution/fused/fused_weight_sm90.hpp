// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/cuda/kernel_order.hpp"
#include "ops/convolution/fused/fused_blocks_sm90.hpp"

#include <cstdint>
#include <cstdlib>

// The weight as the fused kernel wants it. For _sm90.cu alone.

namespace portops::impl::fused_sm90 {

/// What a thread packs, a *piece*: half of a chunk's channels of a row, which are 64 bytes of x. Pieces are counted so
/// that neighbours are read side by side.
struct WeightPieces {
  static constexpr int of_chunk = 2;

  Divisor taps;       ///< of the kernel
  Divisor of_tap;     ///< those of a tap: of all chunks of a group
  Divisor rows;       ///< of all tiles of a group
  std::uint32_t all;  ///< of all groups
  /// Taps are counted before pieces, but behind them where channels lie closer together; rows before taps, between
  /// these and pieces or behind both, by their distance in the weight.
  enum class Order : std::uint8_t { rows_first, rows_second, rows_last, pieces_first } order;

  WeightPieces() = default;
  WeightPieces(const FusedArguments& arguments, std::int64_t all_rows)
      : taps(static_cast<std::uint32_t>(arguments.windows.taps())),
        of_tap(static_cast<std::uint32_t>(arguments.group_chunks * of_chunk)),
        rows(static_cast<std::uint32_t>(all_rows)),
        all(static_cast<std::uint32_t>(arguments.windows.groups * all_rows * arguments.group_chunks * of_chunk *
                                       arguments.windows.taps())) {
    const auto distance = [&](int axis) { return std::abs(arguments.operands.weight.stride[axis]); };
    order = distance(0) < distance(3)   ? Order::rows_first
            : distance(0) < distance(1) ? Order::rows_second
            : distance(3) < distance(1) ? Order::rows_last
                                        : Order::pieces_first;
  }

  struct Place {
    std::uint32_t group;
    int row, piece, tap;  ///< piece: of a tap
  };
  __device__ __forceinline__ Place operator()(std::uint32_t index) const {
    const auto take = [&](const Divisor& extent) {
      const std::uint32_t rest = extent.quotient(index), at = index - rest * extent.value();
      index = rest;
      return static_cast<int>(at);
    };
    Place place;
    if (order == Order::rows_first) place.row = take(rows);
    if (order == Order::pieces_first) place.piece = take(of_tap);
    place.tap = take(taps);
    if (order == Order::rows_second) place.row = take(rows);
    if (order != Order::pieces_first) place.piece = take(of_tap);
    if (order == Order::rows_last || order == Order::pieces_first) place.row = take(rows);
    place.group = index;
    return place;
  }
};

template <int most>
struct WeightPiecesOf {
  WeightPieces of[most];
};

/// Reads a piece of which there are so many channels, zeros behind them: four vectors of 16 bytes, a word after the
/// other.
template <class T>
__device__ __forceinline__ void read_piece(std::uint32_t (&words)[4][4], const T* from, std::int64_t stride,
                                           int channels) {
  constexpr int of_word = 4 / static_cast<int>(sizeof(T)), of_vector = 4 * of_word;
  const auto address = reinterpret_cast<std::uintptr_t>(from);
  if (stride == 1 && channels >= 4 * of_vector && address % 16 == 0) {
#pragma unroll
    for (int v = 0; v < 4; ++v) {
      const uint4 vector = *reinterpret_cast<const uint4*>(from + v * of_vector);
      words[v][0] = vector.x;
      words[v][1] = vector.y;
      words[v][2] = vector.z;
      words[v][3] = vector.w;
    }
    return;
  }
  const bool by_words = stride == 1 && channels % of_word == 0 && address % 4 == 0;
#pragma unroll
  for (int v = 0; v < 4; ++v) {
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const int first = v * of_vector + w * of_word;
      T elements[of_word] = {};
      if (by_words) {
        if (first < channels) memcpy(elements, __builtin_assume_aligned(from + first, 4), sizeof(elements));
      } else {
#pragma unroll
        for (int i = 0; i < of_word; ++i) {
          if (first + i < channels) elements[i] = from[(first + i) * stride];
        }
      }
      memcpy(&words[v][w], elements, sizeof(elements));
    }
  }
}

/// A 16-byte unit of a row of packed weight, of each term. A thread's columns, 16 bytes of neighbouring channels, are
/// words of several instructions; the weight follows them: a unit has a word, or two that are split, of each vector of
/// its piece. In order, a unit is a vector.
template <Precision precision, bool in_order, int terms>
__device__ __forceinline__ void make_unit(uint4 (&unit)[terms], const std::uint32_t (&words)[4][4], int number) {
  std::uint32_t word[terms][4];
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    if constexpr (terms > 1) {
      static_assert(!in_order);
      std::uint32_t pair[terms];
      blas::sm90::split_pair(__uint_as_float(words[j][2 * number]), __uint_as_float(words[j][2 * number + 1]), pair);
#pragma unroll
      for (int term = 0; term < terms; ++term) word[term][j] = pair[term];
    } else {
      word[0][j] = in_order ? words[number][j] : words[j][number];
      if constexpr (precision == Precision::tf32) word[0][j] = blas::sm90::tf32_bits(__uint_as_float(word[0][j]));
    }
  }
#pragma unroll
  for (int term = 0; term < terms; ++term) {
    unit[term] = make_uint4(word[term][0], word[term][1], word[term][2], word[term][3]);
  }
}

template <class T, Precision precision, bool in_order>
__device__ __forceinline__ void pack_piece(const FusedArguments& arguments, const WeightPieces& pieces, int tile_rows,
                                           std::uint32_t index) {
  using Layout = Tile<precision>;
  constexpr int units = Layout::units / WeightPieces::of_chunk;
  const auto [group, row, piece_of_tap, tap] = pieces(index);
  const int chunk = piece_of_tap / WeightPieces::of_chunk, piece = piece_of_tap % WeightPieces::of_chunk;

  const Windows& windows = arguments.windows;
  const Tensor4& weight = arguments.operands.weight;
  const int run = static_cast<int>(windows.group_channels()) / (arguments.group_chunks / arguments.run_chunks);
  const int in_run =
      chunk % arguments.run_chunks * Layout::channels + piece * (Layout::channels / WeightPieces::of_chunk);
  const int first_channel = chunk / arguments.run_chunks * run + in_run;
  const int tap_y = tap / static_cast<int>(windows.kernel_width);
  const int tap_x = tap - tap_y * static_cast<int>(windows.kernel_width);
  const T* const from = static_cast<const T*>(weight.data) +
                        weight.offset(group * windows.group_out_channels() + row, first_channel, tap_y, tap_x);
  const int channels = row < windows.group_out_channels() ? run - in_run : 0;
  std::uint32_t words[4][4];
  read_piece(words, from, weight.stride[1], channels);

  const int first_tap = tap / arguments.phase_taps * arguments.phase_taps;
  const int taps = min(arguments.phase_taps, static_cast<int>(windows.taps()) - first_tap);
  const std::int64_t step = first_tap * arguments.group_chunks + chunk * taps + tap - first_tap;
  const std::int64_t row_tile = static_cast<std::int64_t>(group) * arguments.row_tiles + row / tile_rows;
  char* const tile = static_cast<char*>(arguments.operands.packed_weight) +
                     (row_tile * arguments.steps + step) * Layout::bytes(tile_rows);
#pragma unroll
  for (int i = 0; i < units; ++i) {
    uint4 unit[Layout::terms];
    make_unit<precision, in_order>(unit, words, i);
#pragma unroll
    for (int term = 0; term < Layout::terms; ++term) {
      *reinterpret_cast<uint4*>(tile + term * tile_rows * Layout::row_bytes +
                                Layout::offset(row % tile_rows, piece * units + i)) = unit[term];
    }
  }
}

/// Packs the weight into the tiles that blocks copy: [group][row tile][step][tile]. Where x is copied by the kernel
/// before, which began when all others had ended, both run at once; one block waits for it, so that it has ended too
/// when this one does.
template <class T, Precision precision, bool in_order, int most>
__global__ void pack_weight(const __grid_constant__ FusedBatch<most> batch,
                            const __grid_constant__ WeightPiecesOf<most> pieces, int tile_rows) {
  const int its = batch.index();
  const FusedArguments& arguments = batch.arguments[its];
  if (!arguments.operands.x_is_copied) wait_for_kernel_before();
  let_next_kernel_start();
  const std::uint32_t index = (blockIdx.x - batch.first_block[its]) * blockDim.x + threadIdx.x;
  if (index < pieces.of[its].all) pack_piece<T, precision, in_order>(arguments, pieces.of[its], tile_rows, index);
  if (arguments.operands.x_is_copied && blockIdx.x == 0) wait_for_kernel_before();
}

}  // namespace portops::impl::fused_sm90
