// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/cuda/cuda_calls.hpp"
#include "core/exec/cuda/cuda_device.hpp"
#include "core/exec/cuda/kernel_order.hpp"
#include "ops/convolution/fused/fused.hpp"
#include "ops/convolution/fused/fused_columns_sm90.hpp"
#include "ops/convolution/fused/fused_output_sm90.hpp"
#include "ops/convolution/fused/fused_weight_sm90.hpp"

#include <algorithm>
#include <span>

// The fused kernel and its launches. For _sm90.cu alone, which say how samples are found: see fused_columns_sm90.hpp.
// Which kernels an operator has in an element type is a parameter of the launches, a struct Forms with
//
//   most_convolutions                              that a launch takes
//   block_threads(plan, windows)                   of a block
//   packs, in_order                                whether the weight is packed, and its channels then in their order
//   shared_bytes(plan, windows)                    of a block's shared memory
//   with_kernel<has_part, most>(plan, action)      calls action(kernel) with that of the plan
//   arguments(FusedBatch, convolutions)            what the kernel is given

namespace portops::impl::fused_sm90 {

/// Tiles of the weight that lie in shared memory: as many as leave room for the samples.
template <Precision precision>
__host__ __device__ constexpr int stages_of(int rows) {
  return Tile<precision>::bytes(rows) > 32768 ? 3 : 4;
}

/// What a block has in shared memory: the stages, a tile of the weight each, which make room for the sums at the end,
/// then barriers and tables.
struct SharedLayout {
  int barriers, targets, biases, samples, bytes;

