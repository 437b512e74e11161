// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/divide.hpp"
#include "core/lanes/tile_shape.hpp"
#include "core/types/tensor_ref.hpp"

#include <bit>
#include <initializer_list>
#include <vector>

// How the rows of ragged tensors lie in memory, and how a call's rows and columns are shared out to threads. All axes
// behind those of the rows are columns, numbered from 0 on, the last axis the fastest.

namespace portops::impl {

inline constexpr int most_column_axes = max_rank;

/// The columns that a call's operands have in common, in as few axes as all operands allow.
struct StepColumns {
  std::int64_t columns = 1;
  std::int64_t extent[most_column_axes] = {};
  int axes = 0;
  int pack = 1;  ///< neighbouring columns that a GPU's thread takes: in every operand they can be read at once

  /// The columns of the last axis: these are one stride apart.
  std::int64_t last() const { return axes > 0 ? extent[axes - 1] : 1; }
};

/// Where an operand's elements lie. Rows are one axis, or two: [outer, row].
struct StepStrides {
  void* data = nullptr;
  std::int64_t outer = 0;
  std::int64_t row = 0;
  std::int64_t column[most_column_axes] = {};
};

/// An operand with so many axes of rows before those of its columns: 0, 1 or 2.
struct StepTensor {
  const TensorRef& tensor;
  int row_axes;
};

/// The columns of a call, and where its operands lie.
struct StepLayout {
  StepColumns columns;
  std::vector<StepStrides> operands;  ///< empty tensors have no data
};

/// Canonicalises the operands' columns. Empty references are passed over, and so are the packs of operands of other
/// element types than the first one's.
StepLayout make_step_layout(std::initializer_list<StepTensor> operands);

/// Contiguous rows of the same columns, in a temporary.
StepStrides rows_of_temporary(const StepColumns& columns, void* data);

/// Where column `column` lies from the beginning of a row.
PORTOPS_FUNCTION std::int64_t column_offset(const StepColumns& columns, const std::int64_t* stride,
                                            std::int64_t column) {
  if (columns.axes == 0) return 0;
  std::int64_t offset = 0;
  PORTOPS_NO_UNROLL
  for (int axis = columns.axes - 1; axis > 0; --axis) {
    const std::int64_t outer = quotient(column, columns.extent[axis]);
    offset += (column - outer * columns.extent[axis]) * stride[axis];
    column = outer;
  }
  return offset + column * stride[0];
}

/// The threads of a GPU's team.
inline constexpr int step_threads = 256;

/// What a group of threads takes: an entry of a plan and some of the columns. Lanes stand side by side and share the
/// columns, a pack each or several; slots share the rows. A team is one group or several.
class StepTiles {
 public:
  /// A thread is to take about `rows_of_thread` rows of an entry of mean length: many where slots are joined, which
  /// costs as much as several rows. It takes so many packs of columns, one every lanes() packs.
  StepTiles(const StepColumns& columns, std::int64_t entries, std::int64_t mean_rows, int rows_of_thread = 8,
            int packs = 1);

  std::int64_t teams() const { return ceil_div(entries_ * column_blocks_, step_threads >> group_bits_); }

  struct Tile {
    std::int64_t entry;   ///< valid where active
    std::int64_t column;  ///< the first of the thread's first pack
    int slot;
    bool active;
  };

  PORTOPS_FUNCTION Tile locate(std::int64_t team, int thread) const {
    Tile tile;
    const std::int64_t group = (team << (team_bits - group_bits_)) + (thread >> group_bits_);
    tile.entry = column_blocks_ == 1 ? group : by_column_blocks_.quotient(group);
    const std::int64_t block = group - tile.entry * column_blocks_;
    tile.column = (block * lanes() * packs_ + (thread & (lanes() - 1))) * pack_;
    tile.slot = (thread >> lane_bits_) & (slots() - 1);
    tile.active = tile.entry < entries_ && tile.column < columns_;
    return tile;
  }

  PORTOPS_FUNCTION int lanes() const { return 1 << lane_bits_; }
  PORTOPS_FUNCTION int slots() const { return 1 << (group_bits_ - lane_bits_); }

 private:
  static constexpr int team_bits = 8;
  static_assert(step_threads == 1 << team_bits);

  std::int64_t entries_;
  std::int64_t columns_;
  std::int64_t column_blocks_;
  IndexDivisor by_column_blocks_;
  int pack_, packs_;
  int lane_bits_;
  int group_bits_;
};

/// Entries of a plan, one behind the other, and the rows that they have on average.
struct StepEntries {
  std::int64_t count = 0;
  std::int64_t mean_rows = 0;
};

/// What a group of threads takes where some entries, the first ones, are much longer than the others: groups of more
/// threads take them.
class UnevenStepTiles {
 public:
  UnevenStepTiles(const StepColumns& columns, const StepEntries& longest, const StepEntries& others, int rows_of_thread,
                  int packs = 1)
      : longest_(columns, longest.count, longest.mean_rows, rows_of_thread, packs),
        others_(columns, others.count, others.mean_rows, rows_of_thread, packs),
        longest_entries_(longest.count),
        longest_teams_(longest_.teams()) {}

  std::int64_t teams() const { return longest_teams_ + others_.teams(); }
  PORTOPS_FUNCTION bool takes_longest(std::int64_t team) const { return team < longest_teams_; }

  PORTOPS_FUNCTION StepTiles::Tile locate(std::int64_t team, int thread) const {
    if (takes_longest(team)) return longest_.locate(team, thread);
    StepTiles::Tile tile = others_.locate(team - longest_teams_, thread);
    tile.entry += longest_entries_;
    return tile;
  }

  PORTOPS_FUNCTION int lanes() const { return others_.lanes(); }
  PORTOPS_FUNCTION int slots(std::int64_t team) const {
    return takes_longest(team) ? longest_.slots() : others_.slots();
  }

 private:
  StepTiles longest_;
  StepTiles others_;
  std::int64_t longest_entries_;
  std::int64_t longest_teams_;
};

/// How many single columns a thread does well to take, one every lanes(): 1, 2, or `most`. One where columns are packs,
/// or more than one axis, or no more than lanes; and where teams would be few with more.
int single_columns(const StepColumns& columns, const StepEntries& longest, const StepEntries& others,
                   int rows_of_thread, int most);

/// The most rows of a piece whose rows are joined: a few dozen a thread where the piece has a team to itself.
std::int64_t most_joined_rows(const StepColumns& columns);
/// The same where a piece's rows are only written: few, so that what all teams write at a time lies close together.
std::int64_t most_spread_rows(const StepColumns& columns);

}  // namespace portops::impl
