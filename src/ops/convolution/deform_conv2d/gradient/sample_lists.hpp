// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/gpu_teams.hpp"
#include "core/lanes/power_of_two.hpp"
#include "core/lanes/warp.hpp"
#include "ops/convolution/deform_conv2d/gradient/columns_grad.hpp"

#include <algorithm>
#include <cstdint>
#include <type_traits>

// x_grad on a GPU without atomic additions of numbers: for each block of pixels of x, lists of the samples that read
// it; then every block adds up its own, in an order that is always the same.

namespace portops::impl {

/// The lists of a step's samples: one for each image, deformable group, range of taps and block of 2 by 2 pixels of x,
/// in this order. A sample is in as many as its corners lie in: in 2.25 of the blocks, on average. Each list has the
/// same room; where that is too little for one, all of them get places behind it.
template <class A>
struct SampleLists {
  /// A sample's number in the image and deformable group: taps fastest, then pixels of out. deform_conv2d_grad refuses
  /// images for which 32 bits are too few.
  using Number = std::conditional_t<sizeof(A) == 4, std::uint32_t, std::int64_t>;
  /// So many taps share a list. Where windows are as many as pixels of x, it has nine samples of each, on average.
  static constexpr std::int64_t range_taps = 9;
  /// The most samples that a warp brings in order by itself.
  static constexpr int short_list = 128;

  std::int64_t* counts;  ///< and behind them, whether a list has more samples than room
  std::int64_t* starts;  ///< and behind them, how many samples have places behind the lists' rooms
  Number* samples;

  PORTOPS_FUNCTION static std::int64_t blocks_across(const Windows& windows) { return (windows.width + 1) / 2; }
  PORTOPS_FUNCTION static std::int64_t blocks_down(const Windows& windows) { return (windows.height + 1) / 2; }
  PORTOPS_FUNCTION static std::int64_t ranges(const Windows& windows) {
    return (windows.taps() + range_taps - 1) / range_taps;
  }
  PORTOPS_FUNCTION static std::int64_t blocks(const Windows& windows) {
    return blocks_down(windows) * blocks_across(windows);
  }
  static std::int64_t lists(const Windows& windows) {
    return windows.images * windows.deformable_groups * ranges(windows) * blocks(windows);
  }
  /// Of a list, in samples: half more than lists have on average, and 16, as a power of two and no more than
  /// short_list.
  static std::int64_t room(const Windows& windows) {
    const std::int64_t samples = windows.pixels() * std::min(windows.taps(), range_taps);
    return power_of_two_at_least(ceil_div(samples * 27, std::max(8 * blocks(windows), std::int64_t{1})) + 16,
                                 short_list);
  }
  /// The rooms of all lists and, behind them, as much as all samples can take.
  static std::int64_t capacity(const Windows& windows) {
    return lists(windows) * room(windows) + corners * windows.all_samples();
  }

  /// That of the block of pixel (0, 0).
  PORTOPS_FUNCTION static std::int64_t first_list(const Windows& windows, std::int64_t image, std::int64_t group,
                                                  std::int64_t range) {
    return ((image * windows.deformable_groups + group) * ranges(windows) + range) * blocks(windows);
  }
};

/// Counts the samples of each list, from 0, and writes those that it has room for, in any order; or, with `again`, does
/// so once more for the places behind these, if a list has more samples than room. An item a sample.
template <Backend B, class T, bool again>
class CollectSamples {
 public:
  using A = Arithmetic<T>;
  using Lists = SampleLists<A>;
  static constexpr int blocks = 0;

  CollectSamples(const Windows& windows, const SamplerOf<T>& sampler, const Lists& lists)
      : windows_(windows),
        sampler_(sampler),
        lists_(lists),
        room_(Lists::room(windows)),
        exceeds_room_(lists.counts + Lists::lists(windows)) {}

  std::int64_t items() const { return windows_.all_samples(); }

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    if (again && *exceeds_room_ == 0) return;
    const SampleIndex at = sample_index(windows_, index);
    const Sample<A> sample = sampler_(at);
    if (sample.is_outside()) return;
    const auto number = static_cast<typename Lists::Number>(at.pixel * windows_.taps() + at.tap);
    const std::int64_t first = Lists::first_list(windows_, at.image, at.deformable_group, at.tap / Lists::range_taps);
    // Corners are two pixels at most, down as across.
    const std::int64_t across = Lists::blocks_across(windows_);
    const std::int64_t y = sample.y / 2, last_y = (sample.y + (sample.steps_down ? 1 : 0)) / 2;
    const std::int64_t x = sample.x / 2, last_x = (sample.x + (sample.steps_right ? 1 : 0)) / 2;
    PORTOPS_UNROLL
    for (int k = 0; k < corners; ++k) {
      if ((k >= 2 && last_y == y) || (k % 2 == 1 && last_x == x)) continue;
      add(first + (k < 2 ? y : last_y) * across + (k % 2 == 0 ? x : last_x), number);
    }
  }