  /// Of `rows` output channels and a table of so many bytes.
  __host__ __device__ constexpr SharedLayout(int stages, int stage_bytes, int rows, int pixels, int table_bytes)
      : barriers(stages * stage_bytes > sums_bytes(rows, pixels) ? stages * stage_bytes : sums_bytes(rows, pixels)),
        targets(barriers + stages * 16),  // where each pixel lies in out
        biases(targets + pixels * 8),     // of each output channel
        samples(biases + rows * 4),       // the table
        bytes(samples + table_bytes) {}
};

/// out = bias + weight · columns for a tile of pixels and output channels. A warpgroup makes the columns of a step of
/// its pixels in registers, where they are one operand of the product. While one warpgroup makes columns, the other one
/// multiplies.
template <class Samples, class T, Precision precision, int rows, int pixels, bool has_part, int most>
__global__ __launch_bounds__(threads, Samples::template blocks_at_once<precision>(rows)) void convolve(
    const __grid_constant__ FusedBatch<most> batch) {
  const int its = batch.index();
  const FusedArguments& arguments = batch.arguments[its];
  constexpr int stages = stages_of<precision>(rows), stage_bytes = Tile<precision>::bytes(rows);
  constexpr int shares = shares_of(pixels);
  using Product = blas::sm90::TileProduct<precision, rows>;
  // A product in parts takes longer than its columns do, and leaves no registers for loads: warpgroups take turns, so
  // that one makes columns while the other one multiplies.
  constexpr bool takes_turns = Product::parts > 1;
  constexpr bool loads_ahead = Product::parts == 1 && Samples::template loads_ahead<precision, rows>;
  extern __shared__ __align__(1024) char shared[];
  const SampleTable<Samples::corner_count, pixels> samples{arguments.phase_taps};
  const SharedLayout layout(stages, stage_bytes, rows, pixels, samples.bytes());
  auto* const targets = reinterpret_cast<std::int64_t*>(shared + layout.targets);
  auto* const biases = reinterpret_cast<float*>(shared + layout.biases);
  const SharedAddress memory = blas::sm90::kept_shared_address(shared);
  const int thread = threadIdx.x;
  const BlockTile tile(arguments, blockIdx.x - batch.first_block[its], rows, pixels);

  // The i-th step of this block uses stage i % stages, for the i / stages-th time.
  const auto full = [&](unsigned i) { return blas::sm90::Barrier(memory + layout.barriers + i % stages * 16); };
  const auto empty = [&](unsigned i) { return blas::sm90::Barrier(memory + layout.barriers + i % stages * 16 + 8); };
  const auto copy_weight = [&](unsigned i) {
    const std::int64_t at = blockIdx.y * static_cast<std::int64_t>(arguments.steps) + tile.first_step + i;
    full(i).arrive_with_copy(memory + i % stages * stage_bytes,
                             static_cast<const char*>(arguments.operands.packed_weight) + at * stage_bytes,
                             stage_bytes);
  };
  if (thread == 0) {
    for (int i = 0; i < stages; ++i) {
      full(i).make(1);
      empty(i).make(warpgroups / shares);
    }
    blas::sm90::fence_barriers();
    wait_for_kernel_before();
    for (int i = 0; i < min(tile.steps, stages); ++i) copy_weight(i);
  }
  prepare_output<T, rows, pixels>(arguments, tile, targets, biases, locate);

  Product product;
  ColumnMaker<T, precision, pixels, Samples::corner_count, loads_ahead, has_part> maker(
      arguments, memory + layout.samples, samples);
  const int share = thread / 128 % shares;
  const blas::sm90::Turns turns(thread / 128);
  for (int begin = 0; begin < tile.steps;) {
    const Phase phase(arguments, tile, begin);
    __syncthreads();
    Samples::template find<T, precision, pixels>(arguments, phase, tile.first_pixel, shared + layout.samples);
    __syncthreads();
    wait_for_kernel_before();

    const int own_begin = begin + (share + shares - begin % shares) % shares;
    begin = phase.end;
    if (own_begin >= phase.end) continue;
    maker.start(tile.group * arguments.group_chunks + phase.chunk, phase.tap + own_begin - phase.begin, phase.taps);
    for (int i = own_begin; i < phase.end; i += shares) {
      RowsInRegisters<precision> columns;
      const bool whole = maker.is_whole();
      // After the last step the same is loaded again, for nothing.
      maker.make(columns, i + shares < phase.end ? shares : 0);
      const unsigned step = i;
      full(step).wait(step / stages % 2);
      const int turn = shares == 1 ? 2 * i + thread / 128 : i;
      if constexpr (takes_turns) turns.take(turn);
      const auto pass_turn = [&] {
        if constexpr (takes_turns) turns.pass(turn, 2 / shares * tile.steps);
      };
      const SharedAddress weight = memory + step % stages * stage_bytes;
      // In parts there would be no registers for both.
      if (Product::parts > 1 || whole) {
        product.template add<false>(columns, weight, pass_turn);
      } else {
        product.template add<false, false>(columns, weight, pass_turn);
      }
      if (thread % 128 == 0) empty(step).arrive();
      // Where warpgroups use a tile together, the other one is hardly more than a step behind.
      constexpr int behind = shares == 1 ? 1 : 0;
      const bool refills = shares == 1 ? thread == 0 : thread % 128 == 0;
      if (refills && i >= behind && i - behind + stages < tile.steps) {
        const unsigned over = i - behind;
        empty(over).wait(over / stages % 2);
        copy_weight(over + stages);
      }
    }
  }
  product.finish();

  // No warpgroup needs the weight any more.
  __syncthreads();
  write_out<rows, pixels, T>(arguments, tile, product, shared, memory, targets, biases);
}

// --- launches ----------------------------------------------------------------------------------------------

/// How kernels are launched: each may start, and wait, while the one before it still runs.
struct Launch {
  cudaLaunchAttribute attributes[2] = {};
  cudaLaunchConfig_t config{};

  Launch(dim3 grid, unsigned block) {
    attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[0].val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = grid;
    config.blockDim = dim3(block);
    config.attrs = attributes;
    config.numAttrs = 1;
  }
  /// Of convolutions with so many blocks for each tile of output channels.
  Launch(const FusedPlan& plan, unsigned blocks, unsigned groups, unsigned block, int shared_bytes)
      : Launch(dim3(blocks, groups * static_cast<unsigned>(plan.row_tiles), static_cast<unsigned>(plan.splits)),
               block) {
    config.dynamicSmemBytes = static_cast<std::size_t>(shared_bytes);
    attributes[1].id = cudaLaunchAttributeClusterDimension;
    attributes[1].val.clusterDim = {1, 1, static_cast<unsigned>(plan.splits)};
    if (plan.splits > 1) config.numAttrs = 2;
  }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;
};

/// Calls action<T, precision>() with those of the plan.
template <class Action>
auto with_precision(const FusedPlan& plan, const Action& action) {
  switch (plan.type) {
    case ElementType::f16: return action.template operator()<f16, Precision::f16>();
    case ElementType::bf16: return action.template operator()<bf16, Precision::bf16>();
    default: break;
  }
  if (plan.tf32) return action.template operator()<float, Precision::tf32>();
  return action.template operator()<float, Precision::f32>();
}

/// The forms of columns that are made in registers.
template <class Samples, class T, Precision precision>
struct FormsInRegisters {
  static constexpr bool packs = true, in_order = false;
  static constexpr std::size_t most_convolutions = Samples::most_convolutions;

