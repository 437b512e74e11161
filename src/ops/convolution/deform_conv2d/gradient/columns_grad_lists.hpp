// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/prefetch.hpp"
#include "core/lanes/team_scan.hpp"
#include "ops/convolution/deform_conv2d/gradient/columns_grad.hpp"
#include "ops/convolution/deform_conv2d/gradient/columns_grad_tiles_scratch.hpp"
#include "ops/convolution/deform_conv2d/gradient/sample_tile.hpp"

#include <cstdint>

namespace portops::impl {

/// A tile of samples, and where its window begins in x, perhaps before it.
struct ColumnsGradTile : SampleTile {
  std::int64_t image;
  int group;  ///< deformable
  std::uint32_t window_y, window_x;
};

/// The first half of ColumnsGradTiles: a team finds the samples of its tile, and makes for each pixel of x a list of
/// those that it is a corner of.
template <Backend B, class T>
class ColumnsGradLists {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  using Scratch = ColumnsGradTilesScratch<B, T>;
  using Index = TileSamples::Index;
  static constexpr int threads = 256;

  /// Of up to so many samples. `has_products`: what fractions give is wanted too; `has_lists`: make() will be called.
  ColumnsGradLists(const Windows& windows, const SamplerOf<T>& sampler, const Tensor4& x, int samples,
                   bool has_products, bool has_lists)
      : sampler_(sampler),
        by_kernel_width_(static_cast<std::uint32_t>(windows.kernel_width)),
        width_(windows.width),
        out_width_(windows.out_width),
        x_row_(static_cast<std::uint32_t>(x.stride[2] / vector)),
        x_pixel_(static_cast<std::uint32_t>(x.stride[3] / vector)),
        column_(static_cast<std::uint32_t>(windows.column() / vector)),
        column_tap_(static_cast<std::uint32_t>(windows.group_channels() / vector)),
        samples_(samples),
        has_products_(has_products),
        has_lists_(has_lists) {}

  /// Makes the records and counts the samples of each pixel in the window. `grads`: where the gradients of the team's
  /// first chunk lie, which are asked for.
  KOKKOS_FUNCTION void find(const Team& team, const ColumnsGradTile& place, const Scratch& scratch,
                            const T* grads) const {
    for (int i = team.team_rank(); i < keys; i += threads) scratch.counters[i] = 0;
    for (int i = team.team_rank(); i < chunk; i += threads) scratch.grads[samples_ * chunk + i] = T(0.0f);
    if (team.team_rank() == 0) *scratch.stray_count = 0;
    team.team_barrier();
    const TileSamples samples(place);
    for (int i = team.team_rank(); i < place.samples(); i += threads) {
      const Index at = samples(i);
      prefetch(grads + std::uint64_t{column_of(at)} * vector);
      const Sample<A> sample = sample_at(place, at);
      std::uint32_t exists = 0;
      PORTOPS_UNROLL
      for (int k = 0; k < corners; ++k) exists |= sample.exists[k] ? 1u << k : 0u;
      scratch.records[i] = record_of(at, sample);
      if (has_products_) scratch.fractions[i] = {sample.down, sample.right, sample.factor, exists};
      if (has_lists_) scratch.records[i].key = count_corners(place, scratch, sample, exists);
    }
    team.team_barrier();
  }

