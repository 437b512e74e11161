// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/deform_conv2d/fused_sm90.hpp"

#include "blas/tensor_cores_sm90.hpp"
#include "core/check.hpp"
#include "core/divide.hpp"
#include "ops/deform_conv2d/sample.hpp"

#include <algorithm>

namespace portops::impl {
namespace {

using blas::sm90::Operand;
using blas::sm90::SharedAddress;
using blas::sm90::Tile;

// Four warpgroups: two multiply, two make columns.
constexpr int threads = 512;
constexpr int consumers = 256;
constexpr int producers = 256;
constexpr int chunk_bytes = 128;
constexpr int most_splits = FusedPlan::most_splits;

template <class T>
constexpr Operand operand_of(bool tf32) {
  if (std::is_same_v<T, f16>) return Operand::f16;
  if (std::is_same_v<T, bf16>) return Operand::bf16;
  return tf32 ? Operand::tf32 : Operand::f32;
}

/// A sample of the block's pixels: where its corner above left lies in x, in units of 16 bytes, and two bits that tell
/// whether the corners to the right and below are other pixels; or outside.
using Place = std::uint32_t;
constexpr Place outside = ~Place{0};

constexpr int stages = 3;
constexpr int most_phase_taps = FusedPlan::most_phase_taps;

/// What a block has in shared memory: the stages, each a tile of the weight and one of columns, then barriers and
/// tables.
struct SharedLayout {
  int stage, barriers, targets, places, weights;

  __host__ __device__ constexpr SharedLayout(int stage_bytes, int pixels)
      : stage(stage_bytes),
        barriers(stages * stage_bytes),                    // two a stage
        targets(barriers + stages * 16),                   // where each pixel lies in out
        places(targets + pixels * 8),                      // of each sample of a phase, tap by tap
        weights(places + most_phase_taps * pixels * 4) {}  // the corners' weights of each sample, times its mask

  __host__ __device__ constexpr int bytes(int pixels, int phase_taps) const {
    return weights + phase_taps * pixels * 16;
  }
};

constexpr int tile_bytes(Operand operand, int rows) {
  switch (operand) {
    case Operand::f16: return Tile<Operand::f16>::bytes(rows);
    case Operand::bf16: return Tile<Operand::bf16>::bytes(rows);
    case Operand::tf32: return Tile<Operand::tf32>::bytes(rows);
    case Operand::f32: break;
  }
  return Tile<Operand::f32>::bytes(rows);
}

Operand operand_of(const FusedPlan& plan) {
  switch (plan.type) {
    case ElementType::f16: return Operand::f16;
    case ElementType::bf16: return Operand::bf16;
    default: return plan.tf32 ? Operand::tf32 : Operand::f32;
  }
}

/// What kernels know of a call.
struct Call {
  Windows windows;
  FusedOperands operands;
  int splits, run_chunks, group_chunks, phase_taps, steps, row_tiles;

