// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blas/gemm_sm90.hpp"

#include "blas/tensor_cores_sm90.hpp"
#include "core/exec/cuda/cuda_calls.hpp"
#include "core/lanes/divide.hpp"
#include "core/lanes/tile_shape.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace portops::blas {
namespace {

using sm90::SharedAddress;

// Four warpgroups: two multiply, two bring tiles.
constexpr int threads = 512;
constexpr int consumers = 256;
constexpr int producers = 256;
constexpr int side = 128;  ///< rows and columns of a block's tile of c
constexpr int stages = 4;
using Layout = sm90::Tile<sm90::Precision::f32>;
constexpr int depth = Layout::channels;  ///< of a step along the inner axis
constexpr int tile_bytes = Layout::bytes(side);
constexpr int shared_bytes = stages * (2 * tile_bytes + 16);

/// An operand as blocks read it: lines, which are rows of op(a) or columns of op(b), of the inner axis.
struct GemmOperand {
  const float* data;
  std::int64_t stride;
  std::int64_t batch_stride;
  std::int64_t lines;
};

/// What the kernel knows of its products.
struct GemmArguments {
  GemmOperand a, b;
  float* c;
  std::int64_t c_stride, c_batch_stride;
  const float* bias;  ///< or null
  std::int64_t bias_stride;
  bool has_pairs;  ///< whether two neighbours in a row of c, from an even column on, can be taken at once
  std::int64_t inner;
  float alpha, beta;
  std::int64_t row_tiles, column_tiles;
  std::int64_t tile_steps;      ///< along the inner axis
  std::int64_t steps;           ///< that blocks share out: those of all tiles of all products
  std::int64_t together_steps;  ///< so many stay together: those of a tile, or one
  float4* sums;                 ///< what blocks leave to others, a tile for each
  int* flags;                   ///< whether they have

  /// Where the steps of a block begin, counted over all tiles.
  __device__ __forceinline__ std::int64_t begin(std::int64_t block) const {
    return steps / together_steps * block / gridDim.x * together_steps;
  }

  /// An element of c in that column, or two neighbours from there on. has_bias: whether there is one.
  template <bool has_bias, class Number>
  __device__ __forceinline__ void write(Number* to, Number sum, std::int64_t column) const {
    const auto one = [&](float& number, float before, std::int64_t own_column) {
      number *= alpha;
      if (beta != 0.0f) number = fmaf(beta, before, number);
      if constexpr (has_bias) number += __ldg(bias + own_column * bias_stride);
    };
    const Number before = beta == 0.0f ? Number{} : *to;
    if constexpr (sizeof(Number) == sizeof(float)) {
      one(sum, before, column);
    } else {
      one(sum.x, before.x, column);
      one(sum.y, before.y, column + 1);
    }
    *to = sum;
  }
};

/// A tile of c. Neighbours share the tile of b, which all rows of tiles use before the next one.
struct Place {
  std::int64_t product, row, column;

  __device__ __forceinline__ Place(const GemmArguments& arguments, std::int64_t tile) {
    const std::int64_t column_of_all = impl::quotient(tile, arguments.row_tiles);
    product = impl::quotient(column_of_all, arguments.column_tiles);
    row = (tile - column_of_all * arguments.row_tiles) * side;
    column = (column_of_all - product * arguments.column_tiles) * side;
  }
};

/// What a thread brings of a tile and step: four vectors of four neighbours in memory, along the inner axis or, in a
/// turned tile, of the lines.
template <bool turned>
struct Fragment {
  float4 vector[4];

  /// `line` is the first of the tile, `k` the first along the inner axis. What does not exist is 0.
  __device__ __forceinline__ void load(const GemmOperand& operand, std::int64_t inner, std::int64_t line,
                                       std::int64_t k, int thread) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::int64_t own_line = line + line_of(thread, i), own_k = k + inner_of(thread, i);
      const float* const from =
          operand.data + (turned ? own_k * operand.stride + own_line : own_line * operand.stride + own_k);
      vector[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      if (own_line < operand.lines && own_k < inner) vector[i] = *reinterpret_cast<const float4*>(from);
    }
  }

