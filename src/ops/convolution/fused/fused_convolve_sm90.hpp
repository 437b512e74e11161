// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/cuda/cuda_calls.hpp"
#include "core/exec/cuda/cuda_device.hpp"
#include "core/exec/cuda/kernel_order.hpp"
#include "ops/convolution/fused/fused.hpp"
#include "ops/convolution/fused/fused_columns_sm90.hpp"
#include "ops/convolution/fused/fused_weight_sm90.hpp"

#include <algorithm>
#include <span>

// The fused kernel and its launches. For _sm90.cu alone, which say how samples are found: see fused_columns_sm90.hpp.
// Which kernels an operator has in an element type is a parameter of the launches, a struct Forms with
//
//   block_threads                                  of a block
//   packs, in_order                                whether the weight is packed, and its channels then in their order
//   layout(plan)                                   the SharedLayout
//   with_kernel<has_part, most>(plan, action)      calls action(kernel) with that of the plan
//   arguments(FusedBatch, convolutions)            what the kernel is given

namespace portops::impl::fused_sm90 {

/// Tiles of the weight that lie in shared memory: as many as leave room for the samples.
template <Precision precision>
__host__ __device__ constexpr int stages_of(int rows) {
  return Tile<precision>::bytes(rows) > 32768 ? 3 : 4;
}

/// Where neighbours among the sums of a block lie in out.
enum class OutOrder : std::uint8_t { pixels, channels };

/// The sums of a block's share of the inner axis in shared memory: a row of pixels for each output channel, or a row of
/// channels for each pixel. The padding spreads what a warp writes at once, 8 pixels of 4 pairs of channels, over the
/// banks.
template <OutOrder order>
struct SumsLayout {
  int rows, pixels;