  /// The deformable group of a chunk of a group.
  __device__ int deformable_group(int group, int chunk) const {
    const std::int64_t run = (static_cast<std::int64_t>(group) * group_chunks + chunk) / run_chunks;
    const std::int64_t runs = windows.groups * group_chunks / run_chunks;
    return static_cast<int>(run * windows.deformable_groups / runs);
  }
};

/// A pixel of out. They are counted image by image, and in it in strips of 16 columns, so that those of a block lie
/// close together and sample the same pixels of x.
struct Pixel {
  std::int64_t image, y, x;
};

__device__ Pixel locate(const Windows& windows, std::int64_t index) {
  constexpr std::int64_t width = 16;
  const std::int64_t image = quotient(index, windows.pixels());
  const std::int64_t in_image = index - image * windows.pixels();
  const std::int64_t strip = quotient(in_image, width * windows.out_height);
  const std::int64_t in_strip = in_image - strip * width * windows.out_height;
  const std::int64_t left = windows.out_width - strip * width;
  const std::int64_t y = quotient(in_strip, left < width ? left : width);
  return {image, y, strip * width + in_strip - y * (left < width ? left : width)};
}

/// Where a step lies on the inner axis.
struct StepPlace {
  int first_tap, taps;  ///< of its phase
  int chunk, tap;       ///< tap of the phase
};

__device__ StepPlace locate_step(const Call& call, int step) {
  const int taps = static_cast<int>(call.windows.taps());
  const int phase = step / (call.phase_taps * call.group_chunks);
  const int first_tap = phase * call.phase_taps;
  const int of_phase = min(call.phase_taps, taps - first_tap);
  const int in_phase = step - first_tap * call.group_chunks;
  return {first_tap, of_phase, in_phase / of_phase, in_phase % of_phase};
}

// --- the weight --------------------------------------------------------------------------------------------

/// The parts of 16 bytes, of each piece, that a row of the packed weight has.
struct WeightParts {
  Divisor taps;       ///< of the kernel, fastest
  Divisor of_tap;     ///< those of a tap: of all chunks of a group
  Divisor rows;       ///< of all tiles of a group
  std::uint32_t all;  ///< of all groups
};

/// Packs the weight into the tiles that blocks copy: [group][row tile][step][tile]. Neighbouring threads take
/// neighbours in the weight.
template <class T, Operand operand>
__global__ void pack_weight(const __grid_constant__ Call call, WeightParts parts, int tile_rows) {
  using Layout = Tile<operand>;
  constexpr int part_channels = Layout::channels / Layout::parts;
  const std::uint32_t index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= parts.all) return;
  const std::uint32_t part_of_all = parts.taps.quotient(index);
  const int tap = static_cast<int>(index - part_of_all * parts.taps.value());
  const std::uint32_t row_of_all = parts.of_tap.quotient(part_of_all);
  const int part_of_row = static_cast<int>(part_of_all - row_of_all * parts.of_tap.value());
  const std::uint32_t group = parts.rows.quotient(row_of_all);
  const int row = static_cast<int>(row_of_all - group * parts.rows.value());
  const int chunk = part_of_row / Layout::parts, part = part_of_row % Layout::parts;

  const Windows& windows = call.windows;
  const Tensor4& weight = call.operands.weight;
  const int run = static_cast<int>(windows.group_channels()) / (call.group_chunks / call.run_chunks);
  const int in_run = chunk % call.run_chunks * Layout::channels + part * part_channels;
  const int first_channel = chunk / call.run_chunks * run + in_run;
  const int tap_y = tap / static_cast<int>(windows.kernel_width);
  const int tap_x = tap - tap_y * static_cast<int>(windows.kernel_width);
  const T* const from = static_cast<const T*>(weight.data) +
                        weight.offset(group * windows.group_out_channels() + row, first_channel, tap_y, tap_x);
  const int channels = row < windows.group_out_channels() ? run - in_run : 0;
  float element[part_channels];
#pragma unroll
  for (int i = 0; i < part_channels; ++i) {
    element[i] = i < channels ? static_cast<float>(from[i * weight.stride[1]]) : 0.0f;
  }

  const int first_tap = tap / call.phase_taps * call.phase_taps;
  const int taps = min(call.phase_taps, static_cast<int>(windows.taps()) - first_tap);
  const std::int64_t step = first_tap * call.group_chunks + chunk * taps + tap - first_tap;
  const std::int64_t row_tile = static_cast<std::int64_t>(group) * call.row_tiles + row / tile_rows;
  char* const to = static_cast<char*>(call.operands.packed_weight) +
                   (row_tile * call.steps + step) * Layout::bytes(tile_rows) + Layout::offset(row % tile_rows, part);
  if constexpr (operand == Operand::tf32) {
    using blas::sm90::tf32_bits;
    *reinterpret_cast<uint4*>(to) =
        make_uint4(tf32_bits(element[0]), tf32_bits(element[1]), tf32_bits(element[2]), tf32_bits(element[3]));
  } else {
    std::uint32_t pairs[4][Layout::pieces];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if constexpr (operand == Operand::f32) {
        blas::sm90::split_pair(element[2 * j], element[2 * j + 1], pairs[j]);
      } else if constexpr (operand == Operand::f16) {
        pairs[j][0] = blas::sm90::f16_pair(element[2 * j], element[2 * j + 1]);
      } else {
        pairs[j][0] = blas::sm90::bf16_pair(element[2 * j], element[2 * j + 1]);
      }
    }
#pragma unroll
    for (int piece = 0; piece < Layout::pieces; ++piece) {
      *reinterpret_cast<uint4*>(to + piece * tile_rows * Layout::row_bytes) =
          make_uint4(pairs[0][piece], pairs[1][piece], pairs[2][piece], pairs[3][piece]);
    }
  }
}

// --- columns -----------------------------------------------------------------------------------------------

