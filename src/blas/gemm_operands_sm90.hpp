// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "blas/tensor_cores_sm90.hpp"

#include <climits>
#include <cstdint>

// How the kernels of gemm[sm90] read their operands. For files compiled for sm_90a alone.

namespace portops::blas::gemm_sm90 {

using sm90::SharedAddress;

// Four warpgroups: two multiply, each 64 rows of op(a) that it brings to its registers; two bring the tiles of op(b) to
// shared memory, which would be the limit if the tensor cores read both operands there.
constexpr int threads = 512;
constexpr int consumers = 256;
constexpr int producers = 256;
constexpr int side = 128;  ///< rows of a block's tile of c; it has as many columns, or fewer
constexpr int stages = 4;
constexpr int copies_ahead = 4;  ///< steps whose op(b) is on its way to shared memory
using sm90::Precision;
using Layout = sm90::Tile<Precision::f32>;  ///< but for the number of terms that of all precisions
constexpr int depth = Layout::channels;     ///< of a step along the inner axis
template <int columns, Precision precision>
constexpr int stage_bytes = sm90::Tile<precision>::bytes(columns);
template <int columns>
constexpr int copy_bytes =
    columns * depth * static_cast<int>(sizeof(float));  ///< of a step of op(b), before it is split
template <int columns, Precision precision>
constexpr int shared_bytes = stages * (stage_bytes<columns, precision> + 16) + copies_ahead * copy_bytes<columns>;
template <int columns>
constexpr int sum_packs = columns / 8;  ///< of four sums, of a thread

/// An operand as blocks read it: lines, which are rows of op(a) or columns of op(b), of the inner axis.
struct GemmOperand {
  const float* data;
  std::int64_t stride;
  std::int64_t batch_stride;
  std::int64_t lines;
};

__device__ __forceinline__ int clamped(std::int64_t left) { return static_cast<int>(min(left, std::int64_t{INT_MAX})); }

/// What a thread that multiplies has of op(a): the numbers of its two rows that a step takes. Where rows are neighbours
/// in memory (in_pairs), it reads two of them at once, and otherwise four neighbours along the inner axis, whichever of
/// the instructions' rows or places along the inner axis these become.
template <bool in_pairs>
struct RowPairs {
  static constexpr int instructions = Layout::instructions;
  /// Of each instruction, for i = 0 … 3. In pairs: of both rows, at 8 * (i / 2) + i % 2 along the inner axis, from the
  /// thread's first place on. Else of row i % 2, the first or the second two of four neighbours.
  float2 pairs[instructions][4];

  /// As bf16 terms.
  template <Precision precision>
  __device__ __forceinline__ void split(sm90::RowsInRegisters<precision>& rows) const {
    constexpr int terms = sm90::Tile<precision>::terms;
#pragma unroll
    for (int k = 0; k < instructions; ++k) {
#pragma unroll
      for (int word = 0; word < 4; ++word) {
        std::uint32_t term[terms];
        if constexpr (in_pairs) {
          const float2 first = pairs[k][word / 2 * 2], second = pairs[k][word / 2 * 2 + 1];
          word % 2 == 0 ? sm90::split_pair(first.x, second.x, term) : sm90::split_pair(first.y, second.y, term);
        } else {
          sm90::split_pair(pairs[k][word].x, pairs[k][word].y, term);
        }
#pragma unroll
        for (int i = 0; i < terms; ++i) rows.words[i][k][word] = term[i];
      }
    }
  }

  /// Where a thread's part of a tile begins: its first row, and its first place along the inner axis.
  __device__ __forceinline__ static int first_row() {
    return static_cast<int>(threadIdx.x) / 32 * 16 + static_cast<int>(threadIdx.x) % 32 / 4 * (in_pairs ? 2 : 1);
  }
  __device__ __forceinline__ static int first_inner() { return static_cast<int>(threadIdx.x) % 4 * (in_pairs ? 2 : 4); }
};

/// op(a) of matrices, whose rows are neighbours in memory where it is turned. Like every op(a), it has a Fragment,
/// which is begun for each tile and then loads step after step: before the product of the step before, so that there is
/// more time for it, or, where places take long to be found, while that product is underway.
template <bool is_turned>
struct MatrixRows {
  static constexpr bool turned = is_turned;
  static constexpr bool loads_before_product = true;
  GemmOperand operand;

  class Fragment : public RowPairs<turned> {
    using RowPairs<turned>::instructions;
    using RowPairs<turned>::pairs;

   public:
    /// `line` is the tile's first row, `k` the first along the inner axis that is loaded.
    __device__ __forceinline__ void begin(const MatrixRows& a, std::int64_t product, std::int64_t inner,
                                          std::int64_t line, std::int64_t k) {
      const std::int64_t own_line = line + this->first_row(), own_k = k + this->first_inner();
      from_ = a.operand.data + product * a.operand.batch_stride +
              (turned ? own_k * a.operand.stride + own_line : own_line * a.operand.stride + own_k);
      lines_left_ = clamped(a.operand.lines - own_line);
      inner_left_ = clamped(inner - own_k);
    }

