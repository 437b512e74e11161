// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/divide.hpp"
#include "core/lanes/lanes.hpp"
#include "ops/convolution/windows.hpp"

#include <cstdint>

namespace portops::impl {

/// On GPUs: weight_grad of windows of one pixel, in one group, as the sum over chunks, which lie chunk by chunk in the
/// order of its elements. An item adds up one of these, a batch of chunks at a time. Rounds once.
template <class T>
class JoinPlanes {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;

  JoinPlanes(const Windows& windows, std::int64_t chunks, const A* sums, const Tensor4& weight_grad)
      : weights_(windows.out_channels * windows.channels),
        channels_(windows.channels),
        chunks_(chunks),
        sums_(sums),
        weight_grad_(weight_grad),
        by_channels_(windows.channels) {}

  std::int64_t items() const { return weights_; }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    A sum(0);
    for (std::int64_t first = 0; first < chunks_; first += batch) {
      A of_chunk[batch];
      PORTOPS_UNROLL
      for (int b = 0; b < batch; ++b) {
        of_chunk[b] = first + b < chunks_ ? sums_[(first + b) * weights_ + item] : A(0);
      }
      sum += sum_of(of_chunk);
    }
    const std::int64_t out = by_channels_.quotient(item), channel = item - out * channels_;
    static_cast<T*>(weight_grad_.data)[weight_grad_.offset(out, channel, 0, 0)] = static_cast<T>(sum);
  }

 private:
  static constexpr int batch = 8;  ///< chunks that are under way together

  std::int64_t weights_, channels_, chunks_;
  const A* sums_;
  Tensor4 weight_grad_;
  IndexDivisor by_channels_;
};

}  // namespace portops::impl
