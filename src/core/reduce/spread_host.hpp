// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/tile_shape.hpp"
#include "core/reduce/host_rows.hpp"
#include "core/reduce/spread_rows.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace portops::impl {

/// How many elements are computed together at least, where f is quick.
inline constexpr int few_elements = 8;

/// to = f(from, rows) for a block of elements; row_of(i) is the row's value of element i.
template <int count, class F, class A, class RowOf>
void spread_block(const F& f, A* to, const A* from, const RowOf& row_of) {
  A results[count];
  typename F::Doubt doubt = 0;
  PORTOPS_NO_UNROLL
  for (int i = 0; i < count; ++i) results[i] = f.quickly(from[i], row_of(i), doubt);
  if (F::is_doubtful(doubt)) {
    PORTOPS_NO_UNROLL
    for (int i = 0; i < count; ++i) results[i] = f(from[i], row_of(i));
  }
  PORTOPS_NO_UNROLL
  for (int i = 0; i < count; ++i) to[i] = results[i];
}

/// The same for up to a chunk of elements. Where f is quick, `to` is not `from`, and up to few_elements - 1 elements
/// more are read and written.
template <class F, class A, class RowOf>
void spread_some(const F& f, A* to, const A* from, int count, const RowOf& row_of) {
  if constexpr (!F::is_quick) {
    for (int i = 0; i < count; ++i) to[i] = f(from[i], row_of(i));
  } else if (count == HostRows::chunk) {
    spread_block<HostRows::chunk>(f, to, from, row_of);
  } else {
    for (int first = 0; first < count; first += few_elements) {
      spread_block<few_elements>(f, to + first, from + first, [&](int i) { return row_of(first + i); });
    }
  }
}

/// values = f(values, rows) for `count` of a chunk.
template <class F, class A, class RowOf>
void spread_chunk(const F& f, A (&values)[HostRows::chunk], int count, const RowOf& row_of) {
  if constexpr (F::is_quick) {
    alignas(64) A results[HostRows::chunk];
    for (int i = count; i % few_elements != 0; ++i) values[i] = A(1);
    spread_some(f, results, values, count, row_of);
    for (int i = 0; i < HostRows::chunk; ++i) values[i] = results[i];
  } else {
    spread_some(f, values, values, count, row_of);
  }
}

/// y = f(x, value of the row) on a host where rows lie one behind the other in x and y: over their memory as a whole,
/// by packs that may reach from a row into the next ones.
template <Backend B, class T, class F>
class SpreadFlatHost {
 public:
  using A = Arithmetic<T>;
  using Row = typename F::Row;
  static constexpr int blocks = 0;  // a matter of GPUs

  SpreadFlatHost(const F& f, const ReducePlan& plan, bool streaming)
      : f_(f),
        x_(reinterpret_cast<const T*>(plan.operand[spread_x].data)),
        y_(reinterpret_cast<T*>(plan.operand[spread_y].data)),
        out_(plan.operand[spread_out]),
        out_grad_(plan.operand[spread_out_grad]),
        size_(plan.kept * plan.columns),
        columns_(plan.columns),
        streaming_(streaming) {
    const auto address = reinterpret_cast<std::uintptr_t>(y_);
    constexpr auto alignment = static_cast<std::uintptr_t>(pack_alignment(B));
    const std::uintptr_t to_pack = (alignment - address % alignment) % alignment / sizeof(T);
    head_ = std::min(static_cast<std::int64_t>(to_pack), size_);
    packs_ = (size_ - head_) / pack;
    // Long runs where stores are streamed, because each ends with a fence.
    packs_of_item_ = streaming ? 512 : 64;
  }

  /// One more, for what packs leave over.
  std::int64_t items() const { return ceil_div(packs_, packs_of_item_) + 1; }

  KOKKOS_FUNCTION void operator()([[maybe_unused]] std::int64_t item) const { KOKKOS_IF_ON_HOST((spread(item);)) }

 private:
  static constexpr int pack = tile_shape(B, ElementTypeOf<T>::value).pack;

  /// A row, and how many of its columns are left.
  struct Cursor {
    std::int64_t row;
    std::int64_t left;
    Row value;
  };

  void spread(std::int64_t item) const {
    const std::int64_t first = item * packs_of_item_;
    if (first >= packs_) {
      spread_elements(0, head_);
      spread_elements(head_ + packs_ * pack, size_);
      return;
    }
    Cursor cursor = cursor_at(head_ + first * pack);
    for (std::int64_t p = first; p < std::min(first + packs_of_item_, packs_); ++p) {
      const std::int64_t at = head_ + p * pack;
      alignas(64) A values[pack];
      convert_pack<B, T, pack>(values, read_pack<B, T, pack>(x_ + at), pack);
      spread_pack(values, cursor);
      store_pack<B, T, pack>(y_ + at, values, streaming_);
    }
    if (streaming_) end_of_streaming<B>();
  }

