// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/deform_conv2d/gradient/columns_grad.hpp"

#include <cstdint>
#include <type_traits>

// x_grad on a GPU without atomic additions of numbers: for each pixel of x, a list of the samples that read it, in an
// order that is always the same; then every pixel adds up its own. Lists are kept by tap, and so are short.

namespace portops::impl {

/// That a pixel of x has this weight in a sample for a pixel of an image of out. Both have as many bytes, so that none
/// is padding; deform_conv2d_grad refuses images whose pixels 32 bits cannot number.
template <class A>
struct alignas(2 * sizeof(A)) Contribution {
  using Pixel = std::conditional_t<sizeof(A) == 4, std::uint32_t, std::int64_t>;
  Pixel pixel;
  A weight;
};

/// The lists of a step: one for each image, deformable group, tap and pixel of x, in this order.
template <class A>
struct ContributionLists {
  std::int64_t* counts;
  std::int64_t* starts;  ///< and behind them, how many contributions there are
  Contribution<A>* contributions;

  static std::int64_t lists(const Windows& windows) { return windows.images * windows.samples() * windows.area(); }
  /// At most, of all lists.
  static std::int64_t capacity(const Windows& windows) { return corners * windows.all_samples(); }
};

PORTOPS_FUNCTION std::int64_t list_of(const Windows& windows, std::int64_t image, std::int64_t group, std::int64_t tap,
                                      std::int64_t pixel) {
  return ((image * windows.deformable_groups + group) * windows.taps() + tap) * windows.area() + pixel;
}

/// Counts the contributions of each list or, where the lists have their places, writes them in any order. An item a
/// sample. The counts are 0 before.
template <Backend B, class T, bool writes>
class CollectContributions {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;

  CollectContributions(const Windows& windows, const SamplerOf<T>& sampler, const ContributionLists<A>& lists)
      : windows_(windows), sampler_(sampler), lists_(lists) {}

  std::int64_t items() const { return windows_.all_samples(); }

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const SampleIndex at = sample_index(windows_, index);
    const Sample<A> sample = sampler_(at);
    A weight[corners];
    sample.weights(weight);
    PORTOPS_UNROLL
    for (int k = 0; k < corners; ++k) {
      if (!sample.exists[k]) continue;
      const std::int64_t pixel = sample.offset({0, windows_.width, 1}, k);
      const std::int64_t list = list_of(windows_, at.image, at.deformable_group, at.tap, pixel);
      const std::int64_t place = Kokkos::atomic_fetch_add(lists_.counts + list, std::int64_t{1});
      if constexpr (writes) {
        lists_.contributions[lists_.starts[list] + place] = {static_cast<typename Contribution<A>::Pixel>(at.pixel),
                                                             weight[k] * sample.factor};
      }
    }
  }

 private:
  Windows windows_;
  SamplerOf<T> sampler_;
  ContributionLists<A> lists_;
};

/// Gives each list a place, in no particular order, and sets its count to 0 again.
template <Backend B, class A>
class PlaceLists {
 public:
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int threads = 256;
  static constexpr int blocks = 0;
  std::int64_t first_team = 0;

  PlaceLists(std::int64_t lists, const ContributionLists<A>& memory) : count_(lists), lists_(memory) {}

  std::int64_t teams() const { return ceil_div(count_, threads); }
  static std::size_t scratch_bytes() { return 0; }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::int64_t list = (first_team + team.league_rank()) * threads + team.team_rank();
    const std::int64_t count = list < count_ ? lists_.counts[list] : 0;
    const std::int64_t start = team.team_scan(count, lists_.starts + count_);
    if (list >= count_) return;
    lists_.starts[list] = start;
    lists_.counts[list] = 0;
  }

 private:
  std::int64_t count_;
  ContributionLists<A> lists_;
};

/// Sorts each list by pixel, an item a list.
template <Backend B, class A>
class SortLists {
 public:
  static constexpr int blocks = 0;

  SortLists(std::int64_t lists, const ContributionLists<A>& memory) : count_(lists), lists_(memory) {}

  std::int64_t items() const { return count_; }

