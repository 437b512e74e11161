// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/cuda/kernel_order.hpp"
#include "ops/convolution/fused/fused_blocks_sm90.hpp"

#include <cstdint>
#include <cstdlib>

// The weight as the fused kernel wants it. For _sm90.cu alone.

namespace portops::impl::fused_sm90 {

/// The units of 16 bytes, of each term, of the packed weight, counted so that neighbours are read side by side.
struct WeightUnits {
  Divisor taps;       ///< of the kernel
  Divisor of_tap;     ///< those of a tap: of all chunks of a group
  Divisor rows;       ///< of all tiles of a group
  std::uint32_t all;  ///< of all groups
  /// Taps are counted before units, but behind them where channels lie closer together; rows before taps, between these
  /// and units or behind both, by their distance in the weight.
  enum class Order : std::uint8_t { rows_first, rows_second, rows_last, units_first } order;

  WeightUnits() = default;
  WeightUnits(const FusedArguments& arguments, std::int64_t units_of_tap, std::int64_t all_rows)
      : taps(static_cast<std::uint32_t>(arguments.windows.taps())),
        of_tap(static_cast<std::uint32_t>(units_of_tap)),
        rows(static_cast<std::uint32_t>(all_rows)),
        all(static_cast<std::uint32_t>(arguments.windows.groups * all_rows * units_of_tap * arguments.windows.taps())) {
    const auto distance = [&](int axis) { return std::abs(arguments.operands.weight.stride[axis]); };
    order = distance(0) < distance(3)   ? Order::rows_first
            : distance(0) < distance(1) ? Order::rows_second
            : distance(3) < distance(1) ? Order::rows_last
                                        : Order::units_first;
  }

