// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/conv2d/fused/whole_columns_sm90.hpp"
#include "ops/convolution/fused/fused_convolve_sm90.hpp"

#include <type_traits>

// The fused kernel of conv2d in 16-bit types and in tf32: the engine for tensor copies brings pixels to shared memory
// as they lie, with zeros for those outside, and products take them from there, in tf32 by way of registers. For
// conv2d_sm90.cu alone.

namespace portops::impl::fused_sm90 {

/// Blocks of two warpgroups that multiply, 64 pixels each, and one thread that has everything copied.
template <Precision precision, int rows>
struct WholeBlock {
  static constexpr int pixels = 128;
  static constexpr bool by_registers = precision == Precision::tf32;
  /// Where products take long, a warpgroup reads the columns of the next step meanwhile.
  static constexpr bool reads_ahead = by_registers && rows > 128;
  /// That say when a stage is free: one of each warpgroup, or of each warp where warps read by themselves.
  static constexpr int readers = by_registers ? threads / 32 : warpgroups;
  /// With 256 output channels those that multiply need more registers than a third of all: the thread that copies has a
  /// warpgroup of its own, which gives them its own. Elsewhere it has a warp.
  static constexpr bool shares_out_registers = by_registers && rows == 256;
  static constexpr int all_threads = threads + (shares_out_registers ? 128 : 32);
  static constexpr int copying_registers = 56, multiplying_registers = 224;
  static constexpr int columns_bytes = pixels * chunk_bytes;  ///< of a stage; then comes the weight
  static constexpr int weight_bytes = Tile<precision>::bytes(rows), stage_bytes = columns_bytes + weight_bytes;
  /// Two blocks share a multiprocessor where registers do: one begins or writes its sums while the other multiplies.
  static constexpr int at_once = rows > (by_registers ? 96 : 128) ? 1 : 2;

