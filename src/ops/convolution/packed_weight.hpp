// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "blas/panels.hpp"
#include "core/lanes/pack.hpp"
#include "core/lanes/tile_shape.hpp"
#include "ops/convolution/copy_lines.hpp"
#include "ops/convolution/windows.hpp"

#include <algorithm>
#include <cstdint>

namespace portops::impl {

/// The weight of a call on hosts, packed for its products: group by group, slice by slice of the inner axis (of
/// Blocks::depth elements, taps slowest, then channels), panel by panel of output channels, which are filled up with
/// zeros. Panels are those of multiply_panels() or, where a product is by vectors of output channels, of
/// multiply_points(), of which only the last vector is filled up.
template <class A>
struct PackedWeight {
  using Sizes = blas::Blocks<A>;
  const Windows& windows;
  bool by_vectors;

  int most_panel_rows() const { return by_vectors ? Sizes::point_vectors * Sizes::lanes : Sizes::panel_rows; }
  std::int64_t panels() const { return ceil_div(windows.group_out_channels(), most_panel_rows()); }
  std::int64_t padded_rows() const {
    const int whole = by_vectors ? Sizes::lanes : Sizes::panel_rows;
    return ceil_div(windows.group_out_channels(), whole) * whole;
  }
  int panel_rows(std::int64_t panel) const {
    return static_cast<int>(std::min<std::int64_t>(most_panel_rows(), padded_rows() - panel * most_panel_rows()));
  }
  std::int64_t slices() const { return ceil_div(windows.group_column(), Sizes::depth); }
  std::int64_t size() const { return windows.groups * windows.group_column() * padded_rows(); }
  int depth(std::int64_t slice) const {
    return static_cast<int>(std::min<std::int64_t>(Sizes::depth, windows.group_column() - slice * Sizes::depth));
  }
  std::int64_t offset(std::int64_t group, std::int64_t slice, std::int64_t panel) const {
    const std::int64_t before = group * windows.group_column() + slice * Sizes::depth;
    return before * padded_rows() + panel * most_panel_rows() * depth(slice);
  }
};

/// Whether tiles are multiplied by vectors of output channels: where these leave no more of them empty, more or less,
/// than panels would, and columns do not come in strips.
template <class A>
bool multiplies_vectors(const Windows& windows, bool samples_strips) {
  return !samples_strips &&
         4 * PackedWeight<A>{windows, true}.padded_rows() <= 5 * PackedWeight<A>{windows, false}.padded_rows();
}

/// Packs the weight, a panel an item.
template <Backend B, class T>
class PackWeight {
 public:
  using A = Arithmetic<T>;
  using Sizes = blas::Blocks<A>;
  static constexpr int blocks = 0;

  PackWeight(const Windows& windows, bool by_vectors, const Tensor4& weight, A* to)
      : windows_(windows), by_vectors_(by_vectors), weight_(weight), to_(to) {}

  std::int64_t items() const {
    const PackedWeight<A> packed{windows_, by_vectors_};
    return windows_.groups * packed.slices() * packed.panels();
  }

  void operator()(std::int64_t item) const {
    const PackedWeight<A> packed{windows_, by_vectors_};
    const std::int64_t panel = item % packed.panels();
    const std::int64_t slice = item / packed.panels() % packed.slices();
    const std::int64_t group = item / packed.panels() / packed.slices();
    const std::int64_t first_row = panel * packed.most_panel_rows();
    const int width = packed.panel_rows(panel), depth = packed.depth(slice);
    const auto rows = static_cast<int>(std::min<std::int64_t>(width, windows_.group_out_channels() - first_row));
    A* const to = to_ + packed.offset(group, slice, panel);
    if (rows < width) std::fill_n(to, std::int64_t{depth} * width, A(0));
    for (int k = 0; k < depth;) {
      const std::int64_t at = slice * Sizes::depth + k;
      const std::int64_t tap = at / windows_.group_channels(), channel = at % windows_.group_channels();
      const auto channels = static_cast<int>(std::min<std::int64_t>(windows_.group_channels() - channel, depth - k));
      const T* const from = static_cast<const T*>(weight_.data) +
                            weight_.offset(group * windows_.group_out_channels() + first_row, channel,
                                           tap / windows_.kernel_width, tap % windows_.kernel_width);
      copy_lines(to + std::int64_t{k} * width, width, from, weight_.stride[1], weight_.stride[0], channels, rows);
      k += channels;
    }
  }

 private:
  Windows windows_;
  bool by_vectors_;
  Tensor4 weight_;
  A* to_;
};

}  // namespace portops::impl
