// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/cascade.hpp"
#include "core/lanes/column_access.hpp"
#include "core/lanes/lanes.hpp"
#include "ops/sequence/sequence_softmax/sequence_softmax_kernels.hpp"
#include "ops/sequence/step_host.hpp"

namespace portops::impl {

template <class T, class F>
struct SoftmaxArguments {
  using State = typename F::State;

  const Piece* pieces;
  StepColumns columns;
  StepStrides in[F::inputs];
  StepStrides out;
  State* partials;      ///< of pieces of long sequences
  const State* joined;  ///< of long sequences; without it, pieces are added up first

  template <class E = T>
  KOKKOS_FORCEINLINE_FUNCTION E* at(const StepStrides& operand, const Piece& piece, std::int64_t row,
                                    std::int64_t column) const {
    return static_cast<E*>(operand.data) + (piece.first + row * piece.stride) * operand.row +
           column_offset(columns, operand.column, column);
  }
};

/// On a GPU: a thread keeps to a pack of columns and walks down the rows of its slot, twice; the first ones it keeps in
/// registers. In between, the slots meet in a tree.
template <Backend B, class T, class F>
class SoftmaxStepsDown {
 public:
  using A = Arithmetic<T>;
  using State = typename F::State;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int blocks = 4;
  static constexpr int threads = step_threads;

  SoftmaxStepsDown(const SoftmaxArguments<T, F>& arguments, std::int64_t entries, std::int64_t mean_rows)
      : arguments_(arguments), tiles_(arguments.columns, entries, mean_rows) {}

  std::int64_t teams() const { return tiles_.teams(); }
  std::int64_t first_team = 0;
  std::size_t scratch_bytes() const { return threads * widest * sizeof(State); }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    auto* const scratch = scratch_of<State>(team);
    const auto tile = tiles_.locate(first_team + team.league_rank(), team.team_rank());
    Piece piece{};
    if (tile.active) piece = arguments_.pieces[tile.entry];
    with_access<widest>(arguments_.columns.pack, true,
                        [&]<class Access>(Access) { take<Access>(team, scratch, tile, piece); });
  }

