// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/lanes.hpp"
#include "core/reduce/host_rows.hpp"
#include "core/reduce/rescale.hpp"

#include <algorithm>

namespace portops::impl {

/// Adds as many elements to sums, one to each.
template <int count, class F, class A, class T>
void add_elements(const F& f, A* sums, const T* elements) {
  if constexpr (std::is_same_v<T, f16>) {
    constexpr int vector = std::min(count, host::f16_conversion_width);
    for (int i = 0; i < count; i += vector) {
      A values[vector];
      host::convert<T, vector>(values, elements + i, vector);
      add_elements<vector>(f, sums + i, values);
    }
  } else {
    PORTOPS_NO_UNROLL
    for (int i = 0; i < count; ++i) sums[i] = f.add(sums[i], static_cast<A>(elements[i]));
  }
}

/// Joins the sums of lanes that have `pack` each: the numbers of each pack as join_array does, for all lanes together,
/// and then the lanes.
template <int pack, int width, class A, class Join>
A join_lanes(const A (&sums)[width], const Join& join) {
  if constexpr (pack == 1) {
    return join_array(sums, join);
  } else {
    constexpr int half = pack / 2;
    A joined[width / 2];
    PORTOPS_NO_UNROLL
    for (int lane = 0; lane < width / pack; ++lane) {
      for (int i = 0; i < half; ++i) {
        joined[lane * half + i] = join(sums[lane * pack + i], sums[lane * pack + half + i]);
      }
    }
    return join_lanes<half>(joined, join);
  }
}

/// Reduces rows on a host: one thread does what a GPU's group of lanes does, term by term into the same sums, which are
/// joined by the same tree.
template <Backend B, class T, class F>
class ReduceAlongHost : HostRows {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;  // a matter of GPUs

  ReduceAlongHost(const F& f, const ReducePlan& plan, Partial<A>* partials)
      : f_(f),
        rows_(plan, partials),
        groups_(plan),
        lanes_(std::min(plan.lanes, warp)),
        warps_(plan.lanes / lanes_),
        fill_(static_cast<T>(f.fill())) {}

  std::int64_t items() const { return groups_.items(); }

  KOKKOS_FUNCTION void operator()([[maybe_unused]] std::int64_t item) const { KOKKOS_IF_ON_HOST((reduce_item(item);)) }

 private:
  static constexpr int warp = 32;
  static constexpr int most_warps = reduce_along_threads / warp;
  static constexpr int widest_pack = reduce_along_pack_bytes / static_cast<int>(sizeof(T));

  /// `width` is the number of columns that the lanes of a warp take at once: where it is known, the loops over them are
  /// vector instructions.
  template <int width = 1>
  void reduce_item(std::int64_t item) const {
    if constexpr (width < warp * widest_pack) {
      if (width < lanes_ * rows_.pack) return reduce_item<2 * width>(item);
    }
    groups_.for_each(item, [this](std::int64_t kept, std::int64_t part) { reduce<width>(kept, part); });
  }

  template <int width>
  void reduce(std::int64_t kept, std::int64_t part) const {
    const PartRange range = rows_.parts.range(part);
    const T* const x =
        rows_.x.data + rows_.axes.kept_offset(rows_.x, kept) + range.first_column * rows_.x.column_stride;
    Partial<A> value{A(1), A(0)};
    // Several warps are whole ones.
    if constexpr (width >= warp) {
      value.total = warps_ == 1 ? add_up<1, width>(x, range) : add_up<most_warps, width>(x, range);
    } else {
      value.total = add_up<1, width>(x, range);
    }
    if constexpr (F::rescales) {
      if (!f_.is_safe(value.total)) value = rescale(x, range);
    }
    rows_.write(f_, kept, 0, part, value);
  }

  /// The sum over the runs of a part. Of its blocks of `width` columns, the first is the first warp's, the next one the
  /// next warp's.
  template <int warps, int width>
  A add_up(const T* x, const PartRange& range) const {
    const F f = f_;
    alignas(64) A sums[warps][width];
    for (auto& of_warp : sums) {
      PORTOPS_NO_UNROLL
      for (A& sum : of_warp) sum = f.identity();
    }
    for (std::int64_t run = 0; run < range.runs; ++run) {
      const T* const row = x + rows_.axes.run_offset(rows_.x, range.first_run + run);
      for_each_block<width>(row, rows_.x.column_stride, range.columns, fill_, [&](int c, const T* elements) {
        add_elements<width>(f, sums[c / width & (warps - 1)], elements);
      });
    }
    A of_warp[warps];
    for (int w = 0; w < warps; ++w) of_warp[w] = join(sums[w]);
    return join_array(of_warp, f_.join());
  }

  template <int pack = 1, int width>
  A join(const A (&sums)[width]) const {
    if constexpr (pack < std::min(width, widest_pack)) {
      if (pack < rows_.pack) return join<2 * pack>(sums);
    }
    return join_lanes<pack>(sums, f_.join());
  }

