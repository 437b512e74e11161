// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/conv2d/fused/tap_arguments_sm90.hpp"
#include "ops/convolution/conv2d/fused/tap_copies_sm90.hpp"

// The warps that bring tiles to shared memory, where they round them for tf32. For files compiled for sm_90a alone.

namespace portops::impl::tap_products {

/// A thread's sums of out_grad, over all of its tiles: with what rounding takes away from each addition, which the next
/// one puts back. (W. Kahan, Pracniques: Further Remarks on Reducing Truncation Errors, CACM 8 (1965).)
class OutSums {
 public:
  __device__ __forceinline__ void add(const float4& tile) {
    add(sums_.x, lost_.x, tile.x);
    add(sums_.y, lost_.y, tile.y);
    add(sums_.z, lost_.z, tile.z);
    add(sums_.w, lost_.w, tile.w);
  }
  __device__ __forceinline__ const float4& get() const { return sums_; }

 private:
  static __device__ __forceinline__ void add(float& sum, float& lost, float number) {
    const float whole = number - lost, next = sum + whole;
    lost = fabsf(next) < INFINITY ? next - sum - whole : 0.0f;
    sum = next;
  }

  float4 sums_ = make_float4(0, 0, 0, 0), lost_ = make_float4(0, 0, 0, 0);
};

/// Adds up the producers' sums of out_grad, in shared memory.
template <class F>
__device__ __forceinline__ void join_out_sums(const float4& own, char* shared) {
  constexpr int units = F::outs / unit_channels, together = F::producers / units;
  const int thread = static_cast<int>(threadIdx.x) - F::consumers;
  auto* const of_threads = reinterpret_cast<float4*>(shared + SumsLayout(F::outs, F::channels).out_sums_at());
  of_threads[thread] = own;
  blas::sm90::synchronize<1, F::producers>();
  float sum = 0.0f;
  auto* const sums = reinterpret_cast<float*>(of_threads);
  if (thread < F::outs) {
#pragma unroll
    for (int i = 0; i < together; ++i) sum += sums[i * F::outs + thread];
  }
  blas::sm90::synchronize<1, F::producers>();
  if (thread < F::outs) sums[thread] = sum;
}

template <class F>
__device__ __forceinline__ void produce(const Arguments& arguments, const Block& block, char* shared,
                                        SharedAddress memory, blas::sm90::Ring ring, int2* shapes) {
  constexpr int out_units = F::outs / unit_channels, x_units = F::channels / unit_channels;
  const Windows& w = arguments.windows;
  const TapProductsPlan& plan = arguments.plan;
  const TapRows tap_rows(w, block.first_tap);
  const int thread = static_cast<int>(threadIdx.x) - F::consumers;
  const int out = block.first_out + thread % out_units * unit_channels,
            channel = block.first_channel + thread % x_units * unit_channels;
  const auto outs = static_cast<int>(w.group_out_channels()), channels = static_cast<int>(w.group_channels());
  const float* const of_grad = arguments.operands.out_grad + block.group * outs + out;
  const float* const of_x = arguments.operands.x + block.group * channels + channel;
  const int dilated_rows = (tap_rows.last - tap_rows.first) * static_cast<int>(w.dilation_y);
  const int dilated_columns = static_cast<int>((w.kernel_width - 1) * w.dilation_x);
  const int first_row = tap_rows.first * static_cast<int>(w.dilation_y) - static_cast<int>(w.top);
  const int pitch = x_pitch(F::channels, w.stride_x), x_at = plan.tile_height * plan.tile_width * out_pitch(F::outs);
  const auto region_height = [&](int height) { return (height - 1) * static_cast<int>(w.stride_y) + dilated_rows + 1; };
  const auto copy = [&](const OutTile& tile, SharedAddress stage) {
    const PixelStrides &of_out = arguments.operands.out_grad_strides, &strides = arguments.operands.x_strides;
    const bool by_numbers = arguments.operands.out_grad_by_numbers;
    const Rectangle of_tile{.first = of_grad + tile.image * of_out.image * (by_numbers ? 1 : unit_channels),
                            .channels = outs - out,
                            .y = tile.y,
                            .x = tile.x,
                            .height = tile.height,
                            .width = tile.width,
                            .image_height = static_cast<int>(w.out_height),
                            .image_width = static_cast<int>(w.out_width),
                            .stride_y = static_cast<int>(of_out.y),
                            .stride_x = static_cast<int>(of_out.x)};
    if (by_numbers) {
      copy_rectangle<F, out_units, true>(of_tile, stage, out_pitch(F::outs), tile.width * out_pitch(F::outs));
    } else {
      copy_rectangle<F, out_units>(of_tile, stage, out_pitch(F::outs), tile.width * out_pitch(F::outs));
    }
    copy_rectangle<F, x_units>({.first = of_x + tile.image * strides.image * unit_channels,
                                .channels = channels - channel,
                                .y = tile.y * static_cast<int>(w.stride_y) + first_row,
                                .x = tile.x * static_cast<int>(w.stride_x) - static_cast<int>(w.left),
                                .height = region_height(tile.height),
                                .width = (tile.width - 1) * static_cast<int>(w.stride_x) + dilated_columns + 1,
                                .image_height = static_cast<int>(w.height),
                                .image_width = static_cast<int>(w.width),
                                .stride_y = static_cast<int>(strides.y),
                                .stride_x = static_cast<int>(strides.x)},
                               stage + x_at, pitch, plan.region_width * pitch);
  };
  OutSums sums;
  const bool sums_out_grad = block.sums_out_grad(arguments);
  const auto finish = [&](int2 shape, SharedAddress stage) {
    if (!F::is_split || sums_out_grad) {
      float4 of_tile = make_float4(0, 0, 0, 0);
      for_pixels<F, out_units>(stage, out_pitch(F::outs), shape.x * shape.y, [&](SharedAddress place) {
        const float4 grad = blas::sm90::read_float4(place);
        of_tile.x += grad.x;
        of_tile.y += grad.y;
        of_tile.z += grad.z;
        of_tile.w += grad.w;
        if constexpr (!F::is_split) round_unit(place, grad);
      });
      sums.add(of_tile);
    }
    if constexpr (!F::is_split) {
      for_pixels<F, x_units>(stage + x_at, pitch, region_height(shape.y) * plan.region_width,
                             [](SharedAddress place) { round_unit(place, blas::sm90::read_float4(place)); });
    }
  };
  // A tile is finished while the copies of the next one are on their way.
  blas::sm90::Ring copied = ring;
  for (int i = block.first_tile; i <= block.last_tile; ++i) {
    if (i < block.last_tile) {
      copied.empty().wait(copied.round ^ 1);
      const OutTile tile(arguments, i);
      copy(tile, memory + copied.stage * plan.stage_bytes);
      if (thread == 0) shapes[copied.stage] = make_int2(tile.width, tile.height);
      copied.advance();
    }
    blas::sm90::close_copies();
    if (i == block.first_tile) continue;
    blas::sm90::wait_for_copies<1>();
    blas::sm90::synchronize<1, F::producers>();
    finish(shapes[ring.stage], memory + ring.stage * plan.stage_bytes);
    ring.full().arrive();
    ring.advance();
  }
  if (!sums_out_grad) return;
  // Not before all stages have been read.
  for (int i = 0; i < stages; ++i) {
    ring.empty().wait(ring.round ^ 1);
    ring.advance();
  }
  join_out_sums<F>(sums.get(), shared);
}

}  // namespace portops::impl::tap_products