  /// As bf16 terms.
  __device__ __forceinline__ void store(char* tile, int thread) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      std::uint32_t first[3], second[3];
      sm90::split_pair(vector[i].x, vector[i].y, first);
      sm90::split_pair(vector[i].z, vector[i].w, second);
      const int line = line_of(thread, i), inner = inner_of(thread, i);
      char* const to = tile + (turned ? sm90::TurnedTile::offset(line & ~7, inner) + (line & 4) * 2
                                      : Layout::offset(line, inner / 8) + (inner & 4) * 2);
#pragma unroll
      for (int term = 0; term < 3; ++term) {
        *reinterpret_cast<uint2*>(to + term * side * Layout::row_bytes) = make_uint2(first[term], second[term]);
      }
    }
  }

 private:
  // A warp reads whole rows of the tile in memory.
  __device__ __forceinline__ static int line_of(int thread, int i) {
    return turned ? thread % 32 * 4 : thread / 8 + 32 * i;
  }
  __device__ __forceinline__ static int inner_of(int thread, int i) {
    return turned ? thread / 32 + 8 * i : thread % 8 * 4;
  }
};

/// What a block takes: tile by tile, the last one first, of each all steps or some. The beginning of a tile that it
/// shares comes first, so that the block with the end of the tile, its own last one, does not have to wait for it.
class Segments {
 public:
  __device__ __forceinline__ explicit Segments(const GemmArguments& arguments)
      : steps_(arguments.tile_steps), begin_(arguments.begin(blockIdx.x)), end_(arguments.begin(blockIdx.x + 1)) {
    find();
  }

  __device__ __forceinline__ explicit operator bool() const { return end_ > begin_; }
  __device__ __forceinline__ void advance() {
    end_ = tile * steps_ + first;
    find();
  }

  std::int64_t tile = 0;
  std::int64_t first = 0, last = 0;  ///< steps of the tile

 private:
  __device__ __forceinline__ void find() {
    if (end_ <= begin_) return;
    tile = impl::quotient(end_ - 1, steps_);
    last = end_ - tile * steps_;
    first = begin_ > tile * steps_ ? begin_ - tile * steps_ : 0;
  }

  std::int64_t steps_, begin_, end_;
};

/// Brings the tiles of all steps of a block, the loads of the next step on their way.
template <bool a_turned, bool b_turned>
__device__ void produce(const GemmArguments& arguments, char* shared, sm90::Ring ring) {
  const int own = static_cast<int>(threadIdx.x) - consumers;
  Fragment<a_turned> of_a;
  Fragment<b_turned> of_b;
  Segments segments(arguments);
  Place place(arguments, segments.tile);
  std::int64_t step = segments.first;
  const auto load_a = [&] {
    GemmOperand a = arguments.a;
    a.data += place.product * a.batch_stride;
    of_a.load(a, arguments.inner, place.row, step * depth, own);
  };
  const auto load_b = [&] {
    GemmOperand b = arguments.b;
    b.data += place.product * b.batch_stride;
    of_b.load(b, arguments.inner, place.column, step * depth, own);
  };
  load_a();
  load_b();
  while (segments) {
    char* const tiles = shared + ring.stage * 2 * tile_bytes;
    ring.empty().wait(ring.round ^ 1);
    if (++step == segments.last) {
      segments.advance();
      place = Place(arguments, segments.tile);
      step = segments.first;
    }
    of_a.store(tiles, own);
    if (segments) load_a();
    of_b.store(tiles + tile_bytes, own);
    if (segments) load_b();
    sm90::fence_products();
    __syncwarp();
    if (own % 32 == 0) ring.full().arrive();
    ring.advance();
  }
}

constexpr int sum_packs = 16;  ///< of four, of a thread

/// Leaves the sums of a tile to the block that has its end.
template <class Sums>
__device__ void leave(const GemmArguments& arguments, Sums& sums) {
  float4* const to = arguments.sums + blockIdx.x * static_cast<std::int64_t>(sum_packs * consumers) + threadIdx.x;
  sums.for_packs([&](int i, float4& pack) { to[i * consumers] = pack; });
  __threadfence();
  sm90::synchronize<2, consumers>();
  if (threadIdx.x == 0) sm90::release(arguments.flags + blockIdx.x);
}