  KOKKOS_FUNCTION void operator()(std::int64_t list) const {
    const std::int64_t count = lists_.counts[list];
    if (count < 2) return;
    Contribution<A>* const first = lists_.contributions + lists_.starts[list];
    constexpr std::int64_t few = 32;
    if (count <= few) {
      sort_by_insertion(first, count);
    } else {
      sort_by_heap(first, count);
    }
  }

 private:
  KOKKOS_FUNCTION static void sort_by_insertion(Contribution<A>* first, std::int64_t count) {
    for (std::int64_t i = 1; i < count; ++i) {
      const Contribution<A> taken = first[i];
      std::int64_t at = i;
      for (; at > 0 && first[at - 1].pixel > taken.pixel; --at) first[at] = first[at - 1];
      first[at] = taken;
    }
  }

  KOKKOS_FUNCTION static void sort_by_heap(Contribution<A>* first, std::int64_t count) {
    for (std::int64_t root = count / 2 - 1; root >= 0; --root) sift_down(first, root, count);
    for (std::int64_t last = count - 1; last > 0; --last) {
      const Contribution<A> largest = first[0];
      first[0] = first[last];
      first[last] = largest;
      sift_down(first, 0, last);
    }
  }

  KOKKOS_FUNCTION static void sift_down(Contribution<A>* first, std::int64_t root, std::int64_t count) {
    const Contribution<A> taken = first[root];
    for (std::int64_t child = 2 * root + 1; child < count; child = 2 * root + 1) {
      if (child + 1 < count && first[child + 1].pixel > first[child].pixel) ++child;
      if (first[child].pixel <= taken.pixel) break;
      first[root] = first[child];
      root = child;
    }
    first[root] = taken;
  }

  std::int64_t count_;
  ContributionLists<A> lists_;
};

/// x_grad from the lists: a group of lanes a pixel of x and deformable group.
template <Backend B, class T, int N>
class GatherXGrad {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;

  GatherXGrad(const Windows& windows, const T* column_grads, const ContributionLists<A>& lists, A* x_grad)
      : windows_(windows),
        packs_(windows),
        column_grads_(column_grads),
        lists_(lists),
        x_grad_(x_grad),
        lanes_(packs_.template lanes<B>()) {}

  std::int64_t items() const { return windows_.images * windows_.area() * windows_.deformable_groups * lanes_; }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    const int lane = static_cast<int>(item & (lanes_ - 1));
    const std::int64_t index = item / lanes_;
    const std::int64_t pixel = quotient(index, windows_.deformable_groups);
    const std::int64_t group = index - pixel * windows_.deformable_groups;
    const std::int64_t image = quotient(pixel, windows_.area());
    const std::int64_t first = list_of(windows_, image, group, 0, pixel - image * windows_.area());
    const T* const column_grads = column_grads_ + image * windows_.pixels() * windows_.column();
    for (int i = lane; i < packs_.count(); i += lanes_) {
      const auto pack = packs_(static_cast<int>(group), i);
      A sum[N] = {};
      for (std::int64_t tap = 0; tap < windows_.taps(); ++tap) {
        add(sum, first + tap * windows_.area(), column_grads + tap * windows_.group_channels() + pack.column);
      }
      write_channels<B, A, N>(x_grad_ + pixel * windows_.channels + pack.channel, sum, pack.count);
    }
  }

 private:
  KOKKOS_FUNCTION void add(A (&sum)[N], std::int64_t list, const T* column_grads) const {
    const Contribution<A>* const contributions = lists_.contributions + lists_.starts[list];
    const std::int64_t count = lists_.counts[list];
    for (std::int64_t k = 0; k < count; ++k) {
      const Contribution<A> contribution = contributions[k];
      A grad[N];
      read_channels<B, T, N>(grad, column_grads + static_cast<std::int64_t>(contribution.pixel) * windows_.column(), N);
      PORTOPS_UNROLL
      for (int i = 0; i < N; ++i) sum[i] = Kokkos::fma(contribution.weight, grad[i], sum[i]);
    }
  }

  Windows windows_;
  ChannelPacks<N> packs_;
  const T* column_grads_;
  ContributionLists<A> lists_;
  A* x_grad_;
  int lanes_;
};

}  // namespace portops::impl
