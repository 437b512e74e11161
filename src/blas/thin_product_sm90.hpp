// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "blas/barriers_sm90.hpp"

#include <cstdint>
#include <cstring>

// The kernel of gemm[thin]. For files compiled for sm_90a alone.

namespace portops::blas::thin {

constexpr int threads = 256;
constexpr int warps = threads / 32;

/// A matrix of `lines` along the inner axis times a few vectors. In c, and in the bias, a line and a vector have a
/// stride each.
template <class T>
struct Arguments {
  struct Strides {
    std::int64_t line, vector;
  };
  const T* matrix;
  std::int64_t matrix_stride, matrix_batch;  ///< the former of lines, or, where lines are neighbours, of the inner axis
  std::int64_t lines;
  const T* vectors;
  std::int64_t vector_stride, vector_inner, vectors_batch;
  int count;  ///< of vectors
  std::int64_t inner;
  T* c;
  Strides of_c;
  std::int64_t c_batch;
  const T* bias;  ///< or null
  Strides of_bias;
  T alpha, beta;

  // How it is shared out.
  int groups;          ///< of a block's warps; those of a group share the inner axis
  int cluster;         ///< blocks that share the inner axis
  std::int64_t share;  ///< of the inner axis, of a block
  std::int64_t chunk;  ///< of the vectors, that is in shared memory at once
};

/// How a warp reads the matrix, by packs of 16 bytes: `lanes` side by side along the inner axis. Where lines are
/// neighbours, a pack has so many of them, else a lane has four lines.
template <class T, int vectors, bool lines_are_neighbours, int lanes>
struct Form {
  using Number = T;
  static constexpr int most_vectors = vectors;
  static constexpr bool is_down = lines_are_neighbours;
  static constexpr int inner_lanes = lanes;
  static constexpr int pack = 16 / static_cast<int>(sizeof(T));
  static constexpr int lines_of_lane = is_down ? pack : 4;
  static constexpr int lines = lines_of_lane * (32 / lanes);                                   ///< of a warp
  static constexpr int loads = is_down ? 4 : 8;                                                ///< of a step
  static constexpr int step = is_down ? loads * lanes : loads / lines_of_lane * lanes * pack;  ///< along the inner axis
  static constexpr int buffers = is_down ? 2 : 1;  ///< steps whose packs are in registers

  static constexpr int sums = vectors * lines_of_lane;          ///< of a lane
  static constexpr int kept = sums < lanes ? 1 : sums / lanes;  ///< of these, when lanes have added up theirs
  static constexpr int elements = vectors * lines;              ///< of c, of a warp
};

template <class T>
struct alignas(16) Pack {
  T element[16 / sizeof(T)];
};

/// A pack that is read once: it takes no place in the L1 cache.
template <class T>
__device__ __forceinline__ Pack<T> read_once(const T* from) {
  uint4 bits;
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
               : "l"(from));
  Pack<T> result;
  std::memcpy(&result, &bits, sizeof(bits));
  return result;
}

/// A product's part of one warp.
template <class F>
class Warp {
  using T = typename F::Number;
  static constexpr int pack = F::pack, loads = F::loads;

 public:
  using Packs = Pack<T>[loads];

  __device__ __forceinline__ Warp(const Arguments<T>& arguments, std::int64_t first_line)
      : inner_lane_(F::is_down ? lane() / (32 / F::inner_lanes) : lane() % F::inner_lanes),
        line_in_warp_((F::is_down ? lane() % (32 / F::inner_lanes) : lane() / F::inner_lanes) * F::lines_of_lane) {
    const std::int64_t line = first_line + line_in_warp_;
    matrix_ =
        arguments.matrix + blockIdx.y * arguments.matrix_batch + (F::is_down ? line : line * arguments.matrix_stride);
    const std::int64_t left = arguments.lines - line;
    lines_ = static_cast<int>(left < F::lines_of_lane ? left : F::lines_of_lane);
  }

  /// The packs of a step from k on. What does not exist is 0.
  __device__ __forceinline__ void load(Packs& to, const Arguments<T>& arguments, std::int64_t k,
                                       std::int64_t end) const {
#pragma unroll
    for (int i = 0; i < loads; ++i) {
      const int of_line = F::is_down ? 0 : i % F::lines_of_lane;
      const std::int64_t own_k = F::is_down ? k + i * F::inner_lanes + inner_lane_
                                            : k + (i / F::lines_of_lane * F::inner_lanes + inner_lane_) * pack;
      const T* const from =
          F::is_down ? matrix_ + own_k * arguments.matrix_stride : matrix_ + of_line * arguments.matrix_stride + own_k;
      to[i] = of_line < lines_ && own_k < end ? read_once(from) : Pack<T>{};
    }
  }

