// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "blas/gemm_operands_sm90.hpp"
#include "core/lanes/divide.hpp"

#include <cstdint>

// The kernels of gemm[sm90]. For files compiled for sm_90a alone.

namespace portops::blas::gemm_sm90 {

/// What the kernel knows of its products, besides op(a).
struct GemmArguments {
  std::int64_t rows;
  GemmOperand b;
  float* c;
  std::int64_t c_row, c_column, c_batch;  ///< strides
  const float* bias;                      ///< or null
  std::int64_t bias_row, bias_column;     ///< strides, one of them 0: the former where rows and columns are exchanged
  bool rows_in_pairs;                     ///< see RowPairs
  bool has_pairs;  ///< whether two neighbours in a row of c, from an even column on, can be taken at once
  std::int64_t inner;
  float alpha, beta;
  impl::Divisor row_tiles, column_tiles;
  int tile_steps;               ///< along the inner axis
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

  /// An element of c, or two neighbours in a row. has_bias: whether there is one, which begins at own_bias.
  template <bool has_bias, class Number>
  __device__ __forceinline__ void write(Number* to, Number sum, const float* own_bias) const {
    const auto one = [&](float& number, float before, const float* its_bias) {
      number *= alpha;
      if (beta != 0.0f) number = fmaf(beta, before, number);
      if constexpr (has_bias) number += __ldg(its_bias);
    };
    const Number before = beta == 0.0f ? Number{} : *to;
    if constexpr (sizeof(Number) == sizeof(float)) {
      one(sum, before, own_bias);
    } else {
      one(sum.x, before.x, own_bias);
      one(sum.y, before.y, own_bias + bias_column);
    }
    *to = sum;
  }
};

/// A tile of c. Neighbours share the tile of b, which all rows of tiles use before the next one.
template <int columns>
struct Place {
  std::int64_t product, row, column;

  __device__ __forceinline__ Place(const GemmArguments& arguments, std::uint32_t tile) {
    const std::uint32_t column_of_all = arguments.row_tiles.quotient(tile);
    const std::uint32_t of_product = arguments.column_tiles.quotient(column_of_all);
    product = of_product;
    row = std::int64_t{tile - column_of_all * arguments.row_tiles.value()} * side;
    column = std::int64_t{column_of_all - of_product * arguments.column_tiles.value()} * columns;
  }
};

/// What a block takes: tile by tile, the last one first, of each all steps or some. The beginning of a tile that it
/// shares comes first, so that the block with the end of the tile, its own last one, does not have to wait for it.
class Segments {
 public:
  __device__ __forceinline__ explicit Segments(const GemmArguments& arguments) : steps_(arguments.tile_steps) {
    const std::int64_t begin = arguments.begin(blockIdx.x), end = arguments.begin(blockIdx.x + 1);
    if (end <= begin) return;
    const std::int64_t last_tile = impl::quotient(end - 1, steps_);
    tile = static_cast<std::uint32_t>(last_tile);
    before_ = begin - last_tile * steps_;
    last = static_cast<int>(end - last_tile * steps_);
    find_first();
  }

  __device__ __forceinline__ explicit operator bool() const { return first < last; }
  __device__ __forceinline__ void advance() {
    --tile;
    before_ += steps_;
    last = steps_;
    find_first();
  }

  std::uint32_t tile = 0;
  int first = 0, last = 0;  ///< steps of the tile

 private:
  __device__ __forceinline__ void find_first() {
    first = static_cast<int>(max(std::int64_t{0}, min(before_, std::int64_t{last})));
  }