  /// Stages of a block: one that is alone on its multiprocessor has nothing but these to wait for memory with.
  __host__ __device__ static constexpr int stages(bool is_alone) {
    constexpr int all = 200 * 1024 / stage_bytes;  // of a multiprocessor
    return is_alone ? all : all / at_once;
  }
  __host__ __device__ static constexpr SharedLayout layout(bool is_alone) {
    return {stages(is_alone), stage_bytes, rows, pixels, 0};
  }
};

/// Adds the products of so many steps, by a warpgroup, when the thread that copies has filled their stages.
template <class Block, Precision precision, bool turned, int rows>
__device__ __forceinline__ void multiply(blas::sm90::TileSums<rows>& sums, blas::sm90::Ring& ring, SharedAddress memory,
                                         int steps) {
  const int thread = threadIdx.x, own_rows = thread / 128 * 64 * chunk_bytes;
  for (int i = 0; i < steps; ++i) {
    const SharedAddress stage = memory + ring.stage * Block::stage_bytes, weight = stage + Block::columns_bytes;
    ring.full().wait(ring.round);
    constexpr int line_bytes = WeightMap::channels * chunk_bytes;
    sums.template add<precision, turned>(
        blas::sm90::uniform(blas::sm90::describe<precision>(stage + own_rows)),
        blas::sm90::uniform(blas::sm90::describe<precision, turned, line_bytes>(weight)));
    sums.template wait<1>();
    // The product before is over, and its stage free.
    if (i > 0 && thread % 128 == 0) ring.empty_before().arrive();
    ring.advance();
  }
}

/// The same in tf32.
template <class Block, int rows>
__device__ __forceinline__ void multiply_by_registers(blas::sm90::TileProduct<Precision::tf32, rows>& sums,
                                                      blas::sm90::Ring& ring, SharedAddress memory, int steps) {
  using Columns = RowsInRegisters<Precision::tf32>;
  const ColumnReader read(static_cast<int>(threadIdx.x) / 32 * 16);
  const bool tells = threadIdx.x % 32 == 0;
  SharedAddress stage = memory;
  const auto advance = [&] {
    ring.advance();
    stage = ring.stage == 0 ? memory : stage + Block::stage_bytes;
  };
  if constexpr (!Block::reads_ahead) {
    for (int i = 0; i < steps; ++i) {
      Columns columns;
      ring.full().wait(ring.round);
      read(stage, columns);
      sums.template add<false>(columns, stage + Block::columns_bytes, [] {});
      if (tells) ring.empty().arrive();
      advance();
    }
  } else {
    const auto multiply = [&](Columns& own, Columns& next, bool is_last) {
      const blas::sm90::Barrier empty = ring.empty();
      const SharedAddress weight = stage + Block::columns_bytes;
      advance();
      sums.template add<false>(own, weight, [&] {
        if (is_last) return;
        ring.full().wait(ring.round);
        read(stage, next);
      });
      own.complete();
      if (tells) empty.arrive();
    };
    Columns columns[2];
    ring.full().wait(ring.round);
    read(stage, columns[0]);
    for (int i = 0; i < steps; i += 2) {
      multiply(columns[0], columns[1], i + 1 == steps);
      if (i + 1 < steps) multiply(columns[1], columns[0], i + 2 == steps);
    }
  }
}

/// out = bias + weight · columns for a tile of pixels and output channels. turned: output channels of the weight are
/// neighbours.
template <class T, Precision precision, int rows, bool turned, int most>
__global__ __launch_bounds__(
    WholeBlock<precision, rows>::all_threads,
    WholeBlock<precision, rows>::at_once) void convolve_whole(const __grid_constant__ WholeBatch<most> whole) {
  using Block = WholeBlock<precision, rows>;
  constexpr int pixels = Block::pixels;
  const int its = whole.batch.index();
  const FusedArguments& arguments = whole.batch.arguments[its];
  extern __shared__ __align__(1024) char shared[];
  const int stages = Block::stages(arguments.is_alone);
  const SharedLayout layout = Block::layout(arguments.is_alone);
  auto* const targets = reinterpret_cast<std::int64_t*>(shared + layout.targets);
  auto* const biases = reinterpret_cast<float*>(shared + layout.biases);
  const SharedAddress memory = blas::sm90::kept_shared_address(shared);
  const int thread = threadIdx.x;
  const BlockTile tile(arguments, blockIdx.x - whole.batch.first_block[its], rows, pixels);

  blas::sm90::Ring ring{memory + layout.barriers, stages};
  if (thread == threads) ring.make(1, Block::readers);
  if (thread < threads) prepare_output<T, rows, pixels>(arguments, tile, targets, biases, locate_in_order);
  __syncthreads();

  if (thread >= threads) {
    if constexpr (Block::shares_out_registers) blas::sm90::leave_registers<Block::copying_registers>();
    if (thread > threads) return;
    wait_for_kernel_before();
    const Pixel first = locate_in_order(arguments.windows, tile.first_pixel);
    const WindowMap::Place place(arguments.windows, first);
    const char* weight = static_cast<const char*>(arguments.operands.packed_weight) +
                         (blockIdx.y * static_cast<std::int64_t>(arguments.steps) + tile.first_step) *
                             static_cast<std::int64_t>(Block::weight_bytes);
    const auto dilation_y = static_cast<int>(arguments.windows.dilation_y);
    const auto dilation_x = static_cast<int>(arguments.windows.dilation_x);
    const int first_channel = tile.group * static_cast<int>(arguments.windows.group_channels());
    int i = 0;
    for_steps(arguments, tile, [&](int chunk, int tap) {
      if (i++ >= stages) ring.empty().wait(ring.round ^ 1);
      const SharedAddress stage = memory + ring.stage * Block::stage_bytes;
      const blas::sm90::Barrier full = ring.full();
      const int channel = chunk * Tile<precision>::channels;
      const auto [tap_y, tap_x] = arguments.tap(tap);
      full.announce(Block::stage_bytes);
      if (!turned && whole.is_packed) {
        full.copy(stage + Block::columns_bytes, weight, Block::weight_bytes);
      } else {
        whole.weights[its].template copy<turned, rows>(full, stage + Block::columns_bytes,
                                                       static_cast<int>(tile.first_out_channel), channel, tap_y, tap_x);
      }
      whole.windows[its].copy(full, stage, place, first_channel + channel, tap_y * dilation_y, tap_x * dilation_x);
      weight += Block::weight_bytes;
      ring.advance();
    });
    return;
  }

  std::conditional_t<Block::by_registers, blas::sm90::TileProduct<precision, rows>, blas::sm90::TileSums<rows>> sums;
  if constexpr (Block::shares_out_registers) blas::sm90::take_registers<Block::multiplying_registers>();
  if constexpr (Block::by_registers) {
    multiply_by_registers<Block>(sums, ring, memory, tile.steps);
  } else {
    multiply<Block, precision, turned>(sums, ring, memory, tile.steps);
  }
  sums.finish();

  // No warpgroup needs the stages any more.
  blas::sm90::synchronize<3, threads>();
  if constexpr (Block::by_registers) {
    write_out<rows, pixels, T>(arguments, tile, SumsOfPixels(sums), shared, memory, targets, biases);
  } else {
    write_out<rows, pixels, T>(arguments, tile, sums, shared, memory, targets, biases);
  }
}

}  // namespace portops::impl::fused_sm90
