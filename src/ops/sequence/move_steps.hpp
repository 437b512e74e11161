// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/column_access.hpp"
#include "core/lanes/pack.hpp"
#include "ops/sequence/step_host.hpp"
#include "ops/sequence/step_kernels.hpp"

namespace portops::impl {

struct MoveArguments {
  const Move* moves;
  StepColumns columns;
  StepStrides from;
  StepStrides to;
};

/// Copies rows on a GPU: a thread keeps to a pack of columns and walks down the rows of its slot, several under way.
template <Backend B, class T>
class MoveStepsDown {
 public:
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int blocks = 4;
  static constexpr int threads = step_threads;

  MoveStepsDown(const MoveArguments& arguments, T fill, std::int64_t entries, std::int64_t mean_rows)
      : arguments_(arguments), tiles_(arguments.columns, entries, mean_rows), fill_(fill) {}

  std::int64_t teams() const { return tiles_.teams(); }
  std::int64_t first_team = 0;
  std::size_t scratch_bytes() const { return 0; }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const auto tile = tiles_.locate(first_team + team.league_rank(), team.team_rank());
    if (!tile.active) return;
    const Move move = arguments_.moves[tile.entry];
    with_access<widest>(arguments_.columns.pack, true,
                        [&]<class Access>(Access) { take<Access>(move, tile.column, tile.slot); });
  }

 private:
  static constexpr int widest = gpu_pack_bytes / static_cast<int>(sizeof(T));
  static constexpr int batch = 8;

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void take(const Move& move, std::int64_t column, int slot) const {
    constexpr int width = Access::width;
    const StepColumns& columns = arguments_.columns;
    const StepStrides& from = arguments_.from;
    const StepStrides& to = arguments_.to;
    const int slots = tiles_.slots();
    const bool copies = move.from_outer >= 0;
    const std::int64_t read_stride = slots * move.stride * from.row;
    const std::int64_t write_step = slots * to.row;
    const T* read = static_cast<const T*>(from.data);
    if (copies) {
      read += move.from_outer * from.outer + (move.from + slot * move.stride) * from.row +
              column_offset(columns, from.column, column);
    }
    T* write = static_cast<T*>(to.data) + move.to_outer * to.outer + (move.to + slot) * to.row +
               column_offset(columns, to.column, column);
    PORTOPS_NO_UNROLL
    for (std::int64_t row = slot; row < move.rows; row += batch * slots) {
      Word<T, width> words[batch];
      PORTOPS_UNROLL
      for (int r = 0; r < batch; ++r) {
        words[r] = Word<T, width>(fill_);
        if (copies && row + r * slots < move.rows) Access::load(words[r], read, 1, width);
        if (copies) read = pinned(read + read_stride);
      }
      PORTOPS_UNROLL
      for (int r = 0; r < batch; ++r) {
        if (row + r * slots < move.rows) Access::store(write, words[r], 1, width);
        write = pinned(write + write_step);
      }
    }
  }

  MoveArguments arguments_;
  StepTiles tiles_;
  T fill_;
};

/// Copies rows on a host.
template <class T>
class MoveStepsHost {
 public:
  static constexpr int blocks = 0;

  MoveStepsHost(const MoveArguments& arguments, T fill, std::int64_t entries, std::int64_t)
      : arguments_(arguments), items_(arguments.columns, entries), fill_(fill) {}

  std::int64_t items() const { return items_.items(); }

  void operator()(std::int64_t item) const {
    const auto [entry, column, count] = items_.locate(item);
    const Move& move = arguments_.moves[entry];
    const StepStrides& from = arguments_.from;
    const StepStrides& to = arguments_.to;
    const std::int64_t read_stride = StepHostItems::column_stride(arguments_.columns, from);
    const std::int64_t write_stride = StepHostItems::column_stride(arguments_.columns, to);
    T* write = static_cast<T*>(to.data) + move.to_outer * to.outer + move.to * to.row +
               column_offset(arguments_.columns, to.column, column);
    if (move.from_outer < 0) {
      for (std::int64_t row = 0; row < move.rows; ++row) {
        for (int i = 0; i < count; ++i) write[row * to.row + i * write_stride] = fill_;
      }
      return;
    }
    const T* read = static_cast<const T*>(from.data) + move.from_outer * from.outer + move.from * from.row +
                    column_offset(arguments_.columns, from.column, column);
    for (std::int64_t row = 0; row < move.rows; ++row) {
      const T* const source = read + row * move.stride * from.row;
      T* const target = write + row * to.row;
      if (read_stride == 1 && write_stride == 1) {
        std::copy(source, source + count, target);
      } else {
        for (int i = 0; i < count; ++i) target[i * write_stride] = source[i * read_stride];
      }
    }
  }

 private:
  MoveArguments arguments_;
  StepHostItems items_;
  T fill_;
};

}  // namespace portops::impl
