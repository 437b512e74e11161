// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/fused/fused_blocks_sm90.hpp"

#include <type_traits>

// The columns of the fused kernels: what threads make of samples in registers. For _sm90.cu alone. How samples are
// found is a parameter of the kernels, a struct Samples with
//
//   corner_count                                   pixels of x that a sample is blended of: 4 or 1
//   least_rows                                     output channels of the smallest block, in f32: 64 or 32
//   has_64_pixels<T>                               whether there are blocks of 64 pixels
//   blocks_at_once<precision>(output channels of a block)  for how many of a multiprocessor registers do
//   loads_ahead<precision, output channels of a block>     whether they do for reading ahead: see ColumnMaker
//   find<T, precision, pixels>(arguments, phase, first pixel, shared memory of the SampleTable)

namespace portops::impl::fused_sm90 {

/// A sample of the block's pixels: where its first corner, above left, lies in x, in bytes, a multiple of 16, and
/// flags.
using Place = std::uint32_t;
constexpr Place steps_right = 1, steps_down = 2;  ///< the corners to the right, or below, are other pixels
constexpr Place is_zero = 4;                      ///< the sample lies outside; what is read for it does not count

/// The samples of a phase in shared memory: of several corners the weights, times the mask, and the places, tap by tap.
template <int corners, int pixels>
struct SampleTable {
  int taps;

  __host__ __device__ constexpr int places() const { return corners > 1 ? taps * pixels * 16 : 0; }
  __host__ __device__ constexpr int bytes() const { return places() + taps * pixels * 4; }
};

__device__ __forceinline__ std::uint32_t word_of(const uint4& vector, int i) {
  return i == 0 ? vector.x : i == 1 ? vector.y : i == 2 ? vector.z : vector.w;
}

/// 16 bytes of neighbouring channels of a sample's corners.
template <class T, int corners>
struct Vector {
  uint4 corner[corners];

  /// The sample: words of f32, or of pairs of a 16-bit type.
  __device__ __forceinline__ void blend(const float4& weights, std::uint32_t (&words)[4]) const {
    if constexpr (corners == 1) {
#pragma unroll
      for (int i = 0; i < 4; ++i) words[i] = word_of(corner[0], i);
    } else {
      blend_corners(weights, words);
    }
  }

 private:
  __device__ __forceinline__ void blend_corners(const float4& weights, std::uint32_t (&words)[4]) const {
    const float weight[4] = {weights.x, weights.y, weights.z, weights.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (sizeof(T) == 4) {
        float value = weight[0] * __uint_as_float(word_of(corner[0], i));
#pragma unroll
        for (int k = 1; k < corners; ++k) value = fmaf(weight[k], __uint_as_float(word_of(corner[k], i)), value);
        words[i] = __float_as_uint(value);
      } else {
        float2 value{};
#pragma unroll
        for (int k = 0; k < corners; ++k) {
          const std::uint32_t word = word_of(corner[k], i);
          float2 both;
          if constexpr (std::is_same_v<T, f16>) {
            both = __half22float2(*reinterpret_cast<const __half2*>(&word));
          } else {
            both = make_float2(blas::sm90::first_of_bf16_pair(word), blas::sm90::second_of_bf16_pair(word));
          }
          value.x = k == 0 ? weight[k] * both.x : fmaf(weight[k], both.x, value.x);
          value.y = k == 0 ? weight[k] * both.y : fmaf(weight[k], both.y, value.y);
        }
        words[i] =
            std::is_same_v<T, f16> ? blas::sm90::f16_pair(value.x, value.y) : blas::sm90::bf16_pair(value.x, value.y);
      }
    }
  }
};

/// Puts a vector of columns where instructions want it: of the thread's first or second row, the first or second half
/// of the chunk. brings_to_tf32: whether numbers that tf32 takes are as they lie in x; the weights of blended ones have
/// the factor.
template <Precision precision, bool brings_to_tf32>
__device__ __forceinline__ void place_words(const std::uint32_t (&words)[4], int row, int half,
                                            RowsInRegisters<precision>& rows) {
  if constexpr (precision == Precision::f32) {
    std::uint32_t first[3], second[3];
    blas::sm90::split_pair(__uint_as_float(words[0]), __uint_as_float(words[1]), first);
    blas::sm90::split_pair(__uint_as_float(words[2]), __uint_as_float(words[3]), second);
#pragma unroll
    for (int term = 0; term < 3; ++term) {
      rows.words[term][half][row] = first[term];
      rows.words[term][half][2 + row] = second[term];
    }
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      rows.words[0][2 * half + i / 2][i % 2 * 2 + row] =
          precision == Precision::tf32 && brings_to_tf32
              ? __float_as_uint(__uint_as_float(words[i]) * blas::sm90::tf32_factor)
              : words[i];
    }
  }
}

/// Makes the columns of one step after the other, for a thread of a warpgroup, in registers. loads_ahead: whether what
/// the next step takes of x is on its way while those of a step are multiplied, in registers of its own. has_part:
/// whether a run's last chunk is not full.
template <class T, Precision precision, int pixels, int corners, bool loads_ahead, bool has_part>
class ColumnMaker {
 public:
  /// The table of samples begins so far into shared memory.
  __device__ __forceinline__ ColumnMaker(const FusedArguments& arguments, SharedAddress table,
                                         SampleTable<corners, pixels> samples)
      : arguments_(arguments),
        weights_(table),
        places_(table + samples.places()),
        pixel_(threadIdx.x % (2 * pixels) / 32 * 16 + threadIdx.x % 32 / 4),
        is_odd_(pixel_ % 2) {}