  /// Gives each pixel its place in the lists, and fills these.
  KOKKOS_FUNCTION void make(const Team& team, const ColumnsGradTile& place, const Scratch& scratch) const {
    constexpr int own_keys = keys / threads;
    constexpr int of_target = 1 << 16;  // two sums at once: of entries and, above them, of targets
    int* const own = scratch.counters + team.team_rank() * own_keys;
    const auto even = [](int count) { return count + count % 2; };
    int sum = 0;
    for (int i = 0; i < own_keys; ++i) sum += even(own[i]) + (own[i] > 0 ? of_target : 0);
    int before = sum_of_threads_before<threads>(team, scratch.warp_sums, sum);
    if (team.team_rank() == threads - 1) {
      *scratch.entry_count = (before + sum) % of_target;
      *scratch.target_count = (before + sum) / of_target;
    }
    const Entry nothing{A(0), samples_ * row_bytes};
    for (int i = 0; i < own_keys; ++i) {
      const int count = own[i], key = team.team_rank() * own_keys + i;
      const int begin = before % of_target;
      own[i] = begin;
      if (count == 0) continue;
      const std::uint32_t y = place.window_y + static_cast<std::uint32_t>(key / window_columns);
      const std::uint32_t x = place.window_x + static_cast<std::uint32_t>(key % window_columns);
      scratch.targets[before / of_target] = {y * static_cast<std::uint32_t>(width_) + x, begin};
      if (count % 2 != 0) scratch.entries[begin + count] = nothing;
      before += of_target + even(count);
    }
    team.team_barrier();
    const int entries = *scratch.entry_count, targets = *scratch.target_count;
    for (int i = team.team_rank(); i < place.samples(); i += threads) {
      const Record& record = scratch.records[i];
      if (record.key != unknown_key) {
        for_keys(record.key, (record.pixel & steps_right) / steps_right, (record.pixel & steps_down) / steps_down,
                 [&](int k, int key) {
                   scratch.entries[Kokkos::atomic_fetch_add(scratch.counters + key, 1)] = {record.weight[k],
                                                                                           i * row_bytes};
                 });
        continue;
      }
      const TileSamples samples(place);
      for_corners(place, sample_at(place, samples(i)), [&](int key, std::uint32_t pixel, A weight) {
        int to = 0;
        if (key >= 0) {
          to = Kokkos::atomic_fetch_add(scratch.counters + key, 1);
        } else {
          const int stray = Kokkos::atomic_fetch_add(scratch.stray_count, 1);
          to = entries + 2 * stray;
          scratch.targets[targets + stray] = {pixel, to};
          scratch.entries[to + 1] = nothing;
        }
        scratch.entries[to] = {weight, i * row_bytes};
      });
    }
    team.team_barrier();
    if (team.team_rank() > 0) return;
    // Barriers follow before it is read.
    const int strays = *scratch.stray_count;
    scratch.targets[targets + strays] = {0, entries + 2 * strays};
    *scratch.target_count = targets + strays;
  }

  /// In vectors: from row to row of x, and from pixel to pixel.
  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t x_row() const { return x_row_; }
  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t x_pixel() const { return x_pixel_; }
  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t pixel_of(const Index& at) const {
    return static_cast<std::uint32_t>(at.y) * static_cast<std::uint32_t>(out_width_) + static_cast<std::uint32_t>(at.x);
  }

 private:
  using Record = typename Scratch::Record;
  using Entry = typename Scratch::Entry;
  static constexpr int vector = Scratch::vector, chunk = Scratch::chunk;
  static constexpr int window_rows = Scratch::window_rows, window_columns = Scratch::window_columns;
  static constexpr int keys = Scratch::keys;
  static constexpr int key_bits = Scratch::key_bits, unknown_key = Scratch::unknown_key;
  static constexpr int flag_bits = Scratch::flag_bits;
  static constexpr typename Scratch::Flag steps_right = Scratch::steps_right, steps_down = Scratch::steps_down;
  static constexpr typename Scratch::Flag is_outside = Scratch::is_outside, is_nan = Scratch::is_nan;
  static constexpr int row_bytes = Scratch::row_bytes;
  static_assert(threads / 32 == Scratch::warps && keys % threads == 0);

  KOKKOS_FORCEINLINE_FUNCTION Sample<A> sample_at(const ColumnsGradTile& place, const Index& at) const {
    const auto k = static_cast<int>(by_kernel_width_.quotient(static_cast<std::uint32_t>(at.tap)));
    const int l = at.tap - k * static_cast<int>(by_kernel_width_.value());
    return sampler_.sample(sampler_.position(place.image, at.y, at.x, place.group, k, l));
  }
  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t column_of(const Index& at) const {
    return pixel_of(at) * column_ + static_cast<std::uint32_t>(at.tap) * column_tap_;
  }

