// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/other_lane.hpp"
#include "core/lanes/prefetch.hpp"
#include "ops/convolution/deform_conv2d/gradient/columns_grad.hpp"
#include "ops/convolution/deform_conv2d/gradient/columns_grad_lists.hpp"
#include "ops/convolution/deform_conv2d/gradient/columns_grad_tiles_plan.hpp"
#include "ops/convolution/deform_conv2d/gradient/columns_grad_tiles_scratch.hpp"

#include <cstdint>

namespace portops::impl {

/// On a GPU: what ColumnsGrad does, for tiles of pixels of out, whose samples share the pixels of x. A team takes the
/// channels chunk by chunk: the products first, each sample by eight threads, and then x_grad, whose pixels each have
/// a list (columns_grad_lists.hpp) of the samples that they are a corner of: they are added up in registers, and by one
/// atomic addition. A team that has all channels writes what follows from the products; others leave theirs for
/// ProductsOfBlocks.
///
/// What it takes are instructions more than memory: numbers of samples, pixels and vectors have 32 bits, and nothing is
/// divided that a tile can know before.
template <Backend B, class T>
class ColumnsGradTiles {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int threads = ColumnsGradLists<B, T>::threads;
  static constexpr int blocks = 3;
  std::int64_t first_team = 0;

  /// Whether the step is one that it can take, and that fills enough of its chunks. It reads a pixel of x for samples
  /// outside too.
  static bool suits(const Windows& windows) {
    constexpr std::int64_t least_run = 16;
    const std::int64_t run = windows.channel_run();
    constexpr auto size = static_cast<std::int64_t>(sizeof(T));
    return size <= 4 && windows.area() > 0 && run % vector == 0 && run >= least_run &&
           windows.pixels() * windows.column() * size / vector_bytes < UINT32_MAX && windows.area() < INT32_MAX &&
           windows.taps() < INT32_MAX;
  }
  /// Whether x, of a step that suits, is as it needs it.
  static bool suits(const Windows& windows, const Tensor4& x) {
    const auto is_fit = [](std::int64_t stride) { return stride >= 0 && stride % vector == 0; };
    const std::int64_t reach = (windows.height - 1) * x.stride[2] + (windows.width - 1) * x.stride[3];
    return reinterpret_cast<std::uintptr_t>(x.data) % vector_bytes == 0 && x.stride[0] % vector == 0 &&
           is_fit(x.stride[2]) && is_fit(x.stride[3]) && reach / vector < (std::int64_t{1} << (32 - flag_bits));
  }
  static ColumnsGradTilesPlan plan(const Windows& windows) { return {windows, ChannelPacks<chunk>(windows).count()}; }

  /// `makes_columns`: the columns themselves take the place of their gradients. `products`: where teams share the
  /// channels, and gradients of offset or mask are wanted.
  ColumnsGradTiles(const Windows& windows, const SamplerOf<T>& sampler, const Tensor4& x, T* column_grads,
                   bool makes_columns, const ColumnsGradTargets<T>& targets, A* products)
      : plan_(plan(windows)),
        windows_(windows),
        lists_(windows, sampler, x, plan_.samples(), targets.wants_products(), targets.x_grad != nullptr),
        chunks_(windows),
        by_shares_(plan_.shares),
        by_across_(plan_.across),
        by_down_(plan_.down),
        by_phases_(plan_.phases),
        by_groups_(windows.deformable_groups),
        window_y_(window_begin(plan_.height, windows.stride_y, windows.top, windows.kernel_height, windows.dilation_y,
                               window_rows)),
        window_x_(window_begin(plan_.width, windows.stride_x, windows.left, windows.kernel_width, windows.dilation_x,
                               window_columns)),
        image_columns_(windows.pixels() * windows.column()),
        image_x_grads_(windows.area() * windows.channels),
        x_(x),
        column_grads_(column_grads),
        makes_columns_(makes_columns),
        wants_products_(targets.wants_products()),
        x_grad_(targets.x_grad),
        sample_grad_(windows, targets),
        products_(products) {}