 private:
  KOKKOS_FUNCTION void add(std::int64_t list, typename Lists::Number number) const {
    const std::int64_t place = Kokkos::atomic_fetch_add(lists_.counts + list, std::int64_t{1});
    if constexpr (again) {
      lists_.samples[lists_.starts[list] + place] = number;
    } else if (place < room_) {
      lists_.samples[list * room_ + place] = number;
    } else if (place == room_) {
      Kokkos::atomic_store(exceeds_room_, std::int64_t{1});
    }
  }

  Windows windows_;
  SamplerOf<T> sampler_;
  Lists lists_;
  std::int64_t room_;
  std::int64_t* exceeds_room_;
};

/// Says where the lists begin. If one has more samples than room, gives each a place behind the rooms, in no particular
/// order, and sets its count to 0 again.
template <Backend B, class A>
class PlaceLists {
 public:
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  using Lists = SampleLists<A>;
  static constexpr int threads = 256;
  static constexpr int blocks = 0;
  std::int64_t first_team = 0;

  PlaceLists(const Windows& windows, const Lists& lists)
      : count_(Lists::lists(windows)), room_(Lists::room(windows)), lists_(lists) {}

  std::int64_t teams() const { return ceil_div(count_, threads); }
  static std::size_t scratch_bytes() { return 0; }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::int64_t list = (first_team + team.league_rank()) * threads + team.team_rank();
    if (lists_.counts[count_] == 0) {
      if (list < count_) lists_.starts[list] = list * room_;
      return;
    }
    const std::int64_t count = list < count_ ? lists_.counts[list] : 0;
    const std::int64_t start = team.team_scan(count, lists_.starts + count_);
    if (list >= count_) return;
    lists_.starts[list] = count_ * room_ + start;
    lists_.counts[list] = 0;
  }

 private:
  std::int64_t count_;
  std::int64_t room_;
  Lists lists_;
};

/// Brings the lists in order that are too long for a warp of GatherXGrad. A team looks at as many lists as it has
/// threads, and sorts those with all of them.
template <Backend B, class A>
class SortLongLists {
 public:
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int threads = 256;
  static constexpr int blocks = 0;
  std::int64_t first_team = 0;

  SortLongLists(const Windows& windows, const SampleLists<A>& lists)
      : count_(SampleLists<A>::lists(windows)), lists_(lists) {}

  std::int64_t teams() const { return ceil_div(count_, threads); }
  static std::size_t scratch_bytes() { return (1 + threads) * sizeof(int); }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    if (lists_.counts[count_] == 0) return;
    const std::int64_t first = (first_team + team.league_rank()) * threads, list = first + team.team_rank();
    auto* const found = scratch_of<int>(team);
    int* const longs = found + 1;
    if (team.team_rank() == 0) *found = 0;
    team.team_barrier();
    if (list < count_ && lists_.counts[list] > SampleLists<A>::short_list) {
      longs[Kokkos::atomic_fetch_add(found, 1)] = team.team_rank();
    }
    team.team_barrier();
    for (int i = 0; i < *found; ++i) sort(team, first + longs[i]);
  }

 private:
  using Number = typename SampleLists<A>::Number;

  /// A bitonic sort, all of whose comparisons put the lesser one first: what a list lacks to a power of two would stay
  /// behind it.
  KOKKOS_FUNCTION void sort(const Team& team, std::int64_t list) const {
    const std::int64_t count = lists_.counts[list];
    Number* const samples = lists_.samples + lists_.starts[list];
    const auto exchange = [&](std::int64_t mask) {
      for (std::int64_t i = team.team_rank(); i < count; i += threads) {
        const std::int64_t other = i ^ mask;
        if (other <= i || other >= count) continue;
        const Number own = samples[i], of_other = samples[other];
        if (own <= of_other) continue;
        samples[i] = of_other;
        samples[other] = own;
      }
      team.team_barrier();
    };
    for (std::int64_t size = 2; size < 2 * count; size *= 2) {
      exchange(size - 1);
      for (std::int64_t distance = size / 4; distance > 0; distance /= 2) exchange(distance);
    }
  }

  std::int64_t count_;
  SampleLists<A> lists_;
};