__device__ __forceinline__ std::uint32_t word_of(const uint4& vector, int i) {
  return i == 0 ? vector.x : i == 1 ? vector.y : i == 2 ? vector.z : vector.w;
}

/// 16 bytes of neighbouring channels: what a thread makes of the four corners' at a time.
template <class T, Operand operand>
struct Vector {
  uint4 corner[corners];

  /// Writes the sample into a tile of columns: row `pixel`, the channels of 16-byte vector `vector` of the chunk.
  __device__ __forceinline__ void blend_into(char* tile, int rows, int pixel, int vector, const float4& weights) const {
    using Layout = Tile<operand>;
    const float weight[corners] = {weights.x, weights.y, weights.z, weights.w};
    if constexpr (sizeof(T) == 4) {
      float value[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        value[i] = weight[0] * __uint_as_float(word_of(corner[0], i));
#pragma unroll
        for (int k = 1; k < corners; ++k) value[i] = fmaf(weight[k], __uint_as_float(word_of(corner[k], i)), value[i]);
      }
      if constexpr (operand == Operand::tf32) {
        using blas::sm90::tf32_bits;
        *reinterpret_cast<uint4*>(tile + Layout::offset(pixel, vector)) =
            make_uint4(tf32_bits(value[0]), tf32_bits(value[1]), tf32_bits(value[2]), tf32_bits(value[3]));
      } else {
        std::uint32_t first[3], second[3];
        blas::sm90::split_pair(value[0], value[1], first);
        blas::sm90::split_pair(value[2], value[3], second);
        char* const to = tile + Layout::offset(pixel, vector / 2) + vector % 2 * 8;
#pragma unroll
        for (int piece = 0; piece < 3; ++piece) {
          *reinterpret_cast<uint2*>(to + piece * rows * Layout::row_bytes) = make_uint2(first[piece], second[piece]);
        }
      }
    } else {
      std::uint32_t pair[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float first = 0.0f, second = 0.0f;
#pragma unroll
        for (int k = 0; k < corners; ++k) {
          const std::uint32_t word = word_of(corner[k], i);
          if constexpr (operand == Operand::f16) {
            const float2 both = __half22float2(*reinterpret_cast<const __half2*>(&word));
            first = fmaf(weight[k], both.x, first);
            second = fmaf(weight[k], both.y, second);
          } else {
            first = fmaf(weight[k], blas::sm90::first_of_bf16_pair(word), first);
            second = fmaf(weight[k], blas::sm90::second_of_bf16_pair(word), second);
          }
        }
        pair[i] = operand == Operand::f16 ? blas::sm90::f16_pair(first, second) : blas::sm90::bf16_pair(first, second);
      }
      *reinterpret_cast<uint4*>(tile + Layout::offset(pixel, vector)) = make_uint4(pair[0], pair[1], pair[2], pair[3]);
    }
  }
};

/// Finds the samples of a phase, for the block's pixels and one deformable group.
template <class T>
__device__ void find_samples(const Call& call, const StepPlace& phase, int deformable_group, std::int64_t first_pixel,
                             int pixels, float4* weights, Place* places) {
  const Windows& windows = call.windows;
  const Sampler<T, float> sampler(windows, call.operands.offset, call.operands.mask);
  const std::int64_t all_pixels = windows.images * windows.pixels();
  for (int i = static_cast<int>(threadIdx.x) - consumers; i < pixels * phase.taps; i += producers) {
    const int pixel = i % pixels, tap = i / pixels;
    float weight[corners] = {};
    Place place = outside;
    if (first_pixel + pixel < all_pixels) {
      const Pixel at = locate(windows, first_pixel + pixel);
      const Sample<float> sample =
          sampler({at.image, at.y * windows.out_width + at.x, deformable_group, phase.first_tap + tap});
      sample.weights(weight);
#pragma unroll
      for (float& w : weight) w *= sample.factor;
      if (sample.is_outside()) {
        // What is read for it is 0.
        weight[0] = sample.is_nan ? __int_as_float(0x7fffffff) : sample.factor;
      } else {
        const std::int64_t units =
            sample.image * call.operands.x_image + sample.y * call.operands.x_row + sample.x * call.operands.x_pixel;
        place = static_cast<Place>(units) << 2 | (sample.steps_down ? 2u : 0u) | (sample.steps_right ? 1u : 0u);
      }
    }
    weights[tap * pixels + pixel] = make_float4(weight[0], weight[1], weight[2], weight[3]);
    places[tap * pixels + pixel] = place;
  }
}