  std::int64_t teams() const {
    return windows_.images * plan_.across * plan_.down * windows_.deformable_groups * plan_.phases * plan_.shares;
  }
  std::size_t scratch_bytes() const { return static_cast<std::size_t>(Scratch::bytes(plan_.samples())); }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const Place place = locate(first_team + team.league_rank());
    const Scratch scratch(team, plan_.samples());
    const auto first_chunk = [&](int share) {
      return static_cast<int>(by_shares_.quotient(std::int64_t{chunks_.count()} * share));
    };
    const int begin = first_chunk(place.share), end = first_chunk(place.share + 1);
    lists_.find(team, place, scratch, place.of_columns + chunks_(place.group, begin).column);
    if (x_grad_ != nullptr) lists_.make(team, place, scratch);
    for (int i = begin; i < end; ++i) {
      const auto pack = chunks_(place.group, i);
      wants_products_ || makes_columns_ ? take_chunk<true>(team, place, scratch, pack, i == begin, i + 1 < end)
                                        : take_chunk<false>(team, place, scratch, pack, i == begin, i + 1 < end);
      team.team_barrier();
      if (x_grad_ != nullptr) add_to_x_grad(team, place, scratch, pack);
      if (i + 1 < end) team.team_barrier();
    }
    if (wants_products_) write_products(team, place, scratch);
  }

 private:
  using Scratch = ColumnsGradTilesScratch<B, T>;
  using Record = typename Scratch::Record;
  using Fraction = typename Scratch::Fraction;
  using TwoEntries = typename Scratch::TwoEntries;
  using Target = typename Scratch::Target;
  using Flag = typename Scratch::Flag;
  static constexpr int vector_bytes = Scratch::vector_bytes, vector = Scratch::vector, vectors = Scratch::vectors;
  static constexpr int chunk = Scratch::chunk;
  static constexpr int window_rows = Scratch::window_rows, window_columns = Scratch::window_columns;
  static constexpr int flag_bits = Scratch::flag_bits;
  static constexpr Flag steps_right = Scratch::steps_right, steps_down = Scratch::steps_down;
  static constexpr Flag is_outside = Scratch::is_outside, is_nan = Scratch::is_nan;
  static constexpr int slots = threads / vectors;  ///< samples, or pixels of x, that a team takes at once
  static constexpr int own_samples = (ColumnsGradTilesPlan::most_samples + slots - 1) / slots;
  static constexpr int row_bytes = Scratch::row_bytes;
  using Vector = Word<T, vector>;
  using Index = TileSamples::Index;
  /// What Kokkos gives a team.
  static_assert(Scratch::bytes(ColumnsGradTilesPlan::most_samples) + 16 <= 48 << 10);

  /// Where the window of the first tile begins along an axis: its middle is that of what a tile samples with offsets
  /// of 0. Modulo 2³², as all places in the window are.
  static std::uint32_t window_begin(std::int64_t pixels, std::int64_t stride, std::int64_t padding, std::int64_t kernel,
                                    std::int64_t dilation, int window) {
    return static_cast<std::uint32_t>(((pixels - 1) * stride + (kernel - 1) * dilation + 2 - window) / 2 - padding);
  }

  struct Place : ColumnsGradTile {
    int share;
    const T* of_x;  ///< the image's
    T* of_columns;
    A* of_x_grad;  ///< where that is wanted
  };
  KOKKOS_FUNCTION Place locate(std::int64_t index) const {
    Place place{};
    const auto next = [&](const IndexDivisor& by, std::int64_t extent) {
      const std::int64_t outer = by.quotient(index);
      const auto inner = static_cast<int>(index - outer * extent);
      index = outer;
      return inner;
    };
    place.share = next(by_shares_, plan_.shares);
    place.x = next(by_across_, plan_.across) * plan_.width;
    place.y = next(by_down_, plan_.down) * plan_.height;
    place.first_tap = next(by_phases_, plan_.phases) * plan_.phase_taps;
    place.group = next(by_groups_, windows_.deformable_groups);
    place.image = index;
    const auto at_most = [](int most, std::int64_t left) { return left < most ? static_cast<int>(left) : most; };
    place.width = at_most(plan_.width, windows_.out_width - place.x);
    place.height = at_most(plan_.height, windows_.out_height - place.y);
    place.taps = at_most(plan_.phase_taps, windows_.taps() - place.first_tap);
    place.window_y = static_cast<std::uint32_t>(place.y) * static_cast<std::uint32_t>(windows_.stride_y) + window_y_;
    place.window_x = static_cast<std::uint32_t>(place.x) * static_cast<std::uint32_t>(windows_.stride_x) + window_x_;
    place.of_x = static_cast<const T*>(x_.data) + place.image * x_.stride[0];
    place.of_columns = column_grads_ + place.image * image_columns_;
    if (x_grad_ != nullptr) place.of_x_grad = x_grad_ + place.image * image_x_grads_;
    return place;
  }