  /// Adds the products of a step, whose vectors begin at k of those in shared memory.
  __device__ __forceinline__ void add(const Packs& packs, const T* vectors, int k, int pitch) {
    if constexpr (F::is_down) {
#pragma unroll
      for (int i = 0; i < loads; ++i) {
        const T* const from = vectors + (k + i * F::inner_lanes + inner_lane_) * F::most_vectors;
        T factor[F::most_vectors];
#pragma unroll
        for (int v = 0; v < F::most_vectors; ++v) factor[v] = from[v];
#pragma unroll
        for (int j = 0; j < pack; ++j) {
#pragma unroll
          for (int v = 0; v < F::most_vectors; ++v) add_product(v, j, factor[v], packs[i].element[j]);
        }
      }
    } else {
#pragma unroll
      for (int i = 0; i < loads; i += F::lines_of_lane) {
#pragma unroll
        for (int v = 0; v < F::most_vectors; ++v) {
          const T* const from = vectors + v * pitch + k + (i / F::lines_of_lane * F::inner_lanes + inner_lane_) * pack;
          T factor[pack];
#pragma unroll
          for (int j = 0; j < pack; ++j) factor[j] = from[j];
#pragma unroll
          for (int line = 0; line < F::lines_of_lane; ++line) {
#pragma unroll
            for (int j = 0; j < pack; ++j) add_product(v, line, factor[j], packs[i + line].element[j]);
          }
        }
      }
    }
  }

  /// Adds up the sums of the lanes that share them, each of which keeps some, and these to what it has kept.
  __device__ __forceinline__ void keep_sums() {
    constexpr int distance = F::is_down ? 32 / F::inner_lanes : 1;
    int count = F::sums;
#pragma unroll
    for (int half = F::inner_lanes / 2; half > 0; half /= 2) {
      const int other = half * distance;
      if (count == 1) {
        sums_[0] += __shfl_xor_sync(~0u, sums_[0], other);
        continue;
      }
      count /= 2;
      const bool is_upper = (inner_lane_ & half) != 0;
#pragma unroll
      for (int i = 0; i < F::sums / 2; ++i) {
        if (i >= count) continue;
        const T own = is_upper ? sums_[i + count] : sums_[i], given = is_upper ? sums_[i] : sums_[i + count];
        sums_[i] = own + __shfl_xor_sync(~0u, given, other);
      }
    }
#pragma unroll
    for (int i = 0; i < F::kept; ++i) kept_[i] += sums_[i];
#pragma unroll
    for (T& sum : sums_) sum = T(0);
  }

  /// Writes what the lanes have kept: vector after vector, lines side by side.
  __device__ __forceinline__ void store(T* to) const {
    int count = F::sums, first = 0;
    bool writes = true;
#pragma unroll
    for (int half = F::inner_lanes / 2; half > 0; half /= 2) {
      const bool is_upper = (inner_lane_ & half) != 0;
      if (count == 1) {
        writes = writes && !is_upper;
      } else {
        count /= 2;
        if (is_upper) first += count;
      }
    }
    if (!writes) return;
#pragma unroll
    for (int i = 0; i < F::kept; ++i) {
      to[(first + i) / F::lines_of_lane * F::lines + line_in_warp_ + (first + i) % F::lines_of_lane] = kept_[i];
    }
  }

 private:
  __device__ __forceinline__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  __device__ __forceinline__ void add_product(int vector, int line, T x, T y) {
    T& sum = sums_[vector * F::lines_of_lane + line];
    sum = fma(x, y, sum);
  }

  int inner_lane_, line_in_warp_;
  const T* matrix_;
  int lines_;  ///< of the lane, that there are
  T sums_[F::sums] = {};
  T kept_[F::kept] = {};
};