  static int block_threads(const FusedPlan&, const Windows&) { return threads; }

  static int shared_bytes(const FusedPlan& plan, const Windows&) {
    constexpr int corners = Samples::corner_count;
    const int table = plan.pixels == 64 ? SampleTable<corners, 64>{plan.phase_taps}.bytes()
                                        : SampleTable<corners, 128>{plan.phase_taps}.bytes();
    const int stages = stages_of<precision>(plan.rows), stage_bytes = Tile<precision>::bytes(plan.rows);
    return SharedLayout(stages, stage_bytes, plan.rows, plan.pixels, table).bytes;
  }

  template <bool has_part, int most, class Action>
  static auto with_kernel(const FusedPlan& plan, const Action& action) {
    if constexpr (Samples::template has_64_pixels<T>) {
      if (plan.pixels == 64) {
        return plan.rows == 256 ? action(convolve<Samples, T, precision, 256, 64, has_part, most>)
                                : action(convolve<Samples, T, precision, 128, 64, has_part, most>);
      }
    }
    if (plan.rows == 256) return action(convolve<Samples, T, precision, 256, 128, has_part, most>);
    if (plan.rows == 128) return action(convolve<Samples, T, precision, 128, 128, has_part, most>);
    if constexpr (sizeof(T) == 4) {
      if (plan.rows == 192) return action(convolve<Samples, T, precision, 192, 128, has_part, most>);
      if (plan.rows == 96) return action(convolve<Samples, T, precision, 96, 128, has_part, most>);
    }
    if constexpr (precision == Precision::f32 && Samples::least_rows == 32) {
      if (plan.rows == 32) return action(convolve<Samples, T, precision, 32, 128, has_part, most>);
    }
    return action(convolve<Samples, T, precision, 64, 128, has_part, most>);
  }

  template <int most>
  static const FusedBatch<most>& arguments(const FusedBatch<most>& batch, std::span<const FusedConvolution>) {
    return batch;
  }
};

/// The fused path of an operator: what FusedKernels asks for.
template <class Samples, template <class T, Precision precision> class FormsOf>
class FusedPath {
 public:
  static int clusters_at_once(const ConvolutionLabels& labels, const FusedPlan& plan) {
    return with_precision(plan, [&]<class T, Precision precision>() {
      return with_kernel<T, precision, 1>(plan, [&](auto* kernel) {
        FusedPlan one = plan;
        one.row_tiles = 1;
        using Forms = FormsOf<T, precision>;
        const Launch launch(one, 1, 1, Forms::block_threads(plan, {}), Forms::shared_bytes(plan, {}));
        int count = 0;
        prepare<Forms>(labels, kernel, plan, {});
        check_cuda(cudaOccupancyMaxActiveClusters(&count, kernel, &launch.config), labels.fused,
                   "cudaOccupancyMaxActiveClusters");
        return count;
      });
    });
  }

  static void run(const ConvolutionLabels& labels, void* stream, std::span<const FusedConvolution> convolutions) {
    with_precision(convolutions.front().plan, [&]<class T, Precision precision>() {
      auto* const on = static_cast<cudaStream_t>(stream);
      // One alone has kernels that know at compile time where its arguments are.
      if (convolutions.size() == 1) return launch<T, precision, 1>(labels, on, convolutions);
      constexpr std::size_t most = FormsOf<T, precision>::most_convolutions;
      for (std::size_t first = 0; first < convolutions.size(); first += most) {
        const std::size_t count = std::min(convolutions.size() - first, most);
        launch<T, precision, most>(labels, on, convolutions.subspan(first, count));
      }
    });
  }