  /// Brings a chunk of each sample's gradients to scratch and, with `reads_x`, adds its products with the corners to
  /// those of the chunks before and makes its columns. `is_followed`: the next chunk will be wanted too.
  template <bool reads_x, class Pack>
  KOKKOS_FORCEINLINE_FUNCTION void take_chunk(const Team& team, const Place& place, const Scratch& scratch,
                                              const Pack& pack, bool is_first, bool is_followed) const {
    const int lane = team.team_rank() % vectors, slot = team.team_rank() / vectors;
    const bool has_channels = lane * vector < pack.count;
    const int channel = has_channels ? lane * vector : 0;  // what others read does not matter
    const char* const x = pinned(reinterpret_cast<const char*>(place.of_x + pack.channel + channel));
    char* const columns = pinned(reinterpret_cast<char*>(place.of_columns + pack.column + channel));
    auto* const kept = reinterpret_cast<char*>(scratch.grads) + slot * row_bytes + lane * vector_bytes;
    const int count = place.samples(), last = count - 1 - slot;
    const int first_of_warp = slot - slot % (32 / vectors);
    // So many samples are on their way at once.
    constexpr int together = 2;
    PORTOPS_UNROLL
    for (int first = 0; first < own_samples; first += together) {
      // All threads of a warp add up their products, those without a sample too: they read the last one, for nothing.
      if (first * slots + first_of_warp >= count) break;
      Vector grad[together], corner[together][corners];
      PORTOPS_UNROLL
      for (int j = 0; j < together; ++j) {
        if (first + j >= own_samples) continue;
        const int s = (first + j) * slots;
        const Record& record = scratch.records[slot + (s < last ? s : last)];
        const std::uint32_t place_in_x = record.pixel;
        const char* const from = columns + std::uint64_t{record.column} * vector_bytes;
        grad[j] = read(from);
        if (lane == 0 && is_followed) prefetch(from + row_bytes);
        if constexpr (!reads_x) continue;
        const char* const pixel = x + std::uint64_t{place_in_x >> flag_bits} * vector_bytes;
        const std::uint64_t right =
            std::uint64_t{(place_in_x & steps_right) / steps_right} * (lists_.x_pixel() * vector_bytes);
        const char* const below =
            pixel + std::uint64_t{(place_in_x & steps_down) / steps_down} * (lists_.x_row() * vector_bytes);
        corner[j][0] = read(pixel);
        corner[j][1] = read(pixel + right);
        corner[j][2] = read(below);
        corner[j][3] = read(below + right);
      }
      PORTOPS_UNROLL
      for (int j = 0; j < together; ++j) {
        if (first + j >= own_samples) continue;
        const int s = (first + j) * slots;
        const bool exists = s <= last;
        if (x_grad_ != nullptr && exists) *reinterpret_cast<Vector*>(kept + s * row_bytes) = grad[j];
        if constexpr (!reads_x) continue;
        const Record& record = scratch.records[slot + (exists ? s : last)];
        A product[corners] = {};
        const Vector column = add_products(record, grad[j], corner[j], product);
        if (makes_columns_ && exists && has_channels) {
          char* const to = columns + std::uint64_t{record.column} * vector_bytes;
          *reinterpret_cast<Vector*>(in_device_memory(to)) =
              (record.pixel & is_outside) == 0 ? column : Vector(static_cast<T>(record.weight[0]));
        }
        if (!wants_products_) continue;
        PORTOPS_UNROLL
        for (A& of_corner : product) of_corner = has_channels ? of_corner : A(0);
        const A sum = sum_of_corner(product, lane);
        if (!exists || lane % 2 != 0) continue;
        A& to = scratch.products[(slot + s) * corners + lane / 2];
        to = is_first ? sum : to + sum;
      }
    }
  }

  /// Adds the products of a vector with the corners, and gives its column.
  KOKKOS_FORCEINLINE_FUNCTION static Vector add_products(const Record& record, const Vector& grad,
                                                         const Vector (&corner)[corners], A (&product)[corners]) {
    const auto weight = *reinterpret_cast<const Word<A, corners>*>(record.weight);
    Vector column;
    PORTOPS_UNROLL
    for (int c = 0; c < vector; ++c) {
      const auto of_grad = static_cast<A>(grad[c]);
      A blend = 0;
      PORTOPS_UNROLL
      for (int k = 0; k < corners; ++k) {
        const auto value = static_cast<A>(corner[k][c]);
        product[k] = Kokkos::fma(of_grad, value, product[k]);
        blend = k == 0 ? weight[0] * value : Kokkos::fma(weight[k], value, blend);
      }
      column.set(c, static_cast<T>(blend));
    }
    return column;
  }

