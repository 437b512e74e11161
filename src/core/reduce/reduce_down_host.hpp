// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/reduce/host_rows.hpp"
#include "core/reduce/host_sums.hpp"
#include "core/reduce/join_partials.hpp"
#include "core/reduce/rescale.hpp"

#include <algorithm>

namespace portops::impl {

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
    join_.join(tile.kept * columns_ + tile.column, tile.count);
  }

  ReduceDownHost<B, T, F> reduce_;
  JoinPartialsHost<T, G> join_;
  RowParts parts_;
  std::int64_t columns_;
  std::int64_t blocks_;  ///< of columns
  std::int64_t kept_;
};

}  // namespace portops::impl
