// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "blas/tensor_cores_sm90.hpp"
#include "core/lanes/divide.hpp"

#include <climits>
#include <cstdint>

// The kernels of gemm[sm90]. For files compiled for sm_90a alone.

namespace portops::blas::gemm_sm90 {

using sm90::SharedAddress;

// Four warpgroups: two multiply, two bring tiles.
constexpr int threads = 512;
constexpr int consumers = 256;
constexpr int producers = 256;
constexpr int side = 128;  ///< rows of a block's tile of c; it has as many columns, or fewer
constexpr int stages = 4;
using Layout = sm90::Tile<sm90::Precision::f32>;
constexpr int depth = Layout::channels;  ///< of a step along the inner axis
constexpr int a_bytes = Layout::bytes(side);
template <int columns>
constexpr int stage_bytes = a_bytes + Layout::bytes(columns);
template <int columns>
constexpr int shared_bytes = stages * (stage_bytes<columns> + 16);
template <int columns>
constexpr int sum_packs = columns / 8;  ///< of four sums, of a thread

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
  std::int64_t c_row, c_column, c_batch;  ///< strides
  const float* bias;                      ///< or null
  std::int64_t bias_stride;
  bool has_pairs;  ///< whether two neighbours in a row of c, from an even column on, can be taken at once
  std::int64_t inner;
  float alpha, beta;
  std::int64_t row_tiles, column_tiles;
  std::int64_t tile_steps;      ///< along the inner axis
  std::int64_t steps;           ///< that blocks share out: those of all tiles of all products
  std::int64_t together_steps;  ///< so many stay together: those of a tile, or one
  int blocks;
  float4* sums;  ///< what blocks leave to others: a tile for each, or to add_up two
  int* flags;    ///< whether they have; null where they leave it to add_up

  /// Where the steps of a block begin, counted over all tiles.
  __device__ __forceinline__ std::int64_t begin(std::int64_t block) const {
    return steps / together_steps * block / blocks * together_steps;
  }

