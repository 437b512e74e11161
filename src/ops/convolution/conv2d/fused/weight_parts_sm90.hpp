// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/cuda/cuda_calls.hpp"
#include "core/lanes/divide.hpp"
#include "ops/convolution/conv2d/fused/weight_parts.hpp"

#include <cstdint>

// How the parts that blocks leave of weight_grad become one. For files compiled for sm_90a alone.

namespace portops::impl {

/// The sum of the parts of an element of so many, in a tree of two levels: so many loads are underway at once.
template <int underway>
__device__ __forceinline__ float sum_of_parts(const float* sums, int parts, std::int64_t elements, std::int64_t index) {
  float sum = 0.0f;
  for (int first = 0; first < parts; first += underway) {
    float of_part[underway];
#pragma unroll
    for (int i = 0; i < underway; ++i) {
      of_part[i] = first + i < parts ? sums[(first + i) * elements + index] : 0.0f;
    }
#pragma unroll
    for (int i = 1; i < underway; ++i) of_part[0] += of_part[i];
    sum += of_part[0];
  }
  return sum;
}

/// weight_grad = the sum of its parts, and bias_grad, whose elements come behind it. Neighbouring threads take
/// neighbouring elements. `inner`: the faster of channels and taps.
template <class T, int underway>
__global__ void add_up_parts(const __grid_constant__ Windows windows, const __grid_constant__ WeightParts operands,
                             int parts, std::uint32_t elements, Divisor inner, Divisor row) {
  const std::uint32_t index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= elements) {
    const std::uint32_t out = index - elements;
    if (operands.bias_grad == nullptr || out >= windows.out_channels) return;
    static_cast<T*>(operands.bias_grad)[out * operands.bias_grad_stride] =
        static_cast<T>(sum_of_parts<underway>(operands.bias_sums(windows, parts), parts, windows.out_channels, out));
    return;
  }
  const float sum = sum_of_parts<underway>(operands.sums, parts, elements, index);
  const std::uint32_t out = row.quotient(index), in_row = index - out * row.value();
  const std::uint32_t outer = inner.quotient(in_row), along = in_row - outer * inner.value();
  const std::uint32_t tap = operands.taps_fastest ? along : outer, channel = operands.taps_fastest ? outer : along;
  const auto width = static_cast<std::uint32_t>(windows.kernel_width);
  const Tensor4& to = operands.weight_grad;
  static_cast<T*>(to.data)[to.offset(out, channel, tap / width, tap % width)] = static_cast<T>(sum);
}

/// Enqueues the sums of so many parts, in a fixed order, rounded once.
template <class T>
void enqueue_sums_of_parts(cudaStream_t stream, const char* label, const Windows& windows, const WeightParts& operands,
                           int parts) {
  constexpr unsigned threads = 256;
  const auto divisor = [](std::int64_t value) { return Divisor(static_cast<std::uint32_t>(value)); };
  const auto elements = static_cast<std::uint32_t>(windows.out_channels * windows.group_column());
  const std::uint32_t all = elements + static_cast<std::uint32_t>(windows.out_channels);
  // Many parts are of few elements, whose threads leave registers for more loads.
  constexpr int many = 64;
  auto* const kernel = parts <= many ? add_up_parts<T, 16> : add_up_parts<T, 48>;
  kernel<<<(all + threads - 1) / threads, threads, 0, stream>>>(
      windows, operands, parts, elements, divisor(operands.taps_fastest ? windows.taps() : windows.group_channels()),
      divisor(windows.group_column()));
  check_cuda(cudaGetLastError(), label, "cudaLaunchKernel (the sums of parts)");
}

}  // namespace portops::impl