/// Brings some of the vectors to shared memory, `rounded` along the inner axis, of which there are `count`: what a warp
/// reads at once side by side. What does not exist is 0.
template <class F, class T>
__device__ __forceinline__ void bring_vectors(const Arguments<T>& arguments, T* to, std::int64_t first, int count,
                                              int rounded) {
  constexpr int vectors = F::most_vectors, underway = 8 / vectors;
  const T* const from = arguments.vectors + blockIdx.y * arguments.vectors_batch + first * arguments.vector_inner;
  const int pitch = static_cast<int>(arguments.chunk);
#pragma unroll underway
  for (int k = static_cast<int>(threadIdx.x); k < rounded; k += threads) {
    T number[vectors];
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      const bool exists = v < arguments.count && k < count;
      number[v] = exists ? from[v * arguments.vector_stride + k * arguments.vector_inner] : T(0);
    }
#pragma unroll
    for (int v = 0; v < vectors; ++v) to[F::is_down ? k * vectors + v : v * pitch + k] = number[v];
  }
}

/// Writes c = alpha · sum + beta · c + bias, from the sums of all warps and blocks that share the inner axis, added up
/// in their order.
template <class F, class T>
__device__ __forceinline__ void write(const Arguments<T>& arguments, const T* sums, std::int64_t first_line, int rank) {
  const int sharers = warps / arguments.groups;
  for (int i = rank * threads + static_cast<int>(threadIdx.x); i < arguments.groups * F::elements;
       i += arguments.cluster * threads) {
    const int group = i / F::elements, element = i - group * F::elements;
    const T* const own = sums + group * sharers * F::elements + element;
    T sum(0);
    for (int block = 0; block < arguments.cluster; ++block) {
      const T* const of_block = arguments.cluster == 1 ? own : sm90::in_block(own, block);
      for (int warp = 0; warp < sharers; ++warp) sum += of_block[warp * F::elements];
    }
    const int vector = element / F::lines;
    const std::int64_t line = first_line + group * F::lines + element % F::lines;
    if (vector >= arguments.count || line >= arguments.lines) continue;
    T* const to =
        arguments.c + blockIdx.y * arguments.c_batch + line * arguments.of_c.line + vector * arguments.of_c.vector;
    sum *= arguments.alpha;
    if (arguments.beta != T(0)) sum = fma(arguments.beta, *to, sum);
    if (arguments.bias != nullptr) {
      sum += arguments.bias[line * arguments.of_bias.line + vector * arguments.of_bias.vector];
    }
    *to = sum;
  }
}

template <class F, class T = typename F::Number>
__global__ __launch_bounds__(threads, 2) void multiply(const __grid_constant__ Arguments<T> arguments) {
  extern __shared__ __align__(16) char shared[];
  T* const vectors = reinterpret_cast<T*>(shared);
  const int rank = static_cast<int>(blockIdx.x) % arguments.cluster;
  const std::int64_t first_line = std::int64_t{blockIdx.x / arguments.cluster} * (arguments.groups * F::lines);
  const int own_warp = static_cast<int>(threadIdx.x) / 32, sharers = warps / arguments.groups;
  Warp<F> warp(arguments, first_line + own_warp / sharers * F::lines);
  typename Warp<F>::Packs packs[F::buffers];
  const std::int64_t stride = sharers * F::step, first = rank * arguments.share;
  const std::int64_t end = min(first + arguments.share, arguments.inner);
  for (std::int64_t chunk = first; chunk < end; chunk += arguments.chunk) {
    const std::int64_t chunk_end = min(chunk + arguments.chunk, end);
    const int count = static_cast<int>(chunk_end - chunk);
    std::int64_t k = chunk + own_warp % sharers * F::step;
    warp.load(packs[0], arguments, k, chunk_end);
    __syncthreads();  // the vectors before have been read
    bring_vectors<F>(arguments, vectors, chunk, count, (count + F::step - 1) / F::step * F::step);
    __syncthreads();
    const auto take_step = [&](int buffer) {
      if (F::buffers > 1) warp.load(packs[F::buffers - 1 - buffer], arguments, k + stride, chunk_end);
      warp.add(packs[buffer], vectors, static_cast<int>(k - chunk), static_cast<int>(arguments.chunk));
      k += stride;
      if (F::buffers == 1 && k < chunk_end) warp.load(packs[0], arguments, k, chunk_end);
    };
    while (k < chunk_end) {
      take_step(0);
      if (F::buffers > 1 && k < chunk_end) take_step(F::buffers - 1);
    }
    warp.keep_sums();
  }
  __syncthreads();  // from here on sums lie where vectors were
  warp.store(vectors + own_warp * F::elements);
  arguments.cluster == 1 ? __syncthreads() : sm90::synchronize_cluster();
  write<F>(arguments, vectors, first_line, rank);
  if (arguments.cluster > 1) sm90::synchronize_cluster();  // others read this block's sums
}

}  // namespace portops::blas::thin
