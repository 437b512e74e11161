// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/sequence/pool_steps.hpp"

namespace portops::impl {

struct SpreadArguments {
  const Piece* pieces;
  StepColumns columns;
  StepStrides from;
  StepStrides index;
  StepStrides to;
  StepScale scale;
  StepChoice choice;

  /// The row of the piece that gets the value of a column; outside of [0, rows) where none does.
  KOKKOS_FUNCTION std::int64_t chosen(const Piece& piece, std::int64_t column) const {
    if (choice == StepChoice::first) return piece.begin - piece.first;
    if (choice == StepChoice::last) return piece.begin + piece.length - 1 - piece.first;
    return static_cast<const std::int64_t*>(
               index.data)[piece.sequence * index.row + column_offset(columns, index.column, column)] -
           piece.first;
  }
};

/// Writes a word that is not read again soon: it leaves a GPU's second-level cache before others.
template <class T, int N>
KOKKOS_FORCEINLINE_FUNCTION void stream_word(T* to, const Word<T, N>& word) {
#if defined(__CUDA_ARCH__)
  using Bits = std::conditional_t<
      sizeof(word) == 16, uint4,
      std::conditional_t<sizeof(word) == 8, uint2, std::conditional_t<sizeof(word) == 4, unsigned, unsigned short>>>;
  __stcs(reinterpret_cast<Bits*>(to), Kokkos::bit_cast<Bits>(word));
#else
  *reinterpret_cast<Word<T, N>*>(to) = word;
#endif
}

/// Spreads on a GPU: a thread keeps to a pack of columns, which it reads once, and walks down the rows of its slot.
/// What only writes is fastest where what all teams write at a time lies close together: pieces are short, and stores
/// leave the cache in their order.
template <Backend B, class T, bool chooses>
class SpreadStepsDown {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int blocks = 4;
  static constexpr int threads = step_threads;

  SpreadStepsDown(const SpreadArguments& arguments, std::int64_t entries, std::int64_t mean_rows)
      : arguments_(arguments), tiles_(arguments.columns, entries, mean_rows) {}

  std::int64_t teams() const { return tiles_.teams(); }
  std::int64_t first_team = 0;
  std::size_t scratch_bytes() const { return 0; }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const auto tile = tiles_.locate(first_team + team.league_rank(), team.team_rank());
    if (!tile.active) return;
    const Piece piece = arguments_.pieces[tile.entry];
    if (tile.slot >= piece.rows) return;
    with_access<widest>(arguments_.columns.pack, true,
                        [&]<class Access>(Access) { spread<Access>(piece, tile.column, tile.slot); });
  }

 private:
  static constexpr int widest = gpu_pack_bytes / static_cast<int>(sizeof(T));

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void spread(const Piece& piece, std::int64_t column, int slot) const {
    constexpr int width = Access::width;
    const StepColumns& columns = arguments_.columns;
    const StepStrides& from = arguments_.from;
    const StepStrides& to = arguments_.to;
    Word<T, width> word;
    Access::load(
        word,
        static_cast<const T*>(from.data) + piece.sequence * from.row + column_offset(columns, from.column, column), 1,
        width);
    if (arguments_.scale != StepScale::none) {
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) {
        word.set(i, static_cast<T>(scaled(static_cast<A>(word[i]), arguments_.scale, piece.length)));
      }
    }
    int chosen[width];
    if constexpr (chooses) {
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) {
        const std::int64_t row = arguments_.chosen(piece, column + i);
        chosen[i] = row >= 0 && row < piece.rows ? static_cast<int>(row) : -1;
      }
    }
    const int slots = tiles_.slots();
    const std::int64_t stride = slots * piece.stride * to.row;
    T* at = static_cast<T*>(to.data) + (piece.first + slot * piece.stride) * to.row +
            column_offset(columns, to.column, column);
    for (int row = slot; row < piece.rows; row += slots) {
      if constexpr (chooses) {
        Word<T, width> some;
        PORTOPS_UNROLL
        for (int i = 0; i < width; ++i) some.set(i, row == chosen[i] ? word[i] : static_cast<T>(0.0f));
        stream_word(at, some);
      } else {
        stream_word(at, word);
      }
      at += stride;
    }
  }

  SpreadArguments arguments_;
  StepTiles tiles_;
};

/// Spreads on a host.
template <class T, bool chooses>
class SpreadStepsHost {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;

  SpreadStepsHost(const SpreadArguments& arguments, std::int64_t entries, std::int64_t)
      : arguments_(arguments), items_(arguments.columns, entries) {}

  std::int64_t items() const { return items_.items(); }

  void operator()(std::int64_t item) const {
    const auto [entry, column, count] = items_.locate(item);
    const Piece& piece = arguments_.pieces[entry];
    if (piece.rows == 0) return;
    T values[most];
    std::int64_t chosen[most];
    read(piece, column, count, values);
    if constexpr (chooses) {
      for (int i = 0; i < count; ++i) chosen[i] = arguments_.chosen(piece, column + i);
    }
    const StepStrides& to = arguments_.to;
    const std::int64_t stride = StepHostItems::column_stride(arguments_.columns, to);
    T* const first = static_cast<T*>(to.data) + column_offset(arguments_.columns, to.column, column);
    for (int row = 0; row < piece.rows; ++row) {
      T* const at = first + (piece.first + row * piece.stride) * to.row;
      if constexpr (chooses) {
        for (int i = 0; i < count; ++i) at[i * stride] = row == chosen[i] ? values[i] : static_cast<T>(0.0f);
      } else if (stride == 1) {
        std::copy(values, values + count, at);
      } else {
        for (int i = 0; i < count; ++i) at[i * stride] = values[i];
      }
    }
  }

 private:
  static constexpr int most = StepHostItems::most_columns;

  void read(const Piece& piece, std::int64_t column, int count, T* values) const {
    const StepStrides& from = arguments_.from;
    const std::int64_t stride = StepHostItems::column_stride(arguments_.columns, from);
    const T* const at = static_cast<const T*>(from.data) + piece.sequence * from.row +
                        column_offset(arguments_.columns, from.column, column);
    for (int i = 0; i < count; ++i) {
      values[i] = arguments_.scale == StepScale::none
                      ? at[i * stride]
                      : static_cast<T>(scaled(static_cast<A>(at[i * stride]), arguments_.scale, piece.length));
    }
  }

  SpreadArguments arguments_;
  StepHostItems items_;
};

}  // namespace portops::impl
