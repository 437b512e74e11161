// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/conv2d/fused/tensor_maps_sm90.hpp"
#include "ops/convolution/fused/fused_convolve_sm90.hpp"

#include <type_traits>

// The fused kernel of conv2d in 16-bit types and in tf32: the engine for tensor copies brings pixels to shared memory
// as they lie, with zeros for those outside, and products take them from there, in tf32 by way of registers, where they
// are rounded. For conv2d_sm90.cu alone.

namespace portops::impl::fused_sm90 {

/// Blocks of two warpgroups that multiply, 64 pixels each, and a warp of which one thread has everything copied.
template <Precision precision, int rows>
struct WholeBlock {
  static constexpr int all_threads = threads + 32;
  static constexpr int pixels = WindowMap::pixels;
  static constexpr bool rounds = precision == Precision::tf32;
  /// That say when a stage is free: one of each warpgroup, or of each warp where warps read by themselves.
  static constexpr int readers = rounds ? threads / 32 : warpgroups;
  static constexpr int columns_bytes = pixels * chunk_bytes;  ///< of a stage; then comes the weight
  static constexpr int weight_bytes = Tile<precision>::bytes(rows), stage_bytes = columns_bytes + weight_bytes;
  /// Two blocks share a multiprocessor where registers do: one begins or writes its sums while the other multiplies.
  static constexpr int at_once = rows == 256 ? 1 : 2;

  /// Stages of a block: one that is alone on its multiprocessor has nothing but these to wait for memory with.
  __host__ __device__ static constexpr int stages(bool is_alone) {
    constexpr int all = 200 * 1024 / stage_bytes;  // of a multiprocessor
    return is_alone ? all : all / at_once;
  }
  __host__ __device__ static constexpr SharedLayout layout(bool is_alone) {
    return {stages(is_alone), stage_bytes, rows, pixels, 0};
  }
};

/// The convolutions of a launch, how the windows of each lie in x, and its weight.
template <int most>
struct WholeBatch {
  FusedBatch<most> batch;
  bool is_packed = false;  ///< the weight, of all
  WindowMap windows[most];
  WeightMap weights[most];
};

/// A warpgroup's columns of a step in registers, rounded on the way from shared memory.
__device__ __forceinline__ RowsInRegisters<Precision::tf32> read_rounded(SharedAddress columns) {
  using Layout = Tile<Precision::tf32>;
  const int lane = threadIdx.x % 32, row = threadIdx.x / 32 % 4 * 16 + lane / 4;
  const SharedAddress first = columns + Layout::offset(row, 0) + lane % 4 * 4;
  RowsInRegisters<Precision::tf32> rows;
#pragma unroll
  for (int k = 0; k < Layout::instructions; ++k) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      // Units are swizzled within 128 bytes, in rows that lie eight apart alike.
      const SharedAddress word = (first ^ (2 * k + i / 2) << 4) + i % 2 * 8 * Layout::row_bytes;
      rows.words[0][k][i] = blas::sm90::tf32_bits(__uint_as_float(blas::sm90::read_word(word)));
    }
  }
  return rows;
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
    for (int begin = 0; begin < tile.steps;) {
      const Phase phase(arguments, tile, begin);
      int chunk = phase.chunk, tap = phase.tap;
      for (; i < phase.end; ++i) {
        if (i >= stages) ring.empty().wait(ring.round ^ 1);
        const SharedAddress stage = memory + ring.stage * Block::stage_bytes;
        const blas::sm90::Barrier full = ring.full();
        const int channel = chunk * Tile<precision>::channels;
        const auto [tap_y, tap_x] = arguments.tap(phase.first_tap + tap);
        full.announce(Block::stage_bytes);
        if (!turned && whole.is_packed) {
          full.copy(stage + Block::columns_bytes, weight, Block::weight_bytes);
        } else {
          whole.weights[its].template copy<turned, rows>(
              full, stage + Block::columns_bytes, static_cast<int>(tile.first_out_channel), channel, tap_y, tap_x);
        }
        whole.windows[its].copy(full, stage, place, first_channel + channel, tap_y * dilation_y, tap_x * dilation_x);
        weight += Block::weight_bytes;
        ring.advance();
        if (++tap == phase.taps) {
          tap = 0;
          ++chunk;
        }
      }
      begin = phase.end;
    }
    return;
  }

  std::conditional_t<Block::rounds, blas::sm90::TileProduct<precision, rows>, blas::sm90::TileSums<rows>> sums;
  const int own_rows = thread / 128 * 64 * chunk_bytes;
  for (int i = 0; i < tile.steps; ++i) {
    const SharedAddress stage = memory + ring.stage * Block::stage_bytes, weight = stage + Block::columns_bytes;
    ring.full().wait(ring.round);
    if constexpr (Block::rounds) {
      RowsInRegisters<precision> columns = read_rounded(stage + own_rows);
      sums.template add<false>(columns, weight, [] {});
      if (thread % 32 == 0) ring.empty().arrive();
    } else {
      constexpr int line_bytes = WeightMap::channels * chunk_bytes;
      sums.template add<precision, turned>(
          blas::sm90::uniform(blas::sm90::describe<precision>(stage + own_rows)),
          blas::sm90::uniform(blas::sm90::describe<precision, turned, line_bytes>(weight)));
      sums.template wait<1>();
      // The product before is over, and its stage free.
      if (i > 0 && thread % 128 == 0) ring.empty_before().arrive();
    }
    ring.advance();
  }
  sums.finish();

  // No warpgroup needs the stages any more.
  blas::sm90::synchronize<3, threads>();
  write_out<rows, pixels, T>(arguments, tile, sums, shared, memory, targets, biases);
}

/// Its forms.
template <class T, Precision precision, WeightOrder order>
struct WholeForms {
  static constexpr bool packs = order == WeightOrder::packed, turned = order == WeightOrder::out_channels;
  static constexpr bool in_order = true;  ///< of a packed weight
  static constexpr int block_threads = WholeBlock<precision, 64>::all_threads;

  static SharedLayout layout(const FusedPlan& plan) {
    const bool is_alone = plan.load <= 1;
    if (plan.rows == 256) return WholeBlock<precision, 256>::layout(is_alone);
    if (plan.rows == 128) return WholeBlock<precision, 128>::layout(is_alone);
    return WholeBlock<precision, 64>::layout(is_alone);
  }

  template <bool has_part, int most, class Action>
  static auto with_kernel(const FusedPlan& plan, const Action& action) {
    if constexpr (precision != Precision::tf32) {
      if (plan.rows == 256) return action(convolve_whole<T, precision, 256, turned, most>);
      if (plan.rows == 128) return action(convolve_whole<T, precision, 128, turned, most>);
    }
    return action(convolve_whole<T, precision, 64, turned, most>);
  }

  template <int most>
  static WholeBatch<most> arguments(const FusedBatch<most>& batch, std::span<const FusedConvolution> convolutions) {
    WholeBatch<most> whole{.batch = batch, .is_packed = packs};
    for (std::size_t i = 0; i < convolutions.size(); ++i) {
      whole.windows[i] = WindowMap(convolutions[i]);
      if (!packs) whole.weights[i] = WeightMap(convolutions[i], order, convolutions[i].plan.rows);
    }
    return whole;
  }
};

}  // namespace portops::impl::fused_sm90
