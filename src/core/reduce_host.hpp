// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/host_rows.hpp"
#include "core/lanes.hpp"
#include "core/spaces.hpp"

#include <algorithm>

namespace portops::impl {

/// Adds values to sums, one to each.
template <class F, class A>
void add_columns(const F& f, A* __restrict__ sums, const A* __restrict__ values, int count) {
  constexpr int vector = 16;
  int i = 0;
  for (; i + vector <= count; i += vector) {
    for (int j = i; j < i + vector; ++j) sums[j] = f.add(sums[j], values[j]);
  }
  for (; i < count; ++i) sums[i] = f.add(sums[i], values[i]);
}

/// Joins the numbers of each lane's pack as join_array does, for all lanes together; `sums` becomes one a lane. `pack`
/// is a power of two.
template <class A, class Join>
void join_packs(A* sums, int lanes, int pack, const Join& join) {
  for (int half = pack / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < lanes; ++lane) {
      for (int i = 0; i < half; ++i) {
        // Written no later than it is read: sums move forward.
        sums[lane * half + i] = join(sums[2 * lane * half + i], sums[(2 * lane + 1) * half + i]);
      }
    }
  }
}

/// Reduces rows on a host: one thread does what a GPU's group of lanes does, term by term into the same sums, which are
/// joined by the same tree.
template <Backend B, class T, class F>
class ReduceAlongHost : HostRows {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;  // a matter of GPUs

  ReduceAlongHost(const F& f, const ReducePlan& plan, int x, int out, Partial<A>* partials)
      : f_(f), rows_(plan, x, out, partials), groups_(plan), lanes_(plan.lanes) {}

  std::int64_t items() const { return groups_.items(); }

  KOKKOS_FUNCTION void operator()([[maybe_unused]] std::int64_t item) const {
    KOKKOS_IF_ON_HOST((groups_.for_each(item, [this](std::int64_t kept, std::int64_t part) { reduce(kept, part); });))
  }

 private:
  static constexpr int widest_pack = reduce_along_pack_bytes / static_cast<int>(sizeof(T));

  void reduce(std::int64_t kept, std::int64_t part) const {
    const PartRange range = rows_.parts.range(part);
    const T* const x =
        rows_.x.data + rows_.axes.kept_offset(rows_.x, kept) + range.first_column * rows_.x.column_stride;
    Partial<A> value{A(1), add_up(x, range)};
    if constexpr (F::rescales) {
      if (!f_.is_safe(value.total)) value = rescale(x, range);
    }
    rows_.write(f_, kept, 0, part, value);
  }

  A add_up(const T* x, const PartRange& range) const {
    alignas(64) A sums[reduce_along_threads * widest_pack];
    if (lanes_ < 1) __builtin_unreachable();  // else GCC warns of sums that nobody set
    const int width = lanes_ * rows_.pack;
    std::fill_n(sums, width, f_.identity());
    for (std::int64_t run = 0; run < range.runs; ++run) {
      const T* const row = x + rows_.axes.run_offset(rows_.x, range.first_run + run);
      if constexpr (std::is_same_v<T, A>) {
        if (rows_.x.column_stride == 1) {
          for (int c = 0; c < range.columns; c += width) {
            add_columns(f_, sums, row + c, std::min(width, range.columns - c));
          }
          continue;
        }
      }
      for (int c = 0; c < range.columns; c += chunk) {
        alignas(64) A values[chunk];
        const int count = std::min(chunk, range.columns - c);
        load<T>(values, row + c * rows_.x.column_stride, rows_.x.column_stride, count);
        // Both are powers of two: the chunk is some widths, or a piece of one.
        for (int i = 0; i < count; i += width) {
          add_columns<F, A>(f_, sums + (c & (width - 1)), values + i, std::min(width, count - i));
        }
      }
    }
    join_packs(sums, lanes_, rows_.pack, f_.join());
    return join_lanes(sums, f_.join());
  }

  Partial<A> rescale(const T* x, const PartRange& range) const {
    A values[reduce_along_threads] = {};
    std::fill_n(values, lanes_, f_.least_dominant());
    for_each(x, range, [&](int lane, A element) { values[lane] = f_.dominant()(values[lane], std::abs(element)); });
    const A scale = join_lanes(values, f_.dominant());
    std::fill_n(values, lanes_, A(0));
    for_each(x, range, [&](int lane, A element) { values[lane] += f_.raise(std::abs(element) / scale); });
    return f_.rescaled(scale, join_lanes(values, f_.join()));
  }

