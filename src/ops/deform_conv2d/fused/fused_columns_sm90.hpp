// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/deform_conv2d/fused/fused_blocks_sm90.hpp"
#include "ops/deform_conv2d/sample.hpp"

#include <type_traits>

// The columns of the fused kernel: its samples in shared memory, and what threads make of them in registers. For
// fused_sm90.cu alone.

namespace portops::impl::fused_sm90 {

/// A sample of the block's pixels: where its corner above left lies in x, in bytes, a multiple of 16, and flags.
using Place = std::uint32_t;
constexpr Place steps_right = 1, steps_down = 2;  ///< the corners to the right, or below, are other pixels
constexpr Place is_zero = 4;                      ///< the sample lies outside; what is read for it does not count

__device__ __forceinline__ std::uint32_t word_of(const uint4& vector, int i) {
  return i == 0 ? vector.x : i == 1 ? vector.y : i == 2 ? vector.z : vector.w;
}

/// 16 bytes of neighbouring channels of a sample's corners.
template <class T>
struct Vector {
  uint4 corner[corners];

  /// The sample: words of f32, or of pairs of a 16-bit type.
  __device__ __forceinline__ void blend(const float4& weights, std::uint32_t (&words)[4]) const {
    const float weight[corners] = {weights.x, weights.y, weights.z, weights.w};
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
/// of the chunk.
template <Precision precision>
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
          precision == Precision::tf32 ? blas::sm90::tf32_bits(__uint_as_float(words[i])) : words[i];
    }
  }
}

/// What a sample is to the threads that make columns of it.
template <class T>
__device__ void write_sample(const FusedOperands& operands, const Sample<float>& sample, float4& weights,
                             Place& place) {
  float weight[corners];
  sample.weights(weight);
#pragma unroll
  for (float& w : weight) w *= sample.factor;
  if (!sample.is_outside()) {
    const std::int64_t units =
        sample.image * operands.x_image + sample.y * operands.x_row + sample.x * operands.x_pixel;
    place =
        static_cast<Place>(units * 16) | (sample.steps_right ? steps_right : 0) | (sample.steps_down ? steps_down : 0);
  } else if (sample.is_nan || 0.0f * sample.factor != 0.0f) {
    // No position, or 0 times a mask that is not finite.
    weight[0] = __int_as_float(0x7fffffff);
    place = 0;
  } else {
    place = is_zero;
  }
  weights = make_float4(weight[0], weight[1], weight[2], weight[3]);
}

/// Finds the samples of a phase, for the block's pixels.
template <class T, int pixels>
__device__ void find_samples(const FusedArguments& arguments, const Phase& phase, std::int64_t first_pixel,
                             float4* weights, Place* places) {
  const Windows& windows = arguments.windows;
  const Sampler<T, float> sampler(windows, arguments.operands.offset, arguments.operands.mask);
  const int pixel = static_cast<int>(threadIdx.x) % pixels;
  if (first_pixel + pixel >= windows.images * windows.pixels()) {
    for (int tap = static_cast<int>(threadIdx.x) / pixels; tap < phase.taps; tap += threads / pixels) {
      weights[tap * pixels + pixel] = float4{};
      places[tap * pixels + pixel] = is_zero;
    }
    return;
  }
  const Pixel at = locate(windows, first_pixel + pixel);
  // Several at a time: what is read for them comes from far away.
  constexpr int batch = 5;
  for (int first = static_cast<int>(threadIdx.x) / pixels; first < phase.taps; first += batch * threads / pixels) {
    Position<float> position[batch];
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      const int tap = min(first + i * threads / pixels, phase.taps - 1);
      const std::uint32_t k = arguments.kernel_width.quotient(phase.first_tap + tap);
      const std::uint32_t l = phase.first_tap + tap - k * arguments.kernel_width.value();
      position[i] = sampler.position(at.image, at.y, at.x, phase.deformable_group, k, l);
    }
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      const int tap = first + i * threads / pixels;
      if (tap >= phase.taps) break;
      write_sample<T>(arguments.operands, sampler.sample(position[i]), weights[tap * pixels + pixel],
                      places[tap * pixels + pixel]);
    }
  }
}

