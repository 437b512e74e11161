// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/cuda/cuda_calls.hpp"
#include "core/lanes/divide.hpp"
#include "ops/convolution/conv2d/fused/weight_parts.hpp"

#include <cstdint>

// How the parts that blocks leave of weight_grad become one. For files compiled for sm_90a alone.

namespace portops::impl {

/// Neighbouring elements.
template <int own>
struct alignas(own * sizeof(float)) PartElements {
  float of[own];
};

/// The sums of the parts of neighbouring elements of so many, from `index` on, in a tree of two levels: so many loads
/// are underway at once.
template <int underway, int own>
__device__ __forceinline__ PartElements<own> sum_of_parts(const float* sums, int parts, std::int64_t elements,
                                                          std::int64_t index) {
  PartElements<own> sum = {};
  for (int first = 0; first < parts; first += underway) {
    PartElements<own> of_part[underway];
#pragma unroll
    for (int i = 0; i < underway; ++i) {
      of_part[i] = {};
      if (first + i < parts) {
        of_part[i] = *reinterpret_cast<const PartElements<own>*>(sums + (first + i) * elements + index);
      }
    }
#pragma unroll
    for (int k = 0; k < own; ++k) {
#pragma unroll
      for (int i = 1; i < underway; ++i) of_part[0].of[k] += of_part[i].of[k];
      sum.of[k] += of_part[0].of[k];
    }
  }
  return sum;
}

/// weight_grad = the sum of its parts, and bias_grad, whose elements come behind it. A thread takes so many
/// neighbouring elements; more than one are of one tap. `inner`: the faster of channels and taps.
template <class T, int underway, int own>
__global__ void add_up_parts(const __grid_constant__ Windows windows, const __grid_constant__ WeightParts operands,
                             int parts, std::uint32_t elements, Divisor inner, Divisor row) {
  const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x, of_weight = elements / own;
  if (thread >= of_weight) {
    const std::uint32_t out = thread - of_weight;
    if (operands.bias_grad == nullptr || out >= windows.out_channels) return;
    const float* const sums = operands.bias_sums(windows, parts);
    static_cast<T*>(operands.bias_grad)[out * operands.bias_grad_stride] =
        static_cast<T>(sum_of_parts<underway, 1>(sums, parts, windows.out_channels, out).of[0]);
    return;
  }
  const std::uint32_t index = thread * own;
  const PartElements<own> sum = sum_of_parts<underway, own>(operands.sums, parts, elements, index);
  const std::uint32_t out = row.quotient(index), in_row = index - out * row.value();
  const std::uint32_t outer = inner.quotient(in_row), along = in_row - outer * inner.value();
  const std::uint32_t tap = operands.taps_fastest ? along : outer, channel = operands.taps_fastest ? outer : along;
  const auto width = static_cast<std::uint32_t>(windows.kernel_width);
  const Tensor4& to = operands.weight_grad;
  T* const first = static_cast<T*>(to.data) + to.offset(out, channel, tap / width, tap % width);
#pragma unroll
  for (int k = 0; k < own; ++k) first[k * to.stride[1]] = static_cast<T>(sum.of[k]);
}

/// Enqueues the sums of so many parts, in a fixed order, rounded once.
template <class T>
void enqueue_sums_of_parts(cudaStream_t stream, const char* label, const Windows& windows, const WeightParts& operands,
                           int parts) {
  constexpr unsigned threads = 256;
  const auto divisor = [](std::int64_t value) { return Divisor(static_cast<std::uint32_t>(value)); };
  const auto elements = static_cast<std::uint32_t>(windows.out_channels * windows.group_column());
  // Many parts are of few elements, whose threads leave registers for more loads. Few parts are of many: a load of one
  // number would keep more threads waiting than there is room for. The order of additions follows from their number.
  constexpr int many = 64, few = 16, together = 4;
  const bool is_wide = parts <= few && !operands.taps_fastest && windows.group_channels() % together == 0;
  auto* const kernel = is_wide         ? add_up_parts<T, 8, together>
                       : parts <= few  ? add_up_parts<T, 8, 1>
                       : parts <= many ? add_up_parts<T, 16, 1>
                                       : add_up_parts<T, 48, 1>;
  const std::uint32_t all = elements / (is_wide ? together : 1) + static_cast<std::uint32_t>(windows.out_channels);
  kernel<<<(all + threads - 1) / threads, threads, 0, stream>>>(
      windows, operands, parts, elements, divisor(operands.taps_fastest ? windows.taps() : windows.group_channels()),
      divisor(windows.group_column()));
  check_cuda(cudaGetLastError(), label, "cudaLaunchKernel (the sums of parts)");
}

}  // namespace portops::impl
