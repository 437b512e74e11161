// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/cascade.hpp"
#include "core/lanes/column_access.hpp"
#include "core/lanes/lanes.hpp"
#include "ops/sequence/step_host.hpp"
#include "ops/sequence/step_kernels.hpp"

namespace portops::impl {

/// Divides what belongs to a sequence.
template <class A>
KOKKOS_INLINE_FUNCTION A scaled(A value, StepScale scale, std::int64_t length) {
  if (scale == StepScale::length) return value / static_cast<A>(length);
  if (scale == StepScale::sqrt_length) return value / Kokkos::sqrt(static_cast<A>(length));
  return value;
}

/// Sums of rows.
template <class A>
struct SumSteps {
  using State = A;
  static constexpr bool keeps_rows = false;
  StepScale scale;

  KOKKOS_FORCEINLINE_FUNCTION static A identity() { return A(0); }
  /// What stands for rows that are not there.
  KOKKOS_FORCEINLINE_FUNCTION static A fill() { return A(0); }
  KOKKOS_FORCEINLINE_FUNCTION A operator()(A a, A b) const { return a + b; }

  template <int rows>
  KOKKOS_FORCEINLINE_FUNCTION void add(A& state, const A (&values)[rows], int, int) const {
    state += sum_of(values);
  }

  KOKKOS_FORCEINLINE_FUNCTION static A value(A state) { return state; }
  KOKKOS_FORCEINLINE_FUNCTION static int row(A) { return 0; }
};

/// The first of the largest rows; a NaN counts as larger than everything.
template <class A>
struct MaxSteps {
  struct State {
    A value;
    int row;  ///< within the piece
  };
  static constexpr bool keeps_rows = true;
  StepScale scale;

  KOKKOS_FORCEINLINE_FUNCTION static State identity() { return {fill(), INT32_MAX}; }
  KOKKOS_FORCEINLINE_FUNCTION static A fill() { return -Kokkos::Experimental::infinity_v<A>; }
  KOKKOS_FORCEINLINE_FUNCTION State operator()(State a, State b) const {
    const bool a_is_nan = a.value != a.value;
    const bool b_is_nan = b.value != b.value;
    const bool equal = a.value == b.value || (a_is_nan && b_is_nan);
    const bool b_is_larger = b.value > a.value || (b_is_nan && !a_is_nan);
    return b_is_larger || (equal && b.row < a.row) ? b : a;
  }