  template <class Visit>
  void for_each(const T* x, const PartRange& range, const Visit& visit) const {
    for (std::int64_t run = 0; run < range.runs; ++run) {
      const T* const row = x + rows_.axes.run_offset(rows_.x, range.first_run + run);
      for (int c = 0; c < range.columns; ++c) {
        visit(c / rows_.pack & (lanes_ - 1), static_cast<A>(row[c * rows_.x.column_stride]));
      }
    }
  }

  /// Joins as the lanes of warps do, and then the warps.
  template <class Join>
  A join_lanes(A* values, const Join& join) const {
    constexpr int warp = 32;
    for (int first = 0; first < lanes_; first += warp) {
      for (int half = std::min(lanes_, warp) / 2; half > 0; half /= 2) {
        for (int lane = first; lane < first + half; ++lane) values[lane] = join(values[lane], values[lane + half]);
      }
    }
    for (int half = lanes_ / warp / 2; half > 0; half /= 2) {
      for (int w = 0; w < half; ++w) values[w * warp] = join(values[w * warp], values[(w + half) * warp]);
    }
    return values[0];
  }

  F f_;
  ReduceRows<T> rows_;
  HostGroups groups_;
  int lanes_;
};

/// Reduces columns on a host: one thread takes what a GPU's slots share.
template <Backend B, class T, class F>
class ReduceDownHost : HostRows {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;

  ReduceDownHost(const F& f, const ReducePlan& plan, int x, int out, Partial<A>* partials)
      : f_(f), rows_(plan, x, out, partials), tiles_(plan, most_sums / plan.slots), slots_(plan.slots) {}

  std::int64_t items() const { return tiles_.items(); }

  KOKKOS_FUNCTION void operator()([[maybe_unused]] std::int64_t item) const { KOKKOS_IF_ON_HOST((reduce(item);)) }

 private:
  /// Of all slots together.
  static constexpr int most_sums = 2048;

  void reduce(std::int64_t item) const {
    const HostTile tile = tiles_.locate(rows_.parts, item);
    const T* const x = rows_.x.data + rows_.axes.kept_offset(rows_.x, tile.kept) + tile.column * rows_.x.column_stride;
    const int columns = tiles_.columns();
    alignas(64) A sums[most_sums];
    std::fill_n(sums, slots_ * columns, f_.identity());
    for (std::int64_t run = 0; run < tile.range.runs; ++run) {
      A* const of_slot = sums + (run & (slots_ - 1)) * columns;
      const T* const row = x + rows_.axes.run_offset(rows_.x, tile.range.first_run + run);
      for (int c = 0; c < tile.count; c += chunk) {
        alignas(64) A values[chunk];
        const int some = std::min(chunk, tile.count - c);
        load<T>(values, row + c * rows_.x.column_stride, rows_.x.column_stride, some);
        add_columns<F, A>(f_, of_slot + c, values, some);
      }
    }
    for (int half = slots_ / 2; half > 0; half /= 2) {
      for (int i = 0; i < half * columns; ++i) sums[i] = f_.join()(sums[i], sums[i + half * columns]);
    }
    for (int c = 0; c < tile.count; ++c) {
      Partial<A> value{A(1), sums[c]};
      if constexpr (F::rescales) {
        if (!f_.is_safe(value.total)) value = rescale(x + c * rows_.x.column_stride, tile.range);
      }
      rows_.write(f_, tile.kept, tile.column + c, tile.part, value);
    }
  }

  Partial<A> rescale(const T* x, const PartRange& range) const {
    A values[down_threads] = {};
    std::fill_n(values, slots_, f_.least_dominant());
    for_each(x, range, [&](A& value, A element) { value = f_.dominant()(value, std::abs(element)); }, values);
    const A scale = join_slots(values, f_.dominant());
    std::fill_n(values, slots_, A(0));
    for_each(x, range, [&](A& value, A element) { value += f_.raise(std::abs(element) / scale); }, values);
    return f_.rescaled(scale, join_slots(values, f_.join()));
  }

  template <class Visit>
  void for_each(const T* x, const PartRange& range, const Visit& visit, A* values) const {
    for (std::int64_t run = 0; run < range.runs; ++run) {
      visit(values[run & (slots_ - 1)], static_cast<A>(x[rows_.axes.run_offset(rows_.x, range.first_run + run)]));
    }
  }

  template <class Join>
  A join_slots(A* values, const Join& join) const {
    for (int half = slots_ / 2; half > 0; half /= 2) {
      for (int s = 0; s < half; ++s) values[s] = join(values[s], values[s + half]);
    }
    return values[0];
  }

  F f_;
  ReduceRows<T> rows_;
  HostTiles tiles_;
  int slots_;
};

}  // namespace portops::impl