    /// What does not exist is 0.
    __device__ __forceinline__ void load(const MatrixRows& a) {
      const std::int64_t stride = a.operand.stride;
      if constexpr (turned) {
#pragma unroll
        for (int k = 0; k < instructions; ++k) {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int inner = 16 * k + 8 * (i / 2) + i % 2;
            pairs[k][i] = lines_left_ > 0 && inner_left_ > inner
                              ? *reinterpret_cast<const float2*>(from_ + inner * stride)
                              : make_float2(0.0f, 0.0f);
          }
        }
        from_ += depth * stride;
      } else {
#pragma unroll
        for (int k = 0; k < instructions; ++k) {
#pragma unroll
          for (int row = 0; row < 2; ++row) {
            const float4 four = lines_left_ > 8 * row && inner_left_ > 16 * k
                                    ? *reinterpret_cast<const float4*>(from_ + 8 * row * stride + 16 * k)
                                    : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            pairs[k][row] = make_float2(four.x, four.y);
            pairs[k][2 + row] = make_float2(four.z, four.w);
          }
        }
        from_ += depth;
      }
      inner_left_ -= depth;
    }

   private:
    const float* from_;
    int lines_left_, inner_left_;
  };
};

/// Which row of 128 that of an instruction is.
__device__ __forceinline__ int row_of(bool in_pairs, int row) {
  return in_pairs ? (row & ~15) + (row % 8 * 2) + row / 8 % 2 : row;
}

/// Which place along the inner axis an instruction sees `k` at. Two neighbours from an even one on stay neighbours.
template <bool in_fours>
__device__ __forceinline__ int place_of(int k) {
  return in_fours ? (k & ~15) + k % 4 / 2 * 8 + k % 16 / 4 * 2 + k % 2 : k;
}

/// What a thread brings of op(b): of each step some of the tile's lines, in units of four neighbours in memory, along
/// the inner axis or, in a turned tile, of the lines. Begun for each tile; then each copy is that of the next step.
template <bool turned, int lines, bool inner_in_fours>
class TileFragment {
 public:
  __device__ __forceinline__ explicit TileFragment(int thread) : thread_(thread) {}

  /// `line` is the first of the tile, `k` the first along the inner axis that is copied.
  __device__ __forceinline__ void begin(const GemmOperand& operand, std::int64_t product, std::int64_t inner,
                                        std::int64_t line, std::int64_t k) {
    const std::int64_t own_line = line + line_of(0), own_k = k + inner_of(0);
    from_ = operand.data + product * operand.batch_stride +
            (turned ? own_k * operand.stride + own_line : own_line * operand.stride + own_k);
    between_ = rows_at_once * operand.stride;
    step_ = turned ? depth * operand.stride : depth;
    lines_left_ = clamped(operand.lines - own_line);
    inner_left_ = clamped(inner - own_k);
  }

  /// As they are, where only this thread reads them. What does not exist is 0.
  __device__ __forceinline__ void copy(SharedAddress to) {
    const float* from = from_;
#pragma unroll
    for (int i = 0; i < units; ++i) {
      const bool exists = turned ? lines_left_ > 0 && inner_left_ > rows_at_once * i
                                 : inner_left_ > 0 && lines_left_ > rows_at_once * i;
      sm90::copy_unit(own_unit(to, i), exists ? from : from_, exists ? 16 : 0);
      from += between_;
    }
    from_ += step_;
    inner_left_ -= depth;
  }

  /// As bf16 terms, for the product.
  template <int terms>
  __device__ __forceinline__ void split(SharedAddress copies, char* tile) const {
    float4 unit[units];
#pragma unroll
    for (int i = 0; i < units; ++i) unit[i] = sm90::read_float4(own_unit(copies, i));
#pragma unroll
    for (int i = 0; i < units; ++i) {
      std::uint32_t first[terms], second[terms];
      sm90::split_pair(unit[i].x, unit[i].y, first);
      sm90::split_pair(unit[i].z, unit[i].w, second);
      const int line = line_of(i), inner = place_of<inner_in_fours>(inner_of(i));
#pragma unroll
      for (int term = 0; term < terms; ++term) {
        char* const to = tile + term * lines * Layout::row_bytes;
        if constexpr (turned) {
          *reinterpret_cast<uint2*>(to + sm90::TurnedTile::offset(line & ~7, inner) + (line & 4) * 2) =
              make_uint2(first[term], second[term]);
        } else if constexpr (inner_in_fours) {
          *reinterpret_cast<std::uint32_t*>(to + Layout::offset(line, inner / 8) + inner % 8 * 2) = first[term];
          *reinterpret_cast<std::uint32_t*>(to + Layout::offset(line, inner / 8 + 1) + inner % 8 * 2) = second[term];
        } else {
          *reinterpret_cast<uint2*>(to + Layout::offset(line, inner / 8) + inner % 8 * 2) =
              make_uint2(first[term], second[term]);
        }
      }
    }
  }

 private:
  // Neighbouring threads read whole rows of the tile in memory, which so many take.
  static constexpr int of_row = (turned ? lines : depth) / 4;
  static constexpr int rows_at_once = producers / of_row;
  static constexpr int units = lines * depth / (4 * producers);
  __device__ __forceinline__ int line_of(int i) const {
    return turned ? thread_ % of_row * 4 : thread_ / of_row + rows_at_once * i;
  }
  __device__ __forceinline__ int inner_of(int i) const {
    return turned ? thread_ / of_row + rows_at_once * i : thread_ % of_row * 4;
  }
  __device__ __forceinline__ SharedAddress own_unit(SharedAddress copies, int i) const {
    return copies + (i * producers + thread_) * 16;
  }

  int thread_;
  const float* from_;
  std::int64_t between_, step_;  ///< units, and steps, in elements
  int lines_left_, inner_left_;  ///< from the first unit on
};

}  // namespace portops::blas::gemm_sm90