 private:
  static constexpr int widest = gpu_pack_bytes / static_cast<int>(sizeof(T));
  static constexpr int batch = 8 / F::inputs;
  template <int width>
  using Words = Word<T, width>[F::inputs][batch];

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void take(const Team& team, State* scratch, const StepTiles::Tile& tile,
                                        const Piece& piece) const {
    constexpr int width = Access::width;
    const int batch_rows = batch * tiles_.slots();
    Words<width> kept;
    load<Access>(kept, piece, tile.slot, tile.column);
    State states[width];
    if (arguments_.joined == nullptr) {
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) states[i] = F::identity();
      add(states, kept);
      PORTOPS_NO_UNROLL
      for (int row = tile.slot + batch_rows; row < piece.rows; row += batch_rows) {
        Words<width> more;
        load<Access>(more, piece, row, tile.column);
        add(states, more);
      }
      join_over_slots(team, scratch, tiles_.slots(), tiles_.lanes(), states, F());
      if (piece.partial >= 0 && tile.active) {
        if (tile.slot == 0) leave(states, piece, tile.column);
        return;
      }
    } else if (tile.active) {
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) {
        states[i] = arguments_.joined[piece.partial * arguments_.columns.columns + tile.column + i];
      }
    }
    if (!tile.active) return;
    write<Access>(states, kept, piece, tile.slot, tile.column);
    PORTOPS_NO_UNROLL
    for (int row = tile.slot + batch_rows; row < piece.rows; row += batch_rows) {
      Words<width> more;
      load<Access>(more, piece, row, tile.column);
      write<Access>(states, more, piece, row, tile.column);
    }
  }

  /// A batch of rows of all inputs.
  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void load(Words<Access::width>& words, const Piece& piece, int row,
                                        std::int64_t column) const {
    const int slots = tiles_.slots();
    PORTOPS_UNROLL
    for (int k = 0; k < F::inputs; ++k) {
      const T* from = arguments_.template at<const T>(arguments_.in[k], piece, row, column);
      PORTOPS_UNROLL
      for (int r = 0; r < batch; ++r) {
        words[k][r] = Word<T, Access::width>(static_cast<T>(F::fill()));
        if (row + r * slots < piece.rows) Access::load(words[k][r], from, 1, Access::width);
        from = pinned(from + slots * piece.stride * arguments_.in[k].row);
      }
    }
  }

  template <int width>
  KOKKOS_FORCEINLINE_FUNCTION void add(State (&states)[width], const Words<width>& words) const {
    PORTOPS_UNROLL
    for (int i = 0; i < width; ++i) {
      A values[F::inputs][batch];
      PORTOPS_UNROLL
      for (int k = 0; k < F::inputs; ++k) {
        PORTOPS_UNROLL
        for (int r = 0; r < batch; ++r) values[k][r] = static_cast<A>(words[k][r][i]);
      }
      F().add(states[i], values);
    }
  }

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void write(const State (&states)[Access::width], const Words<Access::width>& words,
                                         const Piece& piece, int row, std::int64_t column) const {
    constexpr int width = Access::width;
    const int slots = tiles_.slots();
    T* to = arguments_.template at<T>(arguments_.out, piece, row, column);
    PORTOPS_UNROLL
    for (int r = 0; r < batch; ++r) {
      Word<T, width> result;
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) {
        A values[F::inputs];
        PORTOPS_UNROLL
        for (int k = 0; k < F::inputs; ++k) values[k] = static_cast<A>(words[k][r][i]);
        result.set(i, static_cast<T>(F()(F::row(states[i]), values)));
      }
      if (row + r * slots < piece.rows) Access::store(to, result, 1, width);
      to = pinned(to + slots * piece.stride * arguments_.out.row);
    }
  }

  template <int width>
  KOKKOS_FORCEINLINE_FUNCTION void leave(const State (&states)[width], const Piece& piece, std::int64_t column) const {
    PORTOPS_UNROLL
    for (int i = 0; i < width; ++i) {
      arguments_.partials[piece.partial * arguments_.columns.columns + column + i] = states[i];
    }
  }

  SoftmaxArguments<T, F> arguments_;
  StepTiles tiles_;
};

/// On a host: an item takes its columns, several rows at a time.
template <class T, class F>
class SoftmaxStepsHost {
 public:
  using A = Arithmetic<T>;
  using State = typename F::State;
  static constexpr int blocks = 0;

  SoftmaxStepsHost(const SoftmaxArguments<T, F>& arguments, std::int64_t entries, std::int64_t)
      : arguments_(arguments), items_(arguments.columns, entries) {}

  std::int64_t items() const { return items_.items(); }

  void operator()(std::int64_t item) const {
    const auto [entry, first, columns] = items_.locate(item);
    const Piece& piece = arguments_.pieces[entry];
    const std::int64_t column = first;
    StepHostItems::for_each_chunk(columns, [&](int c, int count) { take(piece, column + c, count); });
  }

 private:
  static constexpr int chunk = HostRows::chunk;
  static constexpr int batch = 8;
  using Rows = A[F::inputs][batch][chunk];

  void take(const Piece& piece, std::int64_t column, int count) const {
    const std::int64_t at = piece.partial * arguments_.columns.columns + column;
    if (arguments_.joined != nullptr) return write_rows(arguments_.joined + at, piece, column, count);
    State states[Cascade::most_levels][chunk];
    const State* const all = add_up(states, piece, column, count);
    if (piece.partial >= 0) {
      std::copy(all, all + count, arguments_.partials + at);
    } else {
      write_rows(all, piece, column, count);
    }
  }