  /// A pack, which may reach into the next rows.
  void spread_pack(A (&values)[pack], Cursor& cursor) const {
    if constexpr (F::is_quick) {
      if (cursor.left < pack) {
        A from[pack + few_elements], to[pack + few_elements];
        for (int i = 0; i < pack; ++i) from[i] = values[i];
        for (int i = pack; i < pack + few_elements; ++i) from[i] = A(1);
        spread_pack(to, from, cursor);
        for (int i = 0; i < pack; ++i) values[i] = to[i];
      } else {
        const Row value = cursor.value;
        cursor.left -= pack;
        spread_chunk(f_, values, pack, [value](int) { return value; });
      }
    } else {
      spread_pack(values, values, cursor);
    }
  }
  void spread_pack(A* to, const A* from, Cursor& cursor) const {
    const F f = f_;
    for (int i = 0; i < pack;) {
      if (cursor.left == 0) cursor = {cursor.row + 1, columns_, row(cursor.row + 1)};
      const int count = static_cast<int>(std::min<std::int64_t>(cursor.left, pack - i));
      cursor.left -= count;
      const Row value = cursor.value;
      spread_some(f, to + i, from + i, count, [value](int) { return value; });
      i += count;
    }
  }

  void spread_elements(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t at = begin; at < end; ++at) {
      y_[at] = static_cast<T>(f_(static_cast<A>(x_[at]), cursor_at(at).value));
    }
  }

  Cursor cursor_at(std::int64_t at) const {
    const std::int64_t number = at / columns_;
    return {number, (number + 1) * columns_ - at, row(number)};
  }

  Row row(std::int64_t number) const {
    return f_.row(static_cast<A>(out_.data[number * out_.stride[0]]),
                  static_cast<A>(out_grad_.data[number * out_grad_.stride[0]]));
  }

  F f_;
  const T* x_;
  T* y_;
  RowOperand<const T> out_;
  RowOperand<const T> out_grad_;
  std::int64_t size_;
  std::int64_t columns_;
  std::int64_t head_;  ///< elements before the first pack of y
  std::int64_t packs_;
  std::int64_t packs_of_item_;
  bool streaming_;
};

/// Spreads a value a row along rows, on a host.
template <Backend B, class T, class F>
class SpreadAlongHost : HostRows {
 public:
  using A = Arithmetic<T>;
  using Row = typename F::Row;
  static constexpr int blocks = 0;

  SpreadAlongHost(const F& f, const ReducePlan& plan, const TieCounts& counts)
      : f_(f), rows_(plan, counts), groups_(plan) {}

  std::int64_t items() const { return groups_.items(); }

  KOKKOS_FUNCTION void operator()([[maybe_unused]] std::int64_t item) const {
    KOKKOS_IF_ON_HOST((groups_.for_each(item, [this](std::int64_t kept, std::int64_t part) { spread(kept, part); });))
  }

 private:
  void spread(std::int64_t kept, std::int64_t part) const {
    const PartRange range = rows_.parts.range(part);
    Row row = rows_.row(f_, rows_.place(kept));
    if constexpr (F::counts) {
      std::int64_t count = 0;
      if (rows_.counts.mode == Ties::given) {
        for (std::int64_t p = 0; p < rows_.parts.parts; ++p) count += rows_.counts.of(p, kept);
      } else {
        for_each_chunk(rows_.axes, rows_.x, kept, range, range.first_column, range.columns,
                       [&](std::int64_t, std::int64_t, A(&values)[chunk], int some) {
                         int ties = 0;
                         for (int i = 0; i < some; ++i) ties += f_.is_tie(values[i], row) ? 1 : 0;
                         count += ties;
                       });
      }
      if (rows_.counts.mode == Ties::counted) {
        rows_.counts.of(part, kept) = static_cast<int>(count);
        return;
      }
      row = f_.shared(row, static_cast<A>(count));
    }
    const std::int64_t stride = rows_.y.column_stride;
    T* const y = rows_.y.data + rows_.axes.kept_offset(rows_.y, kept) + range.first_column * stride;
    for_each_chunk(rows_.axes, rows_.x, kept, range, range.first_column, range.columns,
                   [&](std::int64_t run, std::int64_t column, A(&values)[chunk], int count) {
                     spread_chunk(f_, values, count, [row](int) { return row; });
                     store<T>(y + rows_.axes.run_offset(rows_.y, run) + column * stride, values, stride, count);
                   });
  }

  F f_;
  SpreadRows<T> rows_;
  HostGroups groups_;
};

/// Spreads a value a column down columns, on a host.
template <Backend B, class T, class F>
class SpreadDownHost : HostRows {
 public:
  using A = Arithmetic<T>;
  using Row = typename F::Row;
  static constexpr int blocks = 0;

  SpreadDownHost(const F& f, const ReducePlan& plan, const TieCounts& counts)
      : f_(f), rows_(plan, counts), tiles_(plan, most_columns) {}

  std::int64_t items() const { return tiles_.items(); }

  KOKKOS_FUNCTION void operator()([[maybe_unused]] std::int64_t item) const { KOKKOS_IF_ON_HOST((spread(item);)) }

 private:
  static constexpr int most_columns = 1024;