  template <int rows>
  KOKKOS_FORCEINLINE_FUNCTION void add(State& state, const A (&values)[rows], int row, int row_stride) const {
    if (state.row == INT32_MAX) state.row = row;  // the first row, should all be −inf
    PORTOPS_UNROLL
    for (int r = 0; r < rows; ++r) {
      // Rows come in their order, so that of equal ones the first stays. Not less or equal: larger, or a NaN.
      const bool takes = !(values[r] <= state.value) && state.value == state.value;
      state.value = takes ? values[r] : state.value;
      state.row = takes ? row + r * row_stride : state.row;
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION static A value(const State& state) { return state.value; }
  KOKKOS_FORCEINLINE_FUNCTION static int row(const State& state) { return state.row; }
};

/// Rows that a GPU's thread loads together.
inline constexpr int pool_batch = 8;
/// What it takes of an entry of mean length, about, and how many single columns it has at most.
inline constexpr int pool_rows_of_thread = 4 * pool_batch;
template <class T>
inline constexpr int most_pool_singles = sizeof(T) == 8 ? 2 : 4;

/// What the kernels on GPUs and hosts have in common: elements X in, elements T out.
template <class X, class T, class F>
struct PoolArguments {
  using A = Arithmetic<T>;

  F f;
  const Piece* pieces;
  StepColumns columns;
  StepStrides x;
  StepStrides out;
  StepStrides index;
  A pad;
  A* partials;                     ///< where pieces of long sequences leave their results
  std::int64_t* partial_index;     ///< and their indices
  const std::int64_t* from_index;  ///< where rows are partial results: the indices of these

  KOKKOS_FUNCTION std::int64_t index_of(const Piece& piece, int row, std::int64_t column) const {
    if (from_index != nullptr) return from_index[(piece.first + row) * columns.columns + column];
    return piece.first + row * piece.stride;
  }
};

/// Pools on a GPU: a thread keeps to a pack of columns, or to so many single ones, and walks down the rows of its slot;
/// the slots meet in a tree.
template <Backend B, class X, class T, class F, int singles = 1>
class PoolStepsDown {
 public:
  using A = Arithmetic<T>;
  using State = typename F::State;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int threads = step_threads;
  static constexpr int widest = gpu_pack_bytes / static_cast<int>(sizeof(T));
  /// Fewer teams where rows are remembered: with so many registers all rows of a batch are loaded before any is looked
  /// at.
  static constexpr int blocks = F::keeps_rows ? 3 : 4;

  PoolStepsDown(const PoolArguments<X, T, F>& arguments, const StepEntries& longest, const StepEntries& others)
      : arguments_(arguments), tiles_(arguments.columns, longest, others, pool_rows_of_thread, singles) {}

  std::int64_t teams() const { return tiles_.teams(); }
  std::int64_t first_team = 0;
  std::size_t scratch_bytes() const { return threads * widest * sizeof(State); }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    auto* const scratch = scratch_of<State>(team);
    const std::int64_t index = first_team + team.league_rank();
    const auto tile = tiles_.locate(index, team.team_rank());
    const int slots = tiles_.slots(index);
    Piece piece{};
    if (tile.active) piece = arguments_.pieces[tile.entry];
    const auto pool = [&]<class Access>(Access) {
      State states[Access::width];
      PORTOPS_UNROLL
      for (int i = 0; i < Access::width; ++i) states[i] = arguments_.f.identity();
      add_up<Access>(piece, tile, slots, scratch + team.team_rank(), states);
      join_over_slots(team, scratch, slots, tiles_.lanes(), states, arguments_.f);
      if (tile.active && tile.slot == 0) write<Access>(piece, tile.column, states);
    };
    if constexpr (singles == 1) {
      with_access<widest>(arguments_.columns.pack, true, pool);
    } else {
      pool(ColumnAccess<singles, false>());
    }
  }

 private:
  static constexpr int batch = pool_batch;
  /// Batches that are added up one after the other. However many rows there are, and partial results may be many, the
  /// chains of additions are short.
  static constexpr int chain = 16;

  /// How far apart a thread's columns are.
  KOKKOS_FORCEINLINE_FUNCTION int apart() const { return singles > 1 ? tiles_.lanes() : 1; }
  /// How many columns a thread has.
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION int count_from(std::int64_t first) const {
    if constexpr (singles == 1) return Access::width;
    const int lanes = tiles_.lanes();
    const std::int64_t left = (arguments_.columns.columns - first + lanes - 1) / lanes;
    return left < Access::width ? static_cast<int>(left) : Access::width;
  }

  /// Where a thread's columns lie from the first one: single ones, of which the last stands for those that there are
  /// not, so that all can be read without being asked for one by one.
  template <class Access>
  struct Columns {
    std::int64_t offset[Access::width] = {};

    template <class V>
    KOKKOS_FORCEINLINE_FUNCTION void load(Word<V, Access::width>& word, const V* from) const {
      if constexpr (singles == 1) {
        Access::load(word, from, 1, Access::width);
      } else {
        PORTOPS_UNROLL
        for (int i = 0; i < Access::width; ++i) word.set(i, in_device_memory(from)[offset[i]]);
      }
    }
  };

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION Columns<Access> columns_from(std::int64_t first, std::int64_t stride) const {
    Columns<Access> columns;
    if constexpr (singles > 1) {
      const int count = count_from<Access>(first);
      PORTOPS_UNROLL
      for (int i = 1; i < Access::width; ++i) columns.offset[i] = Kokkos::min(i, count - 1) * apart() * stride;
    }
    return columns;
  }

  /// The sums of chains are kept, every `threads`-th of `kept`, in scratch: they would take registers of the loop's.
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void add_up(const Piece& piece, const StepTiles::Tile& tile, int slots, State* kept,
                                          State (&states)[Access::width]) const {
    const StepStrides& x = arguments_.x;
    const std::int64_t stride = slots * piece.stride * x.row;
    const X* at = static_cast<const X*>(x.data) + column_offset(arguments_.columns, x.column, tile.column) +
                  (piece.first + tile.slot * piece.stride) * x.row;
    const Columns<Access> own = columns_from<Access>(tile.column, x.column[0]);
    if constexpr (F::keeps_rows) {
      add_rows<Access>(at, own, stride, piece.rows, slots, tile.slot, piece.rows, states);
    } else {
      const int rows_of_chain = chain * batch * slots;
      if (piece.rows - tile.slot <= rows_of_chain) {
        add_rows<Access>(at, own, stride, piece.rows, slots, tile.slot, piece.rows, states);
        return;
      }
      bool is_last = false;
      PORTOPS_NO_UNROLL
      for (int row = tile.slot; !is_last; row += rows_of_chain) {
        is_last = piece.rows - row <= rows_of_chain;
        add_rows<Access>(at, own, stride, piece.rows, slots, row, is_last ? piece.rows : row + rows_of_chain, states);
        PORTOPS_UNROLL
        for (int i = 0; i < Access::width; ++i) {
          State& sum = kept[i * threads];
          sum = row == tile.slot ? states[i] : arguments_.f(sum, states[i]);
          states[i] = is_last ? sum : arguments_.f.identity();
        }
      }
    }
  }

  /// Adds the slot's rows from `row` on that are before `end`, which is `rows` or behind whole batches; `at` goes on.
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void add_rows(const X*& at, const Columns<Access>& own, std::int64_t stride, int rows,
                                            int slots, int row, int end, State (&states)[Access::width]) const {
    PORTOPS_NO_UNROLL
    for (; row < end; row += batch * slots) {
      Word<X, Access::width> loaded[batch];
      PORTOPS_UNROLL
      for (int r = 0; r < batch; ++r) {
        loaded[r] = Word<X, Access::width>(static_cast<X>(F::fill()));
        if (row + r * slots < rows) own.load(loaded[r], at);
        at = pinned(at + stride);
      }
      PORTOPS_UNROLL
      for (int i = 0; i < Access::width; ++i) {
        A values[batch];
        PORTOPS_UNROLL
        for (int r = 0; r < batch; ++r) values[r] = static_cast<A>(loaded[r][i]);
        arguments_.f.add(states[i], values, row, slots);
      }
    }
  }

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void write(const Piece& piece, std::int64_t column,
                                         const State (&states)[Access::width]) const {
    const StepColumns& columns = arguments_.columns;
    const int count = count_from<Access>(column);
    const bool is_partial = piece.partial >= 0;
    if (is_partial) {
      Word<A, Access::width> word;
      PORTOPS_UNROLL
      for (int i = 0; i < Access::width; ++i) word.set(i, F::value(states[i]));
      Access::store(arguments_.partials + piece.partial * columns.columns + column, word, apart(), count);
    } else {
      Word<T, Access::width> word;
      PORTOPS_UNROLL
      for (int i = 0; i < Access::width; ++i) {
        const A value = scaled(F::value(states[i]), arguments_.f.scale, piece.length);
        word.set(i, static_cast<T>(piece.rows > 0 ? value : arguments_.pad));
      }
      const StepStrides& out = arguments_.out;
      Access::store(static_cast<T*>(out.data) + piece.sequence * out.row + column_offset(columns, out.column, column),
                    word, out.column[0] * apart(), count);
    }
    if constexpr (F::keeps_rows) {
      if (arguments_.index.data != nullptr) write_index<Access::width>(piece, column, count, states);
    }
  }

  /// The columns of a pack are neighbours along the last axis.
  template <int width>
  KOKKOS_FORCEINLINE_FUNCTION void write_index(const Piece& piece, std::int64_t column, int count,
                                               const State (&states)[width]) const {
    const StepColumns& columns = arguments_.columns;
    const StepStrides& index = arguments_.index;
    std::int64_t* to = arguments_.partial_index + piece.partial * columns.columns + column;
    std::int64_t stride = 1;
    if (piece.partial < 0) {
      to = static_cast<std::int64_t*>(index.data) + piece.sequence * index.row +
           column_offset(columns, index.column, column);
      if (columns.axes > 0) stride = index.column[columns.axes - 1];
    }
    PORTOPS_UNROLL
    for (int i = 0; i < width; ++i) {
      if (i >= count) continue;
      to[i * apart() * stride] =
          piece.rows > 0 ? arguments_.index_of(piece, F::row(states[i]), column + i * apart()) : std::int64_t{-1};
    }
  }

  PoolArguments<X, T, F> arguments_;
  UnevenStepTiles tiles_;
};

/// Pools on a host: an item adds up its columns, row by row.
template <class X, class T, class F>
class PoolStepsHost {
 public:
  using A = Arithmetic<T>;
  using State = typename F::State;
  static constexpr int blocks = 0;

