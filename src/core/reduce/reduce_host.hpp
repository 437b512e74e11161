// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/lanes.hpp"
#include "core/reduce/host_rows.hpp"
#include "core/reduce/join_partials.hpp"
#include "core/reduce/rescale.hpp"

#include <algorithm>

namespace portops::impl {

/// Adds as many elements to sums, one to each.
template <int count, class F, class A, class T>
void add_elements(const F& f, A* sums, const T* elements) {
  if constexpr (std::is_same_v<T, f16>) {
    constexpr int vector = F::is_quick ? count : std::min(count, host::f16_conversion_width);
    for (int i = 0; i < count; i += vector) {
      A values[vector];
      host::convert<T, vector>(values, elements + i, vector);
      add_elements<vector>(f, sums + i, values);
    }
  } else if constexpr (F::is_quick) {
    A terms[count];
    typename F::Doubt doubt = 0;
    PORTOPS_NO_UNROLL
    for (int i = 0; i < count; ++i) terms[i] = f.term_quickly(static_cast<A>(elements[i]), doubt);
    if (F::is_doubtful(doubt)) {
      PORTOPS_NO_UNROLL
      for (int i = 0; i < count; ++i) terms[i] = f.term(static_cast<A>(elements[i]));
    }
    PORTOPS_NO_UNROLL
    for (int i = 0; i < count; ++i) sums[i] += terms[i];
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

  /// `width` is the number of columns that the lanes of a warp take at once: where it is known, the loops over them are
  /// vector instructions.
  template <int width = 1>
  void reduce_item(std::int64_t item) const {
    if constexpr (width < warp * widest_pack) {
      if (width < lanes_ * rows_.pack) return reduce_item<2 * width>(item);
    }
    if constexpr (width <= most_short_sums) {
      if (rows_.parts.parts == 1 && rows_.parts.runs == 1) {
        return groups_.for_each_some<rows_at_once>(
            item, [this](std::int64_t kept, int count) { reduce_short_rows<width>(kept, count); });
      }
    }
    groups_.for_each(item, [this](std::int64_t kept, std::int64_t part) { reduce<width>(kept, part); });
  }

  /// Rows with few sums each are reduced side by side, a row a lane of the vector unit.
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
  void reduce_short_rows(std::int64_t kept, int count) const {
    const F f = f_;
    const T* row[rows_at_once];
    for (int r = 0; r < rows_at_once; ++r) {
      row[r] = rows_.x.data + rows_.axes.kept_offset(rows_.x, kept + std::min(r, count - 1));
    }
    const auto columns = static_cast<int>(rows_.parts.columns);
    OfRows sums[width];
    for (OfRows& of_rows : sums) std::fill_n(of_rows.row, rows_at_once, f.identity());
    for (int c = 0; c < columns; ++c) {
      T elements[rows_at_once];
      for (int r = 0; r < rows_at_once; ++r) elements[r] = row[r][c * rows_.x.column_stride];
      add_elements<rows_at_once>(f, sums[c & (width - 1)].row, elements);
    }
    const OfRows totals = join(sums, JoinOfRows<decltype(f_.join())>{f_.join()});
    for (int r = 0; r < count; ++r) {
      Partial<A> value{A(1), totals.row[r]};
      if constexpr (F::rescales) {
        if (!f_.is_safe(value.total)) value = rescale(row[r], rows_.parts.range(0));
      }
      rows_.write(f_, kept + r, 0, 0, value);
    }
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
    for (int w = 0; w < warps; ++w) of_warp[w] = join(sums[w], f_.join());
    return join_array(of_warp, f_.join());
  }

  template <int pack = 1, int width, class Sum, class Join>
  Sum join(const Sum (&sums)[width], const Join& join_two) const {
    if constexpr (pack < std::min(width, widest_pack)) {
      if (pack < rows_.pack) return join<2 * pack>(sums, join_two);
    }
    return join_lanes<pack>(sums, join_two);
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
  /// Of all slots together.
  static constexpr int most_sums = 4096;

 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;

  ReduceDownHost(const F& f, const ReducePlan& plan, Partial<A>* partials, int most_columns = most_sums)
      : f_(f),
        rows_(plan, partials, true),
        tiles_(plan, std::min(most_columns, most_sums / plan.slots)),
        slots_(plan.slots) {}

  std::int64_t items() const { return tiles_.items(); }

  KOKKOS_FUNCTION void operator()([[maybe_unused]] std::int64_t item) const { KOKKOS_IF_ON_HOST((reduce(item);)) }

  /// The most columns of a tile.
  int columns() const { return tiles_.columns(); }

  /// Reduces one tile.
  void reduce(std::int64_t item) const { reduce(tiles_.locate(rows_.parts, item)); }
  void reduce(const HostTile& tile) const {
    const T* const x = rows_.x.data + rows_.axes.kept_offset(rows_.x, tile.kept) + tile.column * rows_.x.column_stride;
    const int columns = tiles_.columns();
    // The last block of a slot may reach into the next one, where it changes no sum.
    alignas(64) A sums[most_sums + chunk];
    std::fill_n(sums, slots_ * columns + chunk, f_.identity());
    if (tile.count <= narrow) {
      add_runs<narrow>(x, tile, columns, sums);
    } else {
      add_runs<chunk>(x, tile, columns, sums);
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

 private:
  /// A block of so few columns.
  static constexpr int narrow = 16;

  /// Adds the runs of a tile to the sums of their slots, in blocks of `width` columns.
  template <int width>
  void add_runs(const T* x, const HostTile& tile, int columns, A* sums) const {
    const F f = f_;
    const auto fill = static_cast<T>(f.fill());
    const auto add = [&](const T* row, int count, A* to) {
      for_each_block<width>(row, rows_.x.column_stride, count, fill,
                            [&](int c, const T* elements) { add_elements<width>(f, to + c, elements); });
    };
    const T* const first = x + rows_.axes.run_offset(rows_.x, tile.range.first_run);
    if (rows_.axes.has_one_run_axis() && rows_.axes.run_stride(rows_.x) == columns && rows_.x.column_stride == 1 &&
        columns == rows_.parts.columns) {
      // Whole rows, one behind the other: those of all slots are one long row, as their sums are.
      for (std::int64_t run = 0; run < tile.range.runs; run += slots_) {
        const auto some = static_cast<int>(std::min<std::int64_t>(slots_, tile.range.runs - run));
        add(first + run * columns, some * columns, sums);
      }
      return;
    }
    for (std::int64_t run = 0; run < tile.range.runs; ++run) {
      add(x + rows_.axes.run_offset(rows_.x, tile.range.first_run + run), tile.count,
          sums + (run & (slots_ - 1)) * columns);
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

/// The same where results are cut into parts, of a tensor so small that a second kernel would take longer than the
/// work: an item takes all parts of some columns one after the other, and joins them.
template <Backend B, class T, class F, class G>
class ReduceDownWholeHost {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;

  static bool suits(const ReducePlan& plan) {
    constexpr std::int64_t most_bytes = std::int64_t{4} << 20, enough_items = 8;
    const std::int64_t items = plan.kept * ceil_div(plan.columns, most_columns);
    return plan.direction == Direction::down && plan.parts() > 1 && items >= enough_items &&
           plan.results() * plan.runs * static_cast<std::int64_t>(sizeof(T)) <= most_bytes;
  }

  ReduceDownWholeHost(const F& f, const G& g, const ReducePlan& plan, Partial<A>* partials)
      : reduce_(f, plan, partials, most_columns),
        join_(g, plan, partials),
        parts_(plan),
        columns_(plan.columns),
        blocks_(ceil_div(plan.columns, reduce_.columns())),
        kept_(plan.kept) {}

  std::int64_t items() const { return kept_ * blocks_; }

  KOKKOS_FUNCTION void operator()([[maybe_unused]] std::int64_t item) const { KOKKOS_IF_ON_HOST((reduce(item);)) }

 private:
  /// Of an item: four lines of memory, of f32.
  static constexpr int most_columns = 64;

  void reduce(std::int64_t item) const {
    HostTile tile;
    tile.kept = item / blocks_;
    tile.column = (item - tile.kept * blocks_) * reduce_.columns();
    tile.count = static_cast<int>(std::min<std::int64_t>(reduce_.columns(), columns_ - tile.column));
    for (tile.part = 0; tile.part < parts_.parts; ++tile.part) {
      tile.range = parts_.range(tile.part);
      reduce_.reduce(tile);
    }
    for (int c = 0; c < tile.count; ++c) join_.join(tile.kept * columns_ + tile.column + c);
  }

  ReduceDownHost<B, T, F> reduce_;
  JoinPartialsHost<T, G> join_;
  RowParts parts_;
  std::int64_t columns_;
  std::int64_t blocks_;  ///< of columns
  std::int64_t kept_;
};

}  // namespace portops::impl
