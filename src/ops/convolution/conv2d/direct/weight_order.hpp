// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/pack.hpp"
#include "core/lanes/tile_shape.hpp"
#include "ops/convolution/copy_lines.hpp"
#include "ops/convolution/windows.hpp"

#include <algorithm>
#include <cstdint>

namespace portops::impl {

/// The inner axis of a convolution on hosts, channels slowest, then taps, in slices of whole channels; and the weight
/// of a call in this order: group by group, slice by slice, panel by panel of output channels, filled up with zeros.
struct WeightOrder {
  const Windows& windows;
  int most_depth;      ///< elements of a slice, where a channel has no more
  std::int64_t panel;  ///< output channels
  int multiple;        ///< of which a group's output channels are filled up to a number

  std::int64_t slices() const {
    return ceil_div(windows.group_channels(), std::max<std::int64_t>(most_depth / windows.taps(), 1));
  }
  std::int64_t slice_channels() const { return ceil_div(windows.group_channels(), slices()); }
  int channels(std::int64_t slice) const {
    return static_cast<int>(std::min(slice_channels(), windows.group_channels() - slice * slice_channels()));
  }
  int depth(std::int64_t slice) const { return channels(slice) * static_cast<int>(windows.taps()); }
  std::int64_t panels() const { return ceil_div(windows.group_out_channels(), panel); }
  /// Output channels of a group, with those that fill it up.
  std::int64_t padded_rows() const { return ceil_div(windows.group_out_channels(), multiple) * multiple; }
  /// Numbers of a panel for one element of the inner axis.
  int panel_rows(std::int64_t number) const {
    return static_cast<int>(std::min(panel, padded_rows() - number * panel));
  }
  std::int64_t size() const { return windows.groups * windows.group_column() * padded_rows(); }
  std::int64_t offset(std::int64_t group, std::int64_t slice, std::int64_t number) const {
    const std::int64_t before = group * windows.group_column() + slice * slice_channels() * windows.taps();
    return before * padded_rows() + number * panel * depth(slice);
  }
};

/// Packs the weight, a panel of a slice an item. `Order` is a WeightOrder that windows alone make.
template <class T, class Order>
struct PackWeightInOrder {
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;

  Windows windows;
  Tensor4 weight;
  A* packed;

  std::int64_t items() const {
    const Order to{windows};
    return windows.groups * to.slices() * to.panels();
  }

  void operator()(std::int64_t item) const {
    const Order order{windows};
    const std::int64_t number = item % order.panels(), rest = item / order.panels();
    const std::int64_t slice = rest % order.slices(), group = rest / order.slices();
    const std::int64_t first = number * order.panel, taps = windows.taps();
    const int width = order.panel_rows(number), depth = order.depth(slice);
    const auto rows = static_cast<int>(std::min<std::int64_t>(width, windows.group_out_channels() - first));
    A* const to = packed + order.offset(group, slice, number);
    if (rows < width) std::fill_n(to, std::int64_t{depth} * width, A(0));
    const auto from = [&](std::int64_t tap) {
      return static_cast<const T*>(weight.data) + weight.offset(group * windows.group_out_channels() + first,
                                                                slice * order.slice_channels(),
                                                                tap / windows.kernel_width, tap % windows.kernel_width);
    };
    const bool is_run = weight.stride[3] == 1 && weight.stride[2] == windows.kernel_width && weight.stride[1] == taps;
    if (is_run) return copy_lines(to, width, from(0), 1, weight.stride[0], depth, rows);
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      copy_lines(to + tap * width, taps * width, from(tap), weight.stride[1], weight.stride[0], order.channels(slice),
                 rows);
    }
  }
};

}  // namespace portops::impl