  /// What the rows of the piece add up to: one of the levels.
  const State* add_up(State (&states)[Cascade::most_levels][chunk], const Piece& piece, std::int64_t column,
                      int count) const {
    const auto join = [&](int level, int to, bool first) {
      for (int i = 0; i < count; ++i) {
        states[to][i] = first ? states[level][i] : F()(states[to][i], states[level][i]);
      }
    };
    std::int64_t batches = 0;
    for (int row = 0; row < piece.rows; row += batch) {
      if (Cascade::begins(batches)) std::fill(states[0], states[0] + count, F::identity());
      add(states[0], piece, row, column, count);
      Cascade::carry(++batches, join);
    }
    return states[Cascade::finish(batches, join)];
  }

  void write_rows(const State* states, const Piece& piece, std::int64_t column, int count) const {
    for (int row = 0; row < piece.rows; ++row) write(states, piece, row, column, count);
  }

  std::int64_t stride_of(const StepStrides& operand) const {
    return StepHostItems::column_stride(arguments_.columns, operand);
  }

  void add(State* states, const Piece& piece, int row, std::int64_t column, int count) const {
    alignas(64) Rows rows;
    for (int k = 0; k < F::inputs; ++k) {
      for (int r = 0; r < batch; ++r) {
        if (row + r < piece.rows) {
          HostRows::load<T>(rows[k][r], arguments_.template at<const T>(arguments_.in[k], piece, row + r, column),
                            stride_of(arguments_.in[k]), count);
        } else {
          std::fill(rows[k][r], rows[k][r] + count, F::fill());
        }
      }
    }
    for (int i = 0; i < count; ++i) {
      A values[F::inputs][batch];
      for (int k = 0; k < F::inputs; ++k) {
        for (int r = 0; r < batch; ++r) values[k][r] = rows[k][r][i];
      }
      F().add(states[i], values);
    }
  }

  void write(const State* states, const Piece& piece, int row, std::int64_t column, int count) const {
    alignas(64) A in[F::inputs][chunk];
    alignas(64) A results[chunk];
    for (int k = 0; k < F::inputs; ++k) {
      HostRows::load<T>(in[k], arguments_.template at<const T>(arguments_.in[k], piece, row, column),
                        stride_of(arguments_.in[k]), count);
    }
    for (int i = 0; i < count; ++i) {
      A values[F::inputs];
      for (int k = 0; k < F::inputs; ++k) values[k] = in[k][i];
      results[i] = F()(F::row(states[i]), values);
    }
    HostRows::store<T>(arguments_.template at<T>(arguments_.out, piece, row, column), results,
                       stride_of(arguments_.out), count);
  }

  SoftmaxArguments<T, F> arguments_;
  StepHostItems items_;
};

/// Joins what the pieces of each long sequence add up to, in their order.
template <Backend B, class F>
class JoinStates {
 public:
  using State = typename F::State;
  static constexpr int blocks = 4;

  const Piece* joins;
  std::int64_t count;
  std::int64_t columns;
  const State* partials;
  State* joined;

  std::int64_t items() const { return count * columns; }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    const std::int64_t join = quotient(item, columns);
    const std::int64_t column = item - join * columns;
    const Piece& piece = joins[join];
    const State* const from = partials + piece.first * columns + column;
    joined[item] = join_rows<levels>(from, 0, piece.rows);
  }

 private:
  static constexpr int levels = 4;

  /// The states of rows [begin, end), by a tree: of level 0 are 8, which are loaded together, of each other level 16 of
  /// the level below, or all that there are.
  template <int level>
  KOKKOS_FUNCTION State join_rows(const State* from, std::int64_t begin, std::int64_t end) const {
    if constexpr (level == 0) {
      constexpr int batch = 8;
      State states[batch];
      PORTOPS_UNROLL
      for (int r = 0; r < batch; ++r) states[r] = begin + r < end ? from[(begin + r) * columns] : F::identity();
      return join_array(states, F());
    } else {
      constexpr std::int64_t rows = std::int64_t{8} << 4 * (level - 1);
      State state = F::identity();
      PORTOPS_NO_UNROLL
      for (std::int64_t row = begin; row < end; row += rows) {
        state = F()(state, join_rows<level - 1>(from, row, end - row > rows ? row + rows : end));
      }
      return state;
    }
  }
};

}  // namespace portops::impl
