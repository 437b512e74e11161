// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blas/gemm_sm90.hpp"

#include "blas/tensor_cores_sm90.hpp"
#include "core/check.hpp"
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
  std::int64_t inner;
  float alpha, beta;
  int splits;
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

/// A tile of c. Blocks of a cluster share the inner axis and add their sums in a fixed order.
template <bool a_turned, bool b_turned>
__global__ __launch_bounds__(threads, 1) void multiply(const __grid_constant__ Call call) {
  extern __shared__ __align__(1024) char shared[];
  const int thread = threadIdx.x;
  const std::int64_t product = blockIdx.z / call.splits;
  const int split = static_cast<int>(blockIdx.z) % call.splits;
  // Neighbouring blocks share the tile of b, which is read by all rows of blocks before the next one.
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * side,
                     column = static_cast<std::int64_t>(blockIdx.y) * side;
  Operand a = call.a, b = call.b;
  a.data += product * a.step;
  b.data += product * b.step;
  const std::int64_t all_steps = (call.inner + depth - 1) / depth;
  const std::int64_t first = all_steps * split / call.splits, last = all_steps * (split + 1) / call.splits;

  sm90::Ring ring{sm90::shared_address(shared + stages * 2 * tile_bytes), stages};
  if (thread == 0) ring.make(producers, consumers / 128);
  __syncthreads();
  if (thread >= consumers) {
    sm90::leave_registers<96>();
    const int own = thread - consumers;
    Piece<a_turned> of_a;
    Piece<b_turned> of_b;
    of_a.load(a, call.inner, row, first * depth, own);
    of_b.load(b, call.inner, column, first * depth, own);
    for (std::int64_t step = first; step < last; ++step) {
      char* const tiles = shared + ring.stage * 2 * tile_bytes;
      ring.empty().wait(ring.round ^ 1);
      of_a.store(tiles, own);
      if (step + 1 < last) of_a.load(a, call.inner, row, (step + 1) * depth, own);
      of_b.store(tiles + tile_bytes, own);
      if (step + 1 < last) of_b.load(b, call.inner, column, (step + 1) * depth, own);
      sm90::fence_products();
      ring.full().arrive();
      ring.advance();
    }
  } else {
    sm90::take_registers<160>();
    sm90::TileProduct<sm90::Operand::f32, 1, side, a_turned, b_turned> sums;
    const int warpgroup = thread / 128;
    for (std::int64_t step = first; step < last; ++step) {
      ring.full().wait(ring.round);
      const SharedAddress tiles = sm90::shared_address(shared + ring.stage * 2 * tile_bytes);
      sums.add(tiles + warpgroup * 64 * Layout::row_bytes, side, tiles + tile_bytes);
      if (thread % 128 == 0 && step > first) ring.empty_before().arrive();
      ring.advance();
    }
    sums.finish();
    sm90::synchronize<2, consumers>();
    sums.store(reinterpret_cast<float*>(shared) + warpgroup * 64 * sums_stride, sums_stride);
  }

  if (call.splits > 1) {
    sm90::synchronize_cluster();
  } else {
    __syncthreads();
  }
  const SharedAddress sums = sm90::shared_address(shared);
  const int begin = side * split / call.splits, end = side * (split + 1) / call.splits;
  for (int i = begin + thread / 32; i < end && row + i < call.a.lines; i += threads / 32) {
    float* const c = call.c + product * call.c_step + (row + i) * call.c_stride + column;
#pragma unroll
    for (int j = thread % 32; j < side; j += 32) {
      float sum = 0.0f;
      if (call.splits == 1) {
        sum = reinterpret_cast<const float*>(shared)[i * sums_stride + j];
      } else {
        for (int block = 0; block < call.splits; ++block) {
          sum += sm90::read_of_block(sums + 4 * (i * sums_stride + j), block);
        }
      }
      if (column + j >= call.b.lines) continue;
      sum *= call.alpha;
      c[j] = call.beta == 0.0f ? sum : fmaf(call.beta, c[j], sum);
    }
  }
  if (call.splits > 1) sm90::synchronize_cluster();
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
         impl::ceil_div(p.columns, side) < 65536 && p.batch.count < 8192 && impl::ceil_div(p.rows, side) < INT32_MAX;
}

void multiply_by_sm90(void* stream, int multiprocessors, const Product& p) {
  Call call{{static_cast<const float*>(p.a), p.a_stride, p.batch.a_step, p.rows},
            {static_cast<const float*>(p.b), p.b_stride, p.batch.b_step, p.columns},
            static_cast<float*>(p.c),
            p.c_stride,
            p.batch.c_step,
            p.inner,
            static_cast<float>(p.alpha),
            static_cast<float>(p.beta),
            1};
  const std::int64_t rows = impl::ceil_div(p.rows, side), columns = impl::ceil_div(p.columns, side);
  const std::int64_t tiles = rows * columns * p.batch.count;
  // As many blocks share the inner axis as fill the device best; each has its first loads to wait for, and its sums to
  // add to those of the others.
  constexpr std::int64_t fixed_steps = 6;
  std::int64_t best = INT64_MAX;
  for (const int splits : {1, 2, 3, 4}) {
    const std::int64_t steps = impl::ceil_div(impl::ceil_div(p.inner, depth), splits) + fixed_steps + splits;
    const std::int64_t time = impl::ceil_div(tiles, clusters(multiprocessors, splits)) * steps;
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
  cluster.val.clusterDim = {1, 1, static_cast<unsigned>(call.splits)};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(rows), static_cast<unsigned>(columns),
                        static_cast<unsigned>(p.batch.count * call.splits));
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = static_cast<cudaStream_t>(stream);
  config.attrs = &cluster;
  config.numAttrs = call.splits > 1 ? 1 : 0;
  fail_if(cudaLaunchKernelEx(&config, kernel, call), "the launch");
}

}  // namespace portops::blas