constexpr std::int64_t no_target = INT64_MIN;

/// out = bias + weight · columns for a tile of output channels and pixels. Two warpgroups make the columns of a step in
/// shared memory, the loads of the next ones on their way, and two multiply them with the weight.
template <class T, Operand operand, int blocks, int pixels>
__global__ __launch_bounds__(threads, 1) void convolve(const __grid_constant__ Call call) {
  using Layout = Tile<operand>;
  constexpr int rows = 128 * blocks;
  constexpr int weight_bytes = Layout::bytes(rows), columns_bytes = Layout::bytes(pixels);
  constexpr int vectors = chunk_bytes / 16;            // of a pixel and step
  constexpr int tasks = pixels * vectors / producers;  // vectors of a thread and step
  // Vectors whose loads are on their way: what the registers hold.
  constexpr int flight = blocks * pixels == 256 ? 2 : 4;
  constexpr int unrolled = flight > tasks ? flight / tasks : 1;  // steps
  constexpr int consumer_registers = blocks * pixels == 256 ? 160 : 144;
  extern __shared__ __align__(1024) char shared[];
  constexpr SharedLayout layout(weight_bytes + columns_bytes, pixels);
  auto* const sample_weights = reinterpret_cast<float4*>(shared + layout.weights);
  auto* const places = reinterpret_cast<Place*>(shared + layout.places);
  auto* const targets = reinterpret_cast<std::int64_t*>(shared + layout.targets);

  const Windows& windows = call.windows;
  const int thread = threadIdx.x;
  const std::int64_t first_pixel = static_cast<std::int64_t>(blockIdx.x) * pixels;
  const int group = static_cast<int>(blockIdx.y) / call.row_tiles;
  const int row_tile = static_cast<int>(blockIdx.y) % call.row_tiles;
  const int split = blockIdx.z;
  const int first = static_cast<int>(static_cast<std::int64_t>(call.steps) * split / call.splits);
  const int last = static_cast<int>(static_cast<std::int64_t>(call.steps) * (split + 1) / call.splits);

  blas::sm90::Ring ring{blas::sm90::shared_address(shared + layout.barriers), stages};
  if (thread == 0) ring.make(producers / 32 + 1, consumers / 128);
  __syncthreads();

  if (thread >= consumers) {
    blas::sm90::leave_registers<256 - consumer_registers>();
    const int own = thread - consumers;
    const int vector = own % vectors, first_row = own / vectors;
    constexpr int row_step = producers / vectors;
    for (int begin = first; begin < last;) {
      const StepPlace phase = locate_step(call, begin);
      const int deformable_group = call.deformable_group(group, phase.chunk);
      int end_chunk = phase.chunk + 1;
      while (end_chunk < call.group_chunks && call.deformable_group(group, end_chunk) == deformable_group) ++end_chunk;
      const int end = min(last, begin + (end_chunk - phase.chunk) * phase.taps - phase.tap);
      blas::sm90::synchronize<1, producers>();
      find_samples<T>(call, phase, deformable_group, first_pixel, pixels, sample_weights, places);
      blas::sm90::synchronize<1, producers>();

      Vector<T, operand> loads[flight];
      const char* x = static_cast<const char*>(call.operands.x) +
                      (static_cast<std::int64_t>(group) * call.group_chunks + phase.chunk) * chunk_bytes + vector * 16;
      int tap = phase.tap, load_tap = phase.tap, load_step = begin;
      // A thread's i-th vector of the step that comes next in loading.
      const auto load = [&](Vector<T, operand>& to, int i) {
        if (load_step < end) {
          const Place place = places[load_tap * pixels + first_row + i * row_step];
          const Place right = (place & 1) * static_cast<Place>(call.operands.x_pixel * 16);
          const Place down = (place >> 1 & 1) * static_cast<Place>(call.operands.x_row * 16);
          const Place at = (place & ~Place{3}) * 4;
          const auto read = [&](Place offset) {
            return place != outside ? *reinterpret_cast<const uint4*>(x + offset) : make_uint4(0, 0, 0, 0);
          };
          to.corner[0] = read(at);
          to.corner[1] = read(at + right);
          to.corner[2] = read(at + down);
          to.corner[3] = read(at + down + right);
        }
        if (i == tasks - 1) {
          ++load_step;
          if (++load_tap == phase.taps) {
            load_tap = 0;
            x += chunk_bytes;
          }
        }
      };
#pragma unroll
      for (int i = 0; i < flight; ++i) load(loads[i], i % tasks);
      for (int step = begin; step < end; step += unrolled) {
#pragma unroll
        for (int a = 0; a < unrolled; ++a) {
          if (step + a >= end) break;
          char* const weight_tile = shared + ring.stage * layout.stage;
          char* const column_tile = weight_tile + weight_bytes;
          ring.empty().wait(ring.round ^ 1);
          if (own == 0) {
            const std::int64_t tile = (blockIdx.y * static_cast<std::int64_t>(call.steps) + step + a) * weight_bytes;
            ring.full().arrive_with_copy(blas::sm90::shared_address(weight_tile),
                                         static_cast<const char*>(call.operands.packed_weight) + tile, weight_bytes);
          }
#pragma unroll
          for (int i = 0; i < tasks; ++i) {
            const int pixel = first_row + i * row_step;
            Vector<T, operand>& own_vector = loads[(a * tasks + i) % flight];
            own_vector.blend_into(column_tile, pixels, pixel, vector, sample_weights[tap * pixels + pixel]);
            // The registers are free again.
            load(own_vector, (i + flight) % tasks);
          }
          blas::sm90::fence_products();
          __syncwarp();
          if (own % 32 == 0) ring.full().arrive();
          ring.advance();
          if (++tap == phase.taps) tap = 0;
        }
      }
      begin = end;
    }
  } else {
    blas::sm90::take_registers<consumer_registers>();
    if (thread < pixels) {
      std::int64_t target = no_target;
      if (first_pixel + thread < windows.images * windows.pixels()) {
        const Pixel at = locate(windows, first_pixel + thread);
        const Tensor4& out = call.operands.out;
        target = at.image * out.stride[0] + at.y * out.stride[2] + at.x * out.stride[3];
      }
      targets[thread] = target;
    }
    blas::sm90::TileProduct<operand, blocks, pixels> product;
    const int warpgroup = thread / 128;
    const bool signals = thread % 128 == 0;
    for (int step = first; step < last; ++step) {
      ring.full().wait(ring.round);
      const SharedAddress weight_tile = blas::sm90::shared_address(shared + ring.stage * layout.stage);
      product.add(weight_tile + warpgroup * 64 * blocks * Layout::row_bytes, rows, weight_tile + weight_bytes);
      if (signals && step > first) ring.empty_before().arrive();
      ring.advance();
    }
    product.finish();
    blas::sm90::synchronize<2, consumers>();
    product.store(reinterpret_cast<float*>(shared) + warpgroup * 64 * blocks * (pixels + 8), pixels + 8);
  }

  // The sums of all blocks that share the inner axis meet: each writes some of the rows.
  if (call.splits > 1) {
    blas::sm90::synchronize_cluster();
  } else {
    __syncthreads();
  }
  const SharedAddress sums = blas::sm90::shared_address(shared);
  const int lane = thread % 32;
  for (int row = rows / call.splits * split + thread / 32; row < rows / call.splits * (split + 1);
       row += threads / 32) {
    const std::int64_t channel = row_tile * rows + row;
    if (channel >= windows.group_out_channels()) break;
    const std::int64_t m = group * windows.group_out_channels() + channel;
    const float bias =
        call.operands.bias == nullptr
            ? 0.0f
            : static_cast<float>(static_cast<const T*>(call.operands.bias)[m * call.operands.bias_stride]);
    T* const out = static_cast<T*>(call.operands.out.data) + m * call.operands.out.stride[1];
#pragma unroll
    for (int pixel = lane; pixel < pixels; pixel += 32) {
      const int at = row * (pixels + 8) + pixel;
      float sum = bias;
      if (call.splits == 1) {
        sum += reinterpret_cast<const float*>(shared)[at];
      } else {
#pragma unroll
        for (int block = 0; block < most_splits; ++block) {
          if (block < call.splits) sum += blas::sm90::read_of_block(sums + 4 * at, block);
        }
      }
      if (targets[pixel] != no_target) out[targets[pixel]] = static_cast<T>(sum);
    }
  }
  if (call.splits > 1) blas::sm90::synchronize_cluster();
}