  /// Where a pixel of x lies in the window; negative outside.
  KOKKOS_FORCEINLINE_FUNCTION static int key_of(std::uint32_t in_y, std::uint32_t in_x) {
    return in_y < window_rows && in_x < window_columns ? static_cast<int>(in_y * window_columns + in_x) : -1;
  }

  /// Calls action(key, pixel, weight) for the corners of a sample, of which some may lie outside of the window.
  template <class Action>
  KOKKOS_FUNCTION void for_corners(const ColumnsGradTile& place, const Sample<A>& sample, const Action& action) const {
    A weight[corners];
    factored_weights(sample, weight);
    for (int k = 0; k < corners; ++k) {
      if (!sample.exists[k]) continue;
      const auto y = static_cast<std::uint32_t>(sample.y) + (k >= 2 && sample.steps_down ? 1u : 0u);
      const auto x = static_cast<std::uint32_t>(sample.x) + (k % 2 == 1 && sample.steps_right ? 1u : 0u);
      action(key_of(y - place.window_y, x - place.window_x), y * static_cast<std::uint32_t>(width_) + x, weight[k]);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION Record record_of(const Index& at, const Sample<A>& sample) const {
    Record record{{}, is_outside, column_of(at), 0};
    if (sample.is_outside()) {
      record.pixel |= sample.is_nan ? is_nan : 0u;
      record.weight[0] = nothing_of(sample);
      return record;
    }
    const auto y = static_cast<std::uint32_t>(sample.y), x = static_cast<std::uint32_t>(sample.x);
    record.pixel = (y * x_row_ + x * x_pixel_) << flag_bits | (sample.steps_down ? steps_down : 0u) |
                   (sample.steps_right ? steps_right : 0u);
    factored_weights(sample, record.weight);
    return record;
  }

  /// Counts a sample's corners for their pixels' lists, and gives its key.
  KOKKOS_FORCEINLINE_FUNCTION int count_corners(const ColumnsGradTile& place, const Scratch& scratch,
                                                const Sample<A>& sample, std::uint32_t exists) const {
    const std::uint32_t right = sample.steps_right ? 1 : 0, down = sample.steps_down ? 1 : 0;
    const std::uint32_t in_y = static_cast<std::uint32_t>(sample.y) - place.window_y;
    const std::uint32_t in_x = static_cast<std::uint32_t>(sample.x) - place.window_x;
    if (exists != 0 && (key_of(in_y, in_x) < 0 || key_of(in_y + down, in_x + right) < 0)) {
      for_corners(place, sample, [&](int key, std::uint32_t, A) {
        if (key >= 0) Kokkos::atomic_inc(scratch.counters + key);
      });
      return unknown_key;
    }
    const int key = static_cast<int>(exists) << key_bits | static_cast<int>(in_y * window_columns + in_x);
    if (exists == 0) return 0;
    for_keys(key, right, down, [&](int, int of_corner) { Kokkos::atomic_inc(scratch.counters + of_corner); });
    return key;
  }

  /// Calls action(corner, key) for the corners that exist of a sample that lies in the window.
  template <class Action>
  KOKKOS_FORCEINLINE_FUNCTION static void for_keys(int key, std::uint32_t right, std::uint32_t down,
                                                   const Action& action) {
    const int first = key % (1 << key_bits);
    const int to_right = static_cast<int>(right), below = static_cast<int>(down) * window_columns;
    PORTOPS_UNROLL
    for (int k = 0; k < corners; ++k) {
      if ((key >> (key_bits + k) & 1) == 0) continue;
      action(k, first + (k % 2 == 1 ? to_right : 0) + (k >= 2 ? below : 0));
    }
  }

  SamplerOf<T> sampler_;
  Divisor by_kernel_width_;
  std::int64_t width_, out_width_;
  std::uint32_t x_row_, x_pixel_;
  std::uint32_t column_, column_tap_;  ///< in vectors: from pixel to pixel of the columns, and from tap to tap
  int samples_;
  bool has_products_, has_lists_;
};

}  // namespace portops::impl