/// Makes the columns of one step after the other, for a thread of a warpgroup, in registers. While those of a step are
/// made, what the next one takes of x is on its way.
template <class T, Precision precision, int pixels>
class ColumnMaker {
 public:
  /// The tables of samples begin so far into shared memory.
  __device__ __forceinline__ ColumnMaker(const FusedOperands& operands, SharedAddress weights, SharedAddress places)
      : operands_(operands),
        weights_(weights),
        places_(places),
        pixel_(threadIdx.x % (2 * pixels) / 32 * 16 + threadIdx.x % 32 / 4),
        is_odd_(pixel_ % 2) {}

  /// Begins with a tap of a phase and the chunk of x that begins there.
  __device__ __forceinline__ void start(const char* x, int tap, int taps) {
    x_ = x + threadIdx.x % 4 * 16;
    tap_ = tap;
    taps_ = taps;
    wrap(tap_);
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      place_[row] = read_place(row, tap_);
      load(row, 0);
      load(row, 1);
    }
  }

  /// Makes the columns of the step, and loads for the one so many steps further.
  __device__ __forceinline__ void make(RowsInRegisters<precision>& columns, int further) {
    int next_tap = tap_ + further;
    wrap(next_tap);
    const Place next[2] = {read_place(0, next_tap), read_place(1, next_tap)};
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      const float4 weights = blas::sm90::read_float4(weights_ + (tap_ * pixels + pixel_ + 8 * row) * 16);
      const bool counts = (place_[row] & is_zero) == 0;
      place_[row] = next[row];
      std::uint32_t words[2][4];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        loads_[row][half].blend(weights, words[half]);
        // The registers are free again.
        load(row, half);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const std::uint32_t own = counts ? words[0][i] : 0, other = counts ? words[1][i] : 0;
        words[0][i] = is_odd_ != 0 ? other : own;
        words[1][i] = is_odd_ != 0 ? own : other;
      }
      place_words(words[0], row, 0, columns);
      place_words(words[1], row, 1, columns);
    }
    tap_ = next_tap;
  }

 private:
  /// Taps beyond the last one of the phase, by no more than there are steps between this thread's, are those of the
  /// next chunks.
  __device__ __forceinline__ void wrap(int& tap) {
#pragma unroll
    for (int i = 0; i < shares_of(pixels); ++i) {
      const bool is_beyond = tap >= taps_;
      tap -= is_beyond ? taps_ : 0;
      x_ += is_beyond ? chunk_bytes : 0;
    }
  }

  __device__ __forceinline__ Place read_place(int row, int tap) const {
    return blas::sm90::read_word(places_ + (tap * pixels + pixel_ + 8 * row) * 4);
  }

  /// Of each half of a chunk a thread takes 16 bytes. Those with odd pixels take the other half first, so that what
  /// eight lanes read at once lies in all banks of the cache.
  __device__ __forceinline__ void load(int row, int half) {
    const Place place = place_[row];
    const Place right = place & steps_right ? static_cast<Place>(operands_.x_pixel * 16) : 0;
    const Place down = place & steps_down ? static_cast<Place>(operands_.x_row * 16) : 0;
    const Place at = place & ~Place{15};
    const char* const from = x_ + (half ^ is_odd_) * 64;
    const Place offset[corners] = {at, at + right, at + down, at + down + right};
#pragma unroll
    for (int k = 0; k < corners; ++k) {
      loads_[row][half].corner[k] = *reinterpret_cast<const uint4*>(from + offset[k]);
    }
  }

  const FusedOperands& operands_;
  SharedAddress weights_, places_;
  int pixel_;  ///< four lanes share this one and the eighth after it
  int is_odd_;
  const char* x_ = nullptr;
  int tap_ = 0, taps_ = 1;
  Place place_[2];  ///< of what is loaded
  Vector<T> loads_[2][2];
};

}  // namespace portops::impl::fused_sm90
