// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/cascade.hpp"
#include "ops/convolution/conv2d/direct/weight_grad_plan.hpp"
#include "ops/convolution/copy_lines.hpp"

#include <algorithm>
#include <cstdint>

namespace portops::impl {

/// On hosts: adds up the sums of weight_grad over parts, by a tree, and rounds once. An item an output channel and some
/// channels of its group.
template <class T>
class JoinWeightGrad {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;

  JoinWeightGrad(const WeightGradPlan& plan, const A* part_sums, const Tensor4& weight_grad)
      : plan_(plan), part_sums_(part_sums), weight_grad_(weight_grad) {}

  std::int64_t items() const { return plan_.windows.out_channels * channel_blocks(); }

  void operator()(std::int64_t item) const {
    const Windows& windows = plan_.windows;
    const std::int64_t row = item / channel_blocks(), channel = item % channel_blocks() * block;
    const auto channels = static_cast<int>(std::min<std::int64_t>(block, windows.group_channels() - channel));
    const Tensor4& to = weight_grad_;
    // Where a tap follows the other in memory, several are written together.
    const bool has_runs = to.stride[3] == 1 && to.stride[2] == windows.kernel_width && to.stride[1] != 1;
    const std::int64_t most = has_runs ? most_taps : 1;
    for (std::int64_t tap = 0; tap < windows.taps(); tap += most) {
      A totals[most_taps * block];
      const auto taps = static_cast<int>(std::min(most, windows.taps() - tap));
      for (int i = 0; i < taps; ++i) {
        add_up(totals + i * block, (row * windows.taps() + tap + i) * windows.group_channels() + channel, channels);
      }
      T* const data =
          static_cast<T*>(to.data) + to.offset(row, channel, tap / windows.kernel_width, tap % windows.kernel_width);
      if (has_runs) {
        copy_lines(data, to.stride[1], totals, 1, block, channels, taps);
      } else if (to.stride[1] == 1) {
        copy_lines(data, 0, totals, 0, 1, 1, channels);
      } else {
        for (int c = 0; c < channels; ++c) data[c * to.stride[1]] = static_cast<T>(totals[c]);
      }
    }
  }

 private:
  static constexpr int block = 64, most_taps = 32;

  std::int64_t channel_blocks() const { return ceil_div(plan_.windows.group_channels(), block); }

  void add_up(A* total, std::int64_t first, int count) const {
    A sums[Cascade::most_levels][block];
    const auto add = [&](int level, int to, bool is_first) {
      for (int i = 0; i < count; ++i) sums[to][i] = is_first ? sums[level][i] : sums[to][i] + sums[level][i];
    };
    for (std::int64_t part = 0; part < plan_.parts(); ++part) {
      const A* const terms = part_sums_ + part * plan_.sums() + first;
      const bool begins = Cascade::begins(part);
      for (int i = 0; i < count; ++i) sums[0][i] = begins ? terms[i] : sums[0][i] + terms[i];
      Cascade::carry(part + 1, add);
    }
    std::copy_n(sums[Cascade::finish(plan_.parts(), add)], count, total);
  }

  WeightGradPlan plan_;
  const A* part_sums_;
  Tensor4 weight_grad_;
};

}  // namespace portops::impl