  /// The rows' values, number by number, so that neighbours can be computed together.
  static constexpr int numbers = static_cast<int>(sizeof(Row) / sizeof(A));
  using Numbers = std::array<A, numbers>;
  struct Rows {
    alignas(64) A number[numbers][most_columns + few_elements];

    void set(int i, const Row& row) {
      const auto values = std::bit_cast<Numbers>(row);
      for (int n = 0; n < numbers; ++n) number[n][i] = values[static_cast<std::size_t>(n)];
    }
    Row get(int i) const {
      Numbers values;
      for (int n = 0; n < numbers; ++n) values[static_cast<std::size_t>(n)] = number[n][i];
      return std::bit_cast<Row>(values);
    }
  };

  void spread(std::int64_t item) const {
    const HostTile tile = tiles_.locate(rows_.parts, item);
    Rows rows;
    const typename SpreadRows<T>::Place place = rows_.place(tile.kept);
    for (int c = 0; c < tile.count; ++c) rows.set(c, rows_.row(f_, place, tile.column + c));
    if constexpr (F::counts) {
      if (!share_out(tile, rows)) return;
    }
    const std::int64_t stride = rows_.y.column_stride;
    T* const y = rows_.y.data + rows_.axes.kept_offset(rows_.y, tile.kept) + tile.column * stride;
    if (is_one_row(rows_.x, tile) && is_one_row(rows_.y, tile)) return spread_as_row(tile, rows, y);
    pad(rows, tile.count);
    for_each_chunk(rows_.axes, rows_.x, tile.kept, tile.range, tile.column, tile.count,
                   [&](std::int64_t run, std::int64_t at, A(&values)[chunk], int count) {
                     const int c = static_cast<int>(at);
                     spread_chunk(f_, values, count, [&](int i) { return rows.get(c + i); });
                     store<T>(y + rows_.axes.run_offset(rows_.y, run) + c * stride, values, stride, count);
                   });
  }

  /// What is behind the last column is computed, and not stored.
  static void pad(Rows& rows, int count) {
    for (int i = 0; i < few_elements; ++i) rows.set(count + i, rows.get(count - 1));
  }

  /// Whether the tile's runs have all columns and lie one behind the other.
  template <class Element>
  bool is_one_row(const RowOperand<Element>& of, const HostTile& tile) const {
    return tile.count == rows_.parts.columns && of.column_stride == 1 && rows_.axes.has_one_run_axis() &&
           (tile.range.runs == 1 || rows_.axes.run_stride(of) == tile.count);
  }

  /// Then they are one long row, whose columns' values repeat.
  void spread_as_row(const HostTile& tile, Rows& rows, T* y) const {
    const T* const x = rows_.x.data + rows_.axes.kept_offset(rows_.x, tile.kept) +
                       rows_.axes.run_offset(rows_.x, tile.range.first_run);
    y += rows_.axes.run_offset(rows_.y, tile.range.first_run);
    const std::int64_t size = tile.range.runs * tile.count;
    const int period = static_cast<int>(std::min<std::int64_t>(most_columns / tile.count * tile.count, size));
    for (int c = tile.count; c < period; ++c) rows.set(c, rows.get(c - tile.count));
    pad(rows, period);
    for (std::int64_t first = 0; first < size; first += period) {
      const int columns = static_cast<int>(std::min<std::int64_t>(period, size - first));
      for (int c = 0; c < columns; c += chunk) {
        alignas(64) A values[chunk];
        const int count = std::min(chunk, columns - c);
        load<T>(values, x + first + c, 1, count);
        spread_chunk(f_, values, count, [&](int i) { return rows.get(c + i); });
        store<T>(y + first + c, values, 1, count);
      }
    }
  }

  /// Shares each column's gradient out between its ties. False where these were only counted.
  bool share_out(const HostTile& tile, Rows& rows) const {
    const std::int64_t first = tile.kept * rows_.parts.columns + tile.column;
    std::int64_t counts[most_columns] = {};
    if (rows_.counts.mode == Ties::given) {
      for (std::int64_t p = 0; p < rows_.parts.parts; ++p) {
        for (int c = 0; c < tile.count; ++c) counts[c] += rows_.counts.of(p, first + c);
      }
    } else {
      int ties[most_columns] = {};
      for_each_chunk(rows_.axes, rows_.x, tile.kept, tile.range, tile.column, tile.count,
                     [&](std::int64_t, std::int64_t at, A(&values)[chunk], int count) {
                       const int c = static_cast<int>(at);
                       for (int i = 0; i < count; ++i) ties[c + i] += f_.is_tie(values[i], rows.get(c + i)) ? 1 : 0;
                     });
      std::copy_n(ties, tile.count, counts);
    }
    for (int c = 0; c < tile.count; ++c) {
      if (rows_.counts.mode == Ties::counted) {
        rows_.counts.of(tile.part, first + c) = static_cast<int>(counts[c]);
      } else {
        rows.set(c, f_.shared(rows.get(c), static_cast<A>(counts[c])));
      }
    }
    return rows_.counts.mode != Ties::counted;
  }

  F f_;
  SpreadRows<T> rows_;
  HostTiles tiles_;
};

}  // namespace portops::impl
