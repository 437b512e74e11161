// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/turn_words.hpp"
#include "core/reduce/host_rows.hpp"
#include "core/reduce/host_sums.hpp"
#include "core/reduce/rescale.hpp"

#include <algorithm>

namespace portops::impl {

/// Reduces rows on a host: one thread does what a GPU's group of lanes does, term by term into the same sums, which are
/// joined by the same tree.
template <Backend B, class T, class F>
class ReduceAlongHost : HostRows {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;  // a matter of GPUs

  ReduceAlongHost(const F& f, const ReducePlan& plan, Partial<A>* partials)
      : f_(f),
        rows_(plan, partials, true),
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
  static constexpr int side = host::turned_side<T>;

  /// `width` is the number of columns that the lanes of a warp take at once: where it is known, the loops over them are
  /// vector instructions.
  template <int width = 1>
  void reduce_item(std::int64_t item) const {
    if constexpr (width < warp * widest_pack) {
      if (width < lanes_ * rows_.pack) return reduce_item<2 * width>(item);
    }
    if (rows_.parts.parts == 1 && rows_.parts.runs == 1 && warps_ == 1) {
      return groups_.for_each_some<rows_at_once>(
          item, [this](std::int64_t kept, int count) { reduce_rows<width>(kept, count); });
    }
    groups_.for_each(item, [this](std::int64_t kept, std::int64_t part) { reduce<width>(kept, part); });
  }

  /// Whole rows, some of them together. Those with few sums each lie side by side, a row a lane of the vector unit.
  static constexpr int most_short_sums = 8;
  static constexpr int rows_at_once = 16;

  /// A number of each of the rows.
  struct OfRows {
    A row[rows_at_once];
  };
  template <class Join>
  struct JoinOfRows {
    OfRows operator()(const OfRows& a, const OfRows& b) const {
      OfRows result;
      for (int r = 0; r < rows_at_once; ++r) result.row[r] = join(a.row[r], b.row[r]);
      return result;
    }
    Join join;
  };

  template <int width>
  void reduce_rows(std::int64_t kept, int count) const {
    const F f = f_;
    const T* row[rows_at_once];
    for (int r = 0; r < rows_at_once; ++r) {
      row[r] = rows_.x.data + rows_.axes.kept_offset(rows_.x, kept + std::min(r, count - 1));
    }
    const PartRange whole = rows_.parts.range(0);
    OfRows totals;
    if constexpr (width <= most_short_sums) {
      totals = add_side_by_side<width>(row, count);
    } else {
      std::fill_n(totals.row, rows_at_once, f.identity());
      for (int r = 0; r < count; ++r) totals.row[r] = add_up<1, width>(row[r], whole, rows_.columns_before(kept + r));
    }
    bool safe = true;
    A results[rows_at_once];
    for (int r = 0; r < rows_at_once; ++r) results[r] = f.finish({A(1), totals.row[r]});
    for (int r = 0; r < count; ++r) {
      rows_.out.data[rows_.axes.kept_offset(rows_.out, kept + r)] = static_cast<T>(results[r]);
      if constexpr (F::rescales) safe = safe && f.is_safe(totals.row[r]);
    }
    if (safe) return;
    for (int r = 0; r < count; ++r) {
      if constexpr (F::rescales) {
        if (f.is_safe(totals.row[r])) continue;
        rows_.write(f_, kept + r, 0, 0, rescale(row[r], whole, rows_.columns_before(kept + r)));
      }
    }
  }

  template <int width>
  OfRows add_side_by_side(const T* const (&row)[rows_at_once], int count) const {
    const F f = f_;
    const auto columns = static_cast<int>(rows_.parts.columns);
    OfRows sums[width];
    for (OfRows& of_rows : sums) std::fill_n(of_rows.row, rows_at_once, f.identity());
    const std::int64_t distance = row[1] - row[0], stride = rows_.x.column_stride;
    int c = 0;
    if (stride == 1 && count == rows_at_once && rows_.axes.kept_rank <= 1) {
      for (; c + side <= columns; c += side) {
        alignas(64) T block[side][rows_at_once];
        for (int r = 0; r < rows_at_once; r += side) host::turn(block[0] + r, rows_at_once, row[r] + c, distance);
        for (int i = 0; i < side; ++i) add_elements<rows_at_once>(f, sums[(c + i) & (width - 1)].row, block[i]);
      }
    }
    for (; c < columns; ++c) {
      T elements[rows_at_once];
      for (int r = 0; r < rows_at_once; ++r) elements[r] = row[r][c * stride];
      add_elements<rows_at_once>(f, sums[c & (width - 1)].row, elements);
    }
    return join(sums, JoinOfRows<decltype(f_.join())>{f_.join()});
  }

