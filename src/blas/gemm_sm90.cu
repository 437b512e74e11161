// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blas/gemm_sm90.hpp"

#include "blas/tensor_cores_sm90.hpp"
#include "core/check.hpp"
#include "core/divide.hpp"
#include "core/tile_shape.hpp"

#include <algorithm>

namespace portops::blas {
namespace {

using sm90::SharedAddress;

// Four warpgroups: two multiply, two bring tiles.
constexpr int threads = 512;
constexpr int consumers = 256;
constexpr int producers = 256;
constexpr int side = 128;  ///< rows and columns of a block's tile of c
constexpr int stages = 4;
using Layout = sm90::Tile<sm90::Operand::f32>;
constexpr int depth = Layout::channels;  ///< of a step along the inner axis
constexpr int tile_bytes = Layout::bytes(side);
constexpr int sums_stride = side + 8;
constexpr int shared_bytes = stages * (2 * tile_bytes + 16);

/// An operand as blocks read it: lines, which are rows of op(a) or columns of op(b), of the inner axis.
struct Operand {
  const float* data;
  std::int64_t stride;
  std::int64_t step;  ///< of a batch
  std::int64_t lines;
};

struct Call {
  Operand a, b;
  float* c;
  std::int64_t c_stride, c_step;
  bool has_pairs;  ///< whether two neighbours in a row of c, from an even column on, can be taken at once
  std::int64_t inner;
  float alpha, beta;
  int splits;
  std::int64_t row_tiles, column_tiles, tiles;  ///< the last of all products of the batch

  /// An element of c, or two neighbours.
  template <class Number>
  __device__ __forceinline__ void write(Number* to, Number sum) const {
    const auto one = [&](float& number, float before) {
      number *= alpha;
      if (beta != 0.0f) number = fmaf(beta, before, number);
    };
    const Number before = beta == 0.0f ? Number{} : *to;
    if constexpr (sizeof(Number) == sizeof(float)) {
      one(sum, before);
    } else {
      one(sum.x, before.x);
      one(sum.y, before.y);
    }
    *to = sum;
  }
};

/// A tile of c. Neighbours share the tile of b, which all rows of tiles use before the next one.
struct Place {
  std::int64_t product, row, column;

  __device__ __forceinline__ Place(const Call& call, std::int64_t tile) {
    const std::int64_t column_of_all = impl::quotient(tile, call.row_tiles);
    product = impl::quotient(column_of_all, call.column_tiles);
    row = (tile - column_of_all * call.row_tiles) * side;
    column = (column_of_all - product * call.column_tiles) * side;
  }
};

/// What a thread brings of a tile and step: four vectors of four neighbours in memory, along the inner axis or, in a
/// turned tile, of the lines.
template <bool turned>
struct Piece {
  float4 vector[4];

  /// `line` is the first of the tile, `k` the first along the inner axis. What does not exist is 0.
  __device__ __forceinline__ void load(const Operand& operand, std::int64_t inner, std::int64_t line, std::int64_t k,
                                       int thread) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::int64_t own_line = line + line_of(thread, i), own_k = k + inner_of(thread, i);
      const float* const from =
          operand.data + (turned ? own_k * operand.stride + own_line : own_line * operand.stride + own_k);
      vector[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      if (own_line < operand.lines && own_k < inner) vector[i] = *reinterpret_cast<const float4*>(from);
    }
  }

