// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/conv2d/fused/tap_arguments_sm90.hpp"

// How a block's sums, and those of its cluster, come to memory. For files compiled for sm_90a alone.

namespace portops::impl::tap_products {

/// The sums of a warp: all of the block's output channels, 16 at a time, and taps, and 8 channels.
template <class F>
struct Sums {
  float of[F::outs / 16][taps_at_once][4] = {};
};

/// Keeps a consumer's sums in shared memory, where the blocks of a cluster add them up.
template <class F>
__device__ __forceinline__ void keep_sums(const Sums<F>& sums, char* shared) {
  constexpr SumsLayout layout(F::outs, F::channels);
#pragma unroll
  for (int row = 0; row < layout.rows(); ++row) {
    auto* const to = reinterpret_cast<float2*>(shared + row * layout.row_bytes()) + threadIdx.x;
#pragma unroll
    for (int tap = 0; tap < taps_at_once; ++tap) {
      const float (&of)[4] = sums.of[row / 2][tap];
      to[tap * F::consumers] = make_float2(of[row % 2 * 2], of[row % 2 * 2 + 1]);
    }
  }
}

/// The elements of a row's output channels that a thread writes, of each the same: where they lie in the row, and in a
/// tensor like weight_grad.
template <class F>
struct Targets {
  static constexpr int elements = F::channels * taps_at_once, count = (elements + F::consumers - 1) / F::consumers;
  std::int64_t offset[count];
  bool exists[count];

  __device__ __forceinline__ Targets(const Arguments& arguments, const Block& block, const Tensor4& to) {
    const Windows& w = arguments.windows;
    const bool taps_fastest = arguments.operands.parts.taps_fastest;
    const auto taps = static_cast<int>(w.taps()), kernel_width = static_cast<int>(w.kernel_width);
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const int element = static_cast<int>(threadIdx.x) + i * F::consumers;
      const int tap = block.first_tap + (taps_fastest ? element % taps_at_once : element / F::channels),
                channel = block.first_channel + (taps_fastest ? element / taps_at_once : element % F::channels);
      const int y = tap / kernel_width;
      exists[i] = element < elements && tap < taps && channel < w.group_channels();
      offset[i] = to.offset(block.group * w.group_out_channels() + block.first_out, channel, y, tap - y * kernel_width);
    }
  }
};

/// Writes some output channels' sums, those of all blocks of the cluster added up in their order.
template <class F>
__device__ __forceinline__ void write_row(const Arguments& arguments, int outs, int row, const Tensor4& to,
                                          const Targets<F>& targets, char* shared) {
  constexpr SumsLayout layout(F::outs, F::channels);
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  float2 sums[taps_at_once] = {};
  const SharedAddress own = blas::sm90::shared_address(shared + row * layout.row_bytes()) + thread * 8;
  for (int other = 0; other < arguments.plan.cluster; ++other) {
#pragma unroll
    for (int tap = 0; tap < taps_at_once; ++tap) {
      const float2 of_block = blas::sm90::read_pair_of_block(own + tap * F::consumers * 8, other);
      sums[tap].x += of_block.x;
      sums[tap].y += of_block.y;
    }
  }
  // The row is turned in shared memory, so that neighbouring threads write neighbours.
  const bool taps_fastest = arguments.operands.parts.taps_fastest;
  auto* const tile = reinterpret_cast<float*>(shared + layout.row_at());
  const int pitch = layout.pitch(taps_fastest) / 4, next = taps_fastest ? taps_at_once : 1;
  float* at = tile + lane / 4 * pitch + (warp * 8 + lane % 4 * 2) * next;
#pragma unroll
  for (int tap = 0; tap < taps_at_once; ++tap) {
    at[0] = sums[tap].x;
    at[next] = sums[tap].y;
    at += taps_fastest ? 1 : F::channels;
  }
  blas::sm90::synchronize<2, F::consumers>();
  auto* const data = static_cast<float*>(to.data) + (row / 2 * 16 + row % 2) * to.stride[0];
#pragma unroll
  for (int i = 0; i < layout.row_outs; ++i) {
    if (row / 2 * 16 + row % 2 + 2 * i >= outs) break;
    float numbers[Targets<F>::count];
#pragma unroll
    for (int k = 0; k < targets.count; ++k) numbers[k] = tile[i * pitch + thread + k * F::consumers];
#pragma unroll
    for (int k = 0; k < targets.count; ++k) {
      if (targets.exists[k]) data[targets.offset[k] + 2 * i * to.stride[0]] = numbers[k];
    }
  }
  blas::sm90::synchronize<2, F::consumers>();
}

/// A part as a tensor like weight_grad.
__device__ __forceinline__ Tensor4 tensor_of_part(const Arguments& arguments, int part) {
  const Windows& w = arguments.windows;
  const WeightParts& parts = arguments.operands.parts;
  const std::int64_t row = w.group_column(), channels = w.group_channels();
  float* const data = parts.sums + part * w.out_channels * row;
  if (parts.taps_fastest) return {data, {row, w.taps(), w.kernel_width, 1}};
  return {data, {row, 1, w.kernel_width * channels, channels}};
}

/// Leaves the cluster's sums, or writes them where they are all.
template <class F>
__device__ __forceinline__ void leave_sums(const Arguments& arguments, const Block& block, char* shared) {
  constexpr SumsLayout layout(F::outs, F::channels);
  const WeightParts& parts = arguments.operands.parts;
  const int cluster = arguments.plan.cluster, part = block.share / cluster, rank = block.share - part * cluster;
  const bool is_all = arguments.plan.shares == cluster;
  const Tensor4 to = is_all ? parts.weight_grad : tensor_of_part(arguments, part);
  const Windows& w = arguments.windows;
  const Targets<F> targets(arguments, block, to);
  const int outs = static_cast<int>(w.group_out_channels()) - block.first_out;
  for (int row = layout.rows() * rank / cluster; row < layout.rows() * (rank + 1) / cluster; ++row) {
    write_row(arguments, outs, row, to, targets, shared);
  }
  const int thread = static_cast<int>(threadIdx.x), out = block.first_out + thread;
  if (rank > 0 || !block.sums_out_grad(arguments) || thread >= F::outs || out >= w.group_out_channels()) return;
  float sum = 0.0f;
  for (int other = 0; other < cluster; ++other) {
    sum +=
        blas::sm90::read_number_of_block(blas::sm90::shared_address(shared + layout.out_sums_at()) + thread * 4, other);
  }
  const std::int64_t at = block.group * w.group_out_channels() + out;
  if (is_all) {
    static_cast<float*>(parts.bias_grad)[at * parts.bias_grad_stride] = sum;
  } else {
    parts.bias_sums(w, arguments.plan.parts())[part * w.out_channels + at] = sum;
  }
}

}  // namespace portops::impl::tap_products