/// Adds what other blocks have left of a tile, always in the same order.
template <class Sums>
__device__ void collect(const GemmArguments& arguments, std::int64_t tile, Sums& sums) {
  for (std::int64_t end = arguments.begin(blockIdx.x), block = blockIdx.x - 1; end > tile * arguments.tile_steps;
       --block) {
    if (threadIdx.x == 0) sm90::acquire(arguments.flags + block);
    sm90::synchronize<2, consumers>();
    const float4* const from = arguments.sums + block * (sum_packs * consumers) + threadIdx.x;
    sums.for_packs([&](int i, float4& pack) {
      const float4 other = __ldcg(from + i * consumers);
      pack = make_float4(pack.x + other.x, pack.y + other.y, pack.z + other.z, pack.w + other.w);
    });
    end = arguments.begin(block);
  }
}

/// Writes a tile of c.
template <bool has_bias, class Sums>
__device__ __forceinline__ void write(const GemmArguments& arguments, std::int64_t tile, const Sums& sums) {
  const Place place(arguments, tile);
  const int warpgroup = static_cast<int>(threadIdx.x) / 128;
  float* const c = arguments.c + place.product * arguments.c_batch_stride;
  sums.for_pairs([&](int row_in_tile, int column_in_tile, float2 pair) {
    const std::int64_t row = place.row + warpgroup * 64 + row_in_tile, column = place.column + column_in_tile,
                       left = arguments.b.lines - column;
    if (row >= arguments.a.lines || left <= 0) return;
    float* const to = c + row * arguments.c_stride + column;
    if (arguments.has_pairs && left > 1) {
      return arguments.write<has_bias>(reinterpret_cast<float2*>(to), pair, column);
    }
    arguments.write<has_bias>(to, pair.x, column);
    if (left > 1) arguments.write<has_bias>(to + 1, pair.y, column + 1);
  });
}

/// c = alpha · op(a) · op(b) + beta · c + bias. A block takes one tile of c after the other: while its sums are
/// written, those of the next one are on their way. Where whole tiles would leave blocks idle, these share the steps of
/// all tiles.
template <bool a_turned, bool b_turned, bool has_bias>
__global__ __launch_bounds__(threads, 1) void multiply(const __grid_constant__ GemmArguments arguments) {
  extern __shared__ __align__(1024) char shared[];
  const int thread = threadIdx.x;
  sm90::Ring ring{sm90::shared_address(shared + stages * 2 * tile_bytes), stages};
  if (thread == 0) ring.make(producers / 32, consumers / 128);
  __syncthreads();
  if (thread >= consumers) {
    sm90::leave_registers<96>();
    return produce<a_turned, b_turned>(arguments, shared, ring);
  }
  sm90::take_registers<160>();
  const int warpgroup = thread / 128;
  for (Segments segments(arguments); segments; segments.advance()) {
    sm90::TileProduct<sm90::Precision::f32, side> sums;
    for (std::int64_t step = segments.first; step < segments.last; ++step) {
      ring.full().wait(ring.round);
      const SharedAddress tiles = sm90::shared_address(shared + ring.stage * 2 * tile_bytes);
      sums.add<a_turned, b_turned>(tiles + warpgroup * 64 * Layout::row_bytes, side, tiles + tile_bytes);
      sums.wait<1>();
      if (thread % 128 == 0 && step > segments.first) ring.empty_before().arrive();
      ring.advance();
    }
    sums.finish();
    if (thread % 128 == 0) ring.empty_before().arrive();
    if (segments.last < arguments.tile_steps) {
      leave(arguments, sums);
      continue;
    }
    if (segments.first > 0) collect(arguments, segments.tile, sums);
    write<has_bias>(arguments, segments.tile, sums);
  }
}

/// How a product is shared out.
struct Plan {
  std::int64_t row_tiles, column_tiles, tiles, tile_steps;
  int blocks;
  bool shares_tiles = false;

  Plan(const Product& p, int multiprocessors, std::size_t workspace)
      : row_tiles(impl::ceil_div(p.rows, side)),
        column_tiles(impl::ceil_div(p.columns, side)),
        tiles(row_tiles * column_tiles * p.batch.count),
        tile_steps(impl::ceil_div(p.inner, depth)),
        blocks(static_cast<int>(std::min<std::int64_t>(tiles, multiprocessors))) {
    // In steps: what a tile's sums take to be written, left to another block and collected there, all of them once.
    constexpr std::int64_t write = 2, leave = 4, collect = 1;
    std::int64_t best = impl::ceil_div(tiles, blocks) * (tile_steps + write);
    const std::int64_t most = std::min<std::int64_t>(multiprocessors, tiles * tile_steps);
    for (int count = 2; count <= most; ++count) {
      const std::int64_t steps = impl::ceil_div(tiles * tile_steps, count);
      const std::int64_t others = impl::ceil_div(tile_steps, steps);  // that have steps of a tile
      const std::int64_t time = steps + impl::ceil_div(steps, tile_steps) * write + leave + others * collect;
      if (time >= best || bytes(count) > workspace) continue;
      best = time;
      blocks = count;
      shares_tiles = true;
    }
  }