  int steps_;
  std::int64_t before_ = 0;  ///< from the tile's first step to the block's, where that comes later
};

/// Brings the tiles of op(b) of all steps of a block, copies of the next ones on their way.
template <int columns, bool a_turned, bool b_turned, Precision precision>
__device__ void produce(const GemmArguments& arguments, char* shared, sm90::Ring ring) {
  const int own = static_cast<int>(threadIdx.x) - consumers;
  const SharedAddress copies = sm90::kept_shared_address(shared + stages * (stage_bytes<columns, precision> + 16));
  TileFragment<b_turned, columns, !a_turned> of_b(own);
  Segments segments(arguments);
  int step = segments.last;
  bool begins = true;
  const auto copy = [&](int stage) {
    if (segments) {
      if (begins) {
        const Place<columns> place(arguments, segments.tile);
        of_b.begin(arguments.b, place.product, arguments.inner, place.column, std::int64_t{segments.first} * depth);
        step = segments.first;
      }
      of_b.copy(copies + stage * copy_bytes<columns>);
      begins = ++step == segments.last;
      if (begins) segments.advance();
    }
    sm90::close_copies();
  };
  for (int stage = 0; stage < copies_ahead; ++stage) copy(stage);
  int stage = 0;
  for (std::int64_t left = arguments.begin(blockIdx.x + 1) - arguments.begin(blockIdx.x); left > 0; --left) {
    sm90::wait_for_copies<copies_ahead - 1>();
    ring.empty().wait(ring.round ^ 1);
    of_b.template split<sm90::Tile<precision>::terms>(copies + stage * copy_bytes<columns>,
                                                      shared + ring.stage * stage_bytes<columns, precision>);
    sm90::fence_products();
    __syncwarp();
    if (own % 32 == 0) ring.full().arrive();
    ring.advance();
    copy(stage);
    stage = stage + 1 == copies_ahead ? 0 : stage + 1;
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
__device__ void collect(const GemmArguments& arguments, std::uint32_t tile, Sums& sums) {
  const std::int64_t first_step = std::int64_t{tile} * arguments.tile_steps;
  for (std::int64_t end = arguments.begin(blockIdx.x), block = blockIdx.x - 1; end > first_step; --block) {
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
  const std::int64_t row = place.row + row_of(arguments.rows_in_pairs, row_in_tile),
                     column = place.column + column_in_tile, left = arguments.b.lines - column;
  if (row >= arguments.rows || left <= 0) return;
  // Only few columns may be rows of c: else a variable stride would take registers that the sums need.
  const std::int64_t next = columns == side ? 1 : arguments.c_column;
  float* const to = arguments.c + place.product * arguments.c_batch + row * arguments.c_row + column * next;
  const float* const bias =
      has_bias ? arguments.bias + column * arguments.bias_column + (columns == side ? 0 : row * arguments.bias_row)
               : nullptr;
  if (arguments.has_pairs && left > 1) {
    return arguments.write<has_bias>(reinterpret_cast<float2*>(to), pair, bias);
  }
  arguments.write<has_bias>(to, pair.x, bias);
  if (left > 1) arguments.write<has_bias>(to + next, pair.y, bias + arguments.bias_column);
}

/// Writes a thread's pairs of a row of a tile, pair_at(i) at 8 * i columns after the first.
template <bool has_bias, int columns, class PairAt>
__device__ __forceinline__ void write_row(const GemmArguments& arguments, const Place<columns>& place, int row_in_tile,
                                          int column_in_tile, const PairAt& pair_at) {
  const std::int64_t row = place.row + row_of(arguments.rows_in_pairs, row_in_tile);
  const bool is_whole = row < arguments.rows && place.column + columns <= arguments.b.lines;
  if (!is_whole || !arguments.has_pairs || arguments.beta != 0.0f) {
#pragma unroll
    for (int i = 0; i < columns / 8; ++i) {
      write_pair<has_bias>(arguments, place, row_in_tile, column_in_tile + 8 * i, pair_at(i));
    }
    return;
  }
  auto* const to = reinterpret_cast<float2*>(arguments.c + place.product * arguments.c_batch + row * arguments.c_row +
                                             place.column + column_in_tile);
#pragma unroll
  for (int i = 0; i < columns / 8; ++i) {
    float2 pair = pair_at(i);
    pair.x *= arguments.alpha;
    pair.y *= arguments.alpha;
    if constexpr (has_bias) {
      const float* const bias = arguments.bias + (place.column + column_in_tile + 8 * i) * arguments.bias_column;
      pair.x += __ldg(bias);
      pair.y += __ldg(bias + arguments.bias_column);
    }
    to[4 * i] = pair;
  }
}

/// c = alpha · op(a) · op(b) + beta · c + bias. A block takes one tile of c after the other: while its sums are
/// written, those of the next one are on their way. Where whole tiles would leave blocks idle, these share the steps of
/// all tiles.
template <int columns, class A, bool b_turned, bool has_bias, Precision precision>
__global__ __launch_bounds__(threads, 1) void multiply(const __grid_constant__ GemmArguments arguments,
                                                       const __grid_constant__ A a) {
  extern __shared__ __align__(1024) char shared[];
  const int thread = threadIdx.x;
  sm90::Ring ring{sm90::shared_address(shared + stages * stage_bytes<columns, precision>), stages};
  if (thread == 0) ring.make(producers / 32, consumers / 128);
  __syncthreads();
  if (thread >= consumers) {
    sm90::leave_registers<56>();
    return produce<columns, A::turned, b_turned, precision>(arguments, shared, ring);
  }
  sm90::take_registers<200>();
  const int warpgroup = thread / 128;
  typename A::Fragment of_a;
  const auto begin = [&](const Segments& segments) {
    const Place<columns> place(arguments, segments.tile);
    of_a.begin(a, place.product, arguments.inner, place.row, std::int64_t{segments.first} * depth);
  };
  Segments segments(arguments);
  begin(segments);
  of_a.load(a);
  for (; segments; segments.advance()) {
    sm90::TileProduct<precision, columns> sums;
    for (int step = segments.first; step < segments.last; ++step) {
      sm90::RowsInRegisters<precision> rows;
      of_a.split(rows);
      const auto load_next = [&] {
        if (step + 1 == segments.last) {
          Segments next = segments;
          next.advance();
          if (next) begin(next);
        }
        // After the last step for nothing.
        of_a.load(a);
      };
      if constexpr (A::loads_before_product) load_next();
      ring.full().wait(ring.round);
      sums.template add<b_turned>(rows, sm90::shared_address(shared + ring.stage * stage_bytes<columns, precision>),
                                  [&] {
                                    if constexpr (!A::loads_before_product) load_next();
                                  });
      if constexpr (!A::loads_before_product) rows.complete();
      if (thread % 128 == 0) ring.empty().arrive();
      ring.advance();
    }
    sums.finish();
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
    sums.for_rows([&](int row, int column, const auto& pair_at) {
      write_row<has_bias>(arguments, place, warpgroup * 64 + row, column, pair_at);
    });
  }
}

/// Adds up what blocks have left of a tile, always in the same order, and writes it: a block a tile and one pack of
/// sums of each thread.
template <int columns, bool has_bias>
__global__ __launch_bounds__(consumers) void add_up(const __grid_constant__ GemmArguments arguments) {
  const unsigned tile = blockIdx.x;
  const std::int64_t first_step = std::int64_t{tile} * arguments.tile_steps;
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
