// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "blas/panels.hpp"
#include "core/lanes/pack.hpp"
#include "core/lanes/tile_shape.hpp"
#include "ops/convolution/windows.hpp"

#include <algorithm>
#include <cstdint>

namespace portops::impl {

/// The weight of a call on hosts, packed for its products: group by group, slice by slice of the inner axis (of
/// Blocks::depth elements, taps slowest, then channels), panel by panel of output channels, which are filled up with
/// zeros.
template <class A>
struct PackedWeight {
  using Sizes = blas::Blocks<A>;
  const Windows& windows;

  std::int64_t panels() const { return ceil_div(windows.group_out_channels(), Sizes::panel_rows); }
  std::int64_t slices() const { return ceil_div(windows.group_column(), Sizes::depth); }
  std::int64_t size() const { return windows.groups * windows.group_column() * panels() * Sizes::panel_rows; }
  int depth(std::int64_t slice) const {
    return static_cast<int>(std::min<std::int64_t>(Sizes::depth, windows.group_column() - slice * Sizes::depth));
  }
  std::int64_t offset(std::int64_t group, std::int64_t slice, std::int64_t panel) const {
    const std::int64_t before = group * windows.group_column() + slice * Sizes::depth;
    return (before * panels() + panel * depth(slice)) * Sizes::panel_rows;
  }
};

/// Packs the weight, a panel an item.
template <Backend B, class T>
class PackWeight {
 public:
  using A = Arithmetic<T>;
  using Sizes = blas::Blocks<A>;
  static constexpr int blocks = 0;

  PackWeight(const Windows& windows, const Tensor4& weight, A* to) : windows_(windows), weight_(weight), to_(to) {}

  std::int64_t items() const {
    const PackedWeight<A> packed{windows_};
    return windows_.groups * packed.slices() * packed.panels();
  }

  void operator()(std::int64_t item) const {
    const PackedWeight<A> packed{windows_};
    const std::int64_t panel = item % packed.panels();
    const std::int64_t slice = item / packed.panels() % packed.slices();
    const std::int64_t group = item / packed.panels() / packed.slices();
    const std::int64_t first_row = panel * Sizes::panel_rows;
    const int rows =
        static_cast<int>(std::min<std::int64_t>(Sizes::panel_rows, windows_.group_out_channels() - first_row));
    A* to = to_ + packed.offset(group, slice, panel);
    const auto* const weight = static_cast<const T*>(weight_.data);
    for (int k = 0; k < packed.depth(slice); ++k, to += Sizes::panel_rows) {
      const std::int64_t at = slice * Sizes::depth + k;
      const std::int64_t tap = at / windows_.group_channels(), channel = at % windows_.group_channels();
      const T* const from = weight + weight_.offset(group * windows_.group_out_channels() + first_row, channel,
                                                    tap / windows_.kernel_width, tap % windows_.kernel_width);
      for (int row = 0; row < Sizes::panel_rows; ++row) {
        to[row] = row < rows ? static_cast<A>(from[row * weight_.stride[0]]) : A(0);
      }
    }
  }

 private:
  Windows windows_;
  Tensor4 weight_;
  A* to_;
};

}  // namespace portops::impl