  [[gnu::noinline]] Partial<A> rescale(const T* x, const PartRange& range) const {
    return rescaled_sum<A>(f_, [&](A start, const auto& join, const auto& term) {
      Lanes values;
      for (auto& of_warp : values) std::fill_n(of_warp, warp, start);
      for_each_pack(x, range, values, join, term);
      return join_all(values, join);
    });
  }

  /// A value for each lane of each warp. Those that a group lacks change nothing.
  using Lanes = A[most_warps][warp];

  /// Joins term(element), pack by pack, to the values of the lanes.
  template <class Join, class Term>
  void for_each_pack(const T* x, const PartRange& range, Lanes& values, const Join& join, const Term& term) const {
    for (std::int64_t run = 0; run < range.runs; ++run) {
      const T* const row = x + rows_.axes.run_offset(rows_.x, range.first_run + run);
      PORTOPS_NO_UNROLL
      for (int first = 0; first < range.columns; first += rows_.pack) {
        const auto at = [&](int c) { return term(static_cast<A>(row[c * rows_.x.column_stride])); };
        A of_pack = at(first);
        PORTOPS_NO_UNROLL
        for (int c = first + 1; c < first + rows_.pack; ++c) of_pack = join(of_pack, at(c));
        const int lane = first / rows_.pack & (warps_ * lanes_ - 1);
        A& value = values[lane / warp][lane % warp];
        value = join(value, of_pack);
      }
    }
  }

  template <class Join>
  A join_all(const Lanes& values, const Join& join) const {
    A of_warp[most_warps];
    PORTOPS_NO_UNROLL
    for (int w = 0; w < most_warps; ++w) of_warp[w] = join_array(values[w], join);
    return join_array(of_warp, join);
  }

  F f_;
  ReduceRows<T> rows_;
  HostGroups groups_;
  int lanes_;  ///< of a group, or of each of its warps
  int warps_;  ///< of a group: one, or most_warps
  T fill_;
};

/// Reduces columns on a host: one thread takes what a GPU's slots share.
template <Backend B, class T, class F>
class ReduceDownHost : HostRows {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;

  ReduceDownHost(const F& f, const ReducePlan& plan, Partial<A>* partials)
      : f_(f), rows_(plan, partials), tiles_(plan, most_sums / plan.slots), slots_(plan.slots) {}

  std::int64_t items() const { return tiles_.items(); }

  KOKKOS_FUNCTION void operator()([[maybe_unused]] std::int64_t item) const { KOKKOS_IF_ON_HOST((reduce(item);)) }

 private:
  /// Of all slots together.
  static constexpr int most_sums = 4096;

  void reduce(std::int64_t item) const {
    const HostTile tile = tiles_.locate(rows_.parts, item);
    const T* const x = rows_.x.data + rows_.axes.kept_offset(rows_.x, tile.kept) + tile.column * rows_.x.column_stride;
    const int columns = tiles_.columns();
    // The last block of a slot may reach into the next one, where it changes no sum.
    alignas(64) A sums[most_sums + chunk];
    std::fill_n(sums, slots_ * columns + chunk, f_.identity());
    const F f = f_;
    const auto fill = static_cast<T>(f.fill());
    for (std::int64_t run = 0; run < tile.range.runs; ++run) {
      A* const of_slot = sums + (run & (slots_ - 1)) * columns;
      const T* const row = x + rows_.axes.run_offset(rows_.x, tile.range.first_run + run);
      for_each_block<chunk>(row, rows_.x.column_stride, tile.count, fill,
                            [&](int c, const T* elements) { add_elements<chunk>(f, of_slot + c, elements); });
    }
    join_halves(sums, slots_, columns, f_.join());
    for (int c = 0; c < tile.count; ++c) {
      Partial<A> value{A(1), sums[c]};
      if constexpr (F::rescales) {
        if (!f_.is_safe(value.total)) value = rescale(x + c * rows_.x.column_stride, tile.range);
      }
      rows_.write(f_, tile.kept, tile.column + c, tile.part, value);
    }
  }

  [[gnu::noinline]] Partial<A> rescale(const T* x, const PartRange& range) const {
    return rescaled_sum<A>(f_, [&](A start, const auto& join, const auto& term) {
      A values[down_threads] = {};
      std::fill_n(values, slots_, start);
      for (std::int64_t run = 0; run < range.runs; ++run) {
        A& value = values[run & (slots_ - 1)];
        value = join(value, term(static_cast<A>(x[rows_.axes.run_offset(rows_.x, range.first_run + run)])));
      }
      return join_halves(values, slots_, 1, join);
    });
  }

  F f_;
  ReduceRows<T> rows_;
  HostTiles tiles_;
  int slots_;
};

}  // namespace portops::impl
