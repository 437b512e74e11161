// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "blas/tensor_cores_sm90.hpp"
#include "ops/convolution/conv2d/fused/tap_arguments_sm90.hpp"
#include "ops/convolution/conv2d/fused/tap_sums_sm90.hpp"
#include "ops/convolution/conv2d/fused/tap_walk_sm90.hpp"

// What a warp does with a tile in f32, each number as the sum of three bf16 terms, which it is split into on the way
// from shared memory. For files compiled for sm_90a alone.

namespace portops::impl::tap_products {

constexpr int terms = 3;
constexpr int lane_pixels = 4;    ///< of a step, four apart, that a lane reads
constexpr int taps_together = 3;  ///< whose products do not wait for each other

/// Pairs of pixels of each term: of two rows, and of one.
struct SplitOuts {
  std::uint32_t of_term[terms][4];
};
struct SplitChannel {
  std::uint32_t of_term[terms][2];
};

/// Adds the product of 16 output channels and 16 pixels by these pixels and 8 channels.
__device__ __forceinline__ void multiply_add(float (&sums)[4], const std::uint32_t (&a)[4],
                                             const std::uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// Splits a lane's numbers of two neighbouring output channels.
__device__ __forceinline__ SplitOuts split(const float2 (&out)[lane_pixels]) {
  SplitOuts split;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float2 &first = out[2 * half], &second = out[2 * half + 1];
    std::uint32_t rows[2][terms];
    blas::sm90::split_pair(first.x, second.x, rows[0]);
    blas::sm90::split_pair(first.y, second.y, rows[1]);
#pragma unroll
    for (int term = 0; term < terms; ++term) {
      split.of_term[term][2 * half] = rows[0][term];
      split.of_term[term][2 * half + 1] = rows[1][term];
    }
  }
  return split;
}

__device__ __forceinline__ SplitChannel split(const float (&channel)[lane_pixels]) {
  SplitChannel split;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    std::uint32_t pair[terms];
    blas::sm90::split_pair(channel[2 * half], channel[2 * half + 1], pair);
#pragma unroll
    for (int term = 0; term < terms; ++term) split.of_term[term][half] = pair[term];
  }
  return split;
}

/// Adds a step's products of some taps: of the terms those that matter, the small ones first. Tensor cores truncate
/// their sums: they hold those of a step only, which are then added with rounding.
template <class F>
__device__ __forceinline__ void add_products(Sums<F>& sums, int first_tap, const SplitOuts (&out)[F::outs / 16],
                                             const SplitChannel (&channel)[taps_together]) {
  float recent[taps_together][F::outs / 16][4] = {};
#pragma unroll
  for (int small = terms - 1; small >= 0; --small) {
#pragma unroll
    for (int term = 0; term <= small; ++term) {
#pragma unroll
      for (int tap = 0; tap < taps_together; ++tap) {
#pragma unroll
        for (int i = 0; i < F::outs / 16; ++i) {
          multiply_add(recent[tap][i], out[i].of_term[term], channel[tap].of_term[small - term]);
        }
      }
    }
  }
#pragma unroll
  for (int tap = 0; tap < taps_together; ++tap) {
#pragma unroll
    for (int i = 0; i < F::outs / 16; ++i) {
#pragma unroll
      for (int k = 0; k < 4; ++k) sums.of[i][first_tap + tap][k] += recent[tap][i][k];
    }
  }
}

/// Adds the products of a tile of so many columns and rows.
template <class F>
__device__ __forceinline__ void multiply_split_tile(const Arguments& arguments, int2 tile, SharedAddress stage,
                                                    const int (&tap_bytes)[taps_at_once], Sums<F>& sums) {
  static_assert(F::step_pixels == 4 * lane_pixels);
  constexpr int grad_pitch = out_pitch(F::outs);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const LanePlaces<F> places(arguments, stage);
  SharedAddress grad = places.out_grad;
  Walk<F::step_pixels> walk[lane_pixels] = {places.walk_from(0, tile.x), places.walk_from(4, tile.x),
                                            places.walk_from(8, tile.x), places.walk_from(12, tile.x)};
#pragma unroll 1
  for (int left = tile.x * tile.y - lane % 4; left + lane % 4 > 0; left -= F::step_pixels) {
    // What is not there is 0, on both sides: x may be infinite anywhere.
    SplitOuts out[F::outs / 16];
#pragma unroll
    for (int i = 0; i < F::outs / 16; ++i) {
      float2 numbers[lane_pixels];
#pragma unroll
      for (int k = 0; k < lane_pixels; ++k) {
        numbers[k] = left > 4 * k ? blas::sm90::read_float2(grad + 4 * k * grad_pitch + i * 64) : make_float2(0, 0);
      }
      out[i] = split(numbers);
    }
#pragma unroll
    for (int first = 0; first < taps_at_once; first += taps_together) {
      SplitChannel channel[taps_together];
#pragma unroll
      for (int tap = 0; tap < taps_together; ++tap) {
        float numbers[lane_pixels];
#pragma unroll
        for (int k = 0; k < lane_pixels; ++k) {
          numbers[k] =
              left > 4 * k ? __uint_as_float(blas::sm90::read_word(walk[k].place() + tap_bytes[first + tap])) : 0.0f;
        }
        channel[tap] = split(numbers);
      }
      add_products(sums, first, out, channel);
    }
    grad += F::step_pixels * grad_pitch;
#pragma unroll
    for (Walk<F::step_pixels>& its : walk) its.advance();
  }
}

}  // namespace portops::impl::tap_products
