// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/conv2d/direct/out_tiles.hpp"
#include "ops/convolution/windows.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace portops::impl {

/// The taps of a window, along an axis.
struct TapRange {
  int first, end;
  bool is_inside = true;  ///< whether any is in x; else the range has all

  bool operator==(const TapRange&) const = default;
};

/// A run of pixels of a tile, along an axis, whose windows have the same taps in the padding, or none.
struct PixelRun {
  int first, count;
  TapRange taps;  ///< the others
};

/// The pixels of a tile by the taps that their windows have in x. What is read of padding is zeros: their products
/// change no sum, so that pixels of an image's edge may go without. The largest group comes first: while it is
/// multiplied, the weight is on its way into the caches.
class TapGroups {
 public:
  static constexpr int most = 16;

  struct Group {
    PixelRun rows, columns;

    int pixels() const { return rows.count * columns.count; }
    int taps() const { return (rows.taps.end - rows.taps.first) * (columns.taps.end - columns.taps.first); }
  };

  /// One group of all taps where there would be too many, or `whole` says so.
  TapGroups(const Windows& w, const OutTile& tile, bool whole) {
    const Runs rows = find_runs(static_cast<int>(w.kernel_height), w.dilation_y, tile.i * w.stride_y - w.top,
                                w.stride_y, w.height, tile.rows);
    const Runs columns = find_runs(static_cast<int>(w.kernel_width), w.dilation_x, tile.j * w.stride_x - w.left,
                                   w.stride_x, w.width, tile.columns);
    if (whole || rows.count > most_runs || columns.count > most_runs) {
      groups_[count_++] = {{0, tile.rows, {0, static_cast<int>(w.kernel_height)}},
                           {0, tile.columns, {0, static_cast<int>(w.kernel_width)}}};
      return;
    }
    for (int i = 0; i < rows.count; ++i) {
      for (int j = 0; j < columns.count; ++j) groups_[count_++] = {rows.run[i], columns.run[j]};
    }
    std::sort(groups_.begin(), groups_.begin() + count_,
              [](const Group& a, const Group& b) { return a.pixels() * a.taps() > b.pixels() * b.taps(); });
  }

  /// Whether all pixels of `out` are in groups of taps that are in x.
  static bool leave_out_padding(const Windows& w) {
    const auto do_along = [](const Runs& runs) {
      return runs.count <= most_runs && std::all_of(runs.run.begin(), runs.run.begin() + runs.count,
                                                    [](const PixelRun& run) { return run.taps.is_inside; });
    };
    return do_along(find_runs(static_cast<int>(w.kernel_height), w.dilation_y, -w.top, w.stride_y, w.height,
                              w.out_height)) &&
           do_along(
               find_runs(static_cast<int>(w.kernel_width), w.dilation_x, -w.left, w.stride_x, w.width, w.out_width));
  }

  const Group* begin() const { return groups_.data(); }
  const Group* end() const { return groups_.data() + count_; }

 private:
  static constexpr int most_runs = 4;
  static_assert(most_runs * most_runs == most);

  struct Runs {
    std::array<PixelRun, most_runs> run;
    int count = 0;  ///< may be one more than there is room for
  };

  /// Of so many windows `stride` apart, the first of which begins at pixel `begin` of `extent`.
  static Runs find_runs(int kernel, std::int64_t dilation, std::int64_t begin, std::int64_t stride, std::int64_t extent,
                        std::int64_t windows) {
    Runs runs;
    for (std::int64_t i = 0; i < windows; ++i, begin += stride) {
      TapRange taps{0, kernel};
      while (taps.first < kernel && begin + taps.first * dilation < 0) ++taps.first;
      while (taps.end > taps.first && begin + (taps.end - 1) * dilation >= extent) --taps.end;
      std::int64_t count = 1;
      if (taps.first == taps.end) {
        taps = {0, kernel, false};
      } else if (taps == TapRange{0, kernel}) {
        // So are the following ones.
        count = std::min(windows - i, (extent - 1 - (kernel - 1) * dilation - begin) / stride + 1);
      }
      if (runs.count > 0 && runs.run[runs.count - 1].taps == taps) {
        runs.run[runs.count - 1].count += static_cast<int>(count);
      } else if (runs.count++ < most_runs) {
        runs.run[runs.count - 1] = {static_cast<int>(i), static_cast<int>(count), taps};
      } else {
        break;
      }
      i += count - 1;
      begin += (count - 1) * stride;
    }
    return runs;
  }

  std::array<Group, most> groups_;
  int count_ = 0;
};

}  // namespace portops::impl