  /// What a block leaves of a tile to add_up: that of which it has the end comes second.
  template <int columns>
  __device__ __forceinline__ float4* left_to_add_up(std::int64_t block, bool has_end) const {
    return sums + (2 * block + (has_end ? 1 : 0)) * sum_packs<columns> * consumers;
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
template <int columns>
struct Place {
  std::int64_t product, row, column;

  __device__ __forceinline__ Place(const GemmArguments& arguments, std::int64_t tile) {
    const std::int64_t column_of_all = impl::quotient(tile, arguments.row_tiles);
    product = impl::quotient(column_of_all, arguments.column_tiles);
    row = (tile - column_of_all * arguments.row_tiles) * side;
    column = (column_of_all - product * arguments.column_tiles) * columns;
  }
};

/// What a thread brings of a tile of so many lines and step: vectors of four neighbours in memory, along the inner axis
/// or, in a turned tile, of the lines. Begun for each tile; then each load is that of the next step.
template <bool turned, int lines>
class Fragment {
 public:
  /// `line` is the first of the tile, `k` the first along the inner axis that is loaded.
  __device__ __forceinline__ void begin(const GemmOperand& operand, std::int64_t product, std::int64_t inner,
                                        std::int64_t line, std::int64_t k, int thread) {
    const std::int64_t own_line = line + line_of(thread, 0), own_k = k + inner_of(thread, 0);
    from_ = operand.data + product * operand.batch_stride +
            (turned ? own_k * operand.stride + own_line : own_line * operand.stride + own_k);
    between_ = rows_at_once * operand.stride;
    step_ = turned ? depth * operand.stride : depth;
    lines_left_ = clamped(operand.lines - own_line);
    inner_left_ = clamped(inner - own_k);
  }

  /// What does not exist is 0.
  __device__ __forceinline__ void load() {
    const float* from = from_;
#pragma unroll
    for (int i = 0; i < vectors; ++i) {
      vector_[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      const bool exists = turned ? lines_left_ > 0 && inner_left_ > rows_at_once * i
                                 : inner_left_ > 0 && lines_left_ > rows_at_once * i;
      if (exists) vector_[i] = *reinterpret_cast<const float4*>(from);
      from += between_;
    }
    from_ += step_;
    inner_left_ -= depth;
  }

  /// As bf16 terms.
  __device__ __forceinline__ void store(char* tile, int thread) const {
#pragma unroll
    for (int i = 0; i < vectors; ++i) {
      std::uint32_t first[3], second[3];
      sm90::split_pair(vector_[i].x, vector_[i].y, first);
      sm90::split_pair(vector_[i].z, vector_[i].w, second);
      const int line = line_of(thread, i), inner = inner_of(thread, i);
      char* const to = tile + (turned ? sm90::TurnedTile::offset(line & ~7, inner) + (line & 4) * 2
                                      : Layout::offset(line, inner / 8) + (inner & 4) * 2);
#pragma unroll
      for (int term = 0; term < 3; ++term) {
        *reinterpret_cast<uint2*>(to + term * lines * Layout::row_bytes) = make_uint2(first[term], second[term]);
      }
    }
  }

 private:
  // Neighbouring threads read whole rows of the tile in memory, which so many take.
  static constexpr int of_row = (turned ? lines : depth) / 4;
  static constexpr int rows_at_once = producers / of_row;
  __device__ __forceinline__ static int line_of(int thread, int i) {
    return turned ? thread % of_row * 4 : thread / of_row + rows_at_once * i;
  }
  __device__ __forceinline__ static int inner_of(int thread, int i) {
    return turned ? thread / of_row + rows_at_once * i : thread % of_row * 4;
  }
  __device__ __forceinline__ static int clamped(std::int64_t left) {
    return static_cast<int>(min(left, std::int64_t{INT_MAX}));
  }

  static constexpr int vectors = lines * depth / (4 * producers);
  float4 vector_[vectors];
  const float* from_;
  std::int64_t between_, step_;  ///< vectors, and steps, in elements
  int lines_left_, inner_left_;  ///< from the first vector on
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
template <int columns, bool a_turned, bool b_turned>
__device__ void produce(const GemmArguments& arguments, char* shared, sm90::Ring ring) {
  const int own = static_cast<int>(threadIdx.x) - consumers;
  Fragment<a_turned, side> of_a;
  Fragment<b_turned, columns> of_b;
  Segments segments(arguments);
  Place<columns> place(arguments, segments.tile);
  std::int64_t step = segments.first;
  const auto begin = [&] {
    of_a.begin(arguments.a, place.product, arguments.inner, place.row, step * depth, own);
    of_b.begin(arguments.b, place.product, arguments.inner, place.column, step * depth, own);
  };
  begin();
  of_a.load();
  of_b.load();
  while (segments) {
    char* const tiles = shared + ring.stage * stage_bytes<columns>;
    ring.empty().wait(ring.round ^ 1);
    if (++step == segments.last) {
      segments.advance();
      place = Place<columns>(arguments, segments.tile);
      step = segments.first;
      begin();
    }
    of_a.store(tiles, own);
    if (segments) of_a.load();
    of_b.store(tiles + a_bytes, own);
    if (segments) of_b.load();
    sm90::fence_products();
    __syncwarp();
    if (own % 32 == 0) ring.full().arrive();
    ring.advance();
  }
}

/// Writes a thread's sums, its packs so far apart that neighbouring threads' are neighbours.
template <class Sums>
__device__ __forceinline__ void store(float4* to, Sums& sums) {
  sums.for_packs([&](int i, float4& pack) { to[i * consumers] = pack; });
}

/// Leaves the sums of a tile to the block that has its end.
template <int columns, class Sums>
__device__ void leave(const GemmArguments& arguments, Sums& sums) {
  float4* const to =
      arguments.sums + blockIdx.x * static_cast<std::int64_t>(sum_packs<columns> * consumers) + threadIdx.x;
  store(to, sums);
  __threadfence();
  sm90::synchronize<2, consumers>();
  if (threadIdx.x == 0) sm90::release(arguments.flags + blockIdx.x);
}

/// Adds what other blocks have left of a tile, always in the same order.
template <int columns, class Sums>
__device__ void collect(const GemmArguments& arguments, std::int64_t tile, Sums& sums) {
  for (std::int64_t end = arguments.begin(blockIdx.x), block = blockIdx.x - 1; end > tile * arguments.tile_steps;
       --block) {
    if (threadIdx.x == 0) sm90::acquire(arguments.flags + block);
    sm90::synchronize<2, consumers>();
    const float4* const from = arguments.sums + block * (sum_packs<columns> * consumers) + threadIdx.x;
    sums.for_packs([&](int i, float4& pack) {
      const float4 other = __ldcg(from + i * consumers);
      pack = make_float4(pack.x + other.x, pack.y + other.y, pack.z + other.z, pack.w + other.w);
    });
    end = arguments.begin(block);
  }
}

/// Writes two neighbours in a row of a tile, those of them that exist.
template <bool has_bias, int columns>
__device__ __forceinline__ void write_pair(const GemmArguments& arguments, const Place<columns>& place, int row_in_tile,
                                           int column_in_tile, float2 pair) {
  const std::int64_t row = place.row + row_in_tile, column = place.column + column_in_tile,
                     left = arguments.b.lines - column;
  if (row >= arguments.a.lines || left <= 0) return;
  // Only few columns may be rows of c: else a variable stride would take registers that the sums need.
  const std::int64_t next = columns == side ? 1 : arguments.c_column;
  float* const to = arguments.c + place.product * arguments.c_batch + row * arguments.c_row + column * next;
  if (arguments.has_pairs && left > 1) {
    return arguments.write<has_bias>(reinterpret_cast<float2*>(to), pair, column);
  }
  arguments.write<has_bias>(to, pair.x, column);
  if (left > 1) arguments.write<has_bias>(to + next, pair.y, column + 1);
}

/// c = alpha · op(a) · op(b) + beta · c + bias. A block takes one tile of c after the other: while its sums are
/// written, those of the next one are on their way. Where whole tiles would leave blocks idle, these share the steps of
/// all tiles.
template <int columns, bool a_turned, bool b_turned, bool has_bias>
__global__ __launch_bounds__(threads, 1) void multiply(const __grid_constant__ GemmArguments arguments) {
  extern __shared__ __align__(1024) char shared[];
  const int thread = threadIdx.x;
  sm90::Ring ring{sm90::shared_address(shared + stages * stage_bytes<columns>), stages};
  if (thread == 0) ring.make(producers / 32, consumers / 128);
  __syncthreads();
  if (thread >= consumers) {
    sm90::leave_registers<96>();
    return produce<columns, a_turned, b_turned>(arguments, shared, ring);
  }
  sm90::take_registers<160>();
  const int warpgroup = thread / 128;
  for (Segments segments(arguments); segments; segments.advance()) {
    sm90::TileProduct<sm90::Precision::f32, columns> sums;
    for (std::int64_t step = segments.first; step < segments.last; ++step) {
      ring.full().wait(ring.round);
      const SharedAddress tiles = sm90::shared_address(shared + ring.stage * stage_bytes<columns>);
      sums.template add<a_turned, b_turned>(tiles + warpgroup * 64 * Layout::row_bytes, side, tiles + a_bytes);
      sums.template wait<1>();
      if (thread % 128 == 0 && step > segments.first) ring.empty_before().arrive();
      ring.advance();
    }
    sums.finish();
    if (thread % 128 == 0) ring.empty_before().arrive();
    const bool has_end = segments.last == arguments.tile_steps, has_all = has_end && segments.first == 0;
    if (arguments.flags == nullptr && !has_all) {
      store(arguments.left_to_add_up<columns>(blockIdx.x, has_end) + thread, sums);
      continue;
    }
    if (!has_end) {
      leave<columns>(arguments, sums);
      continue;
    }
    if (!has_all) collect<columns>(arguments, segments.tile, sums);
    const Place<columns> place(arguments, segments.tile);
    sums.for_pairs([&](int row, int column, float2 pair) {
      write_pair<has_bias>(arguments, place, warpgroup * 64 + row, column, pair);
    });
  }
}

/// Adds up what blocks have left of a tile, always in the same order, and writes it: a block a tile and one pack of
/// sums of each thread.
template <int columns, bool has_bias>
__global__ __launch_bounds__(consumers) void add_up(const __grid_constant__ GemmArguments arguments) {
  const std::int64_t tile = blockIdx.x, first_step = tile * arguments.tile_steps;
  const std::int64_t end_step = first_step + arguments.tile_steps;
  const int thread = threadIdx.x, pack = blockIdx.y;
  const auto block_of = [&](std::int64_t step) {
    std::int64_t block = impl::quotient(step * arguments.blocks, arguments.steps);
    while (arguments.begin(block + 1) <= step) ++block;
    return block;
  };
  const std::int64_t first = block_of(first_step), last = block_of(end_step - 1);
  if (first == last) return;  // that block has written it
  constexpr int underway = 8;
  float4 sum{};
  for (std::int64_t block = last; block >= first; block -= underway) {
    float4 left[underway];
#pragma unroll
    for (int i = 0; i < underway; ++i) {
      const bool has_end = block - i == last;
      const float4* const from = arguments.left_to_add_up<columns>(block - i, has_end) + pack * consumers + thread;
      left[i] = block - i >= first ? __ldcg(from) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
#pragma unroll
    for (int i = 0; i < underway; ++i) {
      sum = make_float4(sum.x + left[i].x, sum.y + left[i].y, sum.z + left[i].z, sum.w + left[i].w);
    }
  }
  // As TileProduct has them.
  const int lane = thread % 32, row = thread / 32 * 16 + lane / 4, column = pack * 8 + lane % 4 * 2;
  const Place<columns> place(arguments, tile);
  write_pair<has_bias>(arguments, place, row, column, make_float2(sum.x, sum.y));
  write_pair<has_bias>(arguments, place, row + 8, column, make_float2(sum.z, sum.w));
}

}  // namespace portops::blas::gemm_sm90