  struct Place {
    std::uint32_t group;
    int row, unit, tap;  ///< unit: of a tap
  };
  __device__ __forceinline__ Place operator()(std::uint32_t index) const {
    const auto take = [&](const Divisor& extent) {
      const std::uint32_t rest = extent.quotient(index), at = index - rest * extent.value();
      index = rest;
      return static_cast<int>(at);
    };
    Place place;
    if (order == Order::rows_first) place.row = take(rows);
    if (order == Order::units_first) place.unit = take(of_tap);
    place.tap = take(taps);
    if (order == Order::rows_second) place.row = take(rows);
    if (order != Order::units_first) place.unit = take(of_tap);
    if (order == Order::rows_last || order == Order::units_first) place.row = take(rows);
    place.group = index;
    return place;
  }
};

template <int most>
struct WeightUnitsOf {
  WeightUnits of[most];
};

/// The channel, of a chunk, of an element of a 16-byte unit of a row of packed weight. A thread's columns, 16 bytes of
/// neighbouring channels, are words of several instructions; the weight follows them. In order: as they are counted.
template <class T, Precision precision, bool in_order>
__device__ __forceinline__ int channel_of(int unit, int element) {
  if constexpr (in_order) return unit * (16 / static_cast<int>(sizeof(T))) + element;
  constexpr int of_vector = 16 / sizeof(T);
  constexpr int of_word = precision == Precision::tf32 ? 1 : 2;
  constexpr int words = of_vector / of_word;  // of a vector
  const int instruction = unit / 2;
  const int vector = element / of_word + 4 * (instruction / (words / 2));
  const int word = instruction % (words / 2) * 2 + unit % 2;
  return vector * of_vector + word * of_word + element % of_word;
}

/// Reads the elements of a unit of a row of which there are so many channels, zeros behind them. Of 16-bit types both
/// of a word are read at once where they are neighbours.
template <class T, Precision precision, bool in_order, int unit_channels>
__device__ __forceinline__ void read_unit(float (&element)[unit_channels], const T* from, std::int64_t stride, int unit,
                                          int channels) {
  if constexpr (in_order && sizeof(T) == 2) {
    const T* const first = from + unit * unit_channels;
    if (stride == 1 && channels >= (unit + 1) * unit_channels && reinterpret_cast<std::uintptr_t>(first) % 16 == 0) {
      alignas(16) T all[unit_channels];
      *reinterpret_cast<uint4*>(all) = *reinterpret_cast<const uint4*>(first);
#pragma unroll
      for (int i = 0; i < unit_channels; ++i) element[i] = static_cast<float>(all[i]);
      return;
    }
  }
  if constexpr (sizeof(T) == 2) {
    if (stride == 1 && channels % 2 == 0 && reinterpret_cast<std::uintptr_t>(from) % sizeof(std::uint32_t) == 0) {
#pragma unroll
      for (int i = 0; i < unit_channels; i += 2) {
        const int channel = channel_of<T, precision, in_order>(unit, i);
        T pair[2] = {};
        if (channel < channels) memcpy(pair, __builtin_assume_aligned(from + channel, sizeof(pair)), sizeof(pair));
        element[i] = static_cast<float>(pair[0]);
        element[i + 1] = static_cast<float>(pair[1]);
      }
      return;
    }
  }
#pragma unroll
  for (int i = 0; i < unit_channels; ++i) {
    const int channel = channel_of<T, precision, in_order>(unit, i);
    element[i] = channel < channels ? static_cast<float>(from[channel * stride]) : 0.0f;
  }
}

/// Packs a unit of all.
template <class T, Precision precision, bool in_order>
__device__ __forceinline__ void pack_unit(const FusedArguments& arguments, const WeightUnits& units, int tile_rows,
                                          std::uint32_t index) {
  using Layout = Tile<precision>;
  constexpr int unit_channels = Layout::channels / Layout::units;
  const auto [group, row, unit_of_tap, tap] = units(index);
  const int chunk = unit_of_tap / Layout::units, unit = unit_of_tap % Layout::units;

  const Windows& windows = arguments.windows;
  const Tensor4& weight = arguments.operands.weight;
  const int run = static_cast<int>(windows.group_channels()) / (arguments.group_chunks / arguments.run_chunks);
  const int in_run = chunk % arguments.run_chunks * Layout::channels;
  const int first_channel = chunk / arguments.run_chunks * run + in_run;
  const int tap_y = tap / static_cast<int>(windows.kernel_width);
  const int tap_x = tap - tap_y * static_cast<int>(windows.kernel_width);
  const T* const from = static_cast<const T*>(weight.data) +
                        weight.offset(group * windows.group_out_channels() + row, first_channel, tap_y, tap_x);
  const int channels = row < windows.group_out_channels() ? run - in_run : 0;
  float element[unit_channels];
  read_unit<T, precision, in_order>(element, from, weight.stride[1], unit, channels);

  const int first_tap = tap / arguments.phase_taps * arguments.phase_taps;
  const int taps = min(arguments.phase_taps, static_cast<int>(windows.taps()) - first_tap);
  const std::int64_t step = first_tap * arguments.group_chunks + chunk * taps + tap - first_tap;
  const std::int64_t row_tile = static_cast<std::int64_t>(group) * arguments.row_tiles + row / tile_rows;
  char* const to = static_cast<char*>(arguments.operands.packed_weight) +
                   (row_tile * arguments.steps + step) * Layout::bytes(tile_rows) +
                   Layout::offset(row % tile_rows, unit);
  if constexpr (precision == Precision::tf32) {
    using blas::sm90::tf32_bits;
    *reinterpret_cast<uint4*>(to) =
        make_uint4(tf32_bits(element[0]), tf32_bits(element[1]), tf32_bits(element[2]), tf32_bits(element[3]));
  } else {
    std::uint32_t pairs[4][Layout::terms];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if constexpr (precision == Precision::f32) {
        blas::sm90::split_pair(element[2 * j], element[2 * j + 1], pairs[j]);
      } else if constexpr (precision == Precision::f16) {
        pairs[j][0] = blas::sm90::f16_pair(element[2 * j], element[2 * j + 1]);
      } else {
        pairs[j][0] = blas::sm90::bf16_pair(element[2 * j], element[2 * j + 1]);
      }
    }
#pragma unroll
    for (int term = 0; term < Layout::terms; ++term) {
      *reinterpret_cast<uint4*>(to + term * tile_rows * Layout::row_bytes) =
          make_uint4(pairs[0][term], pairs[1][term], pairs[2][term], pairs[3][term]);
    }
  }
}

/// Packs the weight into the tiles that blocks copy: [group][row tile][step][tile]. Where x is copied by the kernel
/// before, which began when all others had ended, both run at once; one block waits for it, so that it has ended too
/// when this one does.
template <class T, Precision precision, bool in_order, int most>
__global__ void pack_weight(const __grid_constant__ FusedBatch<most> batch,
                            const __grid_constant__ WeightUnitsOf<most> units, int tile_rows) {
  const int its = batch.index();
  const FusedArguments& arguments = batch.arguments[its];
  if (!arguments.operands.x_is_copied) wait_for_kernel_before();
  let_next_kernel_start();
  const std::uint32_t index = (blockIdx.x - batch.first_block[its]) * blockDim.x + threadIdx.x;
  if (index < units.of[its].all) pack_unit<T, precision, in_order>(arguments, units.of[its], tile_rows, index);
  if (arguments.operands.x_is_copied && blockIdx.x == 0) wait_for_kernel_before();
}

}  // namespace portops::impl::fused_sm90