/// x_grad from the lists: a warp a block of 2 by 2 pixels of x and deformable group, or a part of their channels. Its
/// lanes have packs of N neighbouring channels; where these are few, several samples at once. The blocks of a team lie
/// side by side: they share samples, whose gradients are in the first cache then.
template <Backend B, class T, int N>
class GatherXGrad {
 public:
  using A = Arithmetic<T>;
  using Lists = SampleLists<A>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int threads = 128;
  static constexpr int blocks = sizeof(T) == 2 ? 3 : 4;
  std::int64_t first_team = 0;

  GatherXGrad(const Windows& windows, const SamplerOf<T>& sampler, const T* column_grads, const Lists& lists, A* x_grad)
      : windows_(windows),
        sampler_(sampler),
        packs_(windows),
        column_grads_(column_grads),
        lists_(lists),
        x_grad_(x_grad),
        lanes_(packs_.template lanes<B>()),
        across_(ceil_div(Lists::blocks_across(windows), std::int64_t{warps})) {
    if (teams() < 2 * gpu_teams_at_once) parts_ = static_cast<int>(ceil_div(packs_.count(), lanes_));
  }

  std::int64_t teams() const {
    return windows_.images * windows_.deformable_groups * parts_ * Lists::blocks_down(windows_) * across_;
  }
  static std::size_t scratch_bytes() { return warps * short_list * (sizeof(Entry) + sizeof(Number)); }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    std::int64_t index = first_team + team.league_rank();
    const auto next = [&index](std::int64_t extent) {
      const std::int64_t outer = quotient(index, extent), inner = index - outer * extent;
      index = outer;
      return inner;
    };
    const int own_warp = team.team_rank() / warp;
    Block block{};
    block.x = 2 * (next(across_) * warps + own_warp);
    block.y = 2 * next(Lists::blocks_down(windows_));
    const auto part = static_cast<int>(next(parts_));
    block.group = next(windows_.deformable_groups);
    block.image = index;
    auto* const entries = scratch_of<Entry>(team);
    auto* const numbers = reinterpret_cast<Number*>(entries + warps * short_list);
    if (block.x >= windows_.width) return;  // no warp waits for another one
    gather(block, part, team.team_rank() % warp, entries + own_warp * short_list, numbers + own_warp * short_list);
  }

 private:
  using Number = typename Lists::Number;
  static constexpr int warp = 32, warps = threads / warp;
  static constexpr int short_list = Lists::short_list;
  static constexpr int together = 4;  ///< samples that a lane has under way

  struct Block {
    std::int64_t image, group;  ///< deformable
    std::int64_t y, x;          ///< of the pixel above left
  };
  /// What a sample is to the pixels of a block, counted as corners are.
  struct Entry {
    A weight[corners];
    /// Where its gradients lie in the image's columns, times 16; and a bit for each pixel that is one of its corners.
    std::int64_t column_and_pixels;
  };

  KOKKOS_FUNCTION void gather(const Block& block, int part, int lane, Entry* entries, Number* numbers) const {
    const int slot = lane / lanes_, slots = warp / lanes_;
    const T* const column_grads = column_grads_ + block.image * windows_.pixels() * windows_.column();
    const std::int64_t ranges = Lists::ranges(windows_);
    const std::int64_t block_number = block.y / 2 * Lists::blocks_across(windows_) + block.x / 2;
    bool has_entries = false;  // of all samples
    for (int first_pack = part * lanes_; first_pack < packs_.count(); first_pack += parts_ * lanes_) {
      const int i = first_pack + lane % lanes_;
      const bool exists = i < packs_.count();
      const auto pack = packs_(static_cast<int>(block.group), exists ? i : 0);
      const T* const of_pack = column_grads + pack.column;
      A sum[corners][N] = {};
      for (std::int64_t range = 0; range < ranges; ++range) {
        const std::int64_t list = Lists::first_list(windows_, block.image, block.group, range) + block_number;
        const std::int64_t count = lists_.counts[list];
        for (std::int64_t first = 0; first < count; first += short_list) {
          const int some = count - first < short_list ? static_cast<int>(count - first) : short_list;
          if (!has_entries) {
            bring(block, lists_.samples + lists_.starts[list] + first, some, count > short_list, lane, entries,
                  numbers);
            has_entries = ranges == 1 && count <= short_list;
          }
          for (int e = slot; e < some; e += together * slots) add(sum, of_pack, entries, e, slots, some);
        }
      }
      for (int distance = lanes_; distance < warp; distance *= 2) {
        PORTOPS_UNROLL
        for (int q = 0; q < corners; ++q) {
          PORTOPS_UNROLL
          for (int c = 0; c < N; ++c) sum[q][c] += of_other_lane(sum[q][c], distance);
        }
      }
      if (slot > 0 || !exists) continue;
      PORTOPS_UNROLL
      for (int q = 0; q < corners; ++q) {
        const std::int64_t y = block.y + q / 2, x = block.x + q % 2;
        if (y >= windows_.height || x >= windows_.width) continue;
        const std::int64_t pixel = block.image * windows_.area() + y * windows_.width + x;
        write_channels<B, A, N>(x_grad_ + pixel * windows_.channels + pack.channel, sum[q], N);
      }
    }
  }

  /// Brings up to short_list samples to the warp's scratch, in the order of their numbers.
  KOKKOS_FUNCTION void bring(const Block& block, const Number* samples, int count, bool is_sorted, int lane,
                             Entry* entries, Number* numbers) const {
    constexpr int own = short_list / warp;
    Number number[own];
    int place[own];
    warp_barrier();
    PORTOPS_UNROLL
    for (int j = 0; j < own; ++j) {
      const int i = j * warp + lane;
      number[j] = i < count ? samples[i] : 0;
      place[j] = is_sorted ? i : 0;
      if (i < count) numbers[i] = number[j];
    }
    warp_barrier();
    PORTOPS_UNROLL_BY_4
    for (int i = 0; i < (is_sorted ? 0 : count); ++i) {
      const Number other = numbers[i];
      PORTOPS_UNROLL
      for (int j = 0; j < own; ++j) place[j] += other < number[j] ? 1 : 0;
    }
    PORTOPS_UNROLL
    for (int j = 0; j < own; ++j) {
      if (j * warp + lane < count) entries[place[j]] = entry_of(block, static_cast<std::int64_t>(number[j]));
    }
    warp_barrier();
  }

  KOKKOS_FUNCTION Entry entry_of(const Block& block, std::int64_t number) const {
    const std::int64_t pixel = quotient(number, windows_.taps()), tap = number - pixel * windows_.taps();
    const Sample<A> sample = sampler_({block.image, pixel, block.group, tap});
    A weight[corners];
    sample.weights(weight);
    Entry entry{};
    std::int64_t pixels = 0;
    PORTOPS_UNROLL
    for (int k = 0; k < corners; ++k) {
      const std::int64_t y = sample.y + (k >= 2 && sample.steps_down ? 1 : 0) - block.y;
      const std::int64_t x = sample.x + (k % 2 == 1 && sample.steps_right ? 1 : 0) - block.x;
      PORTOPS_UNROLL
      for (int q = 0; q < corners; ++q) {
        if (!sample.exists[k] || y != q / 2 || x != q % 2) continue;
        entry.weight[q] = weight[k] * sample.factor;
        pixels |= 1 << q;
      }
    }
    entry.column_and_pixels = (pixel * windows_.column() + tap * windows_.group_channels()) << corners | pixels;
    return entry;
  }

  /// Adds what entries `first`, `first` + `distance` and so on contribute, `together` of them, of `count`. The loads
  /// are under way before the first one is waited for.
  KOKKOS_FORCEINLINE_FUNCTION static void add(A (&sum)[corners][N], const T* column_grads, const Entry* entries,
                                              int first, int distance, int count) {
    Word<T, N> grads[together];
    PORTOPS_UNROLL
    for (int j = 0; j < together; ++j) {
      if (first + j * distance >= count) continue;
      const std::int64_t column = entries[first + j * distance].column_and_pixels >> corners;
      grads[j] = *reinterpret_cast<const Word<T, N>*>(in_device_memory(column_grads + column));
    }
    PORTOPS_UNROLL
    for (int j = 0; j < together; ++j) {
      if (first + j * distance >= count) continue;
      const Entry& entry = entries[first + j * distance];
      const auto pixels = static_cast<int>(entry.column_and_pixels);
      A grad[N];
      PORTOPS_UNROLL
      for (int c = 0; c < N; ++c) grad[c] = static_cast<A>(grads[j][c]);
      PORTOPS_UNROLL
      for (int q = 0; q < corners; ++q) {
        if ((pixels >> q & 1) == 0) continue;
        const A weight = entry.weight[q];
        PORTOPS_UNROLL
        for (int c = 0; c < N; ++c) sum[q][c] = Kokkos::fma(weight, grad[c], sum[q][c]);
      }
    }
  }

  Windows windows_;
  SamplerOf<T> sampler_;
  ChannelPacks<N> packs_;
  const T* column_grads_;
  Lists lists_;
  A* x_grad_;
  int lanes_;
  std::int64_t across_;  ///< teams of a row of blocks
  int parts_ = 1;        ///< warps that share the channels
};

}  // namespace portops::impl