  template <int width>
  void reduce(std::int64_t kept, std::int64_t part) const {
    const PartRange range = rows_.parts.range(part);
    const T* const x =
        rows_.x.data + rows_.axes.kept_offset(rows_.x, kept) + range.first_column * rows_.x.column_stride;
    const int before = rows_.columns_before(kept);
    Partial<A> value{A(1), A(0)};
    // Several warps are whole ones.
    if constexpr (width >= warp) {
      value.total = warps_ == 1 ? add_up<1, width>(x, range, before) : add_up<most_warps, width>(x, range, before);
    } else {
      value.total = add_up<1, width>(x, range, before);
    }
    if constexpr (F::rescales) {
      if (!f_.is_safe(value.total)) value = rescale(x, range, before);
    }
    rows_.write(f_, kept, 0, part, value);
  }

  /// Within a page a processor brings what comes next by itself, but not from the next page.
  static constexpr int page_bytes = 4096, bytes_ahead = 2 * page_bytes;
  template <int width>
  static void ask_for(const T* elements) {
    constexpr int of_line = 64 / static_cast<int>(sizeof(T));
    for (int i = 0; i < width; i += of_line) __builtin_prefetch(elements + i);
  }

  /// The sum over the runs of a part. Of its blocks of `width` columns, the first is the first warp's, the next one the
  /// next warp's. The first `before` columns of the first block are no columns of the row. Warps without a block are
  /// left out.
  template <int warps, int width>
  A add_up(const T* x, const PartRange& range, int before) const {
    const F f = f_;
    alignas(64) A sums[warps][width];
    const auto at_work = static_cast<int>(std::min<std::int64_t>(warps, ceil_div(before + range.columns, width)));
    for (int w = 0; w < at_work; ++w) {
      PORTOPS_NO_UNROLL
      for (A& sum : sums[w]) sum = f.identity();
    }
    const bool is_long = range.columns >= page_bytes / static_cast<int>(sizeof(T));
    for (std::int64_t run = 0; run < range.runs; ++run) {
      const T* row = x + rows_.axes.run_offset(rows_.x, range.first_run + run);
      int columns = range.columns, blocks_before = 0;
      // Shifted rows have packs of the widest access, and their columns are neighbours.
      if constexpr (width >= widest_pack) {
        if (before > 0) {
          const int count = std::min(columns, width - before);
          T block[width];
          for (int i = 0; i < width; ++i) block[i] = i >= before && i < before + count ? row[i - before] : fill_;
          add_elements<width>(f, sums[0], block);
          row += count;
          columns -= count;
          blocks_before = 1;
        }
      }
      const auto add = [&](int c, const T* elements) {
        add_elements<width>(f, sums[(c / width + blocks_before) & (warps - 1)], elements);
      };
      if constexpr (adds_first_elements<F, T>) {
        if (rows_.x.column_stride == 1) {
          int c = 0;
          for (; c + width <= columns; c += width) {
            if (is_long) ask_for<width>(row + c + bytes_ahead / static_cast<int>(sizeof(T)));
            add(c, row + c);
          }
          if (c < columns) {
            add_first_elements<width>(f, sums[(c / width + blocks_before) & (warps - 1)], row + c, columns - c, fill_);
          }
          continue;
        }
      }
      for_each_block<width>(row, rows_.x.column_stride, columns, fill_, add);
    }
    A of_warp[warps];
    for (int w = 0; w < warps; ++w) of_warp[w] = w < at_work ? join(sums[w], f_.join()) : f.identity();
    return join_array(of_warp, f_.join());
  }

  template <int pack = 1, int width, class Sum, class Join>
  Sum join(const Sum (&sums)[width], const Join& join_two) const {
    if constexpr (pack < std::min(width, widest_pack)) {
      if (pack < rows_.pack) return join<2 * pack>(sums, join_two);
    }
    return join_lanes<pack>(sums, join_two);
  }

  [[gnu::noinline]] Partial<A> rescale(const T* x, const PartRange& range, int before) const {
    return rescaled_sum<A>(f_, [&](A start, const auto& join, const auto& term) {
      Lanes values;
      for (auto& of_warp : values) std::fill_n(of_warp, warp, start);
      for_each_pack(x, range, before, values, join, term);
      return join_all(values, join);
    });
  }

  /// A value for each lane of each warp. Those that a group lacks change nothing.
  using Lanes = A[most_warps][warp];

  /// Joins term(element), pack by pack, to the values of the lanes.
  template <class Join, class Term>
  void for_each_pack(const T* x, const PartRange& range, int before, Lanes& values, const Join& join,
                     const Term& term) const {
    for (std::int64_t run = 0; run < range.runs; ++run) {
      const T* const row = x + rows_.axes.run_offset(rows_.x, range.first_run + run);
      PORTOPS_NO_UNROLL
      for (int pack = -before; pack < range.columns; pack += rows_.pack) {
        const auto at = [&](int c) { return term(static_cast<A>(row[c * rows_.x.column_stride])); };
        const int first = std::max(pack, 0);
        A of_pack = at(first);
        PORTOPS_NO_UNROLL
        for (int c = first + 1; c < std::min(pack + rows_.pack, range.columns); ++c) of_pack = join(of_pack, at(c));
        const int lane = (pack + before) / rows_.pack & (warps_ * lanes_ - 1);
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

}  // namespace portops::impl
