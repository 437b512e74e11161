// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/conv2d/fused/tap_arguments_sm90.hpp"
#include "ops/convolution/conv2d/fused/tap_sums_sm90.hpp"
#include "ops/convolution/conv2d/fused/tap_walk_sm90.hpp"

// What a warp does with a tile in tf32. For files compiled for sm_90a alone.

namespace portops::impl::tap_products {

/// A lane's numbers of out_grad for 16 output channels: neighbouring ones of two pixels.
struct Outs {
  std::uint32_t of_pixel[2][2];

  __device__ __forceinline__ void read(int pixel, SharedAddress place) {
    const float2 pair = blas::sm90::read_float2(place);
    of_pixel[pixel][0] = __float_as_uint(pair.x);
    of_pixel[pixel][1] = __float_as_uint(pair.y);
  }
};

/// Of x: a channel of two pixels.
struct Channel {
  std::uint32_t of_pixel[2];
};

/// Adds the product of 16 output channels and 8 pixels by these pixels and 8 channels.
__device__ __forceinline__ void multiply_add(float (&sums)[4], const Outs& a, const Channel& b) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a.of_pixel[0][0]), "r"(a.of_pixel[0][1]), "r"(a.of_pixel[1][0]), "r"(a.of_pixel[1][1]), "r"(b.of_pixel[0]),
        "r"(b.of_pixel[1]));
}

/// Adds the products of a tile of so many columns and rows whose numbers are rounded.
template <class F>
__device__ __forceinline__ void multiply_rounded_tile(const Arguments& arguments, int2 tile, SharedAddress stage,
                                                      const int (&tap_bytes)[taps_at_once], Sums<F>& sums) {
  constexpr int outs = F::outs / 16, grad_pitch = out_pitch(F::outs);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const LanePlaces<F> places(arguments, stage);
  SharedAddress grad = places.out_grad;
  Walk<F::step_pixels> walk[2] = {places.walk_from(0, tile.x), places.walk_from(4, tile.x)};
  const auto advance = [&] {
    grad += F::step_pixels * grad_pitch;
    walk[0].advance();
    walk[1].advance();
  };
  Outs out[outs];
  Channel channel[2][taps_at_once];  // of this step and the next one
  const auto read_out = [&](int i, int pixel) { out[i].read(pixel, grad + 4 * pixel * grad_pitch + i * 64); };
  const auto read_channel = [&](Channel& to, int tap, int pixel) {
    to.of_pixel[pixel] = blas::sm90::read_word(walk[pixel].place() + tap_bytes[tap]);
  };
  const int pixels = tile.x * tile.y, steps = pixels / F::step_pixels, rest = pixels - steps * F::step_pixels;
  if (steps > 0) {
#pragma unroll
    for (int pixel = 0; pixel < 2; ++pixel) {
#pragma unroll
      for (int i = 0; i < outs; ++i) read_out(i, pixel);
#pragma unroll
      for (int tap = 0; tap < taps_at_once; ++tap) read_channel(channel[0][tap], tap, pixel);
    }
  }
  // The next step's numbers are read on the way; after the last one some of its own again, for nothing.
  const auto multiply_step = [&](int step, Channel(&of_step)[taps_at_once], Channel(&of_next)[taps_at_once]) {
    if (step + 1 < steps) advance();
#pragma unroll
    for (int i = 0; i < outs; ++i) {
#pragma unroll
      for (int tap = 0; tap < taps_at_once; ++tap) {
        multiply_add(sums.of[i][tap], out[i], of_step[tap]);
        if (tap * (outs - 1) / taps_at_once != i) continue;
        read_channel(of_next[tap], tap, 0);
        read_channel(of_next[tap], tap, 1);
      }
      read_out(i, 0);
      read_out(i, 1);
    }
  };
  int step = 0;
#pragma unroll 1
  for (; step + 1 < steps; step += 2) {
    multiply_step(step, channel[0], channel[1]);
    multiply_step(step + 1, channel[1], channel[0]);
  }
  if (step < steps) multiply_step(step, channel[0], channel[1]);
  if (rest == 0) return;
  if (steps > 0) advance();
  // What is not there is 0, on both sides: x may be infinite anywhere.
#pragma unroll
  for (int pixel = 0; pixel < 2; ++pixel) {
    const bool is_there = lane % 4 + 4 * pixel < rest;
#pragma unroll
    for (int i = 0; i < outs; ++i) {
      out[i].of_pixel[pixel][0] = out[i].of_pixel[pixel][1] = 0;
      if (is_there) read_out(i, pixel);
    }
#pragma unroll
    for (int tap = 0; tap < taps_at_once; ++tap) {
      channel[0][tap].of_pixel[pixel] = 0;
      if (is_there) read_channel(channel[0][tap], tap, pixel);
    }
  }
#pragma unroll
  for (int i = 0; i < outs; ++i) {
#pragma unroll
    for (int tap = 0; tap < taps_at_once; ++tap) multiply_add(sums.of[i][tap], out[i], channel[0][tap]);
  }
}

}  // namespace portops::impl::tap_products