  /// As bf16 pieces.
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
      for (int piece = 0; piece < 3; ++piece) {
        *reinterpret_cast<uint2*>(to + piece * side * Layout::row_bytes) = make_uint2(first[piece], second[piece]);
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

/// What a block takes step by step: the tiles of c that are its own, each along its part of the inner axis.
class Steps {
 public:
  __device__ __forceinline__ explicit Steps(const Call& call)
      : all_((call.inner + depth - 1) / depth),
        first_(all_ * blockIdx.y / call.splits),
        last_(all_ * (blockIdx.y + 1) / call.splits),
        tile_(blockIdx.x),
        step_(first_) {}

  __device__ __forceinline__ std::int64_t count() const { return last_ - first_; }
  __device__ __forceinline__ std::int64_t tile() const { return tile_; }
  __device__ __forceinline__ std::int64_t inner() const { return step_ * depth; }
  /// Whether this was a tile's last step.
  __device__ __forceinline__ bool advance() {
    if (++step_ < last_) return false;
    step_ = first_;
    tile_ += gridDim.x;
    return true;
  }

 private:
  std::int64_t all_, first_, last_;
  std::int64_t tile_, step_;
};

/// Brings the tiles of all steps of a block, the loads of the next step on their way.
template <bool a_turned, bool b_turned>
__device__ void produce(const Call& call, char* shared, sm90::Ring ring) {
  const int own = static_cast<int>(threadIdx.x) - consumers;
  Piece<a_turned> of_a;
  Piece<b_turned> of_b;
  Steps steps(call);
  Place place(call, steps.tile());
  const auto load_a = [&] {
    Operand a = call.a;
    a.data += place.product * a.step;
    of_a.load(a, call.inner, place.row, steps.inner(), own);
  };
  const auto load_b = [&] {
    Operand b = call.b;
    b.data += place.product * b.step;
    of_b.load(b, call.inner, place.column, steps.inner(), own);
  };
  load_a();
  load_b();
  for (bool goes_on = true; goes_on;) {
    char* const tiles = shared + ring.stage * 2 * tile_bytes;
    ring.empty().wait(ring.round ^ 1);
    if (steps.advance() && steps.tile() < call.tiles) place = Place(call, steps.tile());
    goes_on = steps.tile() < call.tiles;
    of_a.store(tiles, own);
    if (goes_on) load_a();
    of_b.store(tiles + tile_bytes, own);
    if (goes_on) load_b();
    sm90::fence_products();
    ring.full().arrive();
    ring.advance();
  }
}

/// c = alpha · op(a) · op(b) + beta · c. A block takes one tile of c after the other: while its sums are written, those
/// of the next one are on their way. Or the blocks of a cluster share the inner axis of one tile and add their sums in
/// a fixed order.
template <bool a_turned, bool b_turned>
__global__ __launch_bounds__(threads, 1) void multiply(const __grid_constant__ Call call) {
  extern __shared__ __align__(1024) char shared[];
  const int thread = threadIdx.x;
  sm90::Ring ring{sm90::shared_address(shared + stages * 2 * tile_bytes), stages};
  if (thread == 0) ring.make(producers, consumers / 128);
  __syncthreads();
  if (thread >= consumers) {
    sm90::leave_registers<96>();
    produce<a_turned, b_turned>(call, shared, ring);
  } else {
    sm90::take_registers<160>();
    const int warpgroup = thread / 128;
    const Steps steps(call);
    for (std::int64_t tile = steps.tile(); tile < call.tiles; tile += gridDim.x) {
      sm90::TileProduct<sm90::Operand::f32, 1, side, a_turned, b_turned> sums;
      for (std::int64_t step = 0; step < steps.count(); ++step) {
        ring.full().wait(ring.round);
        const SharedAddress tiles = sm90::shared_address(shared + ring.stage * 2 * tile_bytes);
        sums.add(tiles + warpgroup * 64 * Layout::row_bytes, side, tiles + tile_bytes);
        if (thread % 128 == 0 && step > 0) ring.empty_before().arrive();
        ring.advance();
      }
      sums.finish();
      if (thread % 128 == 0) ring.empty_before().arrive();
      if (call.splits > 1) {
        sm90::synchronize<2, consumers>();
        sums.store(reinterpret_cast<float*>(shared) + warpgroup * 64 * sums_stride, sums_stride);
        continue;
      }
      const Place place(call, tile);
      float* const c = call.c + place.product * call.c_step + place.column;
      sums.for_pairs([&](int row_in_tile, int column, float2 pair) {
        const std::int64_t row = place.row + warpgroup * 64 + row_in_tile, left = call.b.lines - place.column - column;
        if (row >= call.a.lines || left <= 0) return;
        float* const to = c + row * call.c_stride + column;
        if (call.has_pairs && left > 1) return call.write(reinterpret_cast<float2*>(to), pair);
        call.write(to, pair.x);
        if (left > 1) call.write(to + 1, pair.y);
      });
    }
  }
  if (call.splits == 1) return;

  sm90::synchronize_cluster();
  const SharedAddress sums = sm90::shared_address(shared);
  const Place place(call, blockIdx.x);
  const int split = blockIdx.y;
  const int begin = side * split / call.splits, end = side * (split + 1) / call.splits;
  for (int i = begin + thread / 32; i < end && place.row + i < call.a.lines; i += threads / 32) {
    float* const c = call.c + place.product * call.c_step + (place.row + i) * call.c_stride + place.column;
#pragma unroll
    for (int j = thread % 32; j < side; j += 32) {
      float sum = 0.0f;
      for (int block = 0; block < call.splits; ++block) {
        sum += sm90::read_of_block(sums + 4 * (i * sums_stride + j), block);
      }
      if (place.column + j < call.b.lines) call.write(c + j, sum);
    }
  }
  sm90::synchronize_cluster();
}

/// How many clusters of so many blocks run at once, each on multiprocessors of one group: those of an H200 have 16 or
/// 18, of which clusters of three or four leave up to two idle.
std::int64_t clusters(int multiprocessors, int splits) {
  return splits <= 2 ? multiprocessors / splits : multiprocessors * 15 / 16 / splits;
}

bool is_aligned(const void* data, std::int64_t stride, std::int64_t step, std::int64_t contiguous) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && stride % 4 == 0 && step % 4 == 0 && contiguous % 4 == 0;
}

}  // namespace

bool suits_sm90(const Product& p) {
  // Below this, tiles of c are mostly empty.
  constexpr std::int64_t least = 64;
  const bool a_inner = p.a_transpose == Transpose::no, b_inner = p.b_transpose == Transpose::yes;
  return p.type == ElementType::f32 && std::min({p.rows, p.columns, p.inner}) >= least &&
         is_aligned(p.a, p.a_stride, p.batch.a_step, a_inner ? p.inner : p.rows) &&
         is_aligned(p.b, p.b_stride, p.batch.b_step, b_inner ? p.inner : p.columns) &&
         impl::ceil_div(p.rows, side) * impl::ceil_div(p.columns, side) * p.batch.count < INT32_MAX;
}

void multiply_by_sm90(void* stream, int multiprocessors, const Product& p) {
  Call call{
      {static_cast<const float*>(p.a), p.a_stride, p.batch.a_step, p.rows},
      {static_cast<const float*>(p.b), p.b_stride, p.batch.b_step, p.columns},
      static_cast<float*>(p.c),
      p.c_stride,
      p.batch.c_step,
      reinterpret_cast<std::uintptr_t>(p.c) % sizeof(float2) == 0 && p.c_stride % 2 == 0 && p.batch.c_step % 2 == 0,
      p.inner,
      static_cast<float>(p.alpha),
      static_cast<float>(p.beta),
      1,
      impl::ceil_div(p.rows, side),
      impl::ceil_div(p.columns, side),
      impl::ceil_div(p.rows, side) * impl::ceil_div(p.columns, side) * p.batch.count};
  // As many blocks share the inner axis as fill the device best. The first loads of each are waited for, and its sums
  // added to those of the others; without splits only at the ends, and in between the sums of a tile are written.
  constexpr std::int64_t fixed_steps = 6, write_steps = 2;
  const std::int64_t inner_steps = impl::ceil_div(p.inner, depth);
  std::int64_t best = INT64_MAX;
  for (const int splits : {1, 2, 3, 4}) {
    const std::int64_t waves = impl::ceil_div(call.tiles, clusters(multiprocessors, splits));
    const std::int64_t time = splits == 1 ? waves * (inner_steps + write_steps) + fixed_steps
                                          : waves * (impl::ceil_div(inner_steps, splits) + fixed_steps + splits);
    if (time >= best) continue;
    best = time;
    call.splits = splits;
  }
  const auto fail_if = [](cudaError_t status, const char* what) {
    if (status != cudaSuccess) impl::fail("portops::gemm: ", what, " failed: ", cudaGetErrorString(status));
  };
  constexpr decltype(&multiply<false, false>) kernels[2][2] = {{multiply<false, false>, multiply<false, true>},
                                                               {multiply<true, false>, multiply<true, true>}};
  const auto kernel = kernels[p.a_transpose == Transpose::yes][p.b_transpose == Transpose::no];
  fail_if(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
          "cudaFuncSetAttribute");
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {1, static_cast<unsigned>(call.splits), 1};
  cudaLaunchConfig_t config{};
  const std::int64_t blocks = call.splits > 1 ? call.tiles : std::min<std::int64_t>(call.tiles, multiprocessors);
  config.gridDim = dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(call.splits));
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = static_cast<cudaStream_t>(stream);
  config.attrs = &cluster;
  config.numAttrs = call.splits > 1 ? 1 : 0;
  fail_if(cudaLaunchKernelEx(&config, kernel, call), "the launch");
}

}  // namespace portops::blas
