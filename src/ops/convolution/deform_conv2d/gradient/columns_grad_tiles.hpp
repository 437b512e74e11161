// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/other_lane.hpp"
#include "core/lanes/prefetch.hpp"
#include "ops/convolution/deform_conv2d/gradient/columns_grad.hpp"
#include "ops/convolution/deform_conv2d/gradient/columns_grad_tiles_plan.hpp"
#include "ops/convolution/deform_conv2d/gradient/columns_grad_tiles_scratch.hpp"

#include <cstdint>

namespace portops::impl {

/// On a GPU: what ColumnsGrad does, for tiles of pixels of out, whose samples share the pixels of x. A team takes the
/// channels chunk by chunk: the products first, each sample by eight threads, and then x_grad, whose pixels each have
/// a list of the samples that they are a corner of: they are added up in registers, and by one atomic addition. The
/// products are left as sums over the team's share of the channels, for ProductsOfBlocks.
template <Backend B, class T>
class ColumnsGradTiles {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int threads = 256;
  static constexpr int blocks = 3;
  std::int64_t first_team = 0;

  /// Whether the step is one that it can take, and that fills its chunks. It reads a pixel of x for samples outside
  /// too.
  static bool suits(const Windows& windows) {
    const std::int64_t run = windows.channel_run();
    constexpr auto size = static_cast<std::int64_t>(sizeof(T));
    return size <= 4 && windows.area() > 0 && run % vector == 0 && 2 * run >= chunk &&
           windows.pixels() * windows.column() * size / vector_bytes < UINT32_MAX && windows.area() < INT32_MAX;
  }
  /// Whether x, of a step that suits, is as it needs it.
  static bool suits(const Windows& windows, const Tensor4& x) {
    const auto is_fit = [](std::int64_t stride) { return stride >= 0 && stride % vector == 0; };
    const std::int64_t reach = (windows.height - 1) * x.stride[2] + (windows.width - 1) * x.stride[3];
    return reinterpret_cast<std::uintptr_t>(x.data) % vector_bytes == 0 && x.stride[0] % vector == 0 &&
           is_fit(x.stride[2]) && is_fit(x.stride[3]) && reach / vector < (std::int64_t{1} << (32 - flag_bits));
  }
  static ColumnsGradTilesPlan plan(const Windows& windows) { return {windows, ChannelPacks<chunk>(windows).count()}; }

  /// What is not wanted is null. `makes_columns`: the columns themselves take the place of their gradients.
  ColumnsGradTiles(const Windows& windows, const SamplerOf<T>& sampler, const Tensor4& x, T* column_grads,
                   bool makes_columns, A* x_grad, A* products)
      : plan_(plan(windows)),
        windows_(windows),
        sampler_(sampler),
        chunks_(windows),
        x_(x),
        column_grads_(column_grads),
        makes_columns_(makes_columns),
        x_grad_(x_grad),
        products_(products) {}

  std::int64_t teams() const {
    return windows_.images * plan_.across * plan_.down * windows_.deformable_groups * plan_.phases * plan_.shares;
  }
  std::size_t scratch_bytes() const { return static_cast<std::size_t>(Scratch::bytes(plan_.samples())); }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const Place place = locate(first_team + team.league_rank());
    const Scratch scratch(team, plan_.samples());
    find_samples(team, place, scratch);
    if (x_grad_ != nullptr) make_lists(team, place, scratch);
    A product[own_samples][2] = {};
    const int count = chunks_.count();
    const int end = count * (place.share + 1) / plan_.shares;
    for (int i = count * place.share / plan_.shares; i < end; ++i) {
      const auto pack = chunks_(place.group, i);
      take_products(team, place, scratch, pack, i + 1 < end, product);
      if (x_grad_ == nullptr) continue;
      team.team_barrier();
      add_to_x_grad(team, place, scratch, pack);
      team.team_barrier();
    }
    if (products_ != nullptr) write_products(team, place, scratch, product);
  }

 private:
  using Scratch = ColumnsGradTilesScratch<B, T>;
  using Record = typename Scratch::Record;
  using Entry = typename Scratch::Entry;
  using TwoEntries = typename Scratch::TwoEntries;
  using Target = typename Scratch::Target;
  using Flag = typename Scratch::Flag;
  static constexpr int vector_bytes = Scratch::vector_bytes, vector = Scratch::vector, vectors = Scratch::vectors;
  static constexpr int chunk = Scratch::chunk;
  static constexpr int window_rows = Scratch::window_rows, window_columns = Scratch::window_columns;
  static constexpr int keys = Scratch::keys;
  static constexpr int key_bits = Scratch::key_bits, unknown_key = Scratch::unknown_key;
  static constexpr int flag_bits = Scratch::flag_bits;
  static constexpr Flag steps_right = Scratch::steps_right, steps_down = Scratch::steps_down;
  static constexpr Flag is_outside = Scratch::is_outside;
  static constexpr int slots = threads / vectors;  ///< samples, or pixels of x, that a team takes at once
  static constexpr int own_samples = (ColumnsGradTilesPlan::most_samples + slots - 1) / slots;
  using Vector = Word<T, vector>;