  KOKKOS_FUNCTION void write_products(const Team& team, const Place& place, const Scratch& scratch) const {
    const TileSamples samples(place);
    // By the last threads: the first ones may have more pixels of x_grad.
    for (int i = threads - 1 - team.team_rank(); i < place.samples(); i += threads) {
      const Index at = samples(i);
      const Fraction& fraction = scratch.fractions[i];
      const A* const product = scratch.products + i * corners;
      const std::int64_t number = place.group * windows_.taps() + at.tap;
      if (products_ != nullptr) {
        const std::int64_t pixel = place.image * windows_.pixels() + lists_.pixel_of(at);
        A* const to =
            products_ + (place.share * windows_.all_samples() + pixel * windows_.samples() + number) * corners;
        PORTOPS_UNROLL
        for (int k = 0; k < corners; ++k) to[k] = product[k];
        continue;
      }
      Sample<A> sample{};
      sample.down = fraction.down;
      sample.right = fraction.right;
      sample.factor = fraction.factor;
      sample.is_nan = (scratch.records[i].pixel & is_nan) != 0;
      A products[corners];
      PORTOPS_UNROLL
      for (int k = 0; k < corners; ++k) {
        sample.exists[k] = (fraction.exists >> k & 1) != 0;
        products[k] = sample.exists[k] ? product[k] : A(0);
      }
      sample_grad_.write({place.image, at.y, at.x}, number, sample, products);
    }
  }

  /// The sum over the eight threads of a sample: that of corner lane / 2.
  KOKKOS_FORCEINLINE_FUNCTION static A sum_of_corner(const A (&product)[corners], int lane) {
    static_assert(corners == 4 && vectors == 8);
    const bool lower = (lane & 4) != 0, right = (lane & 2) != 0;
    A two[2];
    PORTOPS_UNROLL
    for (int i = 0; i < 2; ++i) {
      two[i] = (lower ? product[2 + i] : product[i]) + of_other_lane(lower ? product[i] : product[2 + i], 4);
    }
    const A one = (right ? two[1] : two[0]) + of_other_lane(right ? two[0] : two[1], 2);
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
    const T* const grads = scratch.grads + swap * part_distance + lane * part;
    const int to_other = (swap == 0 ? part_distance : -part_distance) * static_cast<int>(sizeof(T));
    A* const x_grad = place.of_x_grad + pack.channel;
    for (int i = slot; i < targets; i += slots) {
      const Target target = scratch.targets[i];
      const int end = scratch.targets[i + 1].begin;
      A sum[parts][part] = {};
      for (int e = target.begin; e < end; e += 2) {
        const auto two = *reinterpret_cast<const TwoEntries*>(scratch.entries + e);
        PORTOPS_UNROLL
        for (int j = 0; j < 2; ++j) {
          const char* const of_sample = reinterpret_cast<const char*>(grads) + two.entry[j].grads;
          PORTOPS_UNROLL
          for (int p = 0; p < parts; ++p) {
            const auto word = *reinterpret_cast<const Word<T, part>*>(of_sample + p * to_other);
            PORTOPS_UNROLL
            for (int c = 0; c < part; ++c) {
              sum[p][c] = Kokkos::fma(two.entry[j].weight, static_cast<A>(word[c]), sum[p][c]);
            }
          }
        }
      }
      A* const pixel = x_grad + std::uint64_t{target.pixel} * static_cast<std::uint32_t>(windows_.channels);
      PORTOPS_UNROLL
      for (int p = 0; p < parts; ++p) {
        const int channel = (p ^ swap) * part_distance + lane * part;
        if (channel < pack.count) add_atomically(in_device_memory(pixel + channel), sum[p]);
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION static Vector read(const char* from) {
    return *reinterpret_cast<const Vector*>(in_device_memory(from));
  }

  ColumnsGradTilesPlan plan_;
  Windows windows_;
  ColumnsGradLists<B, T> lists_;
  ChannelPacks<chunk> chunks_;
  IndexDivisor by_shares_, by_across_, by_down_, by_phases_, by_groups_;
  std::uint32_t window_y_, window_x_;           ///< where the window of the first tile begins
  std::int64_t image_columns_, image_x_grads_;  ///< elements of an image
  Tensor4 x_;
  T* column_grads_;
  bool makes_columns_;
  bool wants_products_;
  A* x_grad_;
  SampleGrad<T> sample_grad_;
  A* products_;
};

}  // namespace portops::impl