 private:
  static FusedArguments arguments_of(const FusedConvolution& convolution) {
    const auto& [windows, plan, operands] = convolution;
    return {
        .windows = windows,
        .operands = operands,
        .splits = plan.splits,
        .run_bytes = plan.run_bytes,
        .run_chunks = plan.run_chunks,
        .group_chunks = plan.group_chunks,
        .deformable_chunks = static_cast<int>(windows.deformable_channels() / windows.channel_run()) * plan.run_chunks,
        .phase_taps = plan.phase_taps,
        .steps = plan.steps,
        .row_tiles = plan.row_tiles,
        .is_alone = plan.load <= 1,
        .kernel_width = Divisor(static_cast<std::uint32_t>(windows.kernel_width))};
  }

  /// Calls action(kernel) with the one that the plan is for.
  template <class T, Precision precision, int most, class Action>
  static auto with_kernel(const FusedPlan& plan, const Action& action) {
    using Forms = FormsOf<T, precision>;
    if (plan.run_bytes % chunk_bytes == 0) return Forms::template with_kernel<false, most>(plan, action);
    return Forms::template with_kernel<true, most>(plan, action);
  }
  /// As much shared memory as any call of the kernel needs or, of resident blocks, as this one does.
  template <class Forms, class Kernel>
  static void prepare(const ConvolutionLabels& labels, Kernel* kernel, FusedPlan plan, const Windows& windows) {
    plan.phase_taps = FusedPlan::most_phase_taps;
    plan.load = 1;
    allow_shared_memory(reinterpret_cast<const void*>(kernel), Forms::shared_bytes(plan, windows), labels.fused);
  }

  /// Packs the weights of a launch.
  template <class T, Precision precision, int most>
  static void pack(const ConvolutionLabels& labels, cudaStream_t stream, std::span<const FusedConvolution> convolutions,
                   const FusedBatch<most>& batch) {
    constexpr unsigned block = 256;
    FusedBatch<most> packed;
    WeightPiecesOf<most> pieces;
    for (std::size_t i = 0; i < convolutions.size(); ++i) {
      const FusedPlan& plan = convolutions[i].plan;
      const FusedArguments& arguments = batch.arguments[i];
      pieces.of[i] = WeightPieces(arguments, plan.row_tiles * plan.rows);
      packed.add(arguments, static_cast<std::uint32_t>(ceil_div(pieces.of[i].all, block)));
    }
    Launch launch(dim3(packed.blocks()), block);
    launch.config.stream = stream;
    check_cuda(cudaLaunchKernelEx(&launch.config, pack_weight<T, precision, FormsOf<T, precision>::in_order, most>,
                                  packed, pieces, convolutions.front().plan.rows),
               labels.fused, "cudaLaunchKernelEx (packing the weight)");
  }

  template <class T, Precision precision, int most>
  static void launch(const ConvolutionLabels& labels, cudaStream_t stream,
                     std::span<const FusedConvolution> convolutions) {
    using Forms = FormsOf<T, precision>;
    const FusedPlan& form = convolutions.front().plan;
    FusedBatch<most> batch;
    int bytes = 0;
    for (const FusedConvolution& convolution : convolutions) {
      const FusedPlan& plan = convolution.plan;
      batch.add(arguments_of(convolution), static_cast<std::uint32_t>(plan.blocks));
      bytes = std::max(bytes, Forms::shared_bytes(plan, convolution.windows));
    }
    if constexpr (Forms::packs) pack<T, precision, most>(labels, stream, convolutions, batch);
    with_kernel<T, precision, most>(form, [&](auto* kernel) {
      const Windows& windows = convolutions.front().windows;
      prepare<Forms>(labels, kernel, form, windows);
      const auto groups = static_cast<unsigned>(windows.groups);
      Launch convolve(form, batch.blocks(), groups, Forms::block_threads(form, windows), bytes);
      convolve.config.stream = stream;
      // Behind another kernel than that which packs it may not start before that has ended: it reads biases at once.
      convolve.attributes[0].val.programmaticStreamSerializationAllowed = Forms::packs ? 1 : 0;
      check_cuda(cudaLaunchKernelEx(&convolve.config, kernel, Forms::arguments(batch, convolutions)), labels.fused,
                 "cudaLaunchKernelEx (the convolution)");
    });
  }
};

}  // namespace portops::impl::fused_sm90