// --- launches ----------------------------------------------------------------------------------------------

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) fail("portops::deform_conv2d: ", what, " failed: ", cudaGetErrorString(status));
}

cudaLaunchConfig_t configure(cudaLaunchAttribute& cluster, const FusedPlan& plan, unsigned groups) {
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {1, 1, static_cast<unsigned>(plan.splits)};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(plan.pixel_tiles), groups * static_cast<unsigned>(plan.row_tiles),
                        static_cast<unsigned>(plan.splits));
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = plan.shared_bytes();
  config.attrs = &cluster;
  config.numAttrs = plan.splits > 1 ? 1 : 0;
  return config;
}

/// Calls action(kernel) with the one that the plan is for.
template <class T, Operand operand, class Action>
auto with_kernel(const FusedPlan& plan, const Action& action) {
  if (plan.rows == 128) return action(convolve<T, operand, 1, 128>);
  if constexpr (operand != Operand::f32) {
    if (plan.pixels == 128) return action(convolve<T, operand, 2, 128>);
  }
  return action(convolve<T, operand, 2, 64>);
}

/// As much as any call of the kernel needs, so that calls of several host threads do not get in each other's way.
template <class Kernel>
void allow_shared_memory(Kernel* kernel, FusedPlan plan) {
  plan.phase_taps = most_phase_taps;
  check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(plan.shared_bytes())),
      "cudaFuncSetAttribute");
}