  struct Place {
    std::int64_t image, y, x;  ///< the tile's first pixel
    int width, height;         ///< its pixels
    int group;                 ///< deformable
    int first_tap, taps;       ///< of the phase
    int share;
    std::int64_t window_y, window_x;  ///< where the window begins in x, perhaps outside

    KOKKOS_FUNCTION int samples() const { return width * height * taps; }
  };
  KOKKOS_FUNCTION Place locate(std::int64_t index) const {
    Place place{};
    const auto next = [&](std::int64_t extent) {
      const std::int64_t outer = quotient(index, extent);
      const std::int64_t inner = index - outer * extent;
      index = outer;
      return inner;
    };
    place.share = static_cast<int>(next(plan_.shares));
    place.x = next(plan_.across) * plan_.width;
    place.y = next(plan_.down) * plan_.height;
    place.first_tap = static_cast<int>(next(plan_.phases)) * plan_.phase_taps;
    place.group = static_cast<int>(next(windows_.deformable_groups));
    place.image = index;
    const auto at_most = [](int most, std::int64_t left) { return left < most ? static_cast<int>(left) : most; };
    place.width = at_most(plan_.width, windows_.out_width - place.x);
    place.height = at_most(plan_.height, windows_.out_height - place.y);
    place.taps = at_most(plan_.phase_taps, windows_.taps() - place.first_tap);
    // The window's middle is that of what the tile samples with offsets of 0.
    const auto begin = [](std::int64_t first, std::int64_t pixels, std::int64_t stride, std::int64_t padding,
                          std::int64_t kernel, std::int64_t dilation, int window) {
      return first * stride - padding + ((pixels - 1) * stride + (kernel - 1) * dilation + 2 - window) / 2;
    };
    place.window_y = begin(place.y, place.height, windows_.stride_y, windows_.top, windows_.kernel_height,
                           windows_.dilation_y, window_rows);
    place.window_x = begin(place.x, place.width, windows_.stride_x, windows_.left, windows_.kernel_width,
                           windows_.dilation_x, window_columns);
    return place;
  }

  /// The i-th sample of a team: pixels fastest, then taps.
  KOKKOS_FUNCTION SampleIndex index(const Place& place, int i) const {
    const int line = i / place.width, tap = line / place.height;
    const std::int64_t y = place.y + line - tap * place.height, x = place.x + i - line * place.width;
    return {place.image, y * windows_.out_width + x, place.group, place.first_tap + tap};
  }

  /// Calls action(key, pixel, weight) for the corners of a sample; the key is negative outside of the window.
  template <class Action>
  KOKKOS_FORCEINLINE_FUNCTION void for_corners(const Place& place, const Sample<A>& sample,
                                               const Action& action) const {
    A weight[corners];
    sample.weights(weight);
    PORTOPS_UNROLL
    for (int k = 0; k < corners; ++k) {
      if (!sample.exists[k]) continue;
      const std::int64_t y = sample.y + (k >= 2 && sample.steps_down ? 1 : 0);
      const std::int64_t x = sample.x + (k % 2 == 1 && sample.steps_right ? 1 : 0);
      const std::int64_t in_y = y - place.window_y, in_x = x - place.window_x;
      const bool is_inside = in_y >= 0 && in_y < window_rows && in_x >= 0 && in_x < window_columns;
      action(is_inside ? static_cast<int>(in_y * window_columns + in_x) : -1,
             static_cast<std::uint32_t>(y * windows_.width + x), weight[k] * sample.factor);
    }
  }

  /// Makes the records and counts the samples of each pixel in the window.
  KOKKOS_FUNCTION void find_samples(const Team& team, const Place& place, const Scratch& scratch) const {
    for (int i = team.team_rank(); i < keys; i += threads) scratch.counters[i] = 0;
    for (int i = team.team_rank(); i < chunk; i += threads) scratch.grads[plan_.samples() * chunk + i] = T(0.0f);
    if (team.team_rank() == 0) *scratch.stray_count = 0;
    team.team_barrier();
    for (int i = team.team_rank(); i < place.samples(); i += threads) {
      scratch.records[i] = record_of(place, scratch, index(place, i));
    }
    team.team_barrier();
  }