  PoolStepsHost(const PoolArguments<X, T, F>& arguments, const StepEntries& longest, const StepEntries& others)
      : arguments_(arguments), items_(arguments.columns, longest.count + others.count) {}

  std::int64_t items() const { return items_.items(); }

  void operator()(std::int64_t item) const {
    const auto [entry, column, count] = items_.locate(item);
    const Piece& piece = arguments_.pieces[entry];
    if constexpr (F::keeps_rows) {
      find(piece, column, count);
    } else {
      add_up(piece, column, count);
    }
  }

 private:
  static constexpr int chunk = HostRows::chunk;
  static constexpr int most = StepHostItems::most_columns;
  /// Rows that are added up one after the other.
  static constexpr int batch = 16;

  const X* row_of(const Piece& piece, std::int64_t row, std::int64_t column) const {
    const StepStrides& x = arguments_.x;
    return static_cast<const X*>(x.data) + (piece.first + row * piece.stride) * x.row +
           column_offset(arguments_.columns, x.column, column);
  }

  void add_up(const Piece& piece, std::int64_t column, int count) const {
    alignas(64) A part[most];
    add_rows(part, piece, 0, column, count);
    if (piece.rows > batch) add_batches(part, piece, column, count);
    write(piece, column, count, part);
  }

  /// sums += all rows behind the first batch, whose sums they are.
  void add_batches(A (&sums)[most], const Piece& piece, std::int64_t column, int count) const {
    alignas(64) A part[most];
    alignas(64) A levels[Cascade::most_levels][most];
    std::copy(sums, sums + count, levels[0]);
    const auto add = [count](A* to, const A* from, bool first) {
      for (int i = 0; i < count; ++i) to[i] = first ? from[i] : to[i] + from[i];
    };
    const auto add_level = [&](int level, int to, bool first) { add(levels[to], levels[level], first); };
    std::int64_t batches = 1;
    for (int first = batch; first < piece.rows; first += batch) {
      add_rows(part, piece, first, column, count);
      add(levels[0], part, Cascade::begins(batches));
      Cascade::carry(++batches, add_level);
    }
    const A* const total = levels[Cascade::finish(batches, add_level)];
    std::copy(total, total + count, sums);
  }