template <class T, Operand operand>
void run(cudaStream_t stream, const Call& call, const FusedPlan& plan) {
  const auto of_tap = static_cast<std::uint32_t>(plan.group_chunks * Tile<operand>::parts);
  const auto rows = static_cast<std::uint32_t>(plan.row_tiles * plan.rows);
  const auto taps = static_cast<std::uint32_t>(call.windows.taps());
  const WeightParts parts{Divisor(taps), Divisor(of_tap), Divisor(rows),
                          static_cast<std::uint32_t>(call.windows.groups) * rows * of_tap * taps};
  constexpr unsigned block = 256;
  pack_weight<T, operand><<<(parts.all + block - 1) / block, block, 0, stream>>>(call, parts, plan.rows);
  check(cudaGetLastError(), "the launch of the packing of the weight");
  with_kernel<T, operand>(plan, [&](auto* kernel) {
    allow_shared_memory(kernel, plan);
    cudaLaunchAttribute cluster{};
    cudaLaunchConfig_t config = configure(cluster, plan, static_cast<unsigned>(call.windows.groups));
    config.stream = stream;
    check(cudaLaunchKernelEx(&config, kernel, call), "the launch of the convolution");
  });
}

/// Calls action<T, operand>() with those of the plan.
template <class Action>
auto with_operand(const FusedPlan& plan, const Action& action) {
  switch (plan.type) {
    case ElementType::f16: return action.template operator()<f16, Operand::f16>();
    case ElementType::bf16: return action.template operator()<bf16, Operand::bf16>();
    default: break;
  }
  if (plan.tf32) return action.template operator()<float, Operand::tf32>();
  return action.template operator()<float, Operand::f32>();
}

}  // namespace

std::size_t FusedPlan::weight_bytes(const Windows& windows) const {
  return static_cast<std::size_t>(windows.groups) * row_tiles * steps * tile_bytes(operand_of(*this), rows);
}

std::size_t FusedPlan::shared_bytes() const {
  const Operand operand = operand_of(*this);
  const SharedLayout layout(tile_bytes(operand, rows) + tile_bytes(operand, pixels), pixels);
  return static_cast<std::size_t>(layout.bytes(pixels, phase_taps));
}

void deform_conv2d_sm90(void* stream, const Windows& windows, const FusedPlan& plan, const FusedOperands& operands) {
  const Call call{windows,           operands,        plan.splits, plan.run_chunks,
                  plan.group_chunks, plan.phase_taps, plan.steps,  plan.row_tiles};
  with_operand(plan,
               [&]<class T, Operand operand>() { run<T, operand>(static_cast<cudaStream_t>(stream), call, plan); });
}

int clusters_at_once(const FusedPlan& plan) {
  return with_operand(plan, [&]<class T, Operand operand>() {
    return with_kernel<T, operand>(plan, [&](auto* kernel) {
      FusedPlan one = plan;
      one.pixel_tiles = one.row_tiles = 1;
      cudaLaunchAttribute cluster{};
      const cudaLaunchConfig_t config = configure(cluster, one, 1);
      int count = 0;
      allow_shared_memory(kernel, plan);
      check(cudaOccupancyMaxActiveClusters(&count, kernel, &config), "cudaOccupancyMaxActiveClusters");
      return count;
    });
  });
}

}  // namespace portops::impl