  KOKKOS_FUNCTION Record record_of(const Place& place, const Scratch& scratch, const SampleIndex& at) const {
    const Sample<A> sample = sampler_(at);
    const std::int64_t column = at.pixel * windows_.column() + at.tap * windows_.group_channels();
    Record record{{},
                  is_outside,
                  static_cast<std::uint32_t>(column / vector),
                  static_cast<std::uint32_t>(sample_number(windows_, {0, at.pixel, at.deformable_group, at.tap})),
                  0};
    if (sample.is_outside()) {
      record.weight[0] = sample.factor * (sample.is_nan ? Kokkos::Experimental::quiet_NaN_v<A> : A(0));
      return record;
    }
    const std::int64_t pixel = sample.y * x_.stride[2] + sample.x * x_.stride[3];
    record.pixel = static_cast<std::uint32_t>(pixel / vector) << flag_bits | (sample.steps_down ? steps_down : 0u) |
                   (sample.steps_right ? steps_right : 0u);
    sample.weights(record.weight);
    PORTOPS_UNROLL
    for (int k = 0; k < corners; ++k) record.weight[k] *= sample.factor;
    if (x_grad_ != nullptr) {
      bool are_inside = true;
      for_corners(place, sample, [&](int key, std::uint32_t, A) {
        are_inside = are_inside && key >= 0;
        if (key >= 0) Kokkos::atomic_inc(scratch.counters + key);
      });
      record.key = unknown_key;
      if (are_inside) {
        record.key = static_cast<int>((sample.y - place.window_y) * window_columns + sample.x - place.window_x);
        PORTOPS_UNROLL
        for (int k = 0; k < corners; ++k) record.key |= sample.exists[k] ? 1 << (key_bits + k) : 0;
      }
    }
    return record;
  }

  /// Gives each pixel its place in the lists, and fills these.
  KOKKOS_FUNCTION void make_lists(const Team& team, const Place& place, const Scratch& scratch) const {
    constexpr int own_keys = keys / threads;
    constexpr int of_target = 1 << 16;  // two sums at once: of entries and, above them, of targets
    int* const own = scratch.counters + team.team_rank() * own_keys;
    const auto even = [](int count) { return count + count % 2; };
    int sum = 0;
    for (int i = 0; i < own_keys; ++i) sum += even(own[i]) + (own[i] > 0 ? of_target : 0);
    int before = team.team_scan(sum);
    if (team.team_rank() == threads - 1) {
      *scratch.entry_count = (before + sum) % of_target;
      *scratch.target_count = (before + sum) / of_target;
    }
    const Entry nothing{A(0), plan_.samples() * chunk};
    for (int i = 0; i < own_keys; ++i) {
      const int count = own[i], key = team.team_rank() * own_keys + i;
      const int begin = before % of_target;
      own[i] = begin;
      if (count == 0) continue;
      const std::int64_t y = place.window_y + key / window_columns, x = place.window_x + key % window_columns;
      scratch.targets[before / of_target] = {static_cast<std::uint32_t>(y * windows_.width + x), begin};
      if (count % 2 != 0) scratch.entries[begin + count] = nothing;
      before += of_target + even(count);
    }
    team.team_barrier();
    const int entries = *scratch.entry_count, targets = *scratch.target_count;
    for (int i = team.team_rank(); i < place.samples(); i += threads) {
      const Record& record = scratch.records[i];
      if (record.key != unknown_key) {
        const int right = (record.pixel & steps_right) != 0 ? 1 : 0;
        const int down = (record.pixel & steps_down) != 0 ? window_columns : 0;
        PORTOPS_UNROLL
        for (int k = 0; k < corners; ++k) {
          if ((record.key >> (key_bits + k) & 1) == 0) continue;
          const int key = record.key % (1 << key_bits) + (k % 2 == 1 ? right : 0) + (k >= 2 ? down : 0);
          scratch.entries[Kokkos::atomic_fetch_add(scratch.counters + key, 1)] = {record.weight[k], i * chunk};
        }
        continue;
      }
      for_corners(place, sampler_(index(place, i)), [&](int key, std::uint32_t pixel, A weight) {
        int to = 0;
        if (key >= 0) {
          to = Kokkos::atomic_fetch_add(scratch.counters + key, 1);
        } else {
          const int stray = Kokkos::atomic_fetch_add(scratch.stray_count, 1);
          to = entries + 2 * stray;
          scratch.targets[targets + stray] = {pixel, to};
          scratch.entries[to + 1] = nothing;
        }
        scratch.entries[to] = {weight, i * chunk};
      });
    }
    team.team_barrier();
    if (team.team_rank() > 0) return;
    // Barriers follow before it is read.
    const int strays = *scratch.stray_count;
    scratch.targets[targets + strays] = {0, entries + 2 * strays};
    *scratch.target_count = targets + strays;
  }