  /// sums = a batch of rows from `first` on.
  void add_rows(A (&sums)[most], const Piece& piece, int first, std::int64_t column, int count) const {
    const std::int64_t stride = StepHostItems::column_stride(arguments_.columns, arguments_.x);
    std::fill(sums, sums + count, A(0));
    for (int row = first; row < std::min(first + batch, piece.rows); ++row) {
      const X* const from = row_of(piece, row, column);
      StepHostItems::for_each_chunk(count, [&](int c, int columns) {
        alignas(64) A values[chunk];
        HostRows::load<X>(values, from + c * stride, stride, columns);
        for (int i = 0; i < columns; ++i) sums[c + i] += values[i];
      });
    }
  }

  void find(const Piece& piece, std::int64_t column, int count) const {
    const std::int64_t stride = StepHostItems::column_stride(arguments_.columns, arguments_.x);
    alignas(64) A most_of[most];
    alignas(64) std::int32_t rows[most];
    std::fill(most_of, most_of + count, A(0));
    std::fill(rows, rows + count, 0);
    for (int row = 0; row < piece.rows; ++row) {
      const X* const from = row_of(piece, row, column);
      StepHostItems::for_each_chunk(count, [&](int c, int columns) {
        alignas(64) A values[chunk];
        HostRows::load<X>(values, from + c * stride, stride, columns);
        for (int i = 0; i < columns; ++i) {
          const A value = values[i];
          const A before = most_of[c + i];
          const bool takes = row == 0 || value > before || (value != value && before == before);
          most_of[c + i] = takes ? value : before;
          rows[c + i] = takes ? row : rows[c + i];
        }
      });
    }
    write(piece, column, count, most_of);
    write_index(piece, column, count, rows);
  }

  void write(const Piece& piece, std::int64_t column, int count, const A* values) const {
    if (piece.partial >= 0) {
      std::copy(values, values + count, arguments_.partials + piece.partial * arguments_.columns.columns + column);
      return;
    }
    const StepStrides& out = arguments_.out;
    const std::int64_t stride = StepHostItems::column_stride(arguments_.columns, out);
    T* const to =
        static_cast<T*>(out.data) + piece.sequence * out.row + column_offset(arguments_.columns, out.column, column);
    for (int i = 0; i < count; ++i) {
      to[i * stride] =
          static_cast<T>(piece.rows > 0 ? scaled(values[i], arguments_.f.scale, piece.length) : arguments_.pad);
    }
  }

  void write_index(const Piece& piece, std::int64_t column, int count, const std::int32_t* rows) const {
    const StepStrides& index = arguments_.index;
    if (index.data == nullptr) return;
    const bool is_partial = piece.partial >= 0;
    const std::int64_t stride = is_partial ? 1 : StepHostItems::column_stride(arguments_.columns, index);
    std::int64_t* const to = is_partial ? arguments_.partial_index + piece.partial * arguments_.columns.columns + column
                                        : static_cast<std::int64_t*>(index.data) + piece.sequence * index.row +
                                              column_offset(arguments_.columns, index.column, column);
    for (int i = 0; i < count; ++i) {
      to[i * stride] = piece.rows > 0 ? arguments_.index_of(piece, rows[i], column + i) : -1;
    }
  }

  PoolArguments<X, T, F> arguments_;
  StepHostItems items_;
};

}  // namespace portops::impl