  __host__ __device__ constexpr int stride() const { return order == OutOrder::pixels ? pixels + 4 : rows + 8; }
  __host__ __device__ constexpr int size() const { return (order == OutOrder::pixels ? rows : pixels) * stride(); }
  __host__ __device__ constexpr int at(int channel, int pixel) const {
    return order == OutOrder::pixels ? channel * stride() + pixel : pixel * stride() + channel;
  }
};

__host__ __device__ constexpr int sums_bytes(int rows, int pixels) {
  const int by_pixels = SumsLayout<OutOrder::pixels>{rows, pixels}.size();
  const int by_channels = SumsLayout<OutOrder::channels>{rows, pixels}.size();
  return shares_of(pixels) * (by_pixels > by_channels ? by_pixels : by_channels) * 4;
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

constexpr std::int64_t no_target = INT64_MIN;

/// The part of a tile's channels that a block writes.
struct Part {
  int begin;  ///< a multiple of 8
  int width;  ///< a power of two, 8 or more
  int end;    ///< of those that there are
};

/// Adds up the sums of all warpgroups, of this block and of the others of its cluster, that share the inner axis, for a
/// part of the tile: in this block's memory, in that of its first warpgroup.
template <OutOrder order, int rows, int pixels>
__device__ __forceinline__ void join_sums(float* sums, SharedAddress address, const Part& part, int block, int blocks) {
  constexpr SumsLayout<order> layout{rows, pixels};
  constexpr int shares = shares_of(pixels), packs = pixels / 4;
  const auto add = [](float4& sum, const float4& other) {
    sum.x += other.x;
    sum.y += other.y;
    sum.z += other.z;
    sum.w += other.w;
  };
  const int shift = __popc(part.width / 4 - 1);  // packs of channels as a power of two
  const int first = order == OutOrder::pixels ? part.begin * packs : 0;
  const int end = order == OutOrder::pixels ? part.end * packs : pixels << shift;
#pragma unroll 4
  for (int i = first + static_cast<int>(threadIdx.x); i < end; i += threads) {
    const int at = order == OutOrder::pixels ? layout.at(i / packs, i % packs * 4)
                                             : layout.at(part.begin + (i & ((1 << shift) - 1)) * 4, i >> shift);
    float4 sum = *reinterpret_cast<const float4*>(sums + at);
    if constexpr (shares > 1) add(sum, *reinterpret_cast<const float4*>(sums + layout.size() + at));
#pragma unroll
    for (int k = 1; k < most_splits; ++k) {
      if (k == blocks) break;
#pragma unroll
      for (int share = 0; share < shares; ++share) {
        add(sum, blas::sm90::read_of_block(address + 4 * (share * layout.size() + at), (block + k) % blocks));
      }
    }
    *reinterpret_cast<float4*>(sums + at) = sum;
  }
}

/// Writes a part of the sums to `out`, where the tile's first channel lies: each thread a pixel, channel by channel.
template <int rows, int pixels, class T>
__device__ __forceinline__ void write_by_pixels(T* out, std::int64_t stride, const std::int64_t* targets,
                                                const float* biases, const float* sums, const Part& part) {
  constexpr SumsLayout<OutOrder::pixels> layout{rows, pixels};
  constexpr int together = threads / pixels;
  const int pixel = static_cast<int>(threadIdx.x) % pixels;
  const int first = part.begin + static_cast<int>(threadIdx.x) / pixels;
  if (targets[pixel] == no_target) return;
  sums += layout.at(first, pixel);
  out += targets[pixel] + first * stride;
#pragma unroll 8
  for (int channel = first; channel < part.end; channel += together) {
    *out = static_cast<T>(biases[channel] + *sums);
    out += together * stride;
    sums += together * layout.stride();
  }
}

/// The same where channels are neighbours: each thread 16 bytes of a pixel's.
template <int rows, int pixels, class T>
__device__ __forceinline__ void write_by_channels(T* out, const std::int64_t* targets, const float* biases,
                                                  const float* sums, const Part& part) {
  constexpr SumsLayout<OutOrder::channels> layout{rows, pixels};
  constexpr int width = 16 / sizeof(T);
  const int shift = __popc(part.width / width - 1);
#pragma unroll 2
  for (int i = static_cast<int>(threadIdx.x); i < pixels << shift; i += threads) {
    const int pixel = i >> shift, channel = part.begin + (i & ((1 << shift) - 1)) * width;
    if (targets[pixel] == no_target) continue;
    alignas(16) T values[width];
#pragma unroll
    for (int k = 0; k < width; k += 4) {
      const float4 sum = *reinterpret_cast<const float4*>(sums + layout.at(channel + k, pixel));
      const float4 bias = *reinterpret_cast<const float4*>(biases + channel + k);
      values[k] = static_cast<T>(bias.x + sum.x);
      values[k + 1] = static_cast<T>(bias.y + sum.y);
      values[k + 2] = static_cast<T>(bias.z + sum.z);
      values[k + 3] = static_cast<T>(bias.w + sum.w);
    }
    T* const to = out + targets[pixel] + channel;
    if (channel + width <= part.end && reinterpret_cast<std::uintptr_t>(to) % 16 == 0) {
      *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(values);
    } else {
#pragma unroll
      for (int k = 0; k < width; ++k) {
        if (channel + k < part.end) to[k] = values[k];
      }
    }
  }
}

/// Brings the sums of a block's threads to out, by way of shared memory.
template <OutOrder order, int rows, int pixels, class T, class Product>
__device__ __forceinline__ void write_tile(const FusedArguments& arguments, const BlockTile& tile,
                                           const Product& product, float* sums, SharedAddress address,
                                           const std::int64_t* targets, const float* biases) {
  constexpr SumsLayout<order> layout{rows, pixels};
  constexpr int shares = shares_of(pixels);
  const int warpgroup = static_cast<int>(threadIdx.x) / 128;
  float* const own_sums = shares == 1 ? sums + layout.at(0, warpgroup * 64) : sums + warpgroup * layout.size();
  product.for_rows([&](int pixel, int first_channel, const auto& pair_at) {
#pragma unroll
    for (int i = 0; i < rows / 8; ++i) {
      const float2 pair = pair_at(i);
      const int channel = first_channel + 8 * i;
      if constexpr (order == OutOrder::pixels) {
        own_sums[layout.at(channel, pixel)] = pair.x;
        own_sums[layout.at(channel + 1, pixel)] = pair.y;
      } else {
        *reinterpret_cast<float2*>(own_sums + layout.at(channel, pixel)) = pair;
      }
    }
  });
  // Each block of a cluster writes some of the channels.
  const int width = rows / arguments.splits, begin = width * tile.split;
  const Part part{begin, width, min(tile.channels, begin + width)};
  if (arguments.splits > 1) {
    blas::sm90::synchronize_cluster();
  } else {
    blas::sm90::synchronize<3, threads>();
  }
  if (shares > 1 || arguments.splits > 1) {
    join_sums<order, rows, pixels>(sums, address, part, tile.split, arguments.splits);
    blas::sm90::synchronize<3, threads>();
  }
  const Tensor4& tensor = arguments.operands.out;
  T* const out = static_cast<T*>(tensor.data) + tile.first_out_channel * tensor.stride[1];
  if constexpr (order == OutOrder::pixels) {
    write_by_pixels<rows, pixels>(out, tensor.stride[1], targets, biases, sums, part);
  } else {
    write_by_channels<rows, pixels>(out, targets, biases, sums, part);
  }
}

/// Where a block's pixels lie in out, and the biases of its output channels.
template <class T, int rows, int pixels, class Locate>
__device__ void prepare_output(const FusedArguments& arguments, const BlockTile& tile, std::int64_t* targets,
                               float* biases, const Locate& locate_pixel) {
  const int thread = threadIdx.x;
  if (thread < pixels) {
    targets[thread] = no_target;
    if (tile.first_pixel + thread < arguments.windows.images * arguments.windows.pixels()) {
      const Pixel at = locate_pixel(arguments.windows, tile.first_pixel + thread);
      const Tensor4& out = arguments.operands.out;
      targets[thread] = at.image * out.stride[0] + at.y * out.stride[2] + at.x * out.stride[3];
    }
  }
  if (thread < rows) {
    const auto* const bias = static_cast<const T*>(arguments.operands.bias);
    biases[thread] = bias == nullptr || thread >= tile.channels
                         ? 0.0f
                         : static_cast<float>(bias[(tile.first_out_channel + thread) * arguments.operands.bias_stride]);
  }
}

/// out = bias + weight · columns for a tile of pixels and output channels. A warpgroup makes the columns of a step of
/// its pixels in registers, where they are one operand of the product. While one warpgroup makes columns, the other one
/// multiplies.
template <class Samples, class T, Precision precision, int rows, int pixels, bool has_part, int most>
__global__ __launch_bounds__(threads, Samples::blocks_at_once(rows)) void convolve(
    const __grid_constant__ FusedBatch<most> batch) {
  const int its = batch.index();
  const FusedArguments& arguments = batch.arguments[its];
  constexpr int stages = stages_of<precision>(rows), stage_bytes = Tile<precision>::bytes(rows);
  constexpr int shares = shares_of(pixels);
  using Product = blas::sm90::TileProduct<precision, rows>;
  // A product in parts takes longer than its columns do, and leaves no registers for loads: warpgroups take turns, so
  // that one makes columns while the other one multiplies.
  constexpr bool takes_turns = Product::parts > 1, loads_ahead = Product::parts == 1;
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
    Samples::template find<T, pixels>(arguments, phase, tile.first_pixel, shared + layout.samples);
    __syncthreads();
    wait_for_kernel_before();

    const int own_begin = begin + (share + shares - begin % shares) % shares;
    begin = phase.end;
    if (own_begin >= phase.end) continue;
    maker.start(tile.group * arguments.group_chunks + phase.chunk, phase.tap + own_begin - phase.begin, phase.taps);
    for (int i = own_begin; i < phase.end; i += shares) {
      RowsInRegisters<precision> columns;
      // After the last step the same is loaded again, for nothing.
      maker.make(columns, i + shares < phase.end ? shares : 0);
      const unsigned step = i;
      full(step).wait(step / stages % 2);
      const int turn = shares == 1 ? 2 * i + thread / 128 : i;
      if constexpr (takes_turns) turns.take(turn);
      product.template add<false>(columns, memory + step % stages * stage_bytes, [&] {
        if constexpr (takes_turns) turns.pass(turn, 2 / shares * tile.steps);
      });
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
  float* const sums = reinterpret_cast<float*>(shared);
  const Tensor4& out = arguments.operands.out;
  if (out.stride[1] == 1 && out.stride[3] != 1) {
    write_tile<OutOrder::channels, rows, pixels, T>(arguments, tile, product, sums, memory, targets, biases);
  } else {
    write_tile<OutOrder::pixels, rows, pixels, T>(arguments, tile, product, sums, memory, targets, biases);
  }
  // The others may still be reading this block's sums.
  if (arguments.splits > 1) blas::sm90::synchronize_cluster();
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
  /// Of convolutions with so many tiles of pixels.
  Launch(const FusedPlan& plan, unsigned pixel_tiles, unsigned groups, unsigned block, int shared_bytes)
      : Launch(dim3(pixel_tiles, groups * static_cast<unsigned>(plan.row_tiles), static_cast<unsigned>(plan.splits)),
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
  static constexpr int block_threads = threads;

  static SharedLayout layout(const FusedPlan& plan) {
    constexpr int corners = Samples::corner_count;
    const int table = plan.pixels == 64 ? SampleTable<corners, 64>{plan.phase_taps}.bytes()
                                        : SampleTable<corners, 128>{plan.phase_taps}.bytes();
    return {stages_of<precision>(plan.rows), Tile<precision>::bytes(plan.rows), plan.rows, plan.pixels, table};
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
        const Launch launch(one, 1, 1, Forms::block_threads, shared_bytes<Forms>(plan));
        int count = 0;
        prepare<Forms>(labels, kernel, plan);
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
      constexpr std::size_t most = Samples::most_convolutions;
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
  template <class Forms>
  static int shared_bytes(const FusedPlan& plan) {
    return Forms::layout(plan).bytes;
  }

  /// As much as any call of the kernel needs.
  template <class Forms, class Kernel>
  static void prepare(const ConvolutionLabels& labels, Kernel* kernel, FusedPlan plan) {
    plan.phase_taps = FusedPlan::most_phase_taps;
    plan.load = 1;
    allow_shared_memory(reinterpret_cast<const void*>(kernel), shared_bytes<Forms>(plan), labels.fused);
  }

  template <class T, Precision precision, int most>
  static void launch(const ConvolutionLabels& labels, cudaStream_t stream,
                     std::span<const FusedConvolution> convolutions) {
    using Forms = FormsOf<T, precision>;
    constexpr unsigned block = 256;
    const FusedPlan& form = convolutions.front().plan;
    FusedBatch<most> packed, batch;
    WeightUnitsOf<most> units;
    int bytes = 0;
    for (const FusedConvolution& convolution : convolutions) {
      const FusedPlan& plan = convolution.plan;
      const FusedArguments arguments = arguments_of(convolution);
      const WeightUnits own(arguments, plan.group_chunks * Tile<precision>::units, plan.row_tiles * plan.rows);
      units.of[packed.count] = own;
      packed.add(arguments, (own.all + block - 1) / block);
      batch.add(arguments, static_cast<std::uint32_t>(plan.pixel_tiles));
      bytes = std::max(bytes, shared_bytes<Forms>(plan));
    }
    if constexpr (Forms::packs) {
      Launch pack(dim3(packed.blocks()), block);
      pack.config.stream = stream;
      check_cuda(
          cudaLaunchKernelEx(&pack.config, pack_weight<T, precision, Forms::in_order, most>, packed, units, form.rows),
          labels.fused, "cudaLaunchKernelEx (packing the weight)");
    }
    with_kernel<T, precision, most>(form, [&](auto* kernel) {
      prepare<Forms>(labels, kernel, form);
      const auto groups = static_cast<unsigned>(convolutions.front().windows.groups);
      Launch convolve(form, batch.blocks(), groups, Forms::block_threads, bytes);
      convolve.config.stream = stream;
      convolve.attributes[0].val.programmaticStreamSerializationAllowed = Forms::packs ? 1 : 0;
      check_cuda(cudaLaunchKernelEx(&convolve.config, kernel, Forms::arguments(batch, convolutions)), labels.fused,
                 "cudaLaunchKernelEx (the convolution)");
    });
  }
};

}  // namespace portops::impl::fused_sm90