  /// Brings a chunk of each sample's gradients to scratch, and adds its products with the corners. `is_followed`: the
  /// next chunk will be wanted too.
  template <class Pack>
  KOKKOS_FORCEINLINE_FUNCTION void take_products(const Team& team, const Place& place, const Scratch& scratch,
                                                 const Pack& pack, bool is_followed,
                                                 A (&product)[own_samples][2]) const {
    const int lane = team.team_rank() % vectors, slot = team.team_rank() / vectors;
    const bool has_channels = lane * vector < pack.count;
    const int channel = has_channels ? lane * vector : 0;  // what others read does not matter
    const T* const x = static_cast<const T*>(x_.data) + place.image * x_.stride[0] + pack.channel + channel;
    T* const column_grads = column_grads_ + place.image * windows_.pixels() * windows_.column() + pack.column + channel;
    const bool reads_x = products_ != nullptr || makes_columns_;
    // All threads of a warp add their halves, those without a sample too: of nothing.
    constexpr int of_warp = 32 / vectors;
    const int count = place.samples(), end = (count + of_warp - 1) / of_warp * of_warp;
    // So many samples are on their way at once.
    constexpr int together = 2;
    PORTOPS_UNROLL
    for (int first = 0; first < own_samples; first += together) {
      Vector grad[together], corner[together][corners];
      PORTOPS_UNROLL
      for (int j = 0; j < together; ++j) {
        const int i = slot + (first + j) * slots;
        if (first + j >= own_samples || i >= end) continue;
        if (i >= count) {
          grad[j] = Vector{};
          for (Vector& each : corner[j]) each = Vector{};
          continue;
        }
        const Record& record = scratch.records[i];
        const std::uint32_t place_in_x = record.pixel;
        const T* const from = column_grads + static_cast<std::uint64_t>(record.column) * vector;
        grad[j] = read(from);
        if (lane == 0 && is_followed) prefetch(from + chunk);
        if (!reads_x) continue;
        const T* const pixel = x + static_cast<std::uint64_t>(place_in_x >> flag_bits) * vector;
        const auto right = (place_in_x & steps_right) == 0 ? 0u : static_cast<std::uint32_t>(x_.stride[3]);
        const auto down = (place_in_x & steps_down) == 0 ? 0u : static_cast<std::uint32_t>(x_.stride[2]);
        const T* const below = pixel + down;
        corner[j][0] = read(pixel);
        corner[j][1] = read(pixel + right);
        corner[j][2] = read(below);
        corner[j][3] = read(below + right);
      }
      PORTOPS_UNROLL
      for (int j = 0; j < together; ++j) {
        const int s = first + j, i = slot + s * slots;
        if (s >= own_samples || i >= end) continue;
        const bool exists = i < count;
        if (x_grad_ != nullptr && exists)
          *reinterpret_cast<Vector*>(scratch.grads + i * chunk + lane * vector) = grad[j];
        if (makes_columns_ && has_channels && exists) {
          const Record& record = scratch.records[i];
          write_column(column_grads + static_cast<std::uint64_t>(record.column) * vector, record, corner[j]);
        }
        if (products_ == nullptr) continue;
        A sum[corners] = {};
        PORTOPS_UNROLL
        for (int c = 0; c < vector; ++c) {
          PORTOPS_UNROLL
          for (int k = 0; k < corners; ++k) {
            sum[k] = Kokkos::fma(static_cast<A>(grad[j][c]), static_cast<A>(corner[j][k][c]), sum[k]);
          }
        }
        PORTOPS_UNROLL
        for (int k = 0; k < corners; ++k) sum[k] = has_channels ? sum[k] : A(0);
        add_halves(product[s], sum, lane);
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION static void write_column(T* to, const Record& record, const Vector (&corner)[corners]) {
    const bool outside = (record.pixel & is_outside) != 0;
    Vector column;
    PORTOPS_UNROLL
    for (int c = 0; c < vector; ++c) {
      A value = record.weight[0] * static_cast<A>(corner[0][c]);
      PORTOPS_UNROLL
      for (int k = 1; k < corners; ++k) value = Kokkos::fma(record.weight[k], static_cast<A>(corner[k][c]), value);
      column.set(c, static_cast<T>(outside ? record.weight[0] : value));
    }
    *reinterpret_cast<Vector*>(in_device_memory(to)) = column;
  }

  KOKKOS_FUNCTION void write_products(const Team& team, const Place& place, const Scratch& scratch,
                                      const A (&product)[own_samples][2]) const {
    const int lane = team.team_rank() % vectors, slot = team.team_rank() / vectors;
    A* const products =
        products_ +
        (place.share * windows_.all_samples() + place.image * windows_.pixels() * windows_.samples()) * corners;
    PORTOPS_UNROLL
    for (int s = 0; s < own_samples; ++s) {
      // All threads of a warp take part in the sum.
      const A sum = sum_of_corner(product[s], lane);
      const int i = slot + s * slots;
      if (i >= place.samples() || lane % 2 != 0) continue;
      products[static_cast<std::uint64_t>(scratch.records[i].number) * corners + lane / 2] = sum;
    }
  }

  /// Adds the sums of threads four apart: those of the upper corners in the first one, of the lower ones in the other.
  KOKKOS_FORCEINLINE_FUNCTION static void add_halves(A (&product)[2], const A (&sum)[corners], int lane) {
    const bool lower = (lane & 4) != 0;
    PORTOPS_UNROLL
    for (int i = 0; i < 2; ++i) {
      product[i] += (lower ? sum[2 + i] : sum[i]) + of_other_lane(lower ? sum[i] : sum[2 + i], 4);
    }
  }
  /// The sum over the eight threads of a sample: that of corner lane / 2.
  KOKKOS_FORCEINLINE_FUNCTION static A sum_of_corner(const A (&product)[2], int lane) {
    static_assert(corners == 4 && vectors == 8);
    const bool right = (lane & 2) != 0;
    const A one = (right ? product[1] : product[0]) + of_other_lane(right ? product[0] : product[1], 2);
    return one + of_other_lane(one, 1);
  }

  template <class Pack>
  KOKKOS_FUNCTION void add_to_x_grad(const Team& team, const Place& place, const Scratch& scratch,
                                     const Pack& pack) const {
    // A thread takes four channels of each 32, so that eight threads add 128 bytes at once.
    constexpr int part = 4, parts = vector / part, part_distance = vectors * part;
    const int lane = team.team_rank() % vectors, slot = team.team_rank() / vectors;
    const int targets = *scratch.target_count;
    // Neighbouring groups of threads take the parts in another order: they do not meet in scratch's banks.
    const int swap = parts > 1 ? slot % parts : 0;
    A* const x_grad = x_grad_ + place.image * windows_.area() * windows_.channels + pack.channel;
    for (int i = slot; i < targets; i += slots) {
      const Target target = scratch.targets[i];
      const int end = scratch.targets[i + 1].begin;
      A sum[parts][part] = {};
      for (int e = target.begin; e < end; e += 2) {
        const auto two = *reinterpret_cast<const TwoEntries*>(scratch.entries + e);
        PORTOPS_UNROLL
        for (int j = 0; j < 2; ++j) {
          const T* const grads = scratch.grads + two.entry[j].grads + lane * part;
          PORTOPS_UNROLL
          for (int p = 0; p < parts; ++p) {
            const auto word = *reinterpret_cast<const Word<T, part>*>(grads + (p ^ swap) * part_distance);
            PORTOPS_UNROLL
            for (int c = 0; c < part; ++c) {
              sum[p][c] = Kokkos::fma(two.entry[j].weight, static_cast<A>(word[c]), sum[p][c]);
            }
          }
        }
      }
      A* const pixel = x_grad + static_cast<std::int64_t>(target.pixel) * windows_.channels;
      PORTOPS_UNROLL
      for (int p = 0; p < parts; ++p) {
        const int channel = (p ^ swap) * part_distance + lane * part;
        if (channel < pack.count) add_atomically(in_device_memory(pixel + channel), sum[p]);
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION static Vector read(const T* from) {
    return *reinterpret_cast<const Vector*>(in_device_memory(from));
  }

  ColumnsGradTilesPlan plan_;
  Windows windows_;
  SamplerOf<T> sampler_;
  ChannelPacks<chunk> chunks_;
  Tensor4 x_;
  T* column_grads_;
  bool makes_columns_;
  A* x_grad_;
  A* products_;
};

}  // namespace portops::impl