  /// Begins with a tap of a phase and a chunk, counted over all groups.
  __device__ __forceinline__ void start(int chunk, int tap, int taps) {
    const int run = chunk / arguments_.run_chunks;
    in_run_ = (chunk - run * arguments_.run_chunks) * chunk_bytes;
    x_ = static_cast<const char*>(arguments_.operands.x) + static_cast<std::int64_t>(run) * arguments_.run_bytes +
         in_run_;
    tap_ = tap;
    taps_ = taps;
    wrap(tap_);
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      place_[row] = read_place(row, tap_);
      if constexpr (loads_ahead) load(row);
    }
  }

  /// Whether the chunk of the step has channels in its second half; else there are no columns of that.
  __device__ __forceinline__ bool is_whole() const { return !has_part || in_run_ + half_bytes < arguments_.run_bytes; }

  /// Makes the columns of the step, and goes so many steps further.
  __device__ __forceinline__ void make(RowsInRegisters<precision>& columns, int further) {
    const bool whole = is_whole(), swaps = whole && is_odd_ != 0;
    const bool is_there[2] = {has_half(0), has_half(1)};
    const int tap = tap_;
    float4 weights[2];
    if constexpr (!loads_ahead) {
      // The weights first, as they would wait for the others.
      weights[0] = read_weights(0, tap);
      weights[1] = read_weights(1, tap);
      load(0);
      load(1);
    }
    tap_ += further;
    wrap(tap_);
    const Place next[2] = {read_place(0, tap_), read_place(1, tap_)};
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      if constexpr (loads_ahead) weights[row] = read_weights(row, tap);
      const bool counts = (place_[row] & is_zero) == 0;
      place_[row] = next[row];
      std::uint32_t words[2][4];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        if (half == 0 || whole) loads_[row][half].blend(weights[row], words[half]);
        // The registers are free again.
        if constexpr (loads_ahead) load(row, half);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const std::uint32_t own = counts && is_there[0] ? words[0][i] : 0;
        const std::uint32_t other = counts && is_there[1] ? words[1][i] : 0;
        words[0][i] = swaps ? other : own;
        words[1][i] = swaps ? own : other;
      }
      place_words<precision, corners == 1>(words[0], row, 0, columns);
      place_words<precision, corners == 1>(words[1], row, 1, columns);
    }
  }

 private:
  /// Taps beyond the last one of the phase, by no more than there are steps between this thread's, are those of the
  /// next chunks.
  __device__ __forceinline__ void wrap(int& tap) {
#pragma unroll
    for (int i = 0; i < shares_of(pixels); ++i) {
      const bool is_beyond = tap >= taps_;
      tap -= is_beyond ? taps_ : 0;
      int step = is_beyond ? chunk_bytes : 0;
      if constexpr (has_part) {
        in_run_ += step;
        if (in_run_ >= arguments_.run_bytes) {
          step += arguments_.run_bytes - in_run_;
          in_run_ = 0;
        }
      }
      x_ += step;
    }
  }

  static constexpr int half_bytes = chunk_bytes / 2;

  /// Where this thread's 16 bytes of the half that it takes first, or last, lie in a chunk: of a whole one those with
  /// odd pixels take the other half first, so that what eight lanes read at once lies in all banks of the cache.
  __device__ __forceinline__ int place_in_chunk(int half) const {
    return (half ^ (is_whole() ? is_odd_ : 0)) * half_bytes + static_cast<int>(threadIdx.x) % 4 * 16;
  }
  /// Whether the run has them.
  __device__ __forceinline__ bool has_half(int half) const {
    return !has_part || in_run_ + place_in_chunk(half) < arguments_.run_bytes;
  }

  __device__ __forceinline__ float4 read_weights(int row, int tap) const {
    if constexpr (corners == 1) {
      return {};
    } else {
      return blas::sm90::read_float4(weights_ + (tap * pixels + pixel_ + 8 * row) * 16);
    }
  }
  __device__ __forceinline__ Place read_place(int row, int tap) const {
    return blas::sm90::read_word(places_ + (tap * pixels + pixel_ + 8 * row) * 4);
  }

  __device__ __forceinline__ void load(int row) {
    load(row, 0);
    load(row, 1);
  }
  /// Takes 16 bytes of a half of the chunk or, where it has none there, others for nothing; of a second half that is
  /// not there, none.
  __device__ __forceinline__ void load(int row, int half) {
    if (half == 1 && !is_whole()) return;
    const Place place = place_[row];
    const char* const from = x_ + (has_half(half) ? place_in_chunk(half) : 0);
    const Place at = place & ~Place{15};
    if constexpr (corners == 1) {
      loads_[row][half].corner[0] = *reinterpret_cast<const uint4*>(from + at);
    } else {
      const Place right = place & steps_right ? static_cast<Place>(arguments_.operands.x_pixel * 16) : 0;
      const Place down = place & steps_down ? static_cast<Place>(arguments_.operands.x_row * 16) : 0;
      const Place offset[corners] = {at, at + right, at + down, at + down + right};
#pragma unroll
      for (int k = 0; k < corners; ++k) {
        loads_[row][half].corner[k] = *reinterpret_cast<const uint4*>(from + offset[k]);
      }
    }
  }

  const FusedArguments& arguments_;
  SharedAddress weights_, places_;
  int pixel_;  ///< four lanes share this one and the eighth after it
  int is_odd_;
  const char* x_ = nullptr;  ///< the chunk of the first pixel
  int in_run_ = 0;           ///< where the chunk lies in its run, in bytes
  int tap_ = 0, taps_ = 1;
  Place place_[2];  ///< of what is loaded, or comes next
  Vector<T, corners> loads_[2][2];
};

}  // namespace portops::impl::fused_sm90