  static constexpr std::size_t flag_bytes = 4096;
  static constexpr std::size_t bytes(int blocks) {
    return flag_bytes + static_cast<std::size_t>(blocks) * side * side * sizeof(float);
  }
  static_assert(side * side == sum_packs * 4 * consumers);
};

bool is_aligned(const void* data, std::int64_t stride, std::int64_t batch_stride, std::int64_t contiguous) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && stride % 4 == 0 && batch_stride % 4 == 0 &&
         contiguous % 4 == 0;
}

}  // namespace

bool suits_sm90(const Product& p) {
  // Below this, tiles of c are mostly empty.
  constexpr std::int64_t least = 64;
  const bool a_inner = p.a_transpose == Transpose::no, b_inner = p.b_transpose == Transpose::yes;
  return p.type == ElementType::f32 && std::min({p.rows, p.columns, p.inner}) >= least &&
         is_aligned(p.a, p.a_stride, p.batch.a_stride, a_inner ? p.inner : p.rows) &&
         is_aligned(p.b, p.b_stride, p.batch.b_stride, b_inner ? p.inner : p.columns) &&
         impl::ceil_div(p.rows, side) * impl::ceil_div(p.columns, side) * p.batch.count < INT32_MAX;
}

std::size_t sm90_workspace(int multiprocessors, const Product& product) {
  const Plan plan(product, multiprocessors, std::numeric_limits<std::size_t>::max());
  return plan.shares_tiles ? Plan::bytes(plan.blocks) : 0;
}

void multiply_by_sm90(void* stream, int multiprocessors, const Product& p, Workspace workspace) {
  const Plan plan(p, multiprocessors, workspace.bytes);
  const GemmArguments arguments{
      {static_cast<const float*>(p.a), p.a_stride, p.batch.a_stride, p.rows},
      {static_cast<const float*>(p.b), p.b_stride, p.batch.b_stride, p.columns},
      static_cast<float*>(p.c),
      p.c_stride,
      p.batch.c_stride,
      static_cast<const float*>(p.bias),
      p.bias_stride,
      reinterpret_cast<std::uintptr_t>(p.c) % sizeof(float2) == 0 && p.c_stride % 2 == 0 && p.batch.c_stride % 2 == 0,
      p.inner,
      static_cast<float>(p.alpha),
      static_cast<float>(p.beta),
      plan.row_tiles,
      plan.column_tiles,
      plan.tile_steps,
      plan.tiles * plan.tile_steps,
      plan.shares_tiles ? 1 : plan.tile_steps,
      reinterpret_cast<float4*>(static_cast<std::byte*>(workspace.data) + Plan::flag_bytes),
      static_cast<int*>(workspace.data)};
  constexpr const char* label = "portops::gemm[sm90]";
  using Kernel = decltype(&multiply<false, false, false>);
  constexpr Kernel kernels[2][2][2] = {{{multiply<false, false, false>, multiply<false, false, true>},
                                        {multiply<false, true, false>, multiply<false, true, true>}},
                                       {{multiply<true, false, false>, multiply<true, false, true>},
                                        {multiply<true, true, false>, multiply<true, true, true>}}};
  const Kernel kernel =
      kernels[p.a_transpose == Transpose::yes][p.b_transpose == Transpose::no][arguments.bias != nullptr];
  impl::check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes), label,
                   "cudaFuncSetAttribute");
  auto* const in_order = static_cast<cudaStream_t>(stream);
  if (plan.shares_tiles) {
    impl::check_cuda(cudaMemsetAsync(arguments.flags, 0, static_cast<std::size_t>(plan.blocks) * sizeof(int), in_order),
                     label, "cudaMemsetAsync");
  }
  cudaLaunchConfig_t config{};
  config.gridDim = static_cast<unsigned>(plan.blocks);
  config.blockDim = threads;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = in_order;
  impl::check_cuda(cudaLaunchKernelEx(&config, kernel, arguments), label, "cudaLaunchKernelEx");
}

}  // namespace portops::blas
